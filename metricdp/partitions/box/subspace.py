"""Orthogonal projection of a box to a subspace of few dimensions."""

from __future__ import annotations

import numpy as np

from metricdp.arguments import Floats
from metricdp.kernels.projections import projected
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import trusted


@trusted
class Subspace:
    """The subspace through a `point` (d,) along orthonormal `axes` (q, d), with an `ellipsoid`
    around the point, whose semi-axes are rows (q, q). Without axes it is the box itself. `space`:
    the box of the images.
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
        """Points of the box (n, d) from coordinates (n, q), clipped to it."""
        return places if self.axes is None else self.universe.clip(self.point + places @ self.axes)

    def cloud(self, distances: Floats, typical: float, rng: np.random.Generator) -> Floats:
        """Points of the box distributed as the records are, by what is released: two at each of the
        `distances` (n,) from the point, on opposite sides, shape (2n, d).

        Their directions are Gaussian: the ellipsoid's in the subspace, and isotropic beyond it,
        with what the `typical` distance squared has more than the ellipsoid.
        """
        q, d = len(self.middle), self.universe.dimension
        away = rng.normal(size=(len(distances), q)) @ self.ellipsoid / np.sqrt(q + 2)
        if self.axes is not None:
            rest = max(typical**2 - float((self.ellipsoid**2).sum()) / (q + 2), 0.0)
            beyond = rng.normal(size=(len(distances), d)) * np.sqrt(rest / max(d - q, 1))
            away = away @ self.axes + beyond - beyond @ self.axes.T @ self.axes
        length = np.linalg.norm(away, axis=1)
        away *= (distances / np.maximum(length, 1e-300))[:, None]
        return self.universe.clip(self.point + np.concatenate([away, -away]))

    def drawn(self, n: int, rng: np.random.Generator, reach: float = 1.0) -> Floats:
        """Uniform points of the ellipsoid, shape (n, q), every other one of an ellipsoid `reach`
        times as large; clipped.
        """
        wide = np.where(np.arange(n) % 2, reach, 1.0)[:, None]
        return self.space.clip(
            self.middle + wide * ball(n, len(self.ellipsoid), rng) @ self.ellipsoid
        )


def ball(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Uniform points of the unit ball, shape (n, d)."""
    points = rng.normal(size=(n, d))
    return points / np.linalg.norm(points, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)
