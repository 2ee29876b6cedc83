"""Selection queries: integer scores of candidates, and their sensitivity, side by side.

The sensitivity of scores s is the largest ``max over c of |s_c(D) - s_c(D')|`` over neighbors
(`metricdp.privacy.queries`), their *range* the largest ``max_c - min_c`` of the change: what
`selection` needs. `CoverQuery` selects sets in turn (proof P10, ``docs/proofs/10-covering.md``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, MutableMapping, Sequence
from typing import Any, ClassVar

import numpy as np

from metricdp.arguments import Ints, integer, listed, positive, sealed
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP, add_costs, add_covered
from metricdp.privacy.queries import HistogramQuery, one_universe
from metricdp.protocols import Finite, Partition, SetSystem, Space, finite, is_trusted
from metricdp.records.scores import add_sums, bounded, rows_from
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


class CoverQuery(Frozen):
    """Selection of sets in turn, each by the number of records that no earlier one covers. For
    `gate.cover`.

    **Privacy.** A record lies in one part of a public partition (`HistogramQuery`), an *element*;
    sets are public sets of elements. In a round a record adds 1 to the scores of the sets that
    contain its element if it is not covered yet, else 0. So a unit of up to m records changes each
    score by at most m, all in one direction under *add-remove*; under *replace-one* the range is
    2m. Once a selected set contains its element, a record is covered and counts no more, in any
    stage: the mask of covered elements lasts through all stages. *Composition*: the whole loop is
    one charge.

    `partition`: public, of the demand's universe; its parts are the elements; `stages`: public
    pairs of a `SetSystem` and the number of its sets to select. Within a stage no set is selected
    twice. `rounds`: selections in all.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> from metricdp.metrics.set_systems import Balls
    >>> from metricdp.partitions.finite.labels import LabelParts
    >>> from metricdp.privacy import CoverQuery
    >>> query = CoverQuery(LabelParts.of(metric), [(Balls(metric, radius=1), 2)])
    >>> query.rounds, str(query)
    (2, '2 sets in 1 stages that cover most')
    """

    proof: ClassVar[int] = 10

    def __init__(self, partition: Partition, stages: Sequence[tuple[SetSystem, int]]) -> None:
        self.histogram = HistogramQuery(partition)
        given = listed(stages, "stages")
        if not given or not all(
            isinstance(s, tuple) and len(s) == 2 and is_trusted(s[0]) for s in given
        ):
            raise InputError(
                "a cover needs one or more stages of (ListedSets or Balls, number of selections)"
            )
        self.stages = tuple((sets, min(integer(times) or 0, sets.n_sets)) for sets, times in given)
        if any(
            sets.n_elements != self.histogram.n_parts or times < 1 for sets, times in self.stages
        ):
            raise InputError(
                "a stage needs sets of the partition's parts, and at least one selection"
            )
        self.rounds = sum(times for _, times in self.stages)

    def check(self, universe: Space) -> None:
        """Refuse another universe object than the partition's."""
        self.histogram.check(universe)

    def selected(self, counts: Ints, choose: Callable[[Ints], int]) -> list[Ints]:
        """Run the greedy loop on private counts, with `choose` as the mechanism from scores to an
        index; return the sets selected in each stage. For the gate.
        """
        left = bounded(counts)
        found = []
        for sets, times in self.stages:
            scores = np.zeros(sets.n_sets, np.int64)
            held = np.flatnonzero(left)
            add_sums(sets, scores, held, left[held])
            allowed = np.arange(sets.n_sets)
            chosen = []
            for _ in range(times):
                at = choose(scores[allowed])
                chosen.append(allowed[at])
                allowed = np.delete(allowed, at)
                members = sets.members(int(chosen[-1]))
                covered = members[left[members] > 0]
                if len(chosen) < times:
                    add_sums(sets, scores, covered, -left[covered])
                leave(left, covered)
            found.append(np.array(chosen, np.int64))
        return found

    def __str__(self) -> str:
        return f"{self.rounds:,} sets in {len(self.stages):,} stages that cover most"


def leave(left: Ints, covered: Ints) -> None:
    """Set the counts of these covered elements to 0."""
    left[covered] = 0
