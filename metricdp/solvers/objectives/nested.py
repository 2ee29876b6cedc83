"""Expansion in stages: sites stay while more are opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from metricdp.arguments import integer, shown
from metricdp.errors import InputError
from metricdp.solvers.objectives.instance import Chosen, Instance, Positions
from metricdp.solvers.objectives.medians import KMedian
from metricdp.solvers.objectives.objective import Objective

_ROUNDS = 4
"""Most passes over the stages: a guard against long runs, not tuned."""
_ANCHORS = 8
"""Stages from whose best sites a chain starts; each costs a search for every stage. Not tuned."""

Chain = list[Positions]
Prices = tuple[float, float]
"""The largest price of the stages of a chain, and the sum of all."""


@dataclass(frozen=True)
class Stage:
    """One stage of an expansion.

    Attributes
    ----------
    k : int
        Sites that are open: the first k of the solution's centers.
    value : float
        Of the objective with these.
    best : float
        The best value found with any k sites.
    bound : float or None
        No k sites have a better value than this.
    price : float
        Of nesting at this stage: value over best, best over value where larger values are better; 1
        if nesting costs nothing, below 1 if the best found is worse than these sites.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> first, last = mdp.solve(metric, mdp.objectives.Nested(ks=[1, 2])).stages
    >>> (first.k, first.value, first.price), (last.k, last.value, last.price)
    ((1, 24.0, 1.2), (2, 10.0, 1.0))
    """

    k: int
    value: float
    best: float
    bound: float | None
    price: float


@dataclass(frozen=True)
class Nested(Objective):
    """Sites for an expansion in stages: the first ks[0] of the centers, then the first ks[1], …
    are each good for their number. ``ks=range(1, K + 1)`` orders all openings.

    The largest price of nesting is made small: a stage's value over the best found for its number
    of sites alone. A solution's `value`, `bound` and other results are those of the last stage;
    `Solution.stages` has all.

    Parameters
    ----------
    ks : iterable of int
        Numbers of sites, at least 1.
    of : callable
        From a number of sites to the objective of that stage: `KMedian` by default; for a limit
        ``lambda k: mdp.objectives.MaxCoverage(k, limit=900)``.

    Notes
    -----
    A chain of sets starts from the best sites of one stage: smaller sets are chosen among them,
    larger ones include them; then each stage is chosen again between its neighbors, and sites are
    swapped in all stages. The best of several chains is taken. Some ``len(ks) * min(len(ks), 8)``
    searches, most among few sites.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> plan = mdp.solve(metric, mdp.objectives.Nested(ks=[1, 3]))
    >>> plan.centers[0], [stage.price for stage in plan.stages]
    (4, [1.0, 1.0])
    """

    name: ClassVar[str] = "nested"
    arcgis: ClassVar[str] = "–"
    spopt: ClassVar[str] = "–"

    ks: Sequence[int]
    of: Callable[[int], Objective] = KMedian

    def __post_init__(self) -> None:
        rule = "ks must be numbers of sites, such as [5, 10, 20]"
        if isinstance(self.ks, str) or not isinstance(self.ks, Iterable):
            raise InputError(f"{rule}; got {shown(self.ks)}")
        ks = [integer(k) or 0 for k in self.ks]
        if not ks or min(ks) < 1:
            raise InputError(f"{rule}, each at least 1; got {shown(self.ks)}")
        object.__setattr__(self, "ks", tuple(sorted(set(ks))))
        if not isinstance(self.of(1), Objective):
            raise InputError(f"of must make an objective of a number of sites, got {self.of!r}")

    @property
    def k(self) -> int:
        """Sites of the last stage."""
        return int(self.ks[-1])

    @property
    def maximized(self) -> bool:  # type: ignore[override]
        """As the objective of every stage."""
        return self._last.maximized

    @property
    def reach(self) -> Any:
        """That of the last stage."""
        return self._last.reach

    @property
    def _last(self) -> Objective:
        return self.of(self.k)

    def check(self, instance: Instance) -> None:
        """See `Objective`; every stage must have at least the required sites."""
        if instance.start is not None:
            raise InputError("start is one set of sites, and stages are several: leave it out")
        for k in self.ks:
            self.of(k).check(instance)

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """The last stage's value."""
        return self._last.judge(instance, sites)

    def choose(self, instance: Instance) -> Chosen:
        """See the notes of the class."""
        best = [self.of(k).choose(instance) for k in self.ks]
        n = len(best)
        anchors = np.unique(np.linspace(0, n - 1, min(n, _ANCHORS)).round().astype(int))
        chains = [self._chain(instance, best, int(a)) for a in anchors[::-1]]
        found = [self._prices(instance, chain, best) for chain in chains]
        worst = min(found)
        kept = chains[found.index(worst)]
        pool = np.unique(np.concatenate([one.sites for one in best]))
        for _ in range(_ROUNDS):
            before = worst
            for i in range(n):
                tried = [*kept[:i], self._choose_between(instance, kept, i), *kept[i + 1 :]]
                other = self._prices(instance, tried, best)
                if other < worst:
                    kept, worst = tried, other
            kept, worst = self._improve_by_swaps(instance, kept, worst, best, pool)
            if worst >= before or instance.deadline.left <= 0:
                break
        instance.kept["stages"] = tuple(
            self._stage(instance, i, sites, best) for i, sites in enumerate(kept)
        )
        return replace(self.judge(instance, _ordered(kept)), bound=best[-1].bound)

    def _chain(self, instance: Instance, best: list[Chosen], anchor: int) -> Chain:
        """A chain from the best sites of the stage `anchor`."""
        chain = [one.sites for one in best]
        for i in range(anchor - 1, -1, -1):
            chain[i] = self._choose_stage(instance, i, instance.opened, chain[i + 1])
        for i in range(anchor + 1, len(chain)):
            chain[i] = self._choose_stage(instance, i, chain[i - 1], instance.allowed)
        return chain

    def _improve_by_swaps(
        self, instance: Instance, chain: Chain, worst: Prices, best: list[Chosen], pool: Positions
    ) -> tuple[Chain, Prices]:
        """Swap sites in all stages while the largest price falls."""
        for old in np.setdiff1d(chain[-1], instance.opened).tolist():
            for new in np.setdiff1d(pool, chain[-1]).tolist():
                if instance.deadline.left <= 0:
                    return chain, worst
                tried = [np.where(sites == old, new, sites) for sites in chain]
                found = self._prices(instance, tried, best, worst[0])
                if found < worst:
                    chain, worst = tried, found
                    break
        return chain, worst

    def _choose_between(self, instance: Instance, chain: Chain, i: int) -> Positions:
        """Choose a stage again, with the sites of the one before and among those of the one
        after.
        """
        opened = chain[i - 1] if i else instance.opened
        allowed = chain[i + 1] if i + 1 < len(chain) else instance.allowed
        return self._choose_stage(instance, i, opened, allowed)

    def _choose_stage(
        self, instance: Instance, i: int, opened: Positions, allowed: Positions
    ) -> Positions:
        asked = replace(
            instance, allowed=np.sort(allowed), opened=np.sort(opened), kept={}, prove=False
        )
        return self.of(self.ks[i]).choose(asked).sites

    def _stage(self, instance: Instance, i: int, sites: Positions, best: list[Chosen]) -> Stage:
        value, least = self.of(self.ks[i]).judge(instance, sites).value, best[i].value
        large, small = (least, value) if self.maximized else (value, least)
        price = 1.0 if large == small else large / small if small else np.inf
        return Stage(self.ks[i], float(value), float(least), best[i].bound, float(price))

    def _prices(
        self, instance: Instance, chain: Chain, best: list[Chosen], most: float = np.inf
    ) -> Prices:
        """The largest price and the sum of all; infinite once one exceeds `most`."""
        prices = []
        for i, sites in enumerate(chain):
            prices.append(self._stage(instance, i, sites, best).price)
            if prices[-1] > most:
                return np.inf, np.inf
        return max(prices), sum(prices)


def _ordered(chain: Chain) -> Positions:
    """All sites stage by stage, the required ones first."""
    order = [chain[0]]
    order += [after[~np.isin(after, before)] for before, after in pairwise(chain)]
    return np.concatenate(order).astype(np.int64)
