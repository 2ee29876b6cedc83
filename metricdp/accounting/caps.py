"""Caps: few records of a user in a part, and in few parts. Public terms of a demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from metricdp.arguments import count, shown
from metricdp.arrays import Ints
from metricdp.protocols import Finite, Partition, Space, finite, sound_parts
from metricdp.refusals import InputError

_FINITE_ONLY = (
    "caps need a finite universe: in a box records have no public parts that the default method's "
    "histograms refine; weighting='share' or max_contributions= bound users there"
)


@dataclass(frozen=True)
class UserCaps(ABC):
    """At most c records of each user in a part of a public partition, in at most p parts.

    **Privacy.** What is kept of a user is a function of that user's records and coins
    (`metricdp.records.engines.capping`): a vector u of integers, at least 0, of which at most p are
    not 0, and none above c. So ``|u|_1 <= pc`` and ``|u|_2² <= pc²``, where m = pc records alone
    would only give (pc)²; and the same holds of every *finer* partition, as a part's records, c at
    most, have the largest square where they are together: see `squared_sensitivity`.

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
        """The public parts that caps are about, and the tree that they are a cut of, if any."""

    def of(self, universe: Space) -> Capped:
        """The caps in a universe; a box is refused, and a partition of another universe."""
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
        """Largest square of the length of what a user adds to a histogram of finer parts: pc²."""
        return self.parts * self.records**2
