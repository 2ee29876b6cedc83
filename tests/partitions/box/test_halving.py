"""Halves of a box as a public hierarchy: sizes, nesting, and where cuts go."""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.partitions.box.halving import Halving

SPACE = mdp.EuclideanSpace([0, -1], [2, 1])
COINS = np.random.default_rng(3)
POINTS = SPACE.clip(COINS.normal([0.4, 0.5], 0.1, (300, 2)))
WEIGHTS = np.full(300, 1 / 300)


@pytest.mark.parametrize("expected", [None, (POINTS, WEIGHTS)])
def test_parts_are_nested_halves_whose_sizes_add_up(expected):
    whole = Halving(SPACE, expected)
    coarse = whole.cut(40)
    fine = whole.cut(90, COINS.dirichlet(np.ones(whole.joined([coarse]).n_parts)))
    both = whole.joined([coarse, fine])
    records = SPACE.clip(COINS.uniform(-1.5, 2.5, (2000, 2)))
    own = both.cells.encode(records)
    off = np.abs(records - both.universe.points[own])
    assert (off <= both.cells.sides[both.cells.leaves][own] / 2 + 1e-9).all()
    m = both.n_parts
    assert 90 <= m < 130 and coarse.n_parts == 40 and fine.n_parts == 90
    sizes = both.sizes
    np.testing.assert_allclose(sizes[m:], sizes[both.children].sum(axis=1))
    np.testing.assert_allclose(sizes[-1], 1.0)
    if expected is not None:
        held = np.bincount(both.cells.encode(POINTS), WEIGHTS, m)
        np.testing.assert_allclose(sizes[:m], 0.95 * held + 0.05 * both.numbers[:m])
        even = Halving(SPACE).cut(40).cells.encode(POINTS)
        assert held.max() < np.bincount(even).max() / 300  # finer where much is expected
    counts = np.r_[np.bincount(own, minlength=m), np.zeros(m - 1, np.int64)]
    for i, (left, right) in enumerate(both.children, start=m):
        counts[i] = counts[left] + counts[right]
    for cut in (coarse, fine):
        reported = np.bincount(cut.cells.encode(records), minlength=cut.n_parts)
        assert (counts[cut.parts_in(both)] == reported).all()


def test_cells_are_cut_in_the_middle_where_the_density_is():
    whole = Halving(SPACE)
    start = whole.joined([whole.cut(16)])
    assert np.allclose(start.cells.sides[start.cells.leaves], 0.5)  # of a box of sides 2
    density = np.zeros(16)
    density[3] = 1.0
    deep = whole.cut(200, density, least=0.01)
    sides = deep.cells.sides[deep.cells.leaves].min(axis=1)
    assert (sides >= 0.5).sum() == 4 and 100 < deep.n_parts <= 200
    assert np.array_equal(whole.cut(200, density, 0.01).sizes, deep.sizes)
