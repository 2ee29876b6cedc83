"""The best single center of a part of a universe, with a bound that says how good it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricdp.arrays import Floats, Ints
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.solvers.stopping import NEVER, Deadline

_ROUNDING = 1e-12  # above rounding of a sum of distances


@dataclass(frozen=True)
class PartMedian:
    """A center (position), its cost, and a lower bound: equal if proven best."""

    center: int
    cost: float
    bound: float


def part_median(
    metric: Metric,
    weights: Floats,
    part: Ints | None = None,
    *,
    power: int = 1,
    allowed: Ints | None = None,
    searches: int = 64,
    deadline: Deadline = NEVER,
) -> PartMedian:
    """Find the position from which a part is served at the least cost ``sum over v of weights[v] ·
    d(c, v)**power``.

    Centers may stand in the part itself, or in `allowed`. At most `searches` rows of distances; on
    graphs each is a search that ends when the part and the candidates are reached.

    By the triangle inequality (Minkowski's, for squares) the costs of two positions satisfy
    ``f(c)**(1/p) - f(u)**(1/p) <= W**(1/p) · d(c, u)`` and, where distances are symmetric,
    ``f(u)**(1/p) >= W**(1/p) · d(c, u) - f(c)**(1/p)``. Every search bounds all other candidates
    from below; the next one starts where the bound is least, and none is needed when that is no
    less than the best cost (as in trimed: Newling & Fleuret, AISTATS 2017). Proven after some √n
    searches where few places are nearly as good, else the bound tells what is left.
    """
    part = np.arange(len(metric)) if part is None else np.asarray(part, np.int64)
    candidates = part if allowed is None else np.asarray(allowed, np.int64)
    demand = part[weights[part] != 0]
    weight = weights[demand]
    if (weight < 0).any() or len(candidates) == 0:
        raise InputError("a median of a part needs non-negative weights and at least one candidate")
    total = weight.sum() ** (1 / power)
    targets = np.r_[candidates, demand]
    lower = np.zeros(len(candidates))
    tried = np.zeros(len(candidates), bool)
    best = 0
    least = np.inf
    for search in range(min(searches, len(candidates))):
        pick = int(np.argmin(np.where(tried, np.inf, lower)))
        if lower[pick] >= least * (1 - _ROUNDING) or (search and deadline.over):
            break
        row = metric.distance_rows(candidates[pick : pick + 1], targets)[0]
        reached = float((weight @ row[len(candidates) :] ** power) ** (1 / power))
        away = total * row[: len(candidates)]
        lower = np.maximum(lower, reached - away if metric.directed else np.abs(away - reached))
        lower[pick] = reached
        tried[pick] = True
        if reached < least:
            best = pick
            least = reached
    bound = least if lower.min() >= least * (1 - _ROUNDING) else float(lower.min())
    return PartMedian(int(candidates[best]), least**power, bound**power)
