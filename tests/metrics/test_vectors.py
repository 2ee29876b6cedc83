"""Universes of points, of a matrix, and boxes: distances, the grid, refusals."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from metricdp.errors import UnknownIdError
from metricdp.metrics import EuclideanMetric, EuclideanSpace, ManhattanMetric, PrecomputedMetric
from tests import everything, naive, refuses, tries

KINDS = {EuclideanMetric: "euclidean", ManhattanMetric: "cityblock"}
numbers = st.one_of(
    st.integers(-5, 5).map(float), st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-9)
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 13])
@pytest.mark.parametrize("k", [1, 7, 8, 60])
def test_nearest_by_rows_and_by_tree(kind, d, k, monkeypatch):
    monkeypatch.setattr("metricdp.arguments.ENTRIES", 500)  # several blocks of rows
    points = np.random.default_rng(d).normal(size=(150, d))
    metric, centers = kind(points), np.random.default_rng(k).choice(150, k)
    label, distance = metric.nearest_to(centers)
    true = cdist(points, points, KINDS[kind])
    np.testing.assert_allclose(distance, naive.nearest(true, centers))
    np.testing.assert_allclose(true[centers[label], np.arange(150)], distance)
    assert label.dtype == np.int64 and distance.dtype == np.float64


def test_ids_and_blocks():
    metric = EuclideanMetric([[0.0], [1.0], [5.0]], ids=["x", (1, 2), 7])
    assert metric.distances([(1, 2), 7], ["x"]).tolist() == [[1], [5]]
    refuses("'y'", metric.distances, ["y"], error=UnknownIdError)
    plain = EuclideanMetric([[0.0], [1.0], [5.0]])
    assert list(plain.ids) == [0, 1, 2]
    forms = [[2, 0], (2, 0), [2.0, 0.0], [np.int64(2), 0], iter([2, 0]), {2: "a", 0: "b"}]
    kinds = np.int64, np.int32, np.uint8, float, np.float32
    for same in [*forms, *(np.array([2, 0], kind) for kind in kinds)]:
        assert plain.positions(same).tolist() == [2, 0]
    alone = [3, -1, 0.5, "0", None, True, np.nan, np.inf, (0, 1), 2**70]
    for bad in [*([one] for one in alone), [(0, 1), 2], [[0, 1], [1, 2]]]:
        refuses("", plain.positions, bad, error=UnknownIdError)
    assert plain.positions([]).tolist() == []


def test_names_of_a_frame_of_distances_are_found():
    pd = pytest.importorskip("pandas")
    far = [[0.0, 1, 4], [1, 0, 3], [4, 3, 0]]
    named = pd.DataFrame(far, index=list("abc"), columns=list("abc"))
    for frame in (named, named.set_axis(range(3)), named.set_axis(range(3), axis=1)):
        assert PrecomputedMetric(frame).ids == list("abc")
    for ids in (None, "abc", "cab", "bca"):
        metric = PrecomputedMetric(named, ids=ids if ids is None else list(ids))
        assert metric.distances("a", "abc").tolist() == [[0, 1, 4]]
    assert PrecomputedMetric(named, ids=list("cde")).distances("c", "cde").tolist() == [far[0]]
    plain = PrecomputedMetric(pd.DataFrame(far), ids=[2, 0, 1])
    assert plain.distances([2], [2, 0, 1]).tolist() == [far[0]]
    refuses("ids must be a sequence", PrecomputedMetric, named, ids=5)
    crossed = named.set_axis(list("bac"), axis=1)
    refuses("name its rows and columns alike", PrecomputedMetric, crossed)


@pytest.mark.parametrize("kind", KINDS)
@tries(
    80,
    points=st.tuples(st.integers(1, 6), st.integers(1, 3)).flatmap(
        lambda s: arrays(np.int64, s, elements=st.integers(-(10**6), 10**6))
    ),
    fixed=True,
)
def test_integer_points_are_exact_on_the_grid(kind, points):
    metric = kind(points)
    assert metric.unit == 1.0
    for i, row in enumerate(metric.grid_rows(np.arange(len(points)))):
        for j, q in enumerate(row):
            steps = [abs(int(a) - int(b)) for a, b in zip(points[i], points[j])]
            if kind is ManhattanMetric:
                assert q == sum(steps)
            else:
                square = sum(s * s for s in steps)  # ceil of the root, exactly
                assert (q - 1) ** 2 < square <= q * q or q == sum(steps) == 0


def test_squares_near_the_largest_are_rooted_exactly():
    far = 2**26 - 1
    metric = EuclideanMetric([[0.0], [far], [far - 1]])
    assert metric.unit == 1.0
    assert metric.grid_rows(np.array([0])).tolist() == [[0, far, far - 1]]


@pytest.mark.parametrize("kind", KINDS)
def test_the_diameter_bound(kind):
    rng = np.random.default_rng(0)
    for d in (1, 2, 5):
        metric = kind(rng.normal(size=(50, d)))
        true = everything(metric).max()
        most = d**0.5 if kind is EuclideanMetric else d
        assert true * (1 - 1e-12) <= metric.diameter_bound() <= true * most * (1 + 1e-12)
    assert kind([[3.0, 4.0]]).diameter_bound() == 0
    assert kind([[0.0], [2.5]]).diameter_bound() == 2.5


def test_snapping():
    points = np.random.default_rng(0).random((40, 3))
    for kind in KINDS:
        metric, queries = kind(points), np.random.default_rng(1).random((30, 3)) * 2
        expected = cdist(queries, points, KINDS[kind]).argmin(axis=1)
        np.testing.assert_array_equal(metric.snap(queries), expected)
        assert metric.snap(np.empty((0, 3))).tolist() == []
    assert EuclideanMetric([[0.0, 1.0], [2.0, 3.0]]).coordinate_system == "xy"
    assert EuclideanMetric(points).coordinates is None


# Boxes


def test_the_box():
    upper = np.array([1, 1, 2.5])
    box = EuclideanSpace([0, -1, 2], upper)
    upper[:] = 9  # corners are copied
    assert box.dimension == 3
    assert box.clip([[2, 0, 0], [0.5, -9, 2.25]]).tolist() == [[1, 0, 2], [0.5, -1, 2.25]]
    assert box.clip(np.empty((0, 3))).shape == (0, 3)
    assert box.diameter_bound() == pytest.approx(np.sqrt(1 + 4 + 0.25))
    assert EuclideanSpace(0, 1).dimension == 1


def test_the_net_covers_the_box():
    box = EuclideanSpace([0, 10], [1, 30])
    net = box.net(500, seed=3)
    assert len(net) == 500
    assert (net.points >= box.lower).all() and (net.points <= box.upper).all()
    cells = np.unique(((net.points - box.lower) / (box.upper - box.lower) * 10).astype(int), axis=0)
    assert len(cells) == 100  # each hundredth of the box holds some
    assert box.net(500, seed=3) is net
    again = EuclideanSpace([0, 10], [1, 30]).net(500, seed=3)
    np.testing.assert_array_equal(again.points, net.points)
    assert not np.array_equal(box.net(500, seed=4).points, net.points)
    assert len(box.net(1)) == 1
