"""Coordinates of a box along a few directions."""

from __future__ import annotations

import numpy as np

from metricdp.arrays import Floats
from metricdp.kernels.projections import projected
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import trusted


@trusted
class Subspace:
    """Coordinates of a box along a few orthogonal `axes` (q, d) from a `point`, or its own, and an
    `ellipsoid` of semi-axes (q, q) there. `space` holds the images.
    """

    def __init__(
        self, universe: EuclideanSpace, point: Floats, axes: Floats | None, ellipsoid: Floats
    ) -> None:
        self.universe = universe
        self.point = point
        self.axes = axes
        self.ellipsoid = ellipsoid
        self.space = universe
        self.middle = point
        if axes is not None:
            reach = np.abs(axes) @ np.maximum(universe.upper - point, point - universe.lower)
            self.space = EuclideanSpace(-reach, reach)
            self.middle = np.zeros(len(axes))

    @property
    def is_whole(self) -> bool:
        """Whether it has as many dimensions as the box."""
        return len(self.middle) == self.universe.dimension

    def encode(self, records: Floats) -> Floats:
        """Coordinates of points, shape (n, q)."""
        return records if self.axes is None else projected(records, self.point, self.axes)

    def outside(self, places: Floats) -> Floats:
        """Points of the box, shape (n, d)."""
        return places if self.axes is None else self.universe.clip(self.point + places @ self.axes)

    def cloud(self, distances: Floats, typical: float, rng: np.random.Generator) -> Floats:
        """Points of the box like the records, as far as is known of them, two at each of the
        `distances` from the middle, on opposite sides: in the ellipsoid's directions, and evenly in
        those beyond its axes as far as it is shorter than the `typical` distance.
        """
        q, d = len(self.middle), self.universe.dimension
        away = rng.normal(size=(len(distances), q)) @ self.ellipsoid / np.sqrt(q + 2)
        if self.axes is not None:
            left = max(typical**2 - float((self.ellipsoid**2).sum()) / (q + 2), 0.0)
            beyond = rng.normal(size=(len(distances), d)) * np.sqrt(left / max(d - q, 1))
            away = away @ self.axes + beyond - beyond @ self.axes.T @ self.axes
        length = np.linalg.norm(away, axis=1)
        away *= (distances / np.maximum(length, 1e-300))[:, None]
        return self.universe.clip(self.point + np.concatenate([away, -away]))

    def drawn(self, n: int, rng: np.random.Generator, reach: float = 1.0) -> Floats:
        """Uniform points of the ellipsoid, every other one `reach` times as wide, (n, q)."""
        wide = np.where(np.arange(n) % 2, reach, 1.0)[:, None]
        return self.space.clip(
            self.middle + wide * ball(n, len(self.ellipsoid), rng) @ self.ellipsoid
        )


def ball(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Uniform points of the unit ball, shape (n, d)."""
    points = rng.normal(size=(n, d))
    return points / np.linalg.norm(points, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)
