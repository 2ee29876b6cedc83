"""Lower bounds of the k-median cost, by Lagrangian dual ascent with branch and bound.

With costs ``c[i, j] >= 0`` of serving demand point j from row i, and any multipliers ``l[j] >= 0``,
every choice of k rows costs at least (Cornuéjols, Fisher & Nemhauser, Management Science 1977) ::

    L(l) = sum of l  +  sum of the k smallest r[i],   r[i] = sum over j of min(c[i, j] - l[j], 0)

Subgradient steps raise L. Rows whose opening or closing would push the bound above the best cost
are fixed (Beasley, EJOR 1985). If a gap is left, branches with a row open or closed are explored,
lowest bound first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.near_lists import Asked, BlockCosts, MetricCosts, places
from metricdp.solvers.stopping import NEVER, Deadline

MOST_ENTRIES = 20_000_000
"""Largest block that is bounded: 160 MB."""
EQUAL = 2e-9
"""Relative tolerance of equal costs; a proof closes at 1e-9 of a non-integer cost."""


@dataclass(frozen=True)
class Certificate:
    """A proof of quality: no choice of as many centers costs less than `lower_bound`.

    `cost`: of the centers it was made for; `lower_bound`: at most the cost of the best ones.
    """

    cost: float
    lower_bound: float

    def __post_init__(self) -> None:
        for name in ("cost", "lower_bound"):  # NumPy's integers are not JSON-ready
            object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def gap(self) -> float:
        """Relative gap: 0 if proven, up to `EQUAL` for non-integers; relative to the bound if the
        cost is 0, as with negative weights.
        """
        left = self.cost - self.lower_bound
        return 0.0 if left <= EQUAL * abs(self.cost) else left / abs(self.cost or self.lower_bound)

    def to_dict(self) -> dict[str, float]:
        """JSON-ready form."""
        return {"cost": self.cost, "lower_bound": self.lower_bound, "gap": self.gap}


def check_size(n_candidates: int, n_demand: int, weights: Floats) -> None:
    """Refuse negative weights on more pairs than are held."""
    if n_candidates * n_demand > MOST_ENTRIES and (weights < 0).any():
        raise InputError(
            f"a certificate for negative weights needs all distances between candidates and "
            f"demand, {n_candidates:,} × {n_demand:,} here and at most {MOST_ENTRIES:,}; fewer "
            f"candidates (candidates=), points with weight (weights=) or no negative weights make "
            f"it possible"
        )


def certificate(
    metric: Metric,
    weights: Floats,
    centers: Ints,
    *,
    time_limit: float | None = None,
    **asked: Unpack[Asked],
) -> Certificate:
    """Lower bound of the cost of any as many candidates; see `certify`."""
    with Deadline(time_limit, catches=True) as deadline:
        return judged(metric, weights, centers, keep_centers, deadline=deadline, **asked)[1]


Prover = Callable[[Ascent, Ints, Callable[[Ints], float]], tuple[Ints, Certificate]]
"""From an ascent below some centers, their rows and a function for the cost of rows: the best rows,
and what is proven of them.
"""


def judged(
    metric: Metric,
    weights: Floats,
    centers: Ints,
    prove: Prover,
    *,
    power: int = 1,
    candidates: Ints | None = None,
    opened: Ints | None = None,
    deadline: Deadline = NEVER,
) -> tuple[Ints, Certificate]:
    """Centers and certificate that `prove` finds, on a block or on lists of near pairs."""
    weights, demand, allowed, fixed = places(metric, weights, candidates, opened)
    check_size(len(allowed), len(demand), weights)
    asked = (np.searchsorted(allowed, centers), np.searchsorted(allowed, fixed))
    exact = metric.on_grid
    if deadline is not NEVER:
        deadline.unit = metric.unit**power if exact else 1.0
    if len(allowed) * len(demand) <= MOST_ENTRIES:
        block = _block(metric, allowed, demand).astype(np.float64) ** power
        rows, found = judged_on_block(block, weights[demand], *asked, prove, deadline)
    else:
        weight = weights[demand]
        costs = MetricCosts(metric, allowed, demand, weight, power, steps=exact)
        ascent = Ascent.below(costs, *asked, None, deadline)
        rows, found = prove(
            ascent, asked[0], lambda rows: float(weight @ costs.two_nearest(rows)[0])
        )
    unit = metric.unit**power if exact else 1.0
    slack = 0.0 if unit == 1.0 else 4 * np.finfo(float).eps * abs(found.lower_bound) * unit
    lower = found.lower_bound * unit - slack
    return allowed[rows], Certificate(
        found.cost * unit, found.cost * unit if found.lower_bound == found.cost else lower
    )


def _block(metric: Metric, allowed: Ints, demand: Ints) -> NDArray[Any]:
    """Distances on a block, in grid steps if all are on the grid."""
    measure = metric.grid_rows if metric.on_grid else metric.distance_rows
    if len(allowed) <= len(demand) or metric.directed:
        return measure(allowed, demand)
    return measure(demand, allowed).T


def judged_on_block(
    block: Floats, weights: Floats, centers: Ints, opened: Ints, prove: Prover, deadline: Deadline
) -> tuple[Ints, Certificate]:
    """As `judged`, on rows of a block of costs. With negative weights the centers are kept."""
    if (weights < 0).any() or not (weights > 0).any():
        return centers, certify(block, weights, centers, opened=opened, deadline=deadline)
    ascent = below_on_block(block, weights, centers, opened, deadline)
    return prove(ascent, centers, lambda rows: float(weights @ block[rows].min(axis=0)))


def keep_centers(
    ascent: Ascent, rows: Ints, cost_of: Callable[[Ints], float]
) -> tuple[Ints, Certificate]:
    """Keep the centers, with the bound of ascent and branches."""
    return rows, Certificate(ascent.upper, min(ascent.upper, ascent.proven_bound()))


def certify(
    block: NDArray[Any],
    weights: Floats,
    centers: Ints,
    *,
    opened: Ints | None = None,
    deadline: Deadline = NEVER,
) -> Certificate:
    """Lower bound of the cost of any k rows of a block.

    The Lagrangian bound is rounded down by more than all rounding errors of its evaluation can be;
    if all weighted costs are integers it is then rounded up to one. Other costs count as equal up
    to 1e-9 of their size. O(n_candidates · n_demand) a step, at most 1,500 steps, fewer on large
    blocks; then at most 4,000 branches. The result does not depend on the number of threads.
    """
    fixed = np.empty(0, np.int64) if opened is None else np.unique(opened)
    k = len(centers)
    block = np.asarray(block, np.float64)
    negative = weights < 0
    offset = _reward_bound(block[:, negative], weights[negative], k, fixed)
    cost = float(weights @ block[centers].min(axis=0))
    if not (weights > 0).any():
        return Certificate(cost, min(cost, offset))
    ascent = below_on_block(block, weights, centers, fixed, deadline)
    upper = ascent.upper
    bound = ascent.proven_bound()
    slack = np.finfo(float).eps * len(weights) * (abs(offset) + upper) if negative.any() else 0.0
    return Certificate(cost, min(cost, bound + offset - slack))


def below_on_block(
    block: NDArray[Any], weights: Floats, centers: Ints, fixed: Ints, deadline: Deadline
) -> Ascent:
    """`Ascent.below` on the demand of positive weight."""
    some = weights > 0
    costs = np.ascontiguousarray(block[:, some] * weights[some], np.float64)
    integral = (
        bool((costs == np.rint(costs)).all())
        and float(costs.max(initial=0.0)) * costs.shape[1] < 2**52
    )
    return Ascent.below(
        BlockCosts(costs, np.ones(costs.shape[1])), centers, fixed, integral, deadline
    )


def _reward_bound(block: Floats, weights: Floats, k: int, fixed: Ints) -> float:
    """Lower bound of the sum over points of negative weight: k rows cannot all be far."""
    if block.shape[1] == 0:
        return 0.0
    farthest = np.partition(block, len(block) - k, axis=0)[len(block) - k]
    if len(fixed):
        farthest = np.minimum(farthest, block[fixed].min(axis=0))
    return float(weights @ farthest)
