"""Public maps of a box that map each point by itself (`metricdp.privacy.mapped`)."""

from __future__ import annotations

from metricdp.arguments import Floats
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import trusted


@trusted
class Scaled:
    """The map x ↦ (x - point) / scales of a box; `space`: the box of the images."""

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
