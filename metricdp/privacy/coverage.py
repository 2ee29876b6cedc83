"""Private greedy covering by sets selected in turn: proof P10 (``docs/proofs/10-covering.md``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from metricdp.arguments import Ints, integer, listed
from metricdp.errors import InputError
from metricdp.privacy.queries import HistogramQuery
from metricdp.protocols import Partition, SetSystem, Space, is_trusted
from metricdp.records.sums.coverage import add_sums, bounded
from metricdp.unique import Frozen


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
