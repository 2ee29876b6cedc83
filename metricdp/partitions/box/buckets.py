"""Buckets of a locality-sensitive hash: near points are likely to share one, far ones are not."""

from __future__ import annotations

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import trusted

BUCKETS = 512
PROJECTIONS = 5
WIDTH = 4.0
"""Buckets of a hash; its projections; the width of its slabs, in units of radius / √d."""


@trusted
class HashBuckets:
    """Locality-sensitive hash of a box: slabs along a few random directions cut it into cells, and
    the cells are hashed into a fixed number of buckets. All coins are public.

    `radius`: of the balls whose points should mostly share a bucket.
    """

    def __init__(self, space: EuclideanSpace, radius: float, seed: int) -> None:
        rng = np.random.default_rng([seed, round(radius / space.diameter_bound() * 2**40)])
        self.universe = space
        self.radius = radius
        self.n_parts = BUCKETS
        directions = rng.normal(size=(space.dimension, min(PROJECTIONS, space.dimension)))
        self._directions = (
            directions
            / np.linalg.norm(directions, axis=0)
            * (np.sqrt(space.dimension) / (WIDTH * radius))
        )
        self._shift = np.asarray(rng.random(directions.shape[1]))
        self._key = rng.integers(1, 2**63, directions.shape[1], dtype=np.uint64) | np.uint64(1)

    def encode(self, records: Floats) -> Ints:
        """Bucket of each point, shape (n,)."""
        place = np.tile(self._shift, (len(records), 1))
        # not a matrix product: its rounding of one row may depend on the other rows
        for coordinate, direction in zip(records.T, self._directions):
            place += coordinate[:, None] * direction
        slab = np.floor(place).astype(np.int64).astype(np.uint64)
        mixed = (slab * self._key).sum(axis=1, dtype=np.uint64)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
        return (mixed >> np.uint64(40)).astype(np.int64) % self.n_parts
