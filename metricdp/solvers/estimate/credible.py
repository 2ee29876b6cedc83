"""Intervals from a release alone, free as post-processing.

The statistic is linear in the demand: a mean of a public function of the points, or a sum over a
territory. Three sources of error have a term each.

- *Noise in the counts of parts.* Least squares over all rounds (Hay et al. [1]_) is unbiased but
  pays for empty parts; the posterior is narrow but biased where demand is smoother or sparser than
  its prior. They are combined by inverse variances, widened by `_SELECTION_FACTOR` (centers were
  chosen for this noise) and `_POSTERIOR_FACTOR`.
- *Where demand is inside its part*: evenly spread plus a normal shift per unit of the part's mean
  absolute deviation, of `ROADS`, `HUBS` or `in_cells`. Besides, each part has a shift of its own,
  of `UNEVEN`: much of its demand may be on one point. (Sums over territories have only this.)
- *That demand is a finite number of people*: the sampling error of points drawn in their parts.

``benchmarks/free_intervals.md`` says where the constants come from and where coverage fails.
`metricdp.evaluate` pays for intervals that hold for every demand.

References
----------
.. [1] M. Hay, V. Rastogi, G. Miklau, D. Suciu, "Boosting the accuracy of differentially private
   histograms through consistency", VLDB 2010.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from metricdp.arguments import Floats, Ints
from metricdp.kernels.tree_posterior import consistent
from metricdp.partitions.finite.ward import PartitionTree
from metricdp.solvers.estimate.intervals import LEVEL, Interval
from metricdp.solvers.estimate.tree_posterior import Estimate, observed

_SELECTION_FACTOR = 1.25
"""The standard deviation of least squares is multiplied by this."""
_POSTERIOR_FACTOR = 3.0
_POSTERIOR_FLOOR = 0.01
"""The posterior's standard deviation is multiplied by the first; the second is a share of the
estimate that is added.
"""


class Shift(NamedTuple):
    """Mean and standard deviation of the shift of demand inside its part."""

    nearer: float
    either: float


ROADS = Shift(0.0, 0.35)
HUBS = Shift(0.45, 0.4)
"""Where demand follows streets; where it clusters within parts, as in balls that grow faster than
in the plane.
"""
EVEN, CLUSTERED = 0.15, 0.25
"""Unevenness of splits (`Estimate.uneven`) from which demand clusters within cells of a box, and at
which it does so as in `HUBS`.
"""
IN_CELLS = 0.45
"""Standard deviation of the shift in cells."""
UNEVEN = 0.6
"""Unevenness of a part that a border divides, relative to all of it on one point."""
_ENTRIES = 4_000_000
"""Most counts drawn in all: between 64 and 400 draws of all parts."""


def in_cells(uneven: float) -> Shift:
    """The shift in cells of a box whose splits are so uneven."""
    clustered = float(np.clip((uneven - EVEN) / (CLUSTERED - EVEN), 0.0, 1.0))
    return Shift(HUBS.nearer * clustered, IN_CELLS)


class Credible:
    """Sums and means of the demand of a release, each with an interval.

    `estimate`: of the release; `weight_units`: counts are in units of one over this; `shift`: by
    public facts of the universe, or by the noisy counts; `seed`: of public draws, which touch no
    record.

    Some 100 draws of posterior and noise: O(n_parts) each, once; then O(n_points) a statistic.
    """

    def __init__(self, estimate: Estimate, *, weight_units: int = 1, shift: Shift = ROADS) -> None:
        tree = estimate.tree
        self.tree: PartitionTree = tree
        self.shift = shift
        self.expected = estimate.mean / weight_units
        self.labels = tree.labels.astype(np.int64)
        # each point's share of its part's demand
        self._share = estimate.spread(np.ones(tree.n_parts))
        n_draws = int(np.clip(_ENTRIES // max(tree.n_parts, 1), 64, 400))
        self._draws = estimate.draw(n_draws) / weight_units
        value, precision = observed(tree, estimate.rounds)
        self._counts = consistent(tree.children, value, precision)[0][: tree.n_parts] / weight_units
        error = np.zeros((n_draws, len(value)))
        coins = np.random.default_rng([0, 1])
        for counts in estimate.rounds:
            certain = 1.0 / (2.0 * counts.scale**2)
            error[:, counts.nodes] += certain * counts.noise(n_draws, coins)
        error /= np.where(precision > 0.0, precision, 1.0)
        for draw in error:
            draw[:] = consistent(tree.children, draw, precision)[0]
        self._error = error[:, : tree.n_parts] / weight_units
        self.total = float(max(self._counts.sum(), self.expected.sum(), 1.0))
        self._counted_total = float(max(self._counts.sum(), 1.0))

    def split(self, points: Ints, weights: Floats) -> Credible:
        """The same for pieces of the points: piece i is a piece of ``points[i]``. A part's demand
        is distributed by the `weights` of the pieces, evenly if all are 0.
        """
        same = copy(self)
        same.labels = self.labels[points]
        bare = np.bincount(same.labels, weights, self.tree.n_parts) <= 0
        weights = np.where(bare[same.labels], 1.0, weights)
        same._share = weights / np.bincount(same.labels, weights, self.tree.n_parts)[same.labels]
        return same

    def spread(self, counts: Floats) -> Floats:
        """Distribute counts of parts over their points, shape (n_points,)."""
        return counts[self.labels] * self._share

    def draws(self, n: int) -> Floats:
        """Posterior draws of the counts of parts, shape (n, n_parts)."""
        return self._draws[:n]

    def mean(self, values: Floats, level: float = LEVEL, *, rising: bool = False) -> Interval:
        """Mean of a function over the demand; clustering lowers it, or raises it if `rising`."""
        mean, deviation, variance = self._within_parts(values)
        expected = self.expected / max(self.expected.sum(), 1e-9)
        estimate, noise = self._combine(mean)
        inside = float(expected @ deviation)
        sampling = float(expected @ variance) / self.total
        on_points = UNEVEN**2 * float(expected**2 @ variance)
        spread = np.sqrt(noise**2 + (self.shift.either * inside) ** 2 + on_points + sampling)
        bounds = float(values.min()), float(values.max())
        nearer = self.shift.nearer * inside * (1 if rising else -1)
        return _interval(estimate + nearer, float(spread), bounds, level)

    def sums(self, labels: Ints, k: int, level: float = LEVEL) -> Interval:
        """Demand of every territory, arrays of shape (k,)."""
        return self.shared(np.arange(len(labels)), labels, np.ones(len(labels)), k, level)

    def shared(
        self, points: Ints, territories: Ints, shares: Floats, k: int, level: float = LEVEL
    ) -> Interval:
        """Demand of territories that may share points, arrays of shape (k,)."""
        pairs = self.labels[points] * k + territories
        pair, at = np.unique(pairs, return_inverse=True)
        part, territory = pair // k, pair % k
        share = np.bincount(at, shares * self._share[points], len(pair))
        share = np.minimum(share, 1.0)  # rounding
        counts = np.bincount(territory, share * self._counts[part], k)
        unevenness = np.bincount(territory, share * (1 - share) * self.expected[part] ** 2, k)
        sampling = np.bincount(territory, share * (1 - share) * self.expected[part], k)
        error = np.array(
            [np.bincount(territory, share * draw[part], k).tolist() for draw in self._error]
        )
        noise = _SELECTION_FACTOR**2 * error.var(axis=0)
        reach = ndtri((1 + level) / 2) * np.sqrt(noise + UNEVEN**2 * unevenness + sampling) + 0.5
        low, high = np.maximum(counts - reach, 0.0), np.maximum(counts + reach, 0.0)
        return Interval(np.clip(counts, low, high), low, high, level)

    def _combine(self, mean: Floats) -> tuple[float, float]:
        """Mean of a function that is constant on parts, and its standard deviation."""
        drawn = self._draws @ mean / np.maximum(self._draws.sum(axis=1), 1e-9)
        expected = float(self.expected @ mean / max(self.expected.sum(), 1e-9))
        doubt = _POSTERIOR_FACTOR * float(drawn.std()) + _POSTERIOR_FLOOR * abs(expected)
        counted = float(self._counts @ mean / self._counted_total)
        noise = (
            _SELECTION_FACTOR * float((self._error @ (mean - counted)).std()) / self._counted_total
        )
        if noise <= 0.0 or doubt <= 0.0:
            return (counted, noise) if noise <= doubt else (expected, doubt)
        weight = doubt**2 / (doubt**2 + noise**2)
        both = weight * counted + (1 - weight) * expected
        return both, noise * doubt / float(np.hypot(noise, doubt))

    def _within_parts(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean, mean absolute deviation and variance of a function within every part."""
        n, labels, share = self.tree.n_parts, self.labels, self._share
        mean = np.bincount(labels, values * share, n).astype(np.float64)
        off = np.abs(values - mean[labels])
        deviation = np.bincount(labels, off * share, n).astype(np.float64)
        return mean, deviation, np.bincount(labels, off**2 * share, n).astype(np.float64)


def _interval(
    estimate: float, spread: float, bounds: tuple[float, float], level: float
) -> Interval:
    reach = float(ndtri((1 + level) / 2)) * spread
    middle, low, high = np.clip([estimate, estimate - reach, estimate + reach], *bounds).tolist()
    return Interval(middle, low, high, level)
