"""Kernel density of demand along shortest paths, and the bandwidth that its noise allows.

Each point spreads its demand over its surroundings by the quartic kernel ``(1 - (d / b)²)²`` of the
distance d up to the bandwidth b, normalized to keep its demand [1]_: a density per length of street
in a graph, per point elsewhere. Where many points are within b, demand first moves to the nearest
point of a public net with covering radius b / 16.

References
----------
.. [1] A. Okabe, T. Satoh, K. Sugihara, "A kernel density estimation method for networks", IJGIS
   23(1), 2009: densities of networks are per length, and keep their weight.
"""

import os
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from metricdp.arguments import Floats, Ints, chunks
from metricdp.kernels import smoothing as kernels
from metricdp.metrics.base import Metric
from metricdp.solvers.estimate.credible import UNEVEN, Credible
from metricdp.threads import in_threads

DRAWS = 24
"""Draws of the demand for standard errors, which are then 15 % off at random; each costs a map."""
_NET = 16
"""The bandwidth over the covering radius of the net: larger is more exact, and costs its square."""
_PLACES = 64
"""Points at which a bandwidth is tried."""
_STEP = 1.2
"""Factor from one bandwidth that is tried to the next."""
_MEMORY = 1 << 27
"""Densities that all processors hold together: 1 GB."""


def drawn_demand(credible: Credible, n_draws: int = DRAWS) -> Floats:
    """Draws of the demand of every point, given a release: (n_points, n_draws).

    Counts are drawn from their posterior. Inside a part the demand's place is unknown: of a count c
    the share ``sqrt(UNEVEN² + 1 / c)`` is on one random point, the rest is even, so that sums over
    pieces of the part deviate as in `Credible.shared`.
    """
    labels, coins = credible.labels, np.random.default_rng([0, 2])
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=credible.tree.n_parts))
    below = np.cumsum(credible.spread(np.ones(credible.tree.n_parts))[order])  # 1 more a part
    found = np.empty((len(labels), n_draws))
    for i, counts in enumerate(credible.draws(n_draws)):
        share = np.minimum(np.sqrt(UNEVEN**2 + 1.0 / np.maximum(counts, 1e-9)), 1.0)
        at = np.searchsorted(below, np.arange(len(ends)) + coins.random(len(ends)))
        at = order[np.clip(at, np.r_[0, ends[:-1]], ends - 1)]
        found[:, i] = credible.spread(counts * (1.0 - share))
        found[at, i] += counts * share
    return found


def sampled_demand(weights: Floats) -> Floats:
    """The same for public weights as if they counted people: Poisson, (n_points, DRAWS)."""
    coins = np.random.default_rng([0, 3])
    return np.stack([coins.poisson(weights) for _ in range(DRAWS)], axis=1).astype(np.float64)


class Smoothing:
    """The kernel on a universe: by distances along its edges in either direction, the shorter of
    the two; without edges by all n² distances of its symmetric metric.
    """

    def __init__(self, universe: Metric) -> None:
        base: Any = getattr(universe, "there", universe)
        if getattr(base, "directed", False) and hasattr(base, "undirected"):  # a graph's
            self.metric: Any = base.undirected(np.minimum(base.csr[2], base.back), "streets")
        else:
            self.metric = universe.symmetric
        self.network = self.metric.network
        n = len(self.metric)
        self.lengths = np.ones(n)
        """Length of street of each point, or 1, shape (n_points,)."""
        if self.network is not None:
            indptr, _, lengths = self.network.csr
            half = np.add.reduceat(np.r_[lengths, 0], indptr[:-1]) * (np.diff(indptr) > 0)
            own = half[self.network.rank] * self.network.unit / 2.0
            least = 1e-3 * own.mean()
            self.lengths = np.maximum(own, least) if least > 0 else self.lengths

    def density(self, demand: Floats, bandwidth: float) -> Floats:
        """Smoothed demand (n_points, n_columns), the same shape."""
        if self.network is None:
            return self._by_rows(demand, bandwidth)
        order, rank = self.network.order, self.network.rank
        width = min(bandwidth / self.network.unit, 2.0**61)  # beyond all distances
        sources, weights = self._on_net(demand[order], int(width) // _NET)
        lengths, csr = self.lengths[order], self.network.csr
        workers = int(np.clip(_MEMORY // demand.size, 1, os.cpu_count() or 1))
        outs = [np.zeros(demand.shape) for _ in range(workers)]

        def work(part: int) -> None:
            mine = slice(part, None, workers)
            weight = np.ascontiguousarray(weights[mine])
            kernels.spread(csr, sources[mine].copy(), weight, lengths, width, outs[part])

        in_threads(work, range(workers))
        for more in outs[1:]:
            outs[0] += more
        return outs[0][rank]

    def _on_net(self, demand: Floats, radius: int) -> tuple[Ints, Floats]:
        """The points of a net, and the demand nearest to each, in the inner order."""
        held = np.arange(len(demand))
        if radius > 0:
            sources = kernels.net(self.network.csr, radius)
            label, _ = self.metric.voronoi(sources)
            ones = csr_array((np.ones(len(held)), (label, held)), (len(sources), len(held)))
            held, demand = sources, np.asarray(ones @ demand)
        some = demand.any(axis=1)
        return held[some], demand[some]

    def _by_rows(self, demand: Floats, bandwidth: float) -> Floats:
        found = np.zeros(demand.shape)
        held = np.flatnonzero(demand.any(axis=1))
        for seen, some in self._rows(held, bandwidth):
            found += (seen / seen.sum(axis=1, keepdims=True)).T @ demand[some]
        return found

    def _rows(self, points: Ints, bandwidth: float) -> Any:
        for part in chunks(len(points), len(self.metric)):
            some = points[part]
            away = self.metric.distance_rows(some) / bandwidth
            yield np.maximum(1.0 - away**2, 0.0) ** 2, some

    def bandwidth(self, demand: Floats, error: float) -> float:
        """The smallest bandwidth, in steps of 20 %, for which the standard error of the density is
        at most `error` of it for half of the demand. `demand` (n_points, 1 + n_draws): what is
        shown, and draws of it. Evaluated at 64 points drawn by demand.
        """
        shown = np.maximum(demand[:, 0], 0.0)
        if not shown.sum() > 0:
            shown = np.ones(len(shown))
        coins = np.random.default_rng([0, 4])
        places = coins.choice(len(shown), _PLACES, p=shown / shown.sum())
        if self.network is None:
            return self._bandwidth_by_rows(demand, error, places)
        csr, unit = self.network.csr, self.network.unit
        inner, places = demand[self.network.order], self.network.rank[places]
        positive = csr[2][csr[2] > 0]
        width = float(np.median(positive)) if len(positive) else 1.0
        seen = np.empty((_PLACES, demand.shape[1]))
        while True:
            least = kernels.gathered(csr, places, inner, width, seen)
            if _median_error(seen) <= error or least == len(inner):
                return width * unit
            width *= _STEP

    def _bandwidth_by_rows(self, demand: Floats, error: float, places: Ints) -> float:
        rows = self.metric.distance_rows(places)
        least = np.partition(rows + np.where(rows > 0, 0.0, np.inf), 0, axis=1)[:, 0]
        tried, most = float(np.median(least)), float(rows.max())
        if not np.isfinite(tried):
            return 1.0
        while True:
            seen = np.maximum(1.0 - (rows / tried) ** 2, 0.0) ** 2 @ demand
            if _median_error(seen) <= error or tried > most:
                return tried
            tried *= _STEP


def standard_error(density: Floats) -> Floats:
    """Standard error of the first column, by the draws in the others."""
    return np.sqrt(((density[:, 1:] - density[:, :1]) ** 2).mean(axis=1))


def _median_error(seen: Floats) -> float:
    """Median relative standard error."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = standard_error(seen) / seen[:, 0]
    return float(np.median(np.where(seen[:, 0] > 0, share, np.inf)))
