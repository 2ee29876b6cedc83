"""Selection queries: integer scores of candidates, and their sensitivity, side by side.

The sensitivity of scores s is the largest ``max over c of |s_c(D) - s_c(D')|`` over neighbors
(`metricdp.privacy.queries`), their *range* the largest ``max_c - min_c`` of the change: what
`selection` needs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, MutableMapping
from typing import Any, ClassVar

import numpy as np

from metricdp.arguments import Ints, integer, positive, sealed
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP, add_costs, add_covered
from metricdp.privacy.queries import one_universe
from metricdp.protocols import Finite, Space, finite
from metricdp.records.sums.rows import rows_from
from metricdp.releases import Neighboring
from metricdp.unique import Frozen

_BITS = 32
"""Bits of the largest term in a sum of costs."""


class SelectionQuery(Frozen, ABC):
    """A query answered by one of finitely many candidates, such as the points of a universe.
    `gate.select` accepts the package's own classes, and those that are registered.

    `monotone`: one more record never changes two scores in opposite directions; `direction`: 1 if
    it decreases no score, -1 if it increases none, and scores without records are 0; else 0;
    `reach`: the largest absolute score of one record, so that a unit of up to m records changes
    each score by at most m times as much.

    Examples
    --------
    >>> from metricdp.privacy import CoverageQuery, SelectionQuery
    >>> issubclass(CoverageQuery, SelectionQuery), CoverageQuery.monotone, CoverageQuery.direction
    (True, True, 1)
    """

    proof: ClassVar[int]
    """Number of the proof of its sensitivity in docs/proofs."""

    universe: Finite
    monotone: bool
    direction: int = 0
    reach: int

    def sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """Largest change of one score between neighbors: m times `reach`, under both relations."""
        return max_contributions * self.reach

    @abstractmethod
    def blocks(self, records: Ints) -> Iterator[Ints]:
        """The exact scores in blocks, by position; larger is better, -2^61 to 2^61. Private."""

    def bounds(self, n_records: int | None) -> tuple[int, int]:
        """Bounds of the scores of `n_records` (None: unknown), which the gate checks before it
        selects.

        Where scores have a `direction`, a record adds, or subtracts, at most `sensitivity`.
        """
        if n_records is None or not self.direction:
            return -CAP, CAP
        most = min(CAP, n_records * self.sensitivity("add-remove", 1))
        return (-most, 0) if self.direction < 0 else (0, most)

    def resumed(self, records: Ints, memory: MutableMapping[Any, Any]) -> Iterator[Ints]:
        """The scores of `blocks`; may reuse results of the slice's queries in `memory`."""
        return self.blocks(records)

    def decode(self, index: int) -> Any:
        """The candidate of an index: by default the position of a point."""
        return index

    def range(self, neighboring: Neighboring, max_contributions: int) -> int:
        """The largest range of the scores' changes between neighbors.

        All changes lie in [-sensitivity, sensitivity]. If the scores are monotone, one more unit
        changes all of them in one direction, so under add-remove they lie in [0, sensitivity] or in
        [-sensitivity, 0]. Under replace-one a unit leaves *and* another joins, which changes scores
        in both directions.
        """
        one_way = self.monotone and neighboring == "add-remove"
        return self.sensitivity(neighboring, max_contributions) * (1 if one_way else 2)

    def check(self, universe: Space) -> None:
        """Raise InputError unless `universe` is the query's own: the same object."""
        one_universe(self.universe, universe)


class CostQuery(SelectionQuery):
    """The point that reduces the cost most when it is added to `centers`: without any, the 1-median
    (or 1-mean) of the demand.

    The score of a point c is minus the sum over records v of ``min(d(v, c), d(v, centers),
    cap)**power``. Distances are rounded up to the universe's grid, or to a power of two of its
    steps so large that cap**power has 32 bits: enough for 2^30 records.

    **Privacy.** A record adds to every score a number from -cap**power to 0, so the scores are
    monotone, and a unit of up to m records changes each by at most m·cap**power (*add-remove*: all
    decrease; *replace-one*: by the difference of two such changes). The cap is enforced, not
    assumed: distances are clipped at it. Sums saturate at 2^61, which shrinks changes and keeps
    their direction. *Composition*: one charge a selection.

    `centers`: public, or released before; `power`: 1 or 2; `cap`: the clipping threshold of
    distances, by default the public bound of the diameter. A smaller one means less noise; points
    farther than it from the demand are not distinguished. Public: never measured on the data. One
    search (or row of distances) from every distinct point of demand, O(n_points) memory.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> from metricdp.privacy import CostQuery, select
    >>> demand = mdp.PrivateDemand(metric, [2] * 9000)
    >>> at, receipt = select(demand, CostQuery(metric), 1, mdp.Ledger(1).charge(1))
    >>> metric.ids[at]
    2
    """

    proof: ClassVar[int] = 6

    monotone = True
    direction = -1

    def __init__(
        self,
        universe: Finite,
        centers: Iterable[Hashable] = (),
        *,
        power: int = 1,
        cap: float | None = None,
    ) -> None:
        finite(universe, "a CostQuery")
        if integer(power) not in (1, 2):
            raise InputError("a CostQuery needs power 1 or 2")
        cap = None if cap is None else positive(cap, "cap")
        self.universe, self._power = universe, int(power)
        self._centers = sealed(np.unique(universe.positions(centers)))
        most = universe.diameter_bound() if cap is None else cap
        steps = max(1, math.ceil(most / universe.unit))
        self._shift = max(0, steps.bit_length() - _BITS // power)
        self._cap = -(-steps >> self._shift)
        self.reach = self._cap**self._power

    def blocks(self, records: Ints) -> Iterator[Ints]:
        """Minus the cost with each point as an additional center: one block."""
        total = np.zeros(len(self.universe), np.int64)
        for points, counts, rows in rows_from(self.universe, records):
            reach = np.full(len(points), self._cap, np.int64)
            if len(self._centers):
                np.minimum(reach, -(-rows[:, self._centers].min(axis=1) >> self._shift), out=reach)
            add_costs(rows, counts, reach, self._shift, self._power == 2, total)
        yield -total

    def __str__(self) -> str:
        what = "cost" if self._power == 1 else "squared cost"
        return f"point that lowers the {what} of {len(self._centers):,} centers most"


class CoverageQuery(SelectionQuery):
    """The point with most records within a radius of it.

    **Privacy.** A record adds 0 or 1 to every score, so the scores are monotone, and a unit of up
    to m records changes each by at most m (*add-remove*: all increase; *replace-one*: by the
    difference of two numbers from 0 to m). *Composition*: one charge a selection.

    `radius`: public, in the universe's unit of length. Takes as long as `CostQuery`.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> from metricdp.privacy import CoverageQuery, select
    >>> demand = mdp.PrivateDemand(metric, [0] * 9000 + [2] * 9000)
    >>> at, receipt = select(demand, CoverageQuery(metric, radius=1), 1, mdp.Ledger(1).charge(1))
    >>> metric.ids[at]
    1
    """

    proof: ClassVar[int] = 6

    monotone = True
    direction = reach = 1

    def __init__(self, universe: Finite, radius: float) -> None:
        finite(universe, "a CoverageQuery")
        self.universe, self.radius = universe, positive(radius, "radius", or_zero=True)
        self._steps = math.floor(min(self.radius / universe.unit, 2**62))

    def blocks(self, records: Ints) -> Iterator[Ints]:
        """Number of records within the radius of each point: one block."""
        total = np.zeros(len(self.universe), np.int64)
        for _, counts, rows in rows_from(self.universe, records):
            add_covered(rows, counts, self._steps, total)
        yield total

    def __str__(self) -> str:
        return f"point with most records within {self.radius:g}"
