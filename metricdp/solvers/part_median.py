"""Exact 1-median of a part of a universe, by bounds from the triangle inequality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.solvers.stopping import NEVER, Deadline

_ROUNDING = 1e-12  # above rounding of a sum of distances


@dataclass(frozen=True)
class PartMedian:
    """Position of the center, its cost, and a lower bound, which is equal if it is proven best."""

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
    """The position that serves a part at the least cost ``sum over v of weights[v] · d(c,
    v)**power``.

    Centers may stand in the part itself, or in `allowed`. At most `searches` rows of distances; on
    graphs each is a search that ends when the part and the candidates are reached.

    By the triangle inequality (Minkowski's, for squares) the costs of two positions satisfy
    ``f(c)**(1/p) - f(u)**(1/p) <= W**(1/p) · d(c, u)`` and, where distances are symmetric,
    ``f(u)**(1/p) >= W**(1/p) · d(c, u) - f(c)**(1/p)``. Every row bounds all other candidates; the
    next one is that of least bound, until no bound is below the best cost (as in trimed: Newling &
    Fleuret, AISTATS 2017). Some √n rows prove it where few places are nearly as good.
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
        candidate = int(np.argmin(np.where(tried, np.inf, lower)))
        if lower[candidate] >= least * (1 - _ROUNDING) or (search and deadline.over):
            break
        row = metric.distance_rows(candidates[candidate : candidate + 1], targets)[0]
        root_cost = float((weight @ row[len(candidates) :] ** power) ** (1 / power))
        away = total * row[: len(candidates)]
        lower = np.maximum(lower, root_cost - away if metric.directed else np.abs(away - root_cost))
        lower[candidate] = root_cost
        tried[candidate] = True
        if root_cost < least:
            best = candidate
            least = root_cost
    bound = least if lower.min() >= least * (1 - _ROUNDING) else float(lower.min())
    return PartMedian(int(candidates[best]), least**power, bound**power)
