"""Selection queries of private local search: the best swap of a center for a point, and the best of
several sets of centers.

Costs are integers of up to 30 bits a record on the public grid
(`metricdp.records.scores.Scale`); sums are exact and saturate at 2^61. Proof P7
(``docs/proofs/07-swaps.md``).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, MutableMapping, Sequence
from typing import Any, ClassVar

import numpy as np

from metricdp.arguments import Bools, Ints, integer, listed, positive, sealed
from metricdp.errors import InputError
from metricdp.kernels.scores import capped_dot
from metricdp.privacy.scores import SelectionQuery
from metricdp.protocols import Finite, finite
from metricdp.records.scores import CappedSwapCosts, Scale, Served


class SwapQuery(SelectionQuery):
    """The swap of one center x for another point y that gives the demand the least cost.

    The score of (x, y) is minus the sum over records v of c(d(v, F - x + y)), where F are the
    centers and c(d) is the cost of a distance: d or d², in steps, with d clipped at the cap.

    **Privacy.** Let far(v) be the distance of v from its second-nearest center. Each term lies
    between -c(far(v)) and 0: whichever x is removed, the nearest or the second-nearest center
    remains. The centers are public or released before, hence so is R, the largest c(far(v)) over
    *all* points v of the universe. So the scores are monotone, and a unit of up to m records
    changes each by at most m·R (*add-remove*: all decrease; *replace-one*: by the difference of two
    such changes). R is at most c(diameter), which the literature uses, and often several times
    less. Terms and R are computed from the same distances, so no term exceeds R. *Composition*: one
    charge a selection.

    Sums are cached between the selections of one budget slice (`resumed`). They equal what a new
    query would compute, to the last integer, so that no answer depends on the cache.

    `centers`: distinct; public, or released before; `power`: 1 or 2; `cap`: the clipping threshold
    of distances, by default the public bound of the diameter; `candidates`: points that may be
    added, by default all; `opened`: required centers, which are never removed. Swaps are numbered x
    by x: `decode` gives the swap of an index, and `swapped` is the query after it.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> from metricdp.privacy import SwapQuery, select
    >>> demand = mdp.PrivateDemand(metric, [0] * 9000 + [3] * 9000)
    >>> query = SwapQuery(metric, centers=[0, 1])
    >>> swap, receipt = select(demand, query, 1, mdp.Ledger(1).charge(1))
    >>> query.decode(swap)
    (1, 3)
    """

    proof: ClassVar[int] = 7

    monotone = True
    direction = -1

    def __init__(
        self,
        universe: Finite,
        centers: Iterable[Hashable],
        *,
        power: int = 1,
        cap: float | None = None,
        candidates: Iterable[Hashable] | None = None,
        opened: Iterable[Hashable] = (),
    ) -> None:
        at, scale = _checked(universe, centers, power, cap)
        allowed = None if candidates is None else np.unique(universe.positions(candidates))
        fixed = np.isin(at, universe.positions(opened))
        self._ask(universe, at, scale, allowed, fixed)

    def _ask(
        self, universe: Finite, at: Ints, scale: Scale, allowed: Ints | None, fixed: Bools
    ) -> None:
        self.universe, self._scale, self._fixed = universe, scale, sealed(fixed)
        self._allowed = None if allowed is None else sealed(allowed)
        self._served = Served(*(sealed(array) for array in Served.by(universe, at)))
        everyone = np.arange(len(universe)) if allowed is None else universe.inner(allowed)
        others = np.setdiff1d(everyone, universe.inner(at), assume_unique=True)
        self._candidates, self._slots = sealed(others), sealed(np.flatnonzero(~fixed))
        self.reach = farthest(scale, self._served)
        if not len(self):
            raise InputError(
                "there is nothing to swap: all centers are opened, or all candidates are centers"
            )

    def __len__(self) -> int:
        """Number of swaps."""
        return len(self._slots) * len(self._candidates)

    @property
    def centers(self) -> Ints:
        """Positions of the centers, shape (k,)."""
        return self._served.centers

    def blocks(self, records: Ints) -> Iterator[Ints]:
        """Minus the cost after each swap, in blocks."""
        return self.resumed(records, {})

    def resumed(self, records: Ints, memory: MutableMapping[Any, Any]) -> Iterator[Ints]:
        """The same, from the sums of the query before it where they are in `memory`.

        The sums are removed from `memory` until all scores have been read, so that after an
        interruption, or in a concurrent query, they are computed again.
        """
        key = (type(self), self._scale, len(self.centers))
        costs = memory.pop(key, None)
        if costs is None:
            counted = np.unique(records, return_counts=True)
            costs = CappedSwapCosts(self.universe, *counted, self._scale)
        costs.serve(self._served)
        for block in costs.costs(self._slots, self._candidates):
            yield -block
        memory[key] = costs

    def decode(self, index: int) -> tuple[int, int]:
        """Positions of the center that is removed and of the point that replaces it."""
        slot, comes = divmod(index, len(self._candidates))
        point = self.universe.outer(self._candidates[[comes]])[0]
        return int(self.centers[self._slots[slot]]), int(point)

    def swapped(self, index: int) -> SwapQuery:
        """The query after a swap; the new center has the old one's place in the order."""
        query = SwapQuery.__new__(SwapQuery)
        query._ask(self.universe, self.after(index), self._scale, self._allowed, self._fixed)
        return query

    def after(self, index: int) -> Ints:
        """Positions of the centers after a swap, shape (k,)."""
        at = self.centers.copy()
        at[self._slots[index // len(self._candidates)]] = self.decode(index)[1]
        return at

    def __str__(self) -> str:
        what = "cost" if self._scale.power == 1 else "squared cost"
        return f"swap of one of {len(self._slots):,} centers that lowers the {what} most"


class CentersQuery(SelectionQuery):
    """The one of several sets of centers that gives the demand the least cost.

    The score of set j is minus the sum over records v of c(d(v, F_j)) - min over i of c(d(v, F_i)):
    each record's cost above that of its best set. All scores differ from minus the cost by the same
    number, so that the selection is the same.

    **Privacy.** The term of v lies between -S and 0, where S is the largest ``max_j c(d(v, F_j)) -
    min_j c(d(v, F_j))`` over *all* points v of the universe: public, as the sets are. So the scores
    are monotone, and a unit of up to m records changes each by at most m·S (*add-remove*: all
    decrease; *replace-one*: by the difference of two such changes). *Composition*: one charge a
    selection.

    `sets`: of ids, at least one; public, or released before; `power`, `cap`: as of `SwapQuery`. The
    answer is the index of a set. Public work: one nearest-center search a set, and 4·n_points bytes
    for each.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> from metricdp.privacy import CentersQuery, select
    >>> demand = mdp.PrivateDemand(metric, [0] * 9000 + [3] * 9000)
    >>> query = CentersQuery(metric, [[0, 1], [0, 3], [2, 3]])
    >>> select(demand, query, 1, mdp.Ledger(1).charge(1))[0]
    1
    """

    proof: ClassVar[int] = 7

    monotone = True
    direction = -1

    def __init__(
        self,
        universe: Finite,
        sets: Sequence[Iterable[Hashable]],
        *,
        power: int = 1,
        cap: float | None = None,
    ) -> None:
        several = [_checked(universe, centers, power, cap) for centers in listed(sets, "sets")]
        if not several:
            raise InputError("a CentersQuery needs at least one set of centers")
        self.universe, self._scale = universe, several[0][1]
        each = (self._scale.cost(universe.grid_nearest(at)) for at, _ in several)
        costs = np.stack([one.astype(np.int32) for one in each])
        costs -= costs.min(axis=0)
        self._costs, self.reach = sealed(costs), max(int(costs.max()), 1)

    def blocks(self, records: Ints) -> Iterator[Ints]:
        """Minus each set's cost above the best for each record: one block."""
        points, counts = np.unique(records, return_counts=True)
        at = self.universe.inner(points)
        costs = [capped_dot(row[at], counts) for row in self._costs]
        yield -np.array(costs, np.int64)

    def __str__(self) -> str:
        return f"best of {len(self._costs):,} sets of centers"


def farthest(scale: Scale, served: Served) -> int:
    """R: the largest cost over all points of the distance to the second-nearest center."""
    return max(int(scale.cost(served.far.max(keepdims=True))[0]), 1)


def _checked(
    universe: Finite, centers: Iterable[Hashable], power: int, cap: float | None
) -> tuple[Ints, Scale]:
    finite(universe, "a query about centers")
    if integer(power) not in (1, 2):
        raise InputError("a query about centers needs power 1 or 2")
    at = universe.positions(centers)
    if len(at) == 0 or len(np.unique(at)) < len(at):
        raise InputError("centers must be distinct, and at least one")
    return at, Scale.of(universe, int(power), None if cap is None else positive(cap, "cap"))
