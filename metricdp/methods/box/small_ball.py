"""Rounds of small balls on a grid: PRIVATE-K-MEAN through the gate, or on a released histogram.

In each round GOOD-RADIUS asks for a radius at which the best ball holds t of the records left, and
GOOD-CENTER for such a ball. The w records nearest its center are taken away, and the center has
weight w. Balls are L-infinity balls of cells (the paper's Section 4.3).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from metricdp.arrays import Floats, Ints
from metricdp.errors import InputError
from metricdp.methods.box.ball_counts import BallScores, Boxes, peel, radii_of
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.grid import Grid

LEFT_OVER = 0.03
"""Rounds end when this fraction of the records is left."""
MOST_ROUNDS = 1000
"""Beyond, balls hold more than 3/(8k) of what is left."""
FINE = 1 << 16
"""Cells of the grid on which a released coreset is made smaller."""
FEWEST_CENTERS = 5
"""A smaller coreset has room for so many at least."""
_WHOLE = 1 << 40  # weights in whole units of this part


def sizes(records: int, k: int, left_over: float = LEFT_OVER) -> list[int]:
    """Records taken away in every round: 3/(8k) of those left, until `left_over` of all."""
    share = max(3 / (8 * k), -math.log(left_over) / MOST_ROUNDS)
    left = records
    found = list[int]()
    while left > left_over * records and (taken := math.floor(share * left)) > 0:
        found.append(taken)
        left -= taken
    return found


def reduced(points: Floats, weights: Floats, k: int, left_over: float = 0.005) -> tuple[Any, Any]:
    """A coreset of ``8k/3 · ln(1/left_over)`` points of a larger one, by the same rounds without
    noise. Each ball, and what is left, is represented by its mean, so no weight is lost.
    """
    if points.shape[1] > 3:
        raise InputError("a coreset is made smaller on a grid, in up to three dimensions")
    at = np.flatnonzero(weights > 0)
    points = points[at]
    weights = weights[at]
    extent = (
        np.maximum(np.ptp(points, axis=0), 1e-9 * max(np.abs(points).max(initial=0.0), 1e-290))
        if len(at)
        else None
    )
    k = max(k, FEWEST_CENTERS)
    if extent is None or 14 * k >= len(at):
        return points, weights
    grid = Grid(EuclideanSpace(points.min(axis=0), points.min(axis=0) + extent), FINE)
    cell = grid.encode(points)
    unit = float(weights.sum()) / _WHOLE
    left = np.bincount(cell, weights / unit, grid.n_parts).astype(np.int64)
    held = np.bincount(cell, weights, grid.n_parts).clip(1e-300)
    means = np.stack([np.bincount(cell, weights * x, grid.n_parts) / held for x in points.T])
    found: list[tuple[Floats, float]] = []

    def take(cells: Ints) -> None:
        total = int(cells.sum())
        if total:
            found.append((means @ cells / total, total * unit))

    radii = radii_of(grid.shape)
    for number in sizes(_WHOLE, k, left_over):
        boxes = Boxes(left, grid.shape)
        most = np.array([boxes.around(r).max() for r in radii], np.int64)
        radius = radii[int(np.argmax(np.minimum(number - np.r_[0, most[:-1]], most - number)))]
        balls = BallScores(grid.shape, radius)
        before = left.copy()
        peel(left, grid, balls.cell(int(np.argmax(balls(left)))), number)
        take(before - left)
    take(left)
    return np.array([point for point, _ in found]), np.array([weight for _, weight in found])
