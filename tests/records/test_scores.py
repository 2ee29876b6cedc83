"""Costs of all swaps: equal to their definition on every metric, also after many swaps, whatever
the threads.
"""

from functools import partial

import numpy as np
import pytest
from hypothesis import strategies as st

import tests
from metricdp.kernels.scores import CAP
from metricdp.kernels.shortest_paths import FAR
from metricdp.metrics import EuclideanMetric, ManhattanMetric, PrecomputedMetric
from metricdp.records.scores import CappedSwapCosts, Scale, Served, SwapCosts, rows_from
from tests import cases, naive, path_metric, refuses, tries

metric_of = partial(tests.metric_of, resolution=1.0)


def table_of(costs, metric, centers):
    """All costs, slots × points that are no centers, in order of position."""
    others = np.setdiff1d(np.arange(len(metric)), centers)
    blocks = list(costs.costs(range(len(centers)), metric.inner(others)))
    return np.concatenate(blocks).reshape(len(centers), -1)


def assert_right(costs, metric, centers, demand, scale):
    distance = metric.grid_rows(np.arange(len(metric)))
    others = np.setdiff1d(np.arange(len(metric)), centers)
    assert costs.total == naive.cost_of(distance, centers, demand, scale)
    if len(others):
        found = table_of(costs, metric, centers).tolist()
        assert found == naive.swap_table(distance, centers, demand, scale, others)


@st.composite
def searches(draw, most_points=9):
    """A graph with a demand, centers to begin with and swaps (slot, point) to make."""
    n, edges = draw(naive.graphs(most_points))
    demand = draw(st.lists(st.integers(0, n - 1), max_size=12))
    k = draw(st.integers(1, n))
    centers = draw(st.permutations(range(n)))[:k]
    swaps = draw(st.lists(st.tuples(st.integers(0, k - 1), st.integers(0, n - 1)), max_size=6))
    return n, edges, demand, centers, swaps


SCALES = st.builds(Scale, st.integers(0, 2), st.integers(1, 12), st.sampled_from([1, 2]))


@tries(100, searches(), SCALES, st.data(), fixed=True)
def test_costs_equal_their_definition_after_every_swap_and_other_change(problem, scale, data):
    n, edges, demand, centers, swaps = problem
    metric, at = metric_of(n, edges), np.array(centers)
    costs = SwapCosts(metric, *np.unique(np.array(demand, np.int64), return_counts=True), scale)
    costs.serve(Served.by(metric, at))
    assert_right(costs, metric, at, demand, scale)
    for slot, point in swaps:
        if point not in at:
            at = at.copy()
            at[slot] = point
            costs.serve(Served.by(metric, at))
            assert_right(costs, metric, at, demand, scale)
    for _ in range(3):
        at = np.array(data.draw(st.permutations(range(n)))[: data.draw(st.integers(1, n))])
        costs.serve(Served.by(metric, at))
        assert_right(costs, metric, at, demand, scale)


@pytest.mark.parametrize("kept_rows", [0, 1 << 25])
@pytest.mark.parametrize("kind", ["l2", "l1", "matrix"])
@pytest.mark.parametrize("power", [1, 2])
def test_other_metrics_too(kind, power, kept_rows, monkeypatch):
    monkeypatch.setattr("metricdp.metrics.searches._KEPT_ROWS", kept_rows)
    monkeypatch.setattr("metricdp.arguments.ENTRIES", 100)
    rng = np.random.default_rng(5)
    points = np.r_[rng.random((30, 3)), np.zeros((5, 3))]
    if kind == "matrix":
        metric = PrecomputedMetric(np.abs(points[:, None] - points).max(axis=2))
    else:
        metric = {"l2": EuclideanMetric, "l1": ManhattanMetric}[kind](points)
    demand, at, scale = rng.integers(0, 35, 60), rng.permutation(35)[:4], Scale.of(metric, power)
    costs = SwapCosts(metric, *np.unique(demand, return_counts=True), scale)
    for _ in range(4):
        costs.serve(Served.by(metric, at))
        assert_right(costs, metric, at, demand, scale)
        at = at.copy()
        at[rng.integers(4)] = rng.choice(np.setdiff1d(np.arange(35), at))


@cases(("cores", "k"), (1, 7), (3, 1), (3, 7))
def test_sums_on_a_larger_graph_do_not_depend_on_threads(cores, k, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    n, edges = naive.random_graph(1500, seed=k)
    metric, rng = metric_of(n, edges), np.random.default_rng(k)
    demand, at, scale = rng.integers(0, n, 90), rng.permutation(n)[:k], Scale.of(metric, 1)
    points = np.unique(demand, return_counts=True)
    kept = SwapCosts(metric, *points, scale)
    for _ in range(6):
        kept.serve(Served.by(metric, at))
        fresh = SwapCosts(metric, *points, scale)
        fresh.serve(Served.by(metric, at))
        assert np.array_equal(table_of(kept, metric, at), table_of(fresh, metric, at))
        at = at.copy()
        at[rng.integers(k)] = rng.choice(np.setdiff1d(np.arange(n), at))
    assert kept._used <= k * kept._table.shape[1]  # pages of a row are used again
    rows = metric.grid_rows(points[0])
    others = np.setdiff1d(np.arange(n), kept._centers)
    served = np.delete(rows[:, kept._centers], 0, axis=1).min(axis=1, initial=FAR)
    want = np.minimum(np.minimum(rows[:, others], served[:, None]), scale.cap).T @ points[1]
    assert np.array_equal(table_of(kept, metric, kept._centers)[0], want)


@tries(100, naive.graphs(12), st.integers(0, 60), st.data(), fixed=True)
def test_a_search_finds_all_that_is_strictly_nearer(graph_, bound, data):
    n, edges = graph_
    metric, found = metric_of(n, edges), {}
    source = np.array([data.draw(st.integers(0, n - 1))])

    def take(i, vertices, distances):
        assert i == 0 and len(set(vertices.tolist())) == len(vertices)
        found.update(zip(metric.outer(vertices).tolist(), distances.tolist()))

    searches = metric.searches(source)
    for _ in range(2):  # the work space is fit for use again
        found.clear()
        searches.each(np.array([0]), np.array([bound]), take)
        assert found == {v: int(d) for v, d in enumerate(metric.grid_rows(source)[0]) if d < bound}


@tries(100, searches(), fixed=True)
def test_served_and_nearest_are_those_of_the_definition(problem):
    n, edges, _, centers, _ = problem
    metric, at = metric_of(n, edges), np.array(centers)
    served, rows = Served.by(metric, at), np.sort(metric.grid_rows(at), axis=0)
    where = metric.outer(np.arange(n))
    assert np.array_equal(served.near, rows[0][where])
    assert np.array_equal(served.far, rows[1][where] if len(at) > 1 else np.full(n, FAR))
    assert np.array_equal(metric.grid_nearest(at), served.near)
    assert np.array_equal(metric.grid_rows(at)[served.first, where], served.near)


def test_a_scale_keeps_30_bits_and_rounds_up():
    fine = PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]])
    for power, cap in ((1, None), (2, None), (1, 0.3)):
        scale = Scale.of(fine, power, cap)
        top = (1.0 if cap is None else cap) / fine.unit
        assert scale.cap**power < 2**30 and scale.cap * 2**scale.shift >= top
        assert scale.cost(np.array([0, 1, FAR])).tolist() == [0, 1, scale.cap**power]
    steps = (0, 0.5, 1, 1.5, 2**29, 2**29 + 1, 2**30)
    caps = [Scale.of(fine, 1, step * fine.unit)[:2] for step in steps]
    assert caps == [(0, 1), (0, 1), (0, 1), (0, 2), (0, 2**29), (0, 2**29 + 1), (1, 2**29)]
    assert Scale.of(fine, 2, 2**15 * fine.unit) == (1, 2**14, 2)
    expected = [(8, 72), (64, 72)]
    assert [(Scale(3, 9, power).unit, Scale(3, 9, power).beyond) for power in (1, 2)] == expected


@pytest.mark.parametrize(("near", "far"), [([0, -1], [3, 3]), ([0, 2], [3, 1])])
def test_distances_that_cannot_be_are_refused(near, far):
    class Wrong:
        def two_nearest(self, centers):
            return np.zeros(2, np.int32), np.array(near), np.array(far)

    refuses("0 <= near <= far", lambda: Served.by(Wrong(), np.array([0, 1])))


@cases("counts", [3, 1, 0, 5], [2**45, 2**52 + 1, 3, 2**31], [2**60] * 4, [2**52 - 1] * 4)
@pytest.mark.parametrize("power", [1, 2])
def test_costs_of_very_many_records_are_exact_and_saturate(counts, power):
    metric = EuclideanMetric(np.array([[0.0], [1], [3], [3], [7]]) * 2**20)
    scale, rows = Scale.of(metric, power), metric.grid_rows(np.arange(5)).astype(object)
    costs = CappedSwapCosts(metric, np.arange(4), np.array(counts), scale)

    def cost(centers):
        near = [min(rows[p][c] for c in centers) for p in range(4)]
        each = [min(-(-d >> scale.shift), scale.cap) ** power for d in near]
        return sum(n * c for n, c in zip(counts, each))

    for centers in ([0, 4], [0, 2], [2, 3]):
        costs.serve(Served.by(metric, np.array(centers)))
        assert costs.total == cost(centers)
        others = [p for p in range(5) if p not in centers]
        expected = [[min(cost([kept, y]), CAP) for y in others] for kept in centers[::-1]]
        assert table_of(costs, metric, centers).tolist() == expected


@tries(50, st.lists(st.integers(0, 6), max_size=20), st.integers(0, 3), fixed=True)
def test_each_point_once_with_its_count_and_row(records, at_a_time):
    metric = path_metric(7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metricdp.arguments.ENTRIES", 7 * at_a_time)
        parts = list(rows_from(metric, np.array(records, np.int64)))
    assert all(len(points) <= max(1, at_a_time) for points, _, _ in parts)
    held = [row for rows in parts for row in zip(*rows)]
    found = {int(point): (int(count), row.tolist()) for point, count, row in held}
    steps = metric.grid_rows(np.arange(7))
    assert found == {v: (records.count(v), steps[v].tolist()) for v in set(records)}
    assert sum(len(points) for points, _, _ in parts) == len(found)
