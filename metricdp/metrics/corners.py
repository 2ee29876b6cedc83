"""Boxes by their corners, and clipping of records to them."""

import numpy as np
from numpy.typing import ArrayLike

from metricdp.arguments import Floats
from metricdp.errors import InputError
from metricdp.kernels.points import clipped
from metricdp.metrics.snapping import FINITE, shaped_points
from metricdp.protocols import Box, trusted


@trusted
class Corners(Box):
    """A box by its corners `lower` and `upper`, shapes (d,)."""

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return len(self.lower)

    def clip(self, points: ArrayLike) -> Floats:
        """The nearest points of the box (n, d); NaN and infinities are refused without quotes."""
        inside, finite = clipped(
            np.ascontiguousarray(shaped_points(points, self.dimension)), self.lower, self.upper
        )
        if not finite:
            raise InputError(FINITE)
        return inside
