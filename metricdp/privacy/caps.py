"""Caps: few records of a user in a part, and in few parts, so that L2 sensitivity is small."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import integer, shown
from metricdp.errors import InputError
from metricdp.privacy.queries import HistogramQuery, LevelsQuery, Query
from metricdp.protocols import Finite, Partition, finite
from metricdp.releases import Neighboring

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
            value = integer(getattr(self, name))
            if value is None or value < 1:
                raise InputError(
                    f"{name} must be an integer of at least 1, got {shown(getattr(self, name))}"
                )
            object.__setattr__(self, name, value)
        if self.max_contributions >= 2**31:
            raise InputError(f"caps allow too many records of a user, {shown(self.parts)} parts")

    @property
    def max_contributions(self) -> int:
        """Most records of a user, pc."""
        return self.parts * self.records

    @abstractmethod
    def areas_of(self, universe: Finite) -> tuple[Partition, Any]:
        """The public parts that caps are about, and the tree that they are a cut of, if any."""

    def of(self, universe: Any) -> Capped:
        """The caps in a universe; a box is refused, and a partition of another universe."""
        universe = finite(universe, "a cap of users", _FINITE_ONLY)
        partition, tree = self.areas_of(universe)
        query = HistogramQuery(partition)
        query.check(universe)
        assert query.labels is not None
        return Capped(universe, query.labels, self.parts, self.records, tree)


@dataclass(frozen=True, eq=False)
class Capped:
    """Caps of a demand: public.

    `areas` (n_points,): part of each point; `parts`, `records`: p and c; `tree`: the areas as a cut
    of the universe's hierarchy of seed 0, if they are one.
    """

    universe: Finite
    areas: NDArray[np.int64]
    parts: int
    records: int
    tree: Any = None

    @property
    def square(self) -> int:
        """Largest square of the length of what a user adds to a histogram of finer parts: pc²."""
        return self.parts * self.records**2

    def refined(self, query: HistogramQuery) -> bool:
        """Whether every part of a histogram lies in one area."""
        if query.universe is not self.universe or query.labels is None:
            return False
        first = np.full(query.n_parts, -1, np.int64)
        first[query.labels] = self.areas
        return bool((first[query.labels] == self.areas).all())


def squared_sensitivity(
    query: Query, neighboring: Neighboring, max_contributions: int, caps: Capped | None
) -> int:
    """Square of a query's L2 sensitivity for demand that may be capped.

    **Privacy.** *Histograms* whose parts each lie in one area: let u be what a user adds, and u_a
    its part in area a. Then ``|u_a|_1 <= c``, so ``|u_a|_2² <= c²`` as u_a >= 0 has integers, and
    at most p of the u_a are not 0: ``|u|_2² <= pc²`` under *add-remove*, reached by c records at
    one point of each of p areas. *Replace-one*: ``|u - v|_2² = |u|² + |v|² - 2 u·v <= 2pc²``, as u,
    v >= 0. *Levels*: the sum over disjoint coordinates, each level by its own bound. Of everything
    else, and of parts that reach into several areas, nothing is gained: the query's own bound for m
    = pc records.
    """
    if caps is not None and type(query) is LevelsQuery:
        each = (squared_sensitivity(q, neighboring, max_contributions, caps) for q in query.levels)
        return sum(each)
    if caps is not None and type(query) is HistogramQuery and caps.refined(query):
        return caps.square * (1 if neighboring == "add-remove" else 2)
    return query.squared_sensitivity(neighboring, max_contributions)
