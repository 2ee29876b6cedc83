"""The shifted quadtree: cells nest and divide the box, cuts lie in the middle third, a point's
cells depend on that point alone.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.kernels.quadtree_cells import BITS, MOST_CUTS
from metricdp.partitions.box.quadtree import QuadtreeCells, ShiftedQuadtree
from metricdp.partitions.box.refining import refined
from tests import naive, tries

seeds = st.integers(0, 2**70)


@st.composite
def boxes(draw):
    d = draw(st.integers(1, 4))
    lower = draw(st.lists(st.floats(-1e6, 1e6), min_size=d, max_size=d))
    sides = draw(st.lists(st.floats(0.01, 1e4), min_size=d, max_size=d))
    return mdp.EuclideanSpace(lower, np.add(lower, sides))


def points_in(space, n, seed=0):
    rng = np.random.default_rng(seed)
    inside = space.lower + rng.random((n, space.dimension)) * (space.upper - space.lower)
    return np.concatenate([inside, [space.lower, space.upper, (space.lower + space.upper) / 2]])


def randomly_opened(space, seed, rounds=6):
    cells, rng = ShiftedQuadtree(space, seed=seed).root_cell(), np.random.default_rng(seed % 2**32)
    for _ in range(rounds):
        cells = cells.split(cells.leaves[rng.random(cells.n_parts) < 0.7])
    return cells


@tries(40, boxes(), seeds, st.integers(1, 120))
def test_keys_are_those_of_the_reference_implementation(space, seed, depth):
    tree = ShiftedQuadtree(space, min(depth, MOST_CUTS * space.dimension), seed)
    order = naive.axes(space.lower, space.upper, tree.depth)
    assert tree.axes.tolist() == order
    points = points_in(space, 3)
    for grid, keys in zip(tree.grid(points), tree.cells(points)):
        assert keys.tolist() == [key for key, _ in naive.path([int(x) for x in grid], order, seed)]


@tries(40, boxes(), seeds)
def test_closed_cells_divide_the_box_by_cuts_in_the_middle_third(space, seed):
    cells = randomly_opened(space, seed)
    points, leaves = points_in(space, 3000, 1), cells.leaves
    grid = cells.tree.grid(points)
    upper = cells.low[leaves] + cells.size[leaves]
    inside = ((grid[:, None] >= cells.low[leaves]) & (grid[:, None] < upper)).all(axis=2)
    assert (inside.sum(axis=1) == 1).all()
    assert np.array_equal(inside.argmax(axis=1), cells.encode(points))
    found = sum(np.prod([int(s) for s in sides], dtype=object) for sides in cells.size[leaves])
    assert found == 2 ** (BITS * space.dimension)
    # cuts lie in the middle third
    for v in np.flatnonzero(cells.child >= 0):
        axis, size = cells.tree.axes[cells.level[v]], cells.size[v].astype(object)
        for half in (cells.child[v], cells.child[v] + 1):
            assert cells.parent[half] == v and cells.level[half] == cells.level[v] + 1
            assert size[axis] <= 3 * cells.size[half, axis].astype(object) <= 2 * size[axis]
            assert (np.delete(cells.size[half], axis) == np.delete(cells.size[v], axis)).all()


@tries(40, boxes(), seeds, st.integers(0, 50))
def test_keys_name_the_cells_and_a_record_is_encoded_by_itself(space, seed, which):
    cells, points = randomly_opened(space, seed), points_in(space, 100, 2)
    at = cells.leaves[cells.encode(points)]
    keys = cells.tree.cells(points, int(cells.level.max()))
    assert (keys[np.arange(len(points)), cells.level[at]] == cells.keys[at]).all()
    for level in range(keys.shape[1] - 1):  # two in one cell were in one cell before
        for key in np.unique(keys[:, level + 1]):
            assert len(np.unique(keys[keys[:, level + 1] == key, level])) == 1
    alone = points[which : which + 1]
    assert cells.encode(alone)[0] == cells.encode(points)[which]
    assert np.array_equal(cells.tree.cells(alone, 20)[0], cells.tree.cells(points, 20)[which])


def test_same_seed_same_tree_other_seed_another():
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    points = points_in(space, 1000)
    keys = [ShiftedQuadtree(space, 20, seed).cells(points) for seed in (0, 0, 1, 2**64, 2**64 + 1)]
    assert np.array_equal(keys[0], keys[1])
    assert len({k[0, 0] for k in keys}) == 4
    one, other = (np.unique(keys[i][:, 8], return_inverse=True)[1] for i in (0, 2))
    assert not np.array_equal(one, other)


def test_keys_are_the_same_bits_everywhere():
    tree = ShiftedQuadtree(mdp.EuclideanSpace([-1, 0, 10], [1, 5, 10.5]), 30, seed=12345)
    assert tree.axes[:8].tolist() == [1, 1, 0, 1, 0, 1, 0, 2]
    keys = tree.cells([[0.1, 0.2, 10.3]])[0]
    expected = [2_454_886_589_211_414_944, 3_433_295_084_199_926_122, 10_639_283_142_484_278_089]
    assert keys[[0, 10, 30]].tolist() == expected


def test_cuts_are_spread_over_the_middle_third():
    space = mdp.EuclideanSpace([0], [1])
    trees = [ShiftedQuadtree(space, 1, seed) for seed in range(2000)]
    cuts = np.array([float(tree.root_cell().split([0]).cut[0]) * 2.0**-BITS for tree in trees])
    counts = np.histogram(cuts, np.linspace(1 / 3, 2 / 3, 11))[0]
    assert counts.sum() == 2000
    assert ((counts - 200) ** 2 / 200).sum() < 40  # chi square, 9 degrees of freedom


def test_depths_cut_each_coordinate_in_turn():
    cube = mdp.EuclideanSpace([0] * 3, [2] * 3)
    assert ShiftedQuadtree(cube, 7).axes.tolist() == [0, 1, 2, 0, 1, 2, 0]
    found = np.bincount(ShiftedQuadtree(mdp.EuclideanSpace([0, 0], [1, 1e9])).axes)
    assert (found == MOST_CUTS).all()


def test_points_outside_count_where_they_are_clipped_to():
    tree = ShiftedQuadtree(mdp.EuclideanSpace([0, 0], [1, 1]), 10)
    assert np.array_equal(tree.cells([[5, -5], [1, 0]])[0], tree.cells([[1, 0]])[0])


def test_cells_of_the_last_depth_stay_closed():
    cells = ShiftedQuadtree(mdp.EuclideanSpace([0], [1]), 1).root_cell()
    for _ in range(3):
        cells = cells.split(cells.leaves)
    assert cells.n_parts == 2 and cells.level.max() == 1


@tries(40, boxes(), seeds, st.integers(1, 60))
def test_refining_keeps_what_there_is(space, seed, most):
    cells = randomly_opened(space, seed, 3)
    amounts = np.zeros(len(cells.parent))
    amounts[cells.leaves] = np.random.default_rng(1).normal(5, 10, cells.n_parts)
    finer, given_ = refined(cells, amounts, most)
    assert finer.n_parts == max(most, cells.n_parts)
    assert np.array_equal(given_[: len(amounts)], amounts)
    points = points_in(space, 40)
    old, new = cells.leaves[cells.encode(points)], finer.leaves[finer.encode(points)]
    for below, above in zip(new, old):
        while below != above:
            below = finer.parent[below]
    assert given_[finer.leaves].sum() == pytest.approx(amounts[cells.leaves].sum(), abs=1e-6)


def test_refining_goes_where_the_demand_is_and_stops():
    cells = ShiftedQuadtree(mdp.EuclideanSpace([0], [8]), seed=1).root_cell().split([0])
    finer, _ = refined(cells, np.array([0, 100.0, 1.0]), 9)
    assert (finer.low[:, 0] < cells.low[2, 0])[finer.leaves].sum() == 8
    assert refined(cells, np.array([0, 100.0, 1.0]), 1000, least=20)[0].n_parts < 12
    assert refined(cells, np.array([0, 100.0, 1.0]), 1000, deepest=2)[0].n_parts == 4


def test_what_cells_are_in_the_box():
    space = mdp.EuclideanSpace([-2, 0], [2, 1])
    cells = randomly_opened(space, 5)
    assert cells.volume[cells.leaves].sum() == pytest.approx(1)
    points = points_in(space, 100)
    at = cells.leaves[cells.encode(points)]
    assert (np.abs(points - cells.centers[at]) <= cells.sides[at] / 2 * (1 + 1e-9)).all()
    assert np.allclose(cells.diameter, np.linalg.norm(cells.sides, axis=1))
    assert isinstance(cells, QuadtreeCells) and "leaf cells" in repr(cells)
    assert "seed=5" in repr(cells.tree)
