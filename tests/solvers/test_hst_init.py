"""Centers from counts on a 2-HST: against the paper's text and brute force, with candidates, opened
facilities and noise.
"""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.kernels.hst_passes import consistent_counts, settled_counts
from metricdp.solvers.hst_init import hst_init
from metricdp.solvers.tree_dp import solve_on_tree
from tests import naive

few = settings(max_examples=80, deadline=None, derandomize=True)
pieces = st.integers(0, 10**6)
small_sets = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=8)


def problem(points, seed):
    """A tree, signed weights, candidates, opened facilities and a k that fits them."""
    rng = np.random.default_rng(seed)
    metric = mdp.EuclideanMetric(np.array(points, float))
    tree, n = mdp.build_hst(metric, int(rng.integers(100))), len(metric)
    candidates = np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False))
    opened = rng.choice(n, rng.integers(0, min(n, 2) + 1), replace=False)
    places = np.union1d(candidates, opened)
    k = int(rng.integers(max(len(opened), 1), len(places) + 1))
    weights = rng.integers(-3, 7, n).astype(float)
    return tree, weights, k, int(rng.integers(1, 3)), candidates, opened, places


def tree_distances(tree):
    everyone = np.arange(tree.n_points)
    return tree.position_distances(everyone[:, None], everyone)


def check_centers(found, k, opened, places):
    assert len(found) == len(set(found)) == k
    assert set(found[: len(opened)]) == set(opened) and set(found) <= set(places)


@few
@given(small_sets, pieces)
def test_the_optimum_on_the_tree_is_that_of_all_choices(points, seed):
    tree, weights, k, power, candidates, opened, places = problem(points, seed)
    found = solve_on_tree(tree, weights, k, power=power, candidates=candidates, opened=opened)
    check_centers(found.centers, k, opened, places)
    distances = tree_distances(tree)
    costs = [
        naive.cost(distances, weights, c, power)
        for c in itertools.combinations(places, k)
        if set(opened) <= set(c)
    ]
    scale = 1 + np.abs(weights).sum() * distances.max() ** power
    assert found.cost == pytest.approx(min(costs), abs=1e-9 * scale)
    assert naive.cost(distances, weights, found.centers, power) == pytest.approx(
        found.cost, abs=1e-9 * scale
    )


@few
@given(small_sets, pieces)
def test_initial_centers_are_those_of_the_printed_algorithm(points, seed):
    rng = np.random.default_rng(seed)
    tree = mdp.build_hst(mdp.EuclideanMetric(np.array(points, float)), int(rng.integers(100)))
    weights = rng.normal(size=tree.n_points)  # ties would be broken differently
    labels = np.column_stack([tree.labels_at(i) for i in range(tree.n_levels)])
    n_leaves = len(tree.nodes_at(tree.n_levels - 1))
    for k in range(1, n_leaves + 1):
        for power in (1, 2):
            found = hst_init(tree, tree.sums(weights), k, power=power)
            expected = naive.hst_start(labels, weights, k, power)
            assert {frozenset(tree.points(tree.leaf[c]).tolist()) for c in found} == expected


@few
@given(small_sets, pieces)
def test_initial_centers_respect_candidates_and_opened_facilities(points, seed):
    tree, weights, k, power, candidates, opened, places = problem(points, seed)
    known = tree.level <= np.random.default_rng(seed).integers(0, tree.n_levels)
    for among in (None, known):
        found = hst_init(
            tree,
            tree.sums(weights),
            k,
            power=power,
            candidates=candidates,
            opened=opened,
            known=among,
        )
        check_centers(found, k, opened, places)


def test_every_k_gives_so_many_centers_even_where_points_coincide():
    tree = mdp.build_hst(mdp.PrecomputedMetric([[0.0, 0, 3], [0, 0.0, 3], [3, 3, 0.0]]), 0)
    weights = np.array([1.0, 5, 1])
    for k in (1, 2, 3):
        assert (
            len(set(hst_init(tree, tree.sums(weights), k)))
            == len(set(solve_on_tree(tree, weights, k).centers))
            == k
        )
    assert set(hst_init(tree, tree.sums([1.0, 1, 1]), 2)) == {0, 2}
    for k in (0, 4):
        with pytest.raises(InputError, match="k must be"):
            hst_init(tree, tree.sums(np.ones(3)), k)
        with pytest.raises(InputError, match="k must be"):
            solve_on_tree(tree, np.ones(3), k)


def test_heavy_places_get_the_centers():
    graph = nx.path_graph(40)
    metric = mdp.GraphMetric(graph, weight=None)
    weights = np.full(40, 0.01)
    weights[[3, 21, 38]] = 100
    for seed in range(5):
        tree = mdp.build_hst(metric, seed)
        assert set(hst_init(tree, tree.sums(weights), 3)) == {3, 21, 38}
        assert set(solve_on_tree(tree, weights, 3).centers) == {3, 21, 38}


def test_the_walk_ends_at_a_median_where_counts_tell_nothing():
    metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    tree = mdp.build_hst(metric, 0)
    nothing = np.zeros(tree.n_nodes, bool)
    assert hst_init(tree, tree.sums(np.arange(9.0)), 1, known=nothing).tolist() == [4]
    assert hst_init(
        tree, tree.sums(np.arange(9.0)), 1, known=nothing, candidates=np.array([0, 5, 8])
    ).tolist() == [5]


@few
@given(small_sets, pieces)
def test_consistent_counts_are_the_least_squares_fit(points, seed):
    rng = np.random.default_rng(seed)
    tree = mdp.build_hst(mdp.EuclideanMetric(np.array(points, float)), int(rng.integers(100)))
    value, variance = rng.normal(size=tree.n_nodes) * 10, rng.uniform(0.1, 5, tree.n_nodes)
    inner = np.flatnonzero(tree.last_level < tree.n_levels - 1)
    variance[rng.permutation(inner)[: len(inner) // 2]] = np.inf
    found, spread = consistent_counts(tree.parent, value, variance, tree.sizes.astype(float))
    np.testing.assert_allclose(
        found, naive.least_squares_counts(tree.parent, value, variance), atol=1e-7
    )
    assert (spread <= variance).all()
    assert spread[0] == pytest.approx(naive.least_squares_variance(tree.parent, variance)[0])
    assert (spread >= naive.least_squares_variance(tree.parent, variance) - 1e-9).all()


def test_what_was_not_counted_is_spread_evenly():
    parent = np.array([-1, 0, 0, 1, 1], np.int32)
    sizes = np.array([4.0, 3, 1, 2, 1])
    found, spread = consistent_counts(
        parent, np.array([8.0, 0, 0, 0, 0]), np.array([1.0, *[np.inf] * 4]), sizes
    )
    np.testing.assert_allclose(found, [8, 6, 2, 4, 2])
    assert spread.tolist() == [1.0, *[np.inf] * 4]


def test_nodes_settle_above_the_noise_and_the_rest_is_spread():
    parent = np.array([-1, 0, 0, 0, 1, 1], np.int32)
    sizes = np.array([10.0, 4, 4, 2, 3, 1])
    counts, settled = settled_counts(
        parent, np.array([100.0, 70, 3, 27, 69, 1]), np.array([0.0, 10, 10, 30, 10, 10]), sizes
    )
    assert settled.tolist() == [True, True, False, False, True, False]
    np.testing.assert_allclose(counts, [100, 70, 20, 10, 69, 1])
    counts, settled = settled_counts(
        parent, np.array([100.0, 9, 9, 9, 69, 1]), np.full(6, 10.0), sizes
    )
    assert settled.tolist() == [
        True,
        False,
        False,
        False,
        False,
        False,
    ]  # below a node that has not settled nothing does
    np.testing.assert_allclose(counts, sizes * 10)


@pytest.mark.parametrize("limit", [20_000_000, 100])
def test_the_solver_starts_from_centers_that_are_given(limit, monkeypatch):
    from metricdp.solvers import kmedian

    monkeypatch.setattr(kmedian, "WHOLE_BLOCK", limit)
    metric = mdp.GraphMetric(nx.grid_2d_graph(9, 9), weight=None)
    weights = np.random.default_rng(0).random(81)
    tree = mdp.build_hst(metric, 1)
    start = solve_on_tree(tree, weights, 4, opened=np.array([7])).centers
    found = kmedian.solve(metric, weights, 4, opened=np.array([7]), first=start, starts=1)
    assert found.centers[0] == 7 and len(set(found.centers)) == 4
    assert found.cost <= weights @ metric.nearest_to(start)[1]
    for wrong in (start[:3], [7, 7, 1, 2], [0, 1, 2, 3]):
        with pytest.raises(InputError, match="first must be"):
            kmedian.solve(metric, weights, 4, opened=np.array([7]), first=np.array(wrong))
