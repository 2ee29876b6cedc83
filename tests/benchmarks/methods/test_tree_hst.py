"""Centers from counts on a 2-HST: against the paper's text and brute force, with candidates, opened
facilities and noise.
"""

import itertools

import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from benchmarks.methods.hst_subtrees import hst_init
from benchmarks.methods.tree_dp import solve_on_tree
from tests import naive, tries

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
    choices = [c for c in itertools.combinations(places, k) if set(opened) <= set(c)]
    costs = [naive.cost(distances, weights, c, power) for c in choices]
    scale = 1 + np.abs(weights).sum() * distances.max() ** power
    assert found.cost == pytest.approx(min(costs), abs=1e-9 * scale)
    expected = pytest.approx(found.cost, abs=1e-9 * scale)
    assert naive.cost(distances, weights, found.centers, power) == expected


@tries(30, small_sets, pieces, fixed=True)
def test_initial_centers_are_those_of_the_printed_algorithm(points, seed):
    rng = np.random.default_rng(seed)
    tree = mdp.build_hst(mdp.EuclideanMetric(np.array(points, float)), int(rng.integers(100)))
    weights = rng.normal(size=tree.n_points)  # ties would be broken differently
    labels = np.column_stack([tree.labels_at(i) for i in range(tree.n_levels)])
    for k in range(1, len(tree.nodes_at(tree.n_levels - 1)) + 1):
        for power in (1, 2):
            found = hst_init(tree, tree.sums(weights), k, power=power)
            expected = naive.hst_start(labels, weights, k, power)
            assert {frozenset(tree.points(tree.leaf[c]).tolist()) for c in found} == expected
