"""Made-up demand for measurements: public, so that exact costs may be told."""

from __future__ import annotations

import numpy as np

from metricdp.arrays import Ints
from metricdp.metrics.base import Metric

SPOTS = 8  # neither even nor a single town
CONCENTRATION = 10.0  # density falls by e^-10 to the farthest place


def one_each(metric: Metric) -> Ints:
    """One record at every point: counts, shape (n_points,)."""
    return np.ones(len(metric), np.int64)


def uniform(metric: Metric, records: int, seed: int) -> Ints:
    """So many records at points drawn uniformly: counts, shape (n_points,)."""
    return np.bincount(
        np.random.default_rng(seed).integers(0, len(metric), records), minlength=len(metric)
    )


def hot_spots(metric: Metric, records: int, seed: int) -> Ints:
    """Records around eight random points, density exp(-10 d / largest d): counts (n_points,)."""
    rng = np.random.default_rng(seed)
    away = metric.nearest_to(rng.choice(len(metric), min(SPOTS, len(metric)), replace=False))[1]
    density = np.exp(-CONCENTRATION * away / (away.max() or 1.0))
    return np.bincount(
        rng.choice(len(metric), records, p=density / density.sum()), minlength=len(metric)
    )
