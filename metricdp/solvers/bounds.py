"""How far centers can be from the best: lower bounds of the k-median cost on a block, by Lagrangian
dual ascent, branch and bound.

With costs ``c[i, j] >= 0`` of serving demand point j from row i and any multipliers ``l[j] >= 0``,
every choice of k rows costs at least ::

    L(l) = sum of l  +  sum of the k smallest r[i],   r[i] = sum over j of min(c[i, j] - l[j], 0)

because serving j from i costs ``l[j] + (c[i, j] - l[j])`` and a row can serve nobody at a loss
(Cornuéjols, Fisher & Nemhauser, Management Science 1977). Subgradient steps raise L. Rows whose
opening, or closing, would push the bound above the cost of the centers at hand cannot be part of
anything better and are fixed (Beasley, EJOR 1985). If a gap stays, a row is opened in one branch
and closed in the other, each time in the branch of the lowest bound, until none can hold anything
better or a limit is reached; the lowest bound is then the answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError
from metricdp.kernels.dual_ascent import reduced_costs
from metricdp.metrics.base import Metric
from metricdp.solvers.stopping import NEVER, Deadline
from metricdp.threads import in_threads

MOST_ENTRIES = 20_000_000
"""Largest block that is bounded: 160 MB."""
_STEPS = 1500
_FEWEST_STEPS = 300
_WORK = 3_000_000_000
_PATIENCE = 30
_SHRINK_EVERY = 50
_NODE_STEPS = 40
_NODE_PACE = 0.5
_NODE_PATIENCE = 5
_MOST_NODES = 4000
_NODE_WORK = 20_000_000_000
"""Branches looked into, and entries evaluated in all of them: some ten seconds."""
_ROWS_AT_ONCE = 64
_EQUAL = 1e-9
"""Costs that are no integers count as equal up to this fraction."""


@dataclass(frozen=True)
class Certificate:
    """A proof of quality: no choice of as many centers costs less than `lower_bound`.

    Attributes
    ----------
    cost : float
        Cost of the centers it was made for.
    lower_bound : float
        At most the cost of the best centers.
    """

    cost: float
    lower_bound: float

    @property
    def gap(self) -> float:
        """The centers cost at most this fraction of their cost more than the best: 0 if they are
        proven optimal.
        """
        return (
            0.0
            if self.cost <= self.lower_bound
            else (self.cost - self.lower_bound) / abs(self.cost)
        )

    def to_dict(self) -> dict[str, float]:
        """JSON-ready form."""
        return {"cost": self.cost, "lower_bound": self.lower_bound, "gap": self.gap}


def check_size(n_candidates: int, n_demand: int) -> None:
    """Refuse what cannot be bounded.

    Raises
    ------
    InputError
        The block of all candidates × demand points is too large.
    """
    if n_candidates * n_demand > MOST_ENTRIES:
        raise InputError(
            f"a certificate needs all distances between candidates and demand, {n_candidates:,} × "
            f"{n_demand:,} here and at most "
            f"{MOST_ENTRIES:,}; fewer candidates (candidates=) or points with weight (weights=) "
            f"make it possible"
        )


def certificate(
    metric: Metric,
    weights: NDArray[np.float64],
    centers: NDArray[np.int64],
    *,
    power: int = 1,
    candidates: NDArray[np.int64] | None = None,
    opened: NDArray[np.int64] | None = None,
    time_limit: float | None = None,
) -> Certificate:
    """Bound what any choice of as many candidates costs; see `certify`.

    Parameters
    ----------
    metric : Metric
    weights : ndarray of float64, shape (n_points,)
        Public demand at every position; all zero counts as 1 everywhere, as in
        `metricdp.solvers.kmedian.solve`.
    centers : ndarray of int64, shape (k,)
        Positions of the centers to be judged.
    power : {1, 2}
        k-median or k-means cost.
    candidates, opened : ndarray of int64, optional
        As in `metricdp.solvers.kmedian.solve`.
    time_limit : float, optional
        Seconds after which the best bound so far is returned.

    Raises
    ------
    InputError
        More than 20 million pairs of candidate and demand point.
    """
    with Deadline(time_limit) as deadline:
        return judged(
            metric,
            weights,
            centers,
            _certified,
            power=power,
            candidates=candidates,
            opened=opened,
            deadline=deadline,
        )[1]


Prover = Callable[
    [NDArray[Any], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], Deadline],
    tuple[NDArray[np.int64], Certificate],
]
"""Of a block, weights, the rows of centers, those opened and a deadline: rows, and what is proven
of them.
"""


def judged(
    metric: Metric,
    weights: NDArray[np.float64],
    centers: NDArray[np.int64],
    prove: Prover,
    *,
    power: int = 1,
    candidates: NDArray[np.int64] | None = None,
    opened: NDArray[np.int64] | None = None,
    deadline: Deadline = NEVER,
) -> tuple[NDArray[np.int64], Certificate]:
    """What `prove` makes of centers of a metric, on the block of exact distances; parameters and
    errors as `certificate`.

    Returns
    -------
    centers : ndarray of int64, shape (k,)
        Positions.
    proof : Certificate
    """
    demand = np.flatnonzero(weights)
    if len(demand) == 0:
        demand = np.arange(len(metric))
        weights = np.ones(len(metric))
    fixed = np.empty(0, np.int64) if opened is None else np.unique(opened)
    allowed = (
        np.arange(len(metric.sites))
        if candidates is None
        else np.union1d(candidates, fixed).astype(np.int64)
    )
    check_size(len(allowed), len(demand))
    exact = metric.on_grid
    measure = metric.grid_rows if exact else metric.distance_rows
    block = (
        measure(allowed, demand)
        if len(allowed) <= len(demand) or metric.directed
        else measure(demand, allowed).T
    )
    unit = metric.unit**power if exact else 1.0
    rows, found = prove(
        block.astype(np.float64) ** power,
        weights[demand],
        np.searchsorted(allowed, centers),
        np.searchsorted(allowed, fixed),
        deadline,
    )
    slack = 0.0 if unit == 1.0 else 4 * np.finfo(float).eps * abs(found.lower_bound) * unit
    lower = found.lower_bound * unit - slack
    return allowed[rows], Certificate(
        found.cost * unit, found.cost * unit if found.lower_bound == found.cost else lower
    )


def _certified(
    block: NDArray[Any],
    weights: NDArray[np.float64],
    centers: NDArray[np.int64],
    opened: NDArray[np.int64],
    deadline: Deadline,
) -> tuple[NDArray[np.int64], Certificate]:
    """The centers as they are."""
    return centers, certify(block, weights, centers, opened=opened, deadline=deadline)


def certify(
    block: NDArray[Any],
    weights: NDArray[np.float64],
    centers: NDArray[np.int64],
    *,
    opened: NDArray[np.int64] | None = None,
    deadline: Deadline = NEVER,
) -> Certificate:
    """Bound what any k rows of a block cost from below.

    Parameters
    ----------
    block : ndarray, shape (n_candidates, n_demand)
        Non-negative costs (already raised to the power).
    weights : ndarray of float64, shape (n_demand,)
        Demand. What a point of negative weight contributes is bounded by the farthest that its
        nearest center can be.
    centers : ndarray of int64, shape (k,)
        Rows of the centers to be judged.
    opened : ndarray of int64, optional
        Rows that must be among the centers.
    deadline : Deadline
        When it is over, the best bound so far is returned.

    Returns
    -------
    Certificate

    Notes
    -----
    The Lagrangian bound is rounded down by more than all rounding errors of its evaluation can be;
    if all weighted costs are integers it is then rounded up to one. Costs that are not whole count
    as equal up to 1e-9 of their size. O(n_candidates · n_demand) a step, at most 1,500 steps, fewer
    on large blocks; then at most 4,000 branches. The result does not depend on the number of
    threads.

    Examples
    --------
    >>> line = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    >>> certify(line, np.ones(6), np.array([1, 4]))
    Certificate(cost=4.0, lower_bound=4.0)
    """
    fixed = np.empty(0, np.int64) if opened is None else np.unique(opened)
    k = len(centers)
    block = np.asarray(block, np.float64)
    rewarded = weights < 0
    offset = _reward_bound(block[:, rewarded], weights[rewarded], k, fixed)
    costs = np.ascontiguousarray(block[:, weights > 0] * weights[weights > 0])
    cost = float(weights @ block[centers].min(axis=0))
    if costs.shape[1] == 0:
        return Certificate(cost, min(cost, offset))
    ascent = Ascent.below(costs, centers, fixed, deadline)
    served = ascent.upper
    ascent.climb(ascent.best, int(np.clip(_WORK // costs.size, _FEWEST_STEPS, _STEPS)))
    bound = ascent.rounded(
        ascent.branch() if ascent.bound <= ascent.target and not deadline.over else ascent.bound
    )
    slack = np.finfo(float).eps * len(weights) * (abs(offset) + served) if rewarded.any() else 0.0
    return Certificate(cost, min(cost, bound + offset - slack))


def _reward_bound(
    block: NDArray[np.float64], weights: NDArray[np.float64], k: int, fixed: NDArray[np.int64]
) -> float:
    """Least possible sum of weight × nearest cost over points of negative weight: k rows cannot all
    be among the k - 1 farthest.
    """
    if block.shape[1] == 0:
        return 0.0
    farthest = np.partition(block, len(block) - k, axis=0)[len(block) - k]
    if len(fixed):
        farthest = np.minimum(farthest, block[fixed].min(axis=0))
    return float(weights @ farthest)


class Ascent:
    """Dual ascent on the rows that can still be part of a solution cheaper than `upper`.

    Attributes
    ----------
    costs : ndarray of float64
        Those rows of the block, and `rows` their numbers in it.
    must : ndarray of bool
        Which of them are open in any such solution.
    bound : float
        Rigorous: every such solution costs at least this.
    best : ndarray of float64
        The multipliers of the highest value found.
    """

    def __init__(
        self,
        costs: NDArray[np.float64],
        k: int,
        upper: float,
        fixed: NDArray[np.int64],
        whole: bool,
        deadline: Deadline,
    ) -> None:
        self.costs = costs
        self.k = k
        self.upper = upper
        self.whole = whole
        self.deadline = deadline
        self.rows = np.arange(len(costs))
        self.must = np.isin(self.rows, fixed)
        self.target = (
            upper - 1 if whole else upper * (1 - _EQUAL)
        )  # what anything better costs at most
        self.bound, self.best = 0.0, np.zeros(costs.shape[1])

    @classmethod
    def below(
        cls,
        costs: NDArray[np.float64],
        centers: NDArray[np.int64],
        fixed: NDArray[np.int64],
        deadline: Deadline,
    ) -> Ascent:
        """For whatever is cheaper than these centers, at the cost of the second nearest of each
        point: good multipliers to begin with.
        """
        served = float(costs[centers].min(axis=0).sum())
        whole = (
            bool((costs == np.rint(costs)).all())
            and float(costs.max(initial=0.0)) * costs.shape[1] < 2**52
        )
        ascent = cls(costs, len(centers), served, fixed, whole, deadline)
        second = min(1, len(centers) - 1)
        ascent.best = np.partition(costs[centers], second, axis=0)[second]
        return ascent

    def rounded(self, bound: float) -> float:
        """What every solution costs at least, if those better than `upper` cost at least
        `bound`.
        """
        if bound > self.target:
            return self.upper if self.whole else self.target
        return float(np.ceil(bound)) if self.whole else bound

    def climb(
        self,
        multipliers: NDArray[np.float64],
        steps: int,
        pace: float = 1.0,
        patience: int = _PATIENCE,
    ) -> None:
        """Polyak steps along deflected subgradients."""
        direction = np.zeros(len(multipliers))
        vain = 0
        top = -np.inf
        for step in range(steps):
            value, _, chosen = self._evaluate(multipliers)
            vain = 0 if value > top + 1e-5 * self.upper else vain + 1
            if value > top:
                top = value
                self.best = multipliers.copy()
                self.bound = max(self.bound, top)
            if self.bound > self.target or self.deadline.over or pace < 1e-3:
                return
            if vain >= patience:
                pace = pace / 2
                vain = 0
                multipliers = self.best.copy()
                direction[:] = 0
                continue
            slope = 1.0 - np.count_nonzero(self.costs[chosen] < multipliers, axis=0)
            direction = slope + 0.7 * direction
            length = float(direction @ direction)
            if length == 0:
                return
            multipliers = np.maximum(
                multipliers + pace * (self.upper * (1 + 1e-3) - value) / length * direction, 0.0
            )
            if step % _SHRINK_EVERY == _SHRINK_EVERY - 1:
                self.shrink()

    def _evaluate(
        self, multipliers: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.int64]]:
        """L, rounded down by more than its rounding errors; the reduced cost of every row; the rows
        of the minimum.
        """
        m = len(self.costs)
        reduced = np.empty(m)
        size = max(-(-m // (os.cpu_count() or 1)), _ROWS_AT_ONCE)
        in_threads(
            lambda at: reduced_costs(
                self.costs[at : at + size], multipliers, reduced[at : at + size]
            ),
            range(0, m, size),
        )
        free = np.flatnonzero(~self.must)
        left = self.k - (m - len(free))
        cheapest = (
            free[np.argpartition(reduced[free], left - 1)[:left]]
            if 0 < left < len(free)
            else free[:left]
        )
        chosen = np.r_[np.flatnonzero(self.must), cheapest]
        total = float(multipliers.sum())
        gain = float(reduced[chosen].sum())
        return total + gain - self._error(total, gain), reduced, chosen

    def _error(self, total: float, gain: float) -> float:
        """Above the rounding error of ``total + gain``: n terms of one sign in each of k + 1 sums,
        and of the products in `costs`.
        """
        n = self.costs.shape[1]
        return (n + self.k + 4) * np.finfo(float).eps * ((self.k + 2) * total - gain)

    def shrink(self) -> None:
        """Fix what no better solution can do without and drop what none can have; an infinite bound
        if nothing better is left.
        """
        value, reduced, chosen = self._evaluate(self.best)
        inside = np.zeros(len(reduced), bool)
        inside[chosen] = True
        picked = np.flatnonzero(inside & ~self.must)
        others = np.flatnonzero(~inside)
        if len(picked) and len(others):
            margin = self._error(float(self.best.sum()), float(reduced[chosen].sum()))
            dear = np.zeros(len(reduced), bool)
            dear[others] = value + reduced[others] - reduced[picked].max() - margin > self.target
            self.must[
                picked[value - reduced[picked] + reduced[others].min() - margin > self.target]
            ] = True
            if dear.any():
                self.keep(~dear)
        if np.count_nonzero(self.must) > self.k or len(self.must) < self.k:
            self.bound = np.inf

    def pairs(self) -> NDArray[np.bool_]:
        """Which of `rows` may serve which point in a better solution: serving it at more than its
        multiplier raises the bound by the difference, opening a row that the minimum leaves closed
        by what that costs.
        """
        value, reduced, chosen = self._evaluate(self.best)
        free = chosen[~self.must[chosen]]
        dearest = reduced[free].max() if len(free) else -np.inf
        opening = np.maximum(reduced - dearest, 0.0) if len(free) else np.zeros(len(reduced))
        opening[chosen] = 0.0
        margin = self._error(float(self.best.sum()), float(reduced[chosen].sum()))
        room = self.target - value + margin - opening
        left: NDArray[np.bool_] = self.costs - self.best <= np.maximum(room, 0.0)[:, None]
        return left

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Close all other rows for good."""
        self.costs, self.rows, self.must = self.costs[kept], self.rows[kept], self.must[kept]

    def branch(self) -> float:
        """Least cost of what is better than `upper`: exactly, or a bound of it where a limit was
        reached; infinite if there is nothing.
        """
        self.shrink()
        block = self.costs
        left = _NODE_WORK
        count = 0
        self.rows = np.arange(len(block))
        open_: list[tuple[float, int, Any]] = (
            [] if self.bound > self.target else [(self.bound, 0, self)]
        )
        while open_:
            bound, _, node = heappop(open_)
            decided = node.decided()
            if decided is not None or count >= _MOST_NODES or left < 0 or self.deadline.over:
                return bound
            node.costs = block[node.rows]
            row = node.pivot()
            for opens in (True, False):
                child = copy(node)
                child.must = node.must.copy()
                if opens:
                    child.must[row] = True
                else:
                    child.keep(np.arange(len(node.rows)) != row)
                child.visit()
                left -= _NODE_STEPS * node.costs.size
                count += 1
                if child.bound <= self.target:
                    child.costs = block[:0]  # gathered again when its turn comes
                    heappush(open_, (child.bound, count, child))
        return np.inf

    def visit(self) -> None:
        """Raise the bound of a branch, fix rows in it, and solve it if nothing is left to
        choose.
        """
        self.shrink()
        if self.bound < np.inf:
            self.climb(self.best, _NODE_STEPS, _NODE_PACE, _NODE_PATIENCE)
            self.shrink()
        rows = self.decided()
        if rows is not None and self.bound < np.inf:
            self.bound = max(
                self.bound,
                float(self.costs[rows].min(axis=0).sum()) * (1 - _EQUAL * (not self.whole)),
            )

    def decided(self) -> NDArray[np.int64] | None:
        """The only k rows that can be open, if there is no choice left."""
        if len(self.must) == self.k:
            return np.arange(self.k)
        return np.flatnonzero(self.must) if np.count_nonzero(self.must) == self.k else None

    def pivot(self) -> int:
        """The free row that the relaxation wants most."""
        _, reduced, chosen = self._evaluate(self.best)
        free = chosen[~self.must[chosen]]
        return int(free[np.argmin(reduced[free])])
