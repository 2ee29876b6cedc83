"""Grids of a box."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

import metricdp as mdp
from benchmarks.methods.grid import Grid


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=4), st.integers(1, 300))
def test_a_grid_has_no_more_cells_than_asked_and_every_point_one(extent, n_cells):
    d = len(extent)
    space = mdp.EuclideanSpace([-1.0] * d, np.array(extent) - 1.0)
    grid = Grid(space, n_cells)
    assert 1 <= grid.n_parts <= n_cells and grid.n_parts == np.prod(grid.shape)
    assert grid.encode(grid.centers).tolist() == list(range(grid.n_parts))
    assert (grid.centers > space.lower).all() and (grid.centers < space.upper).all()
    assert grid.encode(np.array([space.lower, space.upper])).tolist() == [0, grid.n_parts - 1]
    points = space.lower + np.random.default_rng(0).random((50, d)) * (space.upper - space.lower)
    assert (np.abs(points - grid.centers[grid.encode(points)]) <= grid.side * (0.5 + 1e-9)).all()
