"""A box's records in parts that have nothing to do with where they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricdp.metrics.space import EuclideanSpace

Array = NDArray[np.float64]


class Chunks:
    """A box's records in parts of about equal size, by digits of their coordinates."""

    def __init__(self, space: EuclideanSpace, n_parts: int) -> None:
        self.universe = space
        self.n_parts = n_parts

    def encode(self, records: Array) -> NDArray[np.int64]:
        """Part of each point, shape (n,): its bits, mixed as in SplitMix64."""
        mixed = np.zeros(len(records), np.uint64)
        for x in np.ascontiguousarray(records.T):
            mixed = (mixed ^ (x + 0.0).view(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(27)
        return (mixed % np.uint64(self.n_parts)).astype(np.int64)
