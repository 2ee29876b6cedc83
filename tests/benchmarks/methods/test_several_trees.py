"""The paper's dynamic program and its passes: the program is exact, badly cut centers are those of
the definition, reverse greedy is its slow twin.
"""

import hypothesis.strategies as st
import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.badly_cut import badly_cut
from benchmarks.methods.reverse_greedy import reverse_greedy
from benchmarks.methods.tree_dp import table_sizes, tree_k_median
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from tests import naive_centers, tries
from tests import naive_quadtree as naive
from tests.methods.spending import BOX


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
    assert naive.tree_cost(parent, weight, away, None, taken) == pytest.approx(value, abs=1e-9)


@tries(40, st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([1, 2]))
def test_reverse_greedy_equals_its_reference_implementation(seed, m, power):
    rng = np.random.default_rng(seed)
    points, weights = (
        rng.integers(0, 40, (m, 2)) + rng.random((m, 2)),
        rng.uniform(-3, 20, m),  # equal ones are ties, which rounding breaks
    )
    for k in range(1, m + 1):
        found = reverse_greedy(points, weights, k, power=power).tolist()
        assert found == naive_centers.reverse_greedy(points, weights, k, power)


@tries(30, st.integers(0, 10**6), st.integers(1, 3), st.sampled_from([0.3, 1.0, 4.0]))
def test_badly_cut_centers_are_those_of_the_definition(seed, d, chance):
    rng = np.random.default_rng(seed)
    space = mdp.EuclideanSpace(rng.uniform(-5, 0, d), rng.uniform(1, 9, d))
    centers, depth = rng.uniform(space.lower, space.upper, (8, d)), 12 * d
    tree = ShiftedQuadtree(space, seed=seed)
    axes = tree.axes[:depth].tolist()
    asked = [(space.lower, space.upper, axes, seed, center, chance, d) for center in centers]
    wanted = [naive_centers.badly_cut(*one) for one in asked]
    assert badly_cut(tree, centers, depth, chance).tolist() == wanted
