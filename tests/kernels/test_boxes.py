"""Cells of a grid and clipping, beside numpy."""

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.grid import Grid
from tests import refuses


@pytest.mark.parametrize("shape", [(1,), (7,), (5, 3), (4, 1, 6)])
def test_cells_and_clipping_are_those_of_numpy(shape):
    rng, d = np.random.default_rng(2), len(shape)
    space = mdp.EuclideanSpace(-rng.random(d), rng.random(d) + 0.5)
    grid = Grid(space, shape)
    edges = space.lower + rng.integers(0, 9, (300, d)) * grid.side  # on the borders of cells
    points = np.concatenate(
        [
            rng.normal(size=(3000, d)),
            edges,
            [space.lower, space.upper],
            np.full((2, d), [[1e300], [-1e300]]),
        ]
    )
    inside = np.clip(points, space.lower, space.upper)
    np.testing.assert_array_equal(space.clip(points), inside)
    np.testing.assert_array_equal(space.clip(np.asfortranarray(points)), inside)
    places = [
        np.clip(np.trunc((x - low) / side), 0, n - 1)
        for x, low, side, n in zip(inside.T, space.lower, grid.side, shape)
    ]
    expected = np.ravel_multi_index(np.array(places, np.int64), shape)
    np.testing.assert_array_equal(grid.encode(inside), expected)
    for bad in (np.nan, np.inf, -np.inf):
        points[7, d - 1] = bad
        refuses("finite", space.clip, points)
