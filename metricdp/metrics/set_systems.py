"""Public set systems: listed sets, and balls of a metric.

They are public and read-only. Sums of private amounts over sets are computed in
`metricdp.records.scores`, and nothing of them is stored here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from metricdp.arguments import Ints, positive, sealed
from metricdp.errors import InputError
from metricdp.kernels.scores import add_rows
from metricdp.metrics.base import Metric
from metricdp.protocols import trusted
from metricdp.unique import Frozen


@trusted
class ListedSets(Frozen):
    """Sets given by their elements.

    `indptr` (n_sets + 1,): set s is ``members[indptr[s]:indptr[s + 1]]``, below `n_elements`;
    repeated elements of a set count once. `holders`: the sets that contain each element, in CSR
    form (row starts, sets), read-only. 12 bytes an entry.

    Examples
    --------
    >>> from metricdp.metrics.set_systems import ListedSets
    >>> ListedSets([0, 2, 3], [0, 1, 2], n_elements=3).members(0)
    array([0, 1])
    """

    def __init__(self, indptr: Any, members: Any, n_elements: int) -> None:
        starts = np.asarray(indptr, np.int64)
        entries = np.asarray(members, np.int64)
        if (
            len(starts) < 2
            or starts[0] != 0
            or starts[-1] != len(entries)
            or (np.diff(starts) < 0).any()
        ):
            raise InputError(
                "sets need row starts from 0 to the number of entries, and there must be at least "
                "one set"
            )
        if len(entries) and not 0 <= entries.min() <= entries.max() < n_elements:
            raise InputError(f"sets must hold elements 0 to {n_elements - 1:,}")
        rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        once = np.unique(rows * int(n_elements) + entries)
        self._fill(
            np.searchsorted(once, np.arange(len(starts)) * int(n_elements)),
            once % int(n_elements),
            int(n_elements),
        )

    def _fill(self, starts: Ints, members: Ints, n_elements: int) -> None:
        self.n_sets = len(starts) - 1
        self.n_elements = n_elements
        self._starts, self._members = sealed(starts), sealed(members)
        ones = np.ones(len(members), np.int8)
        holders = csr_array((ones, members, starts), (self.n_sets, n_elements)).tocsc()
        self.holders = tuple(map(sealed, (holders.indptr.astype(np.int64), holders.indices)))

    @classmethod
    def of_distinct(cls, sets: Sequence[Ints], n_elements: int) -> ListedSets:
        """Sets with elements that are known to be distinct and in range, without a check."""
        system = cls.__new__(cls)
        system._fill(
            np.r_[0, np.cumsum([len(one) for one in sets], dtype=np.int64)],
            np.concatenate(sets),
            n_elements,
        )
        return system

    def members(self, number: int) -> Ints:
        """The distinct elements of a set."""
        return self._members[self._starts[number] : self._starts[number + 1]]

    def add(self, total: Ints, elements: Ints, amounts: Ints) -> None:
        """Add each element's amount to the totals of the sets that contain it."""
        add_rows(*self.holders, elements, amounts, total)


@trusted
class Balls(Frozen):
    """Closed balls of one radius around candidates; each use searches again (`Metric.balls`)."""

    def __init__(self, metric: Metric, radius: float, candidates: Ints | None = None) -> None:
        self.metric = metric
        self.radius = positive(radius, "radius", or_zero=True)
        self.candidates = None if candidates is None else sealed(np.asarray(candidates, np.int64))
        self.steps = int(min(self.radius / metric.unit, 2.0**61))
        self.n_elements = len(metric)
        self.n_sets = len(metric.sites) if candidates is None else len(candidates)

    @property
    def centers(self) -> Ints:
        """Positions of the balls' centers, shape (n_sets,)."""
        return np.arange(self.n_sets) if self.candidates is None else self.candidates

    def members(self, number: int) -> Ints:
        """All points within the radius of the set's center."""
        return next(self.each([number]))

    def add(self, total: Ints, elements: Ints, amounts: Ints) -> None:
        """Add each element's amount to the totals of the balls that contain it: one bounded search,
        or row of distances, an element.
        """
        self.metric.balls(self.steps, self.candidates).add(total, elements, amounts)

    def each(self, numbers: Iterable[int]) -> Iterator[Ints]:
        """The members of some sets, in turn, with buffers that only this call uses."""
        balls = self.metric.balls(self.steps, self.candidates)
        for number in numbers:
            yield balls.members(int(self.centers[number]))
