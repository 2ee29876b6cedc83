"""One set of sites for several demand scenarios, such as times of day: the mean of all, or the
worst.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import block_diag, csr_array, eye_array, kron, vstack

from metricdp.arguments import Ints, floats, shown
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.by_rows import RowMetric
from metricdp.solvers.objectives.covering import MaxCoverage
from metricdp.solvers.objectives.instance import WITHIN, Chosen, Floats, Instance, Positions
from metricdp.solvers.objectives.medians import KZ
from metricdp.solvers.objectives.objective import Objective, steps_of
from metricdp.solvers.programs import TRUST, Constraint, minimized, side_by_side

_MOST_COSTS = 100_000_000
"""Most costs of sites for all scenarios held in a search, 400 MB: beyond it candidates are
sampled.
"""
_MOST_SWAP_COSTS = 10_000_000
"""Most costs that swaps for the worst scenario read: some tenths of a second for each swap."""
_EQUAL = 1e-9  # above rounding of sums, below any real gain
_MOST_PAIRS, _SECONDS = 3_000, 10.0
"""Largest integer program for the worst scenario, in pairs of site and client, and its time: 900
pairs take up to 3 s, 10,000 mostly longer than this, without a smaller gap.
"""
_STEPS = 12
"""Most searches for the worst scenario: bounds the time, not tuned."""


class CombinedMetric(RowMetric):
    """The points of several universes with the same sites, one universe after the other."""

    directed = True  # rows are those of sites
    in_memory = True  # as far as `Scenarios` asks

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics = metrics
        self.ids = [(i, name) for i, metric in enumerate(metrics) for name in metric.ids]
        self.name = f"{len(metrics):,} scenarios of {metrics[0].name}"
        self.measured_in = metrics[0].measured_in
        self._first = np.cumsum([0, *map(len, metrics)])

    @property
    def sites(self) -> Sequence[Any]:
        """The common sites."""
        return self.metrics[0].sites

    def site_positions(self, ids: Any) -> Ints:
        """Positions of common sites."""
        return self.metrics[0].site_positions(ids)

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Rows of all universes, side by side."""
        if targets is None:
            return np.concatenate([m.distance_rows(sources) for m in self.metrics], axis=1)
        found = np.empty((len(sources), len(targets)))
        of = np.searchsorted(self._first, targets, side="right") - 1
        for i in np.unique(of).tolist():
            own = np.flatnonzero(of == i)
            found[:, own] = self.metrics[i].distance_rows(sources, targets[own] - self._first[i])
        return found

    def nearest_to(self, centers: Ints) -> tuple[Ints, Floats]:
        """Nearest centers in all universes, side by side."""
        found = [metric.nearest_to(centers) for metric in self.metrics]
        return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])

    def diameter_bound(self) -> float:
        """The largest of all universes."""
        return max(metric.diameter_bound() for metric in self.metrics)


@dataclass(frozen=True, eq=False)
class Scenarios(Objective):
    """An objective over several demands; made by `metricdp.solve` of a list.

    `of`: `KMedian`, `KMeans`, `KZ` or `MaxCoverage`: sums over demand; `instances`: with the same
    sites; `shares` (n_scenarios,): weights of the scenarios, summing to 1; None: the worst alone.

    A weighted mean over scenarios is the same objective of all demands together, and so is its
    bound. Any weighted mean is at most (for coverage at least) the worst, so the best bound of the
    weights tried also bounds the worst (Lagrange). Multiplicative updates move weights toward
    scenarios that fare worse than the mean. The best solution is then improved by swaps for the
    worst scenario. A gap is left where no single choice of sites is best for the best weights: up
    to `_MOST_PAIRS` pairs of site and client HiGHS closes it, or tries to for `_SECONDS`.
    """

    name: ClassVar[str] = "scenarios"
    arcgis: ClassVar[str] = "–"
    spopt: ClassVar[str] = "–"

    of: Any
    instances: Sequence[Instance]
    shares: Floats | None

    @property
    def k(self) -> int:
        """Number of sites."""
        return int(self.of.k)

    @property
    def maximized(self) -> bool:  # type: ignore[override]
        """As the objective."""
        return bool(self.of.maximized)

    @property
    def reach(self) -> Any:
        """As the objective."""
        return self.of.reach

    def check(self, instance: Instance) -> None:
        """See `Objective`."""
        for own in self.instances:
            self.of.check(own)

    def values(self, sites: Positions) -> Floats:
        """Value of the objective in every scenario."""
        return np.array([self.of.judge(own, sites).value for own in self.instances])

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """The mean of the scenarios' values, or the worst."""
        values = self.values(sites)
        if self.shares is not None:
            return Chosen(sites, float(self.shares @ values))
        return Chosen(sites, float(values.min() if self.maximized else values.max()))

    def choose(self, instance: Instance) -> Chosen:
        """See the notes of the class."""
        if self.shares is not None:
            found = self._choose_weighted(instance, self.shares)
            return self._with_bound(instance, found.sites, found.bound)
        sign = -1.0 if self.maximized else 1.0
        n = len(self.instances)
        shares = np.full(n, 1.0 / n)
        solutions, bounds = list[Positions](), list[float]()
        for step in range(_STEPS if n > 1 else 1):
            found = self._choose_weighted(instance, shares)
            solutions.append(found.sites)
            bounds += [] if found.bound is None else [sign * found.bound]
            values = self.values(found.sites)
            scale = float(np.abs(values).mean())
            if instance.deadline.left <= 0 or scale == 0 or np.ptp(values) <= 1e-9 * scale:
                break
            shares = shares * np.exp(sign * (values - values.mean()) / scale * 4 / (1 + step / 4))
            shares /= shares.sum()
        pool = self._candidate_pool(
            instance, np.unique(np.concatenate(solutions)), _MOST_SWAP_COSTS
        )
        best = self._improve_by_swaps(instance, min(solutions, key=self._loss), pool)
        best, bound = self._by_program(instance, best, max(bounds, default=-np.inf))
        return self._with_bound(instance, best, sign * bound if np.isfinite(bound) else None)

    def _with_bound(self, instance: Instance, sites: Positions, bound: float | None) -> Chosen:
        """The solution and a bound, equal to its value if only rounding is between the two."""
        found, sign = self.judge(instance, sites), -1.0 if self.maximized else 1.0
        if bound is None or sign * (found.value - bound) > _EQUAL * abs(found.value):
            return replace(found, bound=bound)
        return replace(found, bound=found.value)

    def _loss(self, sites: Positions) -> float:
        return (-1.0 if self.maximized else 1.0) * self.judge(self.instances[0], sites).value

    def _candidate_pool(self, instance: Instance, first: Positions, most: int) -> Positions:
        """Candidate sites: all, or `first` and as many others, drawn by public coins, as `most`
        costs allow.
        """
        clients = sum(len(own.demand) for own in self.instances)
        size = max(most // clients, 4 * len(first))
        if len(instance.allowed) <= size:
            return instance.allowed
        others = np.random.default_rng(instance.seed).permutation(
            np.setdiff1d(instance.allowed, first)
        )
        return np.union1d(first, others[: size - len(first)])

    def _improve_by_swaps(self, instance: Instance, sites: Positions, pool: Positions) -> Positions:
        """Swap sites for others of the pool while the worst scenario improves."""
        rows = [own.block(pool) for own in self.instances]
        worst, improved = self._loss(sites), True
        while improved:
            improved = False
            for old in np.setdiff1d(sites, instance.opened).tolist():
                rest = sites[sites != old]
                losses = np.array(
                    [self._losses_with_each(own, rest, r) for own, r in zip(self.instances, rows)]
                )
                found = losses.max(axis=0)
                found[np.isin(pool, sites)] = np.inf
                at = int(found.argmin())
                if instance.deadline.left > 0 and found[at] < worst - 1e-12 * abs(worst):
                    other = np.where(sites == old, pool[at], sites)
                    exact = self._loss(other)
                    if exact < worst:
                        sites, worst, improved = other, exact, True
        return sites

    def _by_program(
        self, instance: Instance, sites: Positions, bound: float
    ) -> tuple[Positions, float]:
        """The best sites and a bound of their loss by HiGHS, if the program is small: minimize the
        largest loss of a scenario over sites and assignments. Else what is given.
        """
        worst = self._loss(sites)
        total = self.instances[0].weight.sum() if self.maximized else 0.0
        unit = worst + total  # the loss as a sum of costs
        # scenarios of one universe share the assignment, others have one each
        alike = not isinstance(instance.metric, CombinedMetric)
        groups = [(instance, self.instances)] if alike else [(own, [own]) for own in self.instances]
        n_sites, clients = len(instance.allowed), [len(of.demand) for of, _ in groups]
        n_pairs = n_sites * sum(clients)
        solved = worst - bound <= _EQUAL * abs(worst) or unit <= 0
        if solved or n_pairs > _MOST_PAIRS or instance.deadline.over:
            return sites, bound
        rows = []
        for of, scenarios in groups:
            cost = self._costs(of, of.block(instance.allowed)) / unit
            rows.append([(own.weights[of.demand] * cost).ravel() for own in scenarios])
        losses = csr_array(block_diag(rows))
        opens = csr_array(vstack([kron(eye_array(n_sites), np.ones((n, 1))) for n in clients]))
        serves = csr_array(block_diag([kron(np.ones(n_sites), eye_array(n)) for n in clients]))
        rules = [
            Constraint(side_by_side(opens, -eye_array(n_pairs), 1), 0.0, np.inf),
            Constraint(side_by_side(n_sites, serves, 1), 1.0, 1.0),
            Constraint(side_by_side(n_sites, -losses, np.ones((losses.shape[0], 1))), 0.0, np.inf),
            Constraint(
                side_by_side(np.ones((1, n_sites)), n_pairs + 1), float(self.k), float(self.k)
            ),
        ]
        found = minimized(
            np.r_[np.zeros(n_sites + n_pairs), 1.0],
            rules,
            n_sites,
            instance.deadline,
            at_one=np.searchsorted(instance.allowed, instance.opened),
            seconds=_SECONDS,
        )
        if found.x is not None:
            other = instance.required_first(instance.allowed[found.x[:n_sites] > 0.5])
            sites = min(sites, other, key=self._loss)
        if found.proven:
            return sites, self._loss(sites)
        return sites, max(bound, (found.bound - TRUST) * unit - total)

    def _costs(self, own: Instance, distance: Floats) -> Floats:
        """What serving a unit of demand costs: for coverage 1 beyond the limit."""
        if self.maximized:
            return (distance > steps_of(self.of.limit, own.metric) * (1 + WITHIN)).astype(float)
        return np.asarray(self.of.impedance(own)(distance))

    def _losses_with_each(self, own: Instance, rest: Positions, rows: Floats) -> Floats:
        """The loss in a scenario of some sites and one more, for each row."""
        near = np.full(len(own.demand), np.inf) if not len(rest) else own.nearest(rest)[1]
        total = own.weight.sum() if self.maximized else 0.0
        return self._costs(own, np.minimum(rows, near)) @ own.weight - total

    def _choose_weighted(self, instance: Instance, shares: Floats) -> Chosen:
        """Sites for the weighted mean, with its bound."""
        held = [one.weights for one in self.instances]
        metric = instance.metric
        asked = replace(instance, weights=combined_weights(metric, held, shares), kept={})
        if not isinstance(metric, CombinedMetric):
            return self.of.choose(asked)
        pool = self._candidate_pool(instance, self._start_sites(instance), _MOST_COSTS)
        whole = len(pool) == len(instance.allowed)
        found: Chosen = self.of.choose(replace(asked, allowed=pool, prove=whole))
        return found if whole else replace(found, bound=None)

    def _start_sites(self, instance: Instance) -> Positions:
        """Required sites; if candidates are sampled, also the best sites of each scenario."""
        if "firsts" not in instance.kept:
            found = [instance.opened]
            if len(instance.allowed) * sum(len(own.demand) for own in self.instances) > _MOST_COSTS:
                alone = [replace(own, prove=False) for own in self.instances]
                found += [self.of.choose(own).sites for own in alone]
            instance.kept["firsts"] = np.unique(np.concatenate(found))
        return instance.kept["firsts"]


def combined_weights(metric: Metric, weights: Sequence[Floats], shares: Floats) -> Floats:
    """Weights of all scenarios times their shares, as points of the metric."""
    each = [share * held for share, held in zip(shares, weights)]
    return np.concatenate(each) if isinstance(metric, CombinedMetric) else np.sum(each, axis=0)


def check_additive(objective: Objective) -> None:
    """Several scenarios need an objective that is a sum over demand."""
    if type(objective) is not MaxCoverage and not isinstance(objective, KZ):
        raise InputError(
            f"several scenarios are for k-median, k-means, kz and max-coverage; got "
            f"{objective.name}"
        )
    if getattr(objective, "capacities", None) is not None:
        raise InputError("several scenarios cannot have capacities")


def checked_shares(scenarios: Any, n: int) -> Floats | None:
    """Weights of n scenarios; None for the worst alone."""
    if isinstance(scenarios, str) and scenarios in ("mean", "worst"):
        return np.full(n, 1.0 / n) if scenarios == "mean" else None
    rule = f'scenarios must be "mean", "worst" or {n:,} weights; got {shown(scenarios)}'
    if isinstance(scenarios, str):
        raise InputError(rule)
    shares = floats(scenarios, rule)
    if (
        shares.shape != (n,)
        or not np.isfinite(shares).all()
        or (shares < 0).any()
        or not shares.any()
    ):
        raise InputError(rule)
    return shares / shares.sum()
