"""Grids of a box, and finer ones inside, beside slow obvious twins."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import metricdp as mdp
from metricdp.partitions.box.blocks import block_of, box_sums, cover_of, kept_of
from metricdp.partitions.box.grid import Block, Grid, NestedGrid


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=4), st.integers(1, 300))
def test_a_grid_has_no_more_cells_than_asked_and_every_point_one(extent, n_cells):
    d = len(extent)
    space = mdp.EuclideanSpace([-1.0] * d, np.array(extent) - 1.0)
    grid = Grid(space, n_cells)
    assert 1 <= grid.n_parts <= n_cells and grid.n_parts == np.prod(grid.shape)
    assert grid.encode(grid.centers).tolist() == list(range(grid.n_parts))
    assert (grid.centers > space.lower).all() and (grid.centers < space.upper).all()
    corners = np.array([space.lower, space.upper])
    assert grid.encode(corners).tolist() == [0, grid.n_parts - 1]
    points = space.lower + np.random.default_rng(0).random((50, d)) * (space.upper - space.lower)
    assert (np.abs(points - grid.centers[grid.encode(points)]) <= grid.side * (0.5 + 1e-9)).all()


@pytest.mark.parametrize("shape", [(7,), (4, 5), (3, 1, 4), (1, 1)])
def test_box_sums(shape):
    space = mdp.EuclideanSpace([0.0] * len(shape), [float(n) for n in shape])
    grid = Grid(space, int(np.prod(shape)))
    assert grid.shape == shape
    values = np.random.default_rng(1).integers(-5, 9, grid.n_parts)
    at = np.stack(np.unravel_index(np.arange(grid.n_parts), shape), axis=1)
    near = (np.abs(at[:, None] - at) <= 1).all(axis=2)
    assert box_sums(grid, values).tolist() == (near @ values).tolist()


def nest():
    """A grid of 8 x 6 cells; a block of it 3 x 3, a block of that one cell of 2 x 2; and a block of
    one cell.
    """

    def block(low, high, grid):
        return Block(np.array(low), np.array(high), grid)

    space = mdp.EuclideanSpace([0, 0], [8, 6])
    outer = NestedGrid(space, (8, 6))
    spaces = [
        block_of(outer, np.array(low), np.array(high))
        for low, high in (((2, 1), (5, 4)), ((7, 0), (8, 1)))
    ]
    middle = NestedGrid(spaces[0], (3, 3))
    inner = NestedGrid(block_of(middle, np.array([0, 2]), np.array([1, 3])), (2, 2))
    middle = NestedGrid(spaces[0], (3, 3), [block((0, 2), (1, 3), inner)])
    return NestedGrid(
        space,
        (8, 6),
        [block((2, 1), (5, 4), middle), block((7, 0), (8, 1), NestedGrid(spaces[1], (5, 1)))],
    )


def test_nested_grids():
    grid = nest()
    assert [part.n_own for part in grid.grids()] == [48, 9, 4, 5]
    assert grid.n_parts == len(grid.centers) == len(grid.diagonals) == 66
    assert sorted(set(grid.diagonals.round(6))) == [
        round(x, 6) for x in (2**0.5 / 2, (1 / 25 + 1) ** 0.5, 2**0.5)
    ]
    points = np.random.default_rng(0).random((3000, 2)) * [8, 6]
    cells = grid.encode(points)
    assert (cells == np.concatenate([grid.encode(point[None]) for point in points])).all()
    away = np.abs(points - grid.centers[cells])
    sides = np.concatenate([np.tile(part.side, (part.n_own, 1)) for part in grid.grids()])
    assert (away <= sides[cells] / 2 + 1e-9).all()
    own = Grid(grid.universe, (8, 6)).encode(points)
    in_middle = ((points >= [2, 1]) & (points < [5, 4])).all(axis=1)
    in_corner = (points[:, 0] >= 7) & (points[:, 1] < 1)
    assert ((cells < 48) == ~(in_middle | in_corner)).all()
    assert (cells[cells < 48] == own[cells < 48]).all()
    assert set(cells[in_corner]) <= set(range(61, 66)) and len(set(range(48)) - set(cells)) == 10


def test_what_a_nested_grid_keeps_for_itself():
    grid = nest()
    kept = [kept_of(part).reshape(part.shape) for part in grid.grids()]
    assert {tuple(at) for at in np.argwhere(~kept[0]).tolist()} == {
        *((x, y) for x in (2, 3, 4) for y in (1, 2, 3)),
        (7, 0),
    }
    assert np.argwhere(~kept[1]).tolist() == [[0, 2]] and kept[2].all() and kept[3].all()


@given(
    st.lists(st.tuples(st.floats(0, 0.99), st.floats(0.001, 1)), min_size=1, max_size=3),
    st.integers(1, 500),
)
def test_a_cover_holds_its_box_and_no_cell_more_than_it_meets(parts, n_cells):
    lower, upper = (
        np.array([low for low, _ in parts]),
        np.array([min(low + size, 1.0) for low, size in parts]),
    )
    grid = Grid(mdp.EuclideanSpace([0.0] * len(parts), [1.0] * len(parts)), n_cells)
    low, high = cover_of(grid, mdp.EuclideanSpace(lower, upper))
    assert (low >= 0).all() and (low < high).all() and (high <= grid.shape).all()
    assert (low * grid.side <= lower + 1e-8).all() and (high * grid.side >= upper - 1e-8).all()
    assert ((low + 1) * grid.side >= lower - 1e-8).all()
    assert ((high - 1) * grid.side <= upper + 1e-8).all()


def test_a_block_too_fine_for_floating_point_numbers_is_none():
    grid = Grid(mdp.EuclideanSpace([1.0], [1.0 + 1e-6]), 10_000)
    assert block_of(grid, np.array([3]), np.array([4])) is None
    assert block_of(grid, np.array([0]), np.array([900])) is not None
