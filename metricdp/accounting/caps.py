"""Caps: bounds of a user's records in a public part, and of their number of parts. Public."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from metricdp.arguments import Ints, count, shown
from metricdp.errors import InputError
from metricdp.protocols import Finite, Partition, Space, finite, sound_parts

_FINITE_ONLY = (
    "caps need a finite universe: in a box records have no public parts that the default method's "
    "histograms refine; weighting='share' or max_contributions= bound users there"
)


@dataclass(frozen=True)
class UserCaps(ABC):
    """At most c records of each user in a part of a public partition, in at most p parts.

    **Privacy.** The records kept of a user are a function of that user's records and coins
    (`metricdp.records.engines.capping`). They give a vector u of non-negative integers, of which at
    most p are not 0, and none above c. So ``|u|_1 <= pc`` and ``|u|_2² <= pc²``, where the bound of
    m = pc records alone gives (pc)². The same holds for every *finer* partition, as the at most c
    records of a part have the largest sum of squares if they are together: see
    `squared_sensitivity`.

    `parts`: p, parts of each user at most; `records`: c, records of a user in a part at most.
    Public: never choose them by looking at the data.
    """

    parts: int
    records: int = 1

    def __post_init__(self) -> None:
        for name in ("parts", "records"):
            object.__setattr__(self, name, count(getattr(self, name), name))
        if self.max_contributions >= 2**31:
            raise InputError(f"caps allow too many records of a user, {shown(self.parts)} parts")

    @property
    def max_contributions(self) -> int:
        """Most records of a user, pc."""
        return self.parts * self.records

    @abstractmethod
    def areas_of(self, universe: Finite) -> tuple[Partition, Any]:
        """The caps' public partition, and the same as a cut of the hierarchy, if it is one."""

    def of(self, universe: Space) -> Capped:
        """The caps in a universe; refuses a box, and a partition of another universe."""
        points = finite(universe, "a cap of users", _FINITE_ONLY)
        partition, tree = self.areas_of(points)
        if partition.universe is not universe:
            raise InputError("areas and demand are of different universes: use one metric object")
        n_parts = partition.n_parts
        areas = points.tabulated(lambda at: sound_parts(partition.encode(at), len(at), n_parts))
        return Capped(points, areas, self.parts, self.records, tree)


@dataclass(frozen=True, eq=False)
class Capped:
    """Caps of a demand: public.

    `areas` (n_points,): part of each point; `parts`, `records`: p and c; `tree`: the areas as a cut
    of the universe's hierarchy of seed 0, if they are one.
    """

    universe: Finite
    areas: Ints
    parts: int
    records: int
    tree: Any = None

    @property
    def square(self) -> int:
        """Squared L2 norm of a user's vector in a histogram of finer parts, at most: pc²."""
        return self.parts * self.records**2
