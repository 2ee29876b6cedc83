"""Ordered medians: the mean distance, and that of those worst off."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import ClassVar

import numpy as np

from metricdp.arguments import positive
from metricdp.errors import InputError
from metricdp.solvers.objectives.impedances import Impedance
from metricdp.solvers.objectives.instance import Chosen, Floats, Instance, Positions
from metricdp.solvers.objectives.medians import chosen_by_impedance, provable
from metricdp.solvers.objectives.objective import Objective

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
    [2]_, so that for given t it is k-median with another impedance. t and sites are chosen in turn;
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
        super().__post_init__()
        for name in ("share", "blend"):
            if positive(getattr(self, name), name, or_zero=True) > 1:
                raise InputError(f"{name} must be from 0 to 1, got {getattr(self, name)!r}")

    def choose(self, instance: Instance) -> Chosen:
        """See the class's notes."""
        plain = self.blend == 0 or self.share == 1
        first = chosen_by_impedance(instance, self.k, Impedance(), prove=plain)
        if plain:
            total = float(instance.weight.sum())
            bound = None if first.bound is None else first.bound / total
            return Chosen(first.sites, first.value / total, bound)
        return _OrderedSearch(self, instance, first.sites).run()

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """See `Objective`."""
        distance = instance.nearest(sites)[1]
        tail, _ = worst_off(distance, instance.weight, self.share)
        mean = float(instance.weight @ distance) / float(instance.weight.sum())
        return Chosen(sites, (1 - self.blend) * mean + self.blend * tail)


def worst_off(distance: Floats, weight: Floats, share: float) -> tuple[float, float]:
    """Mean distance of the share of the demand that is farthest, and the least distance in it."""
    order = np.argsort(-distance, kind="stable")
    far, amount = distance[order], weight[order]
    left = share * float(weight.sum())
    before = np.cumsum(amount) - amount
    counted = np.clip(left - before, 0.0, amount)
    if counted.sum() <= 0.0:
        return float(far[0]), float(far[0])
    last = int(np.flatnonzero(counted > 0)[-1])
    return float(counted @ far / counted.sum()), float(far[last])


class _OrderedSearch:
    """Sites and thresholds of one question."""

    def __init__(self, objective: OrderedMedian, instance: Instance, first: Positions) -> None:
        self.objective, self.instance = objective, instance
        self.total = float(instance.weight.sum())
        # a share below the least weight of a point is the farthest point alone
        least = float(instance.weight.min()) / self.total
        self.share = max(objective.share, least)
        self.best = objective.judge(instance, first)

    def run(self) -> Chosen:
        """Sites in turn with thresholds, then intervals of thresholds."""
        self._turns(_ROUNDS if self.instance.fits else 2)
        bound = self._divided() if provable(self.instance) else None
        return Chosen(self.best.sites, self.best.value, bound)

    def _impedance(self, threshold: float) -> Impedance:
        blend = self.objective.blend
        return Impedance(share=1 - blend, steep=blend / self.share, after=threshold)

    def _turns(self, rounds: int) -> None:
        for _ in range(rounds):
            if self.instance.deadline.over:
                break
            distance = self.instance.nearest(self.best.sites)[1]
            threshold = worst_off(distance, self.instance.weight, self.share)[1]
            if not self._asked(threshold, prove=False)[1]:
                break

    def _asked(self, threshold: float, prove: bool) -> tuple[float, bool]:
        """What sites cost at least with a threshold's impedance, and whether better were found.

        The cost is that of all demand over its total, without what the threshold itself counts.
        """
        found = chosen_by_impedance(
            self.instance,
            self.objective.k,
            self._impedance(threshold),
            prove=prove,
            first=self.best.sites,
        )
        value = self.objective.judge(self.instance, found.sites)
        better = value.value < self.best.value * (1 - 1e-12)
        if better:
            self.best = value
        return (found.bound or 0.0) / self.total, better

    def _divided(self) -> float:
        """A lower bound: the least over all thresholds, of which only distances matter, since the
        cost of any sites is linear in t between them.

        For t in [a, b] it is at least ``blend · a`` and the cost by the impedance of b.
        """
        steps = np.unique(self.instance.block())
        entries = len(self.instance.allowed) * len(self.instance.demand)
        whole = (0, len(steps) - 1)
        heap = [(self._least(steps, *whole), *whole)]
        for _ in range(int(np.clip(_ENTRIES // entries, *_INTERVALS))):
            lower, a, b = heap[0]
            settled = lower >= self.best.value * (1 - _EQUAL)
            if settled or a == b or self.instance.deadline.over:
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
