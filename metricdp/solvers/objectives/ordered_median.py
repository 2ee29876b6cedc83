"""Ordered medians: the mean distance, and that of those worst off."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import ClassVar

import numpy as np

from metricdp.arguments import positive
from metricdp.errors import InputError
from metricdp.solvers.objectives.laws import Law
from metricdp.solvers.objectives.medians import chosen_by_law, provable
from metricdp.solvers.objectives.objective import Objective, checked_k
from metricdp.solvers.objectives.siting import Chosen, Floats, Positions, Siting

_ROUNDS = 6
"""Of choosing sites for a threshold and the threshold for sites; two in large universes."""
_ENTRIES, _INTERVALS = 2_000_000, (4, 200)
"""Entries of blocks that all divisions of thresholds may look at, and fewest and most of them."""
_EQUAL = 1e-8  # above rounding of nested sums


@dataclass(frozen=True)
class OrderedMedian(Objective):
    """k sites of least ``(1 - blend) · mean distance + blend · mean distance of the share of the
    demand that is worst off``: distances are ordered and the largest count most [1]_.

    The k-centrum is ``blend=1``, the p-centdian ``share=0`` (the largest distance beside the mean),
    k-median ``share=1`` or ``blend=0``, the p-center both ``share=0`` and ``blend=1``.

    Parameters
    ----------
    k : int
    share : float
        Of the demand, 0 to 1: those farthest from their sites. 0 is the farthest point.
    blend : float
        0 to 1: how much they count beside the mean of all.

    Notes
    -----
    The mean of the share s worst off is the least of ``t + mean(max(d - t, 0)) / s`` over all t
    [2]_, so that for given t it is k-median by another law of cost. t and sites are chosen in turn;
    on a block of all costs up to 4 million, intervals of t are then divided, each with k-median's
    lower bound for the least cost inside, until none can hold anything better, or 4 to 200 were
    divided, by size: the gap is what is left then. In large universes there is no bound.

    References
    ----------
    .. [1] S. Nickel, J. Puerto, "Location Theory: A Unified Approach", Springer 2005.
    .. [2] R. T. Rockafellar, S. Uryasev, "Optimization of conditional value-at-risk", Journal of
       Risk 2 (2000), theorem 1.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> weights = [100, 0, 0, 0, 0, 0, 0, 0, 1]
    >>> plan = mdp.solve(metric, mdp.objectives.OrderedMedian(1, share=0), weights=weights)
    >>> plan.centers, plan.value, plan.gap
    ([4], 4.0, 0.0)
    >>> half = mdp.objectives.OrderedMedian(1, share=0, blend=0.1)
    >>> mdp.solve(metric, half, weights=weights).centers
    [0]
    """

    name: ClassVar[str] = "ordered-median"
    arcgis: ClassVar[str] = "none"
    spopt: ClassVar[str] = "none (PMedian and PCenter are its ends)"

    k: int
    share: float = 0.1
    blend: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        for name in ("share", "blend"):
            if positive(getattr(self, name), name, or_zero=True) > 1:
                raise InputError(f"{name} must be from 0 to 1, got {getattr(self, name)!r}")

    def check(self, siting: Siting) -> None:
        """See `Objective`."""
        siting.check_count(self.k)

    def choose(self, siting: Siting) -> Chosen:
        """See the class's notes."""
        plain = self.blend == 0 or self.share == 1
        first = chosen_by_law(siting, self.k, Law(), prove=plain)
        if plain:
            total = float(siting.mass.sum())
            bound = None if first.bound is None else first.bound / total
            return Chosen(first.sites, first.value / total, bound)
        return _Search(self, siting, first.sites).run()

    def judge(self, siting: Siting, sites: Positions) -> Chosen:
        """See `Objective`."""
        distance = siting.nearest(sites)[1]
        tail, _ = worst_off(distance, siting.mass, self.share)
        mean = float(siting.mass @ distance) / float(siting.mass.sum())
        return Chosen(sites, (1 - self.blend) * mean + self.blend * tail)


def worst_off(distance: Floats, mass: Floats, share: float) -> tuple[float, float]:
    """Mean distance of the share of the demand that is farthest, and the least distance in it."""
    order = np.argsort(-distance, kind="stable")
    far, amount = distance[order], mass[order]
    left = share * float(mass.sum())
    before = np.cumsum(amount) - amount
    counted = np.clip(left - before, 0.0, amount)
    if counted.sum() <= 0.0:
        return float(far[0]), float(far[0])
    last = int(np.flatnonzero(counted > 0)[-1])
    return float(counted @ far / counted.sum()), float(far[last])


class _Search:
    """Sites and thresholds of one question."""

    def __init__(self, objective: OrderedMedian, siting: Siting, first: Positions) -> None:
        self.objective, self.siting = objective, siting
        self.total = float(siting.mass.sum())
        # a share below the least weight of a point is the farthest point alone
        least = float(siting.mass.min()) / self.total
        self.share = max(objective.share, least)
        self.best = objective.judge(siting, first)

    def run(self) -> Chosen:
        """Sites in turn with thresholds, then intervals of thresholds."""
        self._turns(_ROUNDS if self.siting.fits else 2)
        bound = self._divided() if provable(self.siting) else None
        return Chosen(self.best.sites, self.best.value, bound)

    def _law(self, threshold: float) -> Law:
        blend = self.objective.blend
        return Law(share=1 - blend, steep=blend / self.share, after=threshold)

    def _turns(self, rounds: int) -> None:
        for _ in range(rounds):
            if self.siting.deadline.over:
                break
            distance = self.siting.nearest(self.best.sites)[1]
            threshold = worst_off(distance, self.siting.mass, self.share)[1]
            if not self._asked(threshold, prove=False)[1]:
                break

    def _asked(self, threshold: float, prove: bool) -> tuple[float, bool]:
        """What sites cost at least by the law of a threshold, and whether better ones were found.

        The cost is that of all demand over its total, without what the threshold itself counts.
        """
        found = chosen_by_law(
            self.siting,
            self.objective.k,
            self._law(threshold),
            prove=prove,
            first=self.best.sites,
        )
        value = self.objective.judge(self.siting, found.sites)
        better = value.value < self.best.value * (1 - 1e-12)
        if better:
            self.best = value
        return (found.bound or 0.0) / self.total, better

    def _divided(self) -> float:
        """A lower bound: the least over all thresholds, of which only distances matter, since the
        cost of any sites is linear in t between them.

        For t in [a, b] it is at least ``blend · a`` and the cost by the law of b.
        """
        steps = np.unique(self.siting.block())
        entries = len(self.siting.allowed) * len(self.siting.demand)
        whole = (0, len(steps) - 1)
        heap = [(self._least(steps, *whole), *whole)]
        for _ in range(int(np.clip(_ENTRIES // entries, *_INTERVALS))):
            lower, a, b = heap[0]
            settled = lower >= self.best.value * (1 - _EQUAL)
            if settled or a == b or self.siting.deadline.over:
                break
            heappop(heap)
            middle = (a + b) // 2
            for part in ((a, middle), (middle + 1, b)):
                heappush(heap, (max(lower, self._least(steps, *part)), *part))
        lower = heap[0][0]
        return self.best.value if lower >= self.best.value * (1 - _EQUAL) else lower

    def _least(self, steps: Floats, a: int, b: int) -> float:
        """What any sites cost at least by thresholds from the a-th to the b-th step."""
        surely = self.objective.blend * float(steps[a])
        if surely >= self.best.value * (1 - _EQUAL):
            return surely
        return surely + self._asked(float(steps[b]), prove=True)[0]
