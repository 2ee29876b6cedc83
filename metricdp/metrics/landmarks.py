"""Landmarks: well-spread public points from which partitions and solvers start."""

from dataclasses import dataclass

import numpy as np

from metricdp.arguments import Floats, Ints, Singles
from metricdp.metrics.base import Metric
from metricdp.metrics.identity_cache import IdentityCache

LANDMARKS = 1280  # their distances are a block of 13 MB: benchmarks/graph_solver.md
_ROW_ENTRIES = 40_000_000  # 160 MB as float32


@dataclass(frozen=True, eq=False)
class Landmarks:
    """A k-median++ sample of the universe with its Voronoi diagram: `positions` (m,); `label` and
    `distance` (n_points,), the nearest landmark of every point; distances `between` landmarks (m,
    m); their `rows` (m, n_points), if these have at most 40 million entries.
    """

    positions: Ints
    label: Ints
    distance: Floats
    between: Singles
    rows: Singles | None


_known = IdentityCache()


def landmarks(metric: Metric, m: int = LANDMARKS, seed: int = 0) -> Landmarks:
    """The universe's m landmarks for this seed, cached as long as the universe lives.

    m rows of distances up to 31,000 points (for m = 1,280), some 30 searches beyond on road
    networks; 160 MB of rows at most.
    """
    cached: dict[tuple[int, int], Landmarks] = _known.of(metric)
    m = min(m, len(metric))
    if (m, seed) not in cached:
        positions, label, distance = metric.seed_centers(
            m, np.ones(len(metric)), np.random.default_rng(seed)
        )
        rows = None
        if m * len(metric) <= _ROW_ENTRIES:
            rows = metric.distance_rows(positions).astype(np.float32)
            between = np.ascontiguousarray(rows[:, positions])
        else:
            between = metric.cell_distances(positions, label, distance)
        cached[m, seed] = Landmarks(positions, label, distance, between, rows)
    return cached[m, seed]
