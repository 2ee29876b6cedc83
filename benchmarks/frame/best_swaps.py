"""Local search by the best of all swaps (Algorithm 1 of Fan, Li & Li, NeurIPS 2023)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.records.scores import Scale, Served, SwapCosts


class Visited(NamedTuple):
    """All sets of centers that a search visited, and their costs on the grid."""

    centers: list[NDArray[np.int64]]
    costs: list[float]


def best_swaps(
    metric: Metric,
    demand: NDArray[np.int64],
    centers: NDArray[np.int64],
    *,
    power: int = 1,
    alpha: float = 1e-3,
    steps: int | None = None,
    candidates: NDArray[np.int64] | None = None,
    opened: int = 0,
) -> Visited:
    """Swap a center for another point, the best of all such swaps, while the cost falls to (1 -
    alpha/k) of itself or less.

    Cost: see `SwapCosts`. All k·n swaps are scored exactly in every step;
    `metricdp.solvers.kmedian.solve` is faster, and mostly better.

    References
    ----------
    Arya, Garg, Khandekar, Meyerson, Munagala & Pandit, Local search heuristics for k-median and
    facility location problems (SICOMP 2004).
    """
    at = np.array(centers, np.int64)
    scale = Scale.of(metric, power)
    if len(np.unique(at)) < len(at) or alpha < 0:
        raise InputError("local search needs distinct centers and alpha >= 0")
    search = SwapCosts(metric, *np.unique(demand, return_counts=True), scale)
    everyone = np.arange(len(metric)) if candidates is None else metric.inner(np.unique(candidates))
    visited = [at]
    costs = []
    while True:
        search.serve(Served.by(metric, at))
        costs.append(search.total * float(scale.unit) * metric.unit**power)
        allowed = np.setdiff1d(everyone, metric.inner(at), assume_unique=True)
        if len(costs) - 1 == steps or not len(allowed) or opened == len(at):
            return Visited(visited, costs)
        least, index = _least(search, range(opened, len(at)), allowed)
        if not least <= (1 - alpha / len(at)) * search.total or least >= search.total:
            return Visited(visited, costs)
        at = at.copy()
        at[opened + index // len(allowed)] = metric.outer(allowed[index % len(allowed)])
        visited.append(at)


def _least(search: SwapCosts, slots: range, allowed: NDArray[np.int64]) -> tuple[int, int]:
    """The least cost after a swap, and which swap that is, the first of equals."""
    best = (2**63 - 1, -1)
    start = 0
    for block in search.costs(slots, allowed):
        j = int(block.argmin())
        best = min(best, (int(block[j]), start + j))
        start += len(block)
    return best
