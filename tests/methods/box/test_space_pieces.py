"""Pieces of the default method in a box: nearest centers, clipped sums, grids, Lloyd's steps; each
beside a slow obvious twin.
"""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.kernels.points import nearest_centers, relative_sums
from metricdp.methods.box.zoom import apart
from metricdp.partitions.box.grid import Block, Grid, NestedGrid
from metricdp.partitions.box.support import standing_groups
from metricdp.privacy import HistogramQuery, SumsQuery
from metricdp.solvers.lloyd import distinct, lloyd, seeding, settled
from tests import naive

NUMBERS = st.one_of(st.floats(-4, 4), st.integers(-3, 3).map(float))
SETS = st.integers(1, 4).flatmap(
    lambda d: st.tuples(
        st.integers(0, 12).flatmap(lambda n: arrays(float, (n, d), elements=NUMBERS)),
        st.integers(1, 5).flatmap(lambda k: arrays(float, (k, d), elements=NUMBERS)),
    )
)
BOX = mdp.EuclideanSpace([-4.0, -4.0], [4.0, 4.0])


@settings(deadline=None)
@given(SETS)
def test_nearest_centers(sets):
    points, centers = sets
    label, square = nearest_centers(points, centers)
    assert list(zip(label.tolist(), square.tolist())) == naive.nearest_centers(points, centers)


@pytest.mark.parametrize("scale", [1e-155, 1e-9, 1.0, 1e9, 1e150])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e7])
@pytest.mark.parametrize(("d", "k"), [(1, 3), (2, 40), (7, 9)])
def test_nearest_centers_where_single_precision_cannot_tell(d, k, offset, scale):
    rng = np.random.default_rng([d, k])
    centers = rng.integers(-2, 3, (k, d)).astype(float)
    centers[1] = centers[0] + 1e-9
    between = (
        centers[rng.integers(k, size=100)] + centers[rng.integers(k, size=100)]
    ) / 2  # as near to one as to the other
    points = np.concatenate(
        [
            rng.normal(size=(100, d)),
            between,
            centers,
            10.0 ** rng.integers(0, 20, (60, 1)) * rng.normal(size=(60, d)),
        ]
    )
    points, centers = (points + offset) * scale, (centers + offset) * scale
    label, square = nearest_centers(points, centers)
    with np.errstate(over="ignore", under="ignore"):
        assert list(zip(label.tolist(), square.tolist())) == naive.nearest_centers(points, centers)


@settings(deadline=None)
@given(SETS, st.sampled_from([0.01, 0.3, 2.0]), st.integers(1, 20))
def test_sums_of_clipped_steps(sets, step, bits):
    points, centers = sets
    label, _ = nearest_centers(points, centers)
    steps = step * (1 + np.arange(len(centers)))
    found = relative_sums(points, label, centers, steps, 2**bits)
    assert found.tolist() == naive.relative_sums(points, label, centers, steps, 2**bits).tolist()
    each = [
        relative_sums(point[None], label[i : i + 1], centers, steps, 2**bits)
        for i, point in enumerate(points)
    ]
    assert (
        sum(each, np.zeros_like(found)) == found
    ).all()  # a record counts the same in any company …
    assert all((one**2).sum() <= 4**bits for one in each)  # … and for no more than the bound


@settings(deadline=None)
@given(
    arrays(float, st.tuples(st.integers(1, 8), st.just(2)), elements=st.floats(-4, 4)),
    st.floats(1e-3, 20),
    st.integers(1, 20),
)
def test_no_record_moves_a_clipped_sum_by_more_than_the_sensitivities(points, radius, bits):
    centers = np.array([[-1.0, 0.0], [2.0, 3.0]])
    query = SumsQuery(HistogramQuery(Grid(BOX, 2)), bits, centers, [radius, 2 * radius])
    rows = np.array([query.exact(point[None]) for point in points])
    assert (rows**2).sum(axis=1).max() <= query.squared_sensitivity("add-remove", 1)
    assert np.abs(rows).sum(axis=1).max() <= query.sensitivity("add-remove", 1)
    gaps = rows[:, None] - rows
    assert (gaps**2).sum(axis=2).max() <= query.squared_sensitivity("replace-one", 1)
    assert np.abs(gaps).sum(axis=2).max() <= query.sensitivity("replace-one", 1)
    assert (query.exact(points) == rows.sum(axis=0)).all()


@pytest.mark.parametrize(
    ("centers", "radii"),
    [
        ([[0, 0]] * 3, 1),
        ([0, 0, 0], 1),
        ([[np.nan, 0]] * 2, 1),
        (None, 0),
        (None, -1),
        (None, [1, np.inf]),
        (None, [1, 1, 1]),
        (None, 1e-6),
        ("a", 1),
        (None, None.__class__),
    ],
)
def test_bad_centers_and_radii_are_refused(centers, radii):
    with pytest.raises(mdp.InputError):
        SumsQuery(HistogramQuery(Grid(BOX, 2)), 10, centers, radii)


def test_centers_of_sums_are_kept_in_the_box_and_cannot_be_changed_from_outside():
    centers, radii = np.array([[9.0, 0.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    query = SumsQuery(HistogramQuery(Grid(BOX, 2)), 4, centers, radii)
    before = query.exact(np.array([[1.0, 2.0], [-3.0, 0.0]])).tolist()
    centers[:], radii[:] = 0.0, 1e-9
    assert query.centers.tolist() == [[4.0, 0.0], [1.0, 1.0]] and query.steps.tolist() == [
        1 / 16,
        2 / 16,
    ]
    assert query.exact(np.array([[1.0, 2.0], [-3.0, 0.0]])).tolist() == before


@settings(deadline=None)
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
    assert grid.box_sums(values).tolist() == (near @ values).tolist()


def nest():
    """A grid of 8 x 6 cells; a block of it 3 x 3, a block of that one cell of 2 x 2; and a block of
    one cell.
    """

    def block(low, high, grid):
        return Block(np.array(low), np.array(high), grid)

    space = mdp.EuclideanSpace([0, 0], [8, 6])
    outer = NestedGrid(space, (8, 6))
    spaces = [
        outer.block(np.array(low), np.array(high))
        for low, high in (((2, 1), (5, 4)), ((7, 0), (8, 1)))
    ]
    middle = NestedGrid(spaces[0], (3, 3))
    inner = NestedGrid(middle.block(np.array([0, 2]), np.array([1, 3])), (2, 2))
    middle = NestedGrid(spaces[0], (3, 3), [block((0, 2), (1, 3), inner)])
    return NestedGrid(
        space,
        (8, 6),
        [block((2, 1), (5, 4), middle), block((7, 0), (8, 1), NestedGrid(spaces[1], (5, 1)))],
    )


def test_nested_grids():
    grid = nest()
    assert [part.n_own for part in grid.grids()] == [48, 9, 4, 5] and grid.n_parts == len(
        grid.centers
    ) == len(grid.diagonals) == 66
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
    assert ((cells < 48) == ~(in_middle | in_corner)).all() and (
        cells[cells < 48] == own[cells < 48]
    ).all()
    assert set(cells[in_corner]) <= set(range(61, 66)) and len(set(range(48)) - set(cells)) == 10


def test_what_a_nested_grid_keeps_for_itself():
    grid = nest()
    kept = [part.kept().reshape(part.shape) for part in grid.grids()]
    assert {tuple(at) for at in np.argwhere(~kept[0]).tolist()} == {
        *((x, y) for x in (2, 3, 4) for y in (1, 2, 3)),
        (7, 0),
    }
    assert np.argwhere(~kept[1]).tolist() == [[0, 2]] and kept[2].all() and kept[3].all()


@settings(deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([(0.0, 0.0), (2.0, 2.0), (3.0, 6.0), (9.0, 30.0), (1e3, 1e3)]),
)
def test_standing_groups(seed, least):
    rng, grid = np.random.default_rng(seed), nest()
    values = (
        rng.normal(0, 1, 66) + np.where(rng.random(66) < 0.1, 20, 0) + rng.choice([0.0, 0.0, 1.0])
    )
    group, level = standing_groups(grid, values, least)
    assert (
        group.tolist() == (expected := naive.standing_groups(grid, values, least))[0]
        and level.tolist() == expected[1]
    )


def test_a_sparse_tail_stands_out_at_a_coarser_scale():
    grid = NestedGrid(mdp.EuclideanSpace([0.0], [512.0]), 512)
    values = np.random.default_rng(1).normal(0, 1, 512)
    values[:64] += 10
    values[256:] += 1.5
    group, level = standing_groups(grid, values, (4.0, 4.0))
    assert (level[group[:64]] == 0).all() and (group[70:240] == -1).mean() > 0.8
    tail = group[260:]
    assert (tail >= 0).mean() > 0.6 and level[tail[tail >= 0]].max() > 0
    assert (standing_groups(grid, values, (4.0, 4.0))[0] == group).all()


@settings(deadline=None)
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
    low, high = grid.cover(mdp.EuclideanSpace(lower, upper))
    assert (low >= 0).all() and (low < high).all() and (high <= grid.shape).all()
    assert (low * grid.side <= lower + 1e-8).all() and (high * grid.side >= upper - 1e-8).all()
    assert ((low + 1) * grid.side >= lower - 1e-8).all() and (
        (high - 1) * grid.side <= upper + 1e-8
    ).all()


def test_a_block_too_fine_for_floating_point_numbers_is_none():
    grid = Grid(mdp.EuclideanSpace([1.0], [1.0 + 1e-6]), 10_000)
    assert (
        grid.block(np.array([3]), np.array([4])) is None
        and grid.block(np.array([0]), np.array([900])) is not None
    )


def test_blocks_that_meet_are_one():
    def block(low, high, mass):
        return np.array(low), np.array(high), mass

    blocks = [
        block([0, 0], [2, 2], 1.0),
        block([5, 5], [6, 6], 2.0),
        block([2, 0], [3, 2], 4.0),
        block([1, 1], [6, 3], 8.0),
    ]
    found = sorted((low.tolist(), high.tolist(), mass) for low, high, mass in apart(blocks))
    assert found == [([0, 0], [6, 3], 13.0), ([5, 5], [6, 6], 2.0)]


def mixture(seed=0):
    rng = np.random.default_rng(seed)
    middles = np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 6.0], [9.0, 1.0]])
    return middles, np.concatenate([middle + rng.normal(0, 0.3, (50, 2)) for middle in middles])


@pytest.mark.parametrize("power", [1, 2])
def test_lloyd_finds_clusters_and_weighs_points(power):
    middles, points = mixture()
    weights = np.ones(len(points))
    found = lloyd(points, weights, 4, power=power)
    assert sorted(nearest_centers(middles, found)[0].tolist()) == [0, 1, 2, 3]
    if power == 2:
        means = points.reshape(4, 50, 2).mean(axis=1)
        np.testing.assert_allclose(
            found[np.lexsort(found.T)], means[np.lexsort(means.T)], atol=1e-3
        )
    repeated = lloyd(points, np.where(np.arange(200) < 50, 1.0, 0.0), 1, power=power)
    assert np.linalg.norm(repeated - middles[0]) < 0.3
    assert (
        lloyd(points, weights, 4, power=power, seed=5).tolist()
        == lloyd(points, weights, 4, power=power, seed=5).tolist()
    )


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(1, 6), st.sampled_from([1, 2]))
def test_steps_never_make_positive_weights_cost_more(seed, k, power):
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(30, 3)), rng.random(30)
    start = seeding(points, weights, k, rng, power)
    assert len(start) == k and all((points == center).all(axis=1).any() for center in start)

    def cost(centers):
        return weights @ nearest_centers(points, centers)[1] ** (power / 2)

    assert cost(settled(points, weights, start, power=power)) <= cost(start) * (1 + 1e-4)


def test_medians_leave_points_they_start_on_and_stay_on_those_that_are_the_median():
    rng = np.random.default_rng(4)
    for heavy in (0.0, 3.0, 100.0):
        points = np.concatenate([rng.normal(size=(40, 2)), [[0.5, 0.5]]])
        weights = np.concatenate([rng.random(40), [heavy]])

        def cost(center, points=points, weights=weights):
            return weights @ np.linalg.norm(points - center, axis=1)

        from_points = [settled(points, weights, points[i : i + 1], power=1)[0] for i in range(41)]
        best = min(
            cost(p)
            for p in [
                *from_points,
                *(settled(points, weights, rng.normal(size=(1, 2)), power=1)[0] for _ in range(5)),
            ]
        )
        assert max(cost(p) for p in from_points) <= best * (1 + 1e-3)
        if heavy == 100:
            assert all(np.allclose(p, [0.5, 0.5], atol=1e-3) for p in from_points)
    line = np.array([[0.0], [1.0], [10.0]])
    assert abs(settled(line, np.ones(3), line[:1], power=1)[0, 0] - 1) < 1e-2
    alone = settled(np.zeros((3, 2)), np.ones(3), np.zeros((1, 2)), power=1)
    assert alone.tolist() == [[0.0, 0.0]]


def test_steps_on_signed_weights_stay_among_the_points():
    rng = np.random.default_rng(2)
    points, weights = rng.random((40, 2)), rng.normal(size=40)
    for power in (1, 2):
        found = settled(points, weights, points[:5], power=power)
        assert (found >= points.min(axis=0)).all() and (found <= points.max(axis=0)).all()
    nothing = settled(points, -np.ones(40), points[:5])
    assert nothing.tolist() == points[:5].tolist()


def test_more_centers_than_points_of_weight():
    points = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    for weights in (np.zeros(3), np.array([0.0, 5.0, 0.0])):
        found = distinct(lloyd(points, weights, 3), np.random.default_rng(0).random((6, 2)))
        assert len(np.unique(found, axis=0)) == 3
    same = np.zeros((3, 2))
    assert distinct(same, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).tolist() == [
        [0, 0],
        [0, 1],
        [1, 0],
    ]


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
    np.testing.assert_array_equal(
        grid.encode(inside), np.ravel_multi_index(np.array(places, np.int64), shape)
    )
    for bad in (np.nan, np.inf, -np.inf):
        points[7, d - 1] = bad
        with pytest.raises(InputError, match="finite"):
            space.clip(points)
