"""Some rings around a center, and all else."""

from __future__ import annotations

import numpy as np

from metricdp.arrays import Bools, Floats, Ints
from metricdp.kernels.projections import place_coins
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import Shells
from metricdp.protocols import trusted


@trusted
class Rings:
    """A box cut in two: the rings around a center that are kept, as far as public coins sample
    them, and all else.

    `shells`: around one center; `kept` (n_shells,).
    """

    n_parts = 2

    def __init__(
        self,
        space: EuclideanSpace,
        shells: Shells,
        kept: Bools,
        sample: float,
        seed: int,
    ) -> None:
        self.universe = space
        self._shells = shells
        self._kept = kept
        self._sample = sample
        self._key = np.uint64(np.random.default_rng([seed, 23]).integers(2**63))

    def encode(self, records: Floats) -> Ints:
        """0 for points of the sample in kept rings, else 1, shape (n,)."""
        kept = self._kept[self._shells.encode(records)]
        if self._sample < 1:
            kept &= (
                place_coins(np.ascontiguousarray(records, np.float64).view(np.uint64), self._key)
                < self._sample
            )
        return np.where(kept, 0, 1)
