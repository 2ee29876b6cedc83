"""Public maps of a box: each point's image depends on it alone (`metricdp.privacy.mapped`)."""

from __future__ import annotations

import numpy as np

from metricdp.arrays import Floats
from metricdp.kernels.projections import projected
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import trusted

WIDE = 3.0
"""Half a side of a projection's box, in deviations of a corner's image."""


@trusted
class Scaled:
    """Coordinates from a point of the box, divided by scales.

    `space`: the box of the images.
    """

    def __init__(self, universe: EuclideanSpace, point: Floats, scales: Floats) -> None:
        self.universe = universe
        self.point = point
        self.scales = scales
        self.space = EuclideanSpace(
            (universe.lower - point) / scales, (universe.upper - point) / scales
        )

    def encode(self, records: Floats) -> Floats:
        """Images of points, shape (n, d)."""
        images = records - self.point
        images /= self.scales
        return images

    def back(self, images: Floats) -> Floats:
        """Points of images, shape (n, d)."""
        return images * self.scales + self.point


@trusted
class Projection:
    """Coordinates along q random orthogonal directions, stretched to keep squared lengths on
    average, in the public box `images` of R^q; the few images outside are moved to it.
    """

    def __init__(self, universe: EuclideanSpace, dimensions: int, seed: int) -> None:
        d = universe.dimension
        drawn = np.linalg.qr(np.random.default_rng([seed, 29]).normal(size=(d, dimensions)))[0]
        half = (universe.upper - universe.lower) / 2
        self.universe = universe
        self._rows = np.ascontiguousarray(drawn.T) * np.sqrt(d / dimensions)
        self._middle = (universe.lower + universe.upper) / 2
        reach = np.minimum(
            np.abs(self._rows) @ half, WIDE * np.linalg.norm(half) / np.sqrt(dimensions)
        )
        self.images = EuclideanSpace(-reach, reach)

    def encode(self, records: Floats) -> Floats:
        """Image of each point, shape (n, q)."""
        return projected(records, self._middle, self._rows)

    def inside(self, records: Floats) -> Floats:
        """Image of each point, moved into the box of images, shape (n, q)."""
        return self.images.clip(self.encode(records))

    def lifted(self, images: Floats, near: Floats) -> Floats:
        """Of the points with these images the nearest to `near` (1, d), in the box, (k, d)."""
        q, d = self._rows.shape
        return self.universe.clip(near + (images - self.encode(near)) @ self._rows * (q / d))
