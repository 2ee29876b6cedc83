"""Dynamic programs on trees, against the papers' text and brute force: centers from counts on a
2-HST, with candidates and opened facilities; the program on a quadtree, badly cut centers, and
reverse greedy.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from benchmarks.methods.badly_cut import badly_cut
from benchmarks.methods.hst_subtrees import hst_init
from benchmarks.methods.reverse_greedy import reverse_greedy
from benchmarks.methods.tree_dp import solve_on_tree, table_sizes, tree_k_median
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from tests import naive, tries
from tests.methods.spending import BOX

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


@tries(30, small_sets, pieces, fixed=True)
def test_the_optimum_on_the_tree_is_that_of_all_choices(points, seed):
    tree, weights, k, power, candidates, opened, places = problem(points, seed)
    found = solve_on_tree(tree, weights, k, power=power, candidates=candidates, opened=opened)
    check_centers(found.centers, k, opened, places)
    distances = tree_distances(tree)
    best = naive.best_centers(distances, weights, k, power, places, opened)[1]
    scale = 1 + np.abs(weights).sum() * distances.max() ** power
    assert found.cost == pytest.approx(best, abs=1e-9 * scale)
    expected = pytest.approx(found.cost, abs=1e-9 * scale)
    assert naive.cost(distances, weights, found.centers, power) == expected


@tries(30, small_sets, pieces, fixed=True)
def test_initial_centers_are_those_of_the_printed_algorithm(points, seed):
    rng = np.random.default_rng(seed)
    tree = mdp.build_hst(mdp.EuclideanMetric(np.array(points, float)), int(rng.integers(100)))
    weights = rng.normal(size=tree.n_points)  # ties would be broken differently
    labels = [tree.labels_at(i) for i in range(tree.n_levels)]
    counts = [np.bincount(at, weights) for at in labels]
    for k in range(1, len(tree.nodes_at(tree.n_levels - 1)) + 1):
        for power in (1, 2):
            found = hst_init(tree, tree.sums(weights), k, power=power)
            expected = naive.hst_start(labels, counts, k, power)
            assert {frozenset(tree.points(tree.leaf[c]).tolist()) for c in found} == expected


@tries(60, st.integers(0, 10**9), st.integers(2, 9), st.data())
def test_the_program_is_exact_on_the_tree(seed, leaves, data):
    rng = np.random.default_rng(seed)
    cells = ShiftedQuadtree(BOX, seed=seed).root_cell()
    while cells.n_parts < leaves:
        cells = cells.split([rng.choice(cells.leaves)])
    k = data.draw(st.integers(1, leaves))
    weight = rng.normal(5, 8, len(cells.parent)).round(2)
    places = (cells.child < 0).astype(np.int64)
    for v in range(len(places) - 1, 0, -1):
        places[cells.parent[v]] += places[v]
    away = cells.diameter
    at = table_sizes(cells.parent, places, k)
    value, chosen = tree_k_median(cells.parent, weight, away, np.zeros_like(places), places, k, *at)
    parent = cells.parent.tolist()
    assert value == pytest.approx(naive.tree_optimum(parent, weight, away, k), abs=1e-9)
    taken = np.flatnonzero((chosen > 0) & (cells.child < 0)).tolist()
    assert len(taken) == k
    cost = naive.tree_cost(parent, weight, away, None, taken)
    assert cost == pytest.approx(value, abs=1e-9)


@tries(40, st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([1, 2]))
def test_reverse_greedy_equals_its_reference_implementation(seed, m, power):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 40, (m, 2)) + rng.random((m, 2))
    weights = rng.uniform(-3, 20, m)  # equal ones are ties, which rounding breaks
    for k in range(1, m + 1):
        found = reverse_greedy(points, weights, k, power=power).tolist()
        assert found == naive.reverse_greedy(points, weights, k, power)


@tries(30, st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([0.3, 1.0, 4.0]))
def test_badly_cut_centers_are_those_of_the_definition(seed, d, chance):
    rng = np.random.default_rng(seed)
    space = mdp.EuclideanSpace(rng.uniform(-5, 0, d), rng.uniform(1, 9, d))
    centers, depth = rng.uniform(space.lower, space.upper, (8, d)), 12 * d
    tree = ShiftedQuadtree(space, seed=seed)
    axes = tree.axes[:depth].tolist()
    asked = [(space.lower, space.upper, axes, seed, center, chance, d) for center in centers]
    wanted = [naive.badly_cut(*one) for one in asked]
    assert badly_cut(tree, centers, depth, chance).tolist() == wanted
