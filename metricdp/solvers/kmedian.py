"""The k-median (and k-means) solver for every metric: weighted demand, candidate centers apart from demand, no matrix of all distances."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.graph import GraphMetric
from metricdp.solvers.block import block_search
from metricdp.solvers.graph_search import GraphSearch

_WHOLE_BLOCK = 20_000_000
_SAMPLED_BLOCK = 40_000_000
_CANDIDATES = 1280


@dataclass(frozen=True)
class Solution:
    """Centers (positions, shape (k,), distinct) and their cost on the weights they were found for."""

    centers: NDArray[np.int64]
    cost: float


def solve(
    metric: Metric,
    weights: NDArray[np.float64],
    k: int,
    *,
    power: int = 1,
    candidates: NDArray[np.int64] | None = None,
    seed: int = 0,
    starts: int = 3,
) -> Solution:
    """Find k centers of low cost ``sum_v weights[v] · min_c d(v, c)**power``."""
    n = len(metric)
    allowed = np.arange(n) if candidates is None else np.unique(candidates)
    if not 1 <= k <= len(allowed):
        raise InputError(f"k must be between 1 and the number of candidate centers, {len(allowed):,}; got {k}")
    rng = np.random.default_rng(seed)
    demand = np.flatnonzero(weights)
    if len(demand) == 0:
        demand, weights = np.arange(n), np.ones(n)
    if k == len(allowed):
        return Solution(allowed, _cost(metric, weights, allowed, power))
    if len(allowed) * len(demand) <= _WHOLE_BLOCK:
        rows, cost = block_search(_block(metric, allowed, demand, power), weights[demand], k, rng, starts=starts)
        return Solution(allowed[rows], cost)
    if isinstance(metric, GraphMetric):
        return _on_graph(metric, weights, k, power, allowed, rng, starts)
    return _by_samples(metric, weights, k, power, allowed, demand, rng, starts)


_matrices: WeakKeyDictionary[Metric, NDArray[np.float32]] = WeakKeyDictionary()


def _block(metric: Metric, sources: NDArray[np.int64], targets: NDArray[np.int64], power: int) -> NDArray[np.float32]:
    """Costs sources × targets; all distances of a small universe are kept for the next question about it."""
    n = len(metric)
    if n * n <= _WHOLE_BLOCK and max(len(sources), len(targets)) > n // 4:
        if metric not in _matrices:
            _matrices[metric] = metric.distance_rows(np.arange(n)).astype(np.float32)
        block = _matrices[metric]
        if len(sources) < n or len(targets) < n:
            block = block[np.ix_(sources, targets)]
    elif len(sources) <= len(targets):
        block = metric.distance_rows(sources, targets).astype(np.float32)
    else:
        block = np.ascontiguousarray(metric.distance_rows(targets, sources).T.astype(np.float32))
    return block if power == 1 else block**power


def _cost(metric: Metric, weights: NDArray[np.float64], centers: NDArray[np.int64], power: int) -> float:
    return float(weights @ metric.nearest_to(centers)[1] ** power)


def _on_graph(
    metric: GraphMetric, weights: NDArray[np.float64], k: int, power: int, allowed: NDArray[np.int64], rng: np.random.Generator, starts: int
) -> Solution:
    n = len(metric)
    m = min(max(_CANDIDATES, 4 * k), n)
    landmarks, label, distance = metric.seed_internal(m, np.maximum(weights, 0.0)[metric.order], rng)
    if m * n <= _SAMPLED_BLOCK:
        demand = np.flatnonzero(weights)
        block = _block(metric, metric.order[landmarks], demand, power)
        rows, _ = block_search(block, weights[demand], k, rng, starts=starts)
    else:
        block = metric.quotient_rows(label, distance, m) ** power
        rows, _ = block_search(block, np.bincount(label, weights[metric.order], m), k, rng, starts=starts)
    search = GraphSearch(metric, weights, metric.order[landmarks[rows]], power)
    for hops in (16, 4):
        search.improve(search.near(hops, 16, rng))
    search.descend(rng, 100 * k)
    return Solution(search.centers, search.cost)
