"""Two nearest centers, their repair after swaps, and the exact changes of cost, against brute force over all swaps."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metricdp.kernels.shortest_paths import FAR
from metricdp.kernels.two_nearest import NOBODY, path_cost, removal_losses, repair_two_nearest, swap_changes
from tests import naive

few = settings(max_examples=100, deadline=None, derandomize=True)
UNIT = 0.25


class Centers:
    """The state the kernels keep, built and moved by them."""

    def __init__(self, graph, centers):
        n, edges = graph
        self.csr, self.centers = naive.csr(n, edges), np.array(centers, np.int64)
        self.first, self.second = np.full(n, NOBODY), np.full(n, NOBODY)
        self.d_first, self.d_second = np.full(n, FAR), np.full(n, FAR)
        room = 4 * len(self.csr[1]) + len(centers)  # exactly what the kernel asks for
        self.space = np.empty(room, np.int64), np.empty(room, np.int64)
        self.repair(np.ones(len(centers), bool))

    def repair(self, moved):
        labels = (self.first, self.second, self.d_first, self.d_second)
        repair_two_nearest(*self.csr, moved, self.centers, *labels, *self.space)

    def move(self, slots, vertices):
        moved = np.zeros(len(self.centers), bool)
        moved[slots] = True
        self.centers[slots] = vertices
        self.repair(moved)

    def check(self, true):
        near, far = naive.two_nearest(true, self.centers)
        at = np.arange(len(true))
        np.testing.assert_array_equal(self.d_first, near)
        np.testing.assert_array_equal(self.d_second, far)
        np.testing.assert_array_equal(true[self.centers[self.first], at], near)
        if len(self.centers) > 1:
            np.testing.assert_array_equal(true[self.centers[self.second], at], far)
            assert (self.first != self.second).all()
        else:
            assert (self.second == NOBODY).all()

    def changes(self, weights, power, candidates):
        n, k, arcs = len(self.first), len(self.centers), len(self.csr[1]) + 1
        losses, distance = np.empty(k), np.full(n, FAR)
        cost = removal_losses(self.first, self.d_first, self.d_second, weights, UNIT, power, losses)
        slots, changes = np.empty(len(candidates), np.int64), np.empty(len(candidates))
        labels = (self.first, self.d_first, self.d_second, losses)
        space = (distance, np.empty(n, np.int64), np.empty(arcs, np.int64), np.empty(arcs, np.int64))
        swap_changes(*self.csr, weights, UNIT, power, candidates, *labels, *space, slots, changes)
        assert (distance == FAR).all()  # left as found
        return cost, losses, slots, changes


@st.composite
def states(draw):
    graph = draw(naive.graphs())
    n = graph[0]
    centers = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=min(n, 4), unique=True))
    return graph, centers


@few
@given(states(), st.data())
def test_labels_stay_right_through_many_moves(state, data):
    graph, centers = state
    n, true = graph[0], naive.all_pairs(*graph)
    kept = Centers(graph, centers)
    kept.check(true)
    for _ in range(data.draw(st.integers(0, 6))):
        slots = data.draw(st.lists(st.integers(0, len(centers) - 1), min_size=1, max_size=len(centers), unique=True))
        kept.move(slots, [data.draw(st.integers(0, n - 1)) for _ in slots])  # anywhere, on another center too
        kept.check(true)


def test_a_center_hidden_by_two_others_comes_back_when_one_leaves():
    graph = (6, [(0, 1, 0), (1, 2, 0), (2, 3, 0), (3, 4, 5), (4, 5, 1)])
    true = naive.all_pairs(*graph)
    for centers in itertools.permutations(range(4)):  # no vertex has room for more than two of them
        for slot in range(4):
            kept = Centers(graph, centers)
            kept.move([slot], [5])
            kept.check(true)
            kept.move([(slot + 1) % 4], [4])
            kept.check(true)


def test_labels_stay_right_on_a_larger_graph():
    graph = naive.random_graph(70, 3)
    true, rng = naive.all_pairs(*graph), np.random.default_rng(4)
    kept = Centers(graph, rng.choice(70, 9, replace=False))
    for _ in range(150):
        kept.move([rng.integers(9)], [rng.integers(70)])
        kept.check(true)


@few
@given(states(), st.sampled_from([1, 2]), st.data())
def test_changes_of_all_swaps(state, power, data):
    graph, centers = state
    n, true = graph[0], naive.all_pairs(*graph) * UNIT
    weights = np.array(data.draw(st.lists(st.integers(-3, 4), min_size=n, max_size=n)), float)
    cost, losses, slots, changes = Centers(graph, centers).changes(weights, power, np.arange(n))
    expected = naive.swap_changes(true, weights, centers, power)
    assert cost == pytest.approx(naive.cost(true, weights, centers, power), abs=1e-9)
    np.testing.assert_allclose(changes, expected.min(axis=1), atol=1e-9)
    np.testing.assert_allclose(changes, expected[np.arange(n), slots], atol=1e-9)  # and the slot named does it
    if len(centers) > 1:
        np.testing.assert_allclose(losses, naive.removal_losses(true, weights, centers, power), atol=1e-9)
    else:
        assert losses[0] == pytest.approx(-cost)  # nothing is left to serve: by convention at no cost


@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("power", [1, 2])
def test_changes_of_all_swaps_on_a_larger_graph(k, power):
    graph = naive.random_graph(60, k)
    rng = np.random.default_rng(k)
    weights = rng.normal(1, 2, 60) * (rng.random(60) < 0.7)  # some zero, some negative
    centers = rng.choice(60, k, replace=False).tolist()
    expected = naive.swap_changes(naive.all_pairs(*graph) * UNIT, weights, centers, power)
    _, _, slots, changes = Centers(graph, centers).changes(weights, power, np.arange(60))
    np.testing.assert_allclose(changes, expected.min(axis=1), rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(changes, expected[np.arange(60), slots], rtol=1e-9, atol=1e-7)


def test_path_cost():
    assert path_cost(6, 0.5, 1) == 3.0
    assert path_cost(6, 0.5, 2) == 9.0
    assert path_cost(FAR, 0.5, 1) == path_cost(FAR, 0.5, 2) == 0.0
