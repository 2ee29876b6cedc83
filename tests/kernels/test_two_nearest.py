"""Two nearest centers, their repair after swaps, and the exact changes of cost, against brute force
over all swaps.
"""

import numpy as np
import pytest
from hypothesis import strategies as st

from metricdp.kernels import two_nearest
from metricdp.kernels.elimination import eliminate
from metricdp.kernels.shortest_paths import FAR
from tests import naive, tries

UNIT = 0.25


class Centers:
    """The state the kernels keep, built and moved by them."""

    def __init__(self, graph, centers, weights=None, power=1, fixed=()):
        n, edges = graph
        k = len(centers)
        self.graph = (*(csr := naive.csr(n, edges)), csr[2])
        shortest = {}
        for u, v, length in edges:
            pair = min(u, v), max(u, v)
            shortest[pair] = min(length, shortest.get(pair, length))
        self.simple = naive.csr(n, [(u, v, d) for (u, v), d in shortest.items() if u != v])
        self.demand = (np.ones(n) if weights is None else np.asarray(weights, float), UNIT, power)
        room = 4 * len(self.graph[1]) + k  # exactly what the kernels ask for
        self.heap = np.empty(room, np.int64), np.empty(room, np.int64)
        self.fixed = np.isin(np.arange(k), fixed)
        self.state = two_nearest.state_of(self.graph, np.array(centers), 1, self.heap)
        self.cost = two_nearest.removal_losses(self.labels, self.demand, self.fixed, self.losses)

    def __getattr__(self, name):
        return getattr(self.state, name)

    def move(self, slot, vertex):
        self.dirty[:] = False
        held = (self.graph, self.demand, self.heap, self.state)
        risen, entered = two_nearest.move_center(*held, slot, vertex)
        self.cost += risen
        return entered

    def check(self, true):
        """Labels, lists, cost and losses against brute force and against sums made anew."""
        first, second, d_first, d_second = self.labels
        near, far = naive.two_nearest(true, self.centers)
        at = np.arange(len(true))
        np.testing.assert_array_equal(d_first, near)
        np.testing.assert_array_equal(d_second, far)
        np.testing.assert_array_equal(true[self.centers[first], at], near)
        if len(self.centers) > 1:
            np.testing.assert_array_equal(true[self.centers[second], at], far)
            assert (first != second).all()
        else:
            assert (second == two_nearest.NOBODY).all()
        for which, label in enumerate((first, second)):
            for slot in range(len(self.centers)):
                assert sorted(self.listed(which, slot)) == np.flatnonzero(label == slot).tolist()
        again = np.empty(len(self.centers))
        losses = two_nearest.removal_losses(self.labels, self.demand, self.fixed, again)
        assert self.cost == pytest.approx(losses, abs=1e-9)
        np.testing.assert_allclose(self.losses, again, atol=1e-9)
        assert (np.flatnonzero(self.slot_at != two_nearest.NOBODY) == np.sort(self.centers)).all()
        assert not self.marked.any()
        np.testing.assert_array_equal(self.slot_at[self.centers], np.arange(len(self.centers)))

    def listed(self, which, slot):
        heads, after, before = self.members
        found, v, previous = [], heads[which, slot], two_nearest.NOBODY
        while v != two_nearest.NOBODY:
            assert before[which, v] == previous
            found.append(int(v))
            v, previous = after[which, v], v
        return found

    def space(self):
        return two_nearest.workspace(len(self.slot_at), len(self.centers), len(self.graph[1]))

    def with_cheap(self, count):
        """The state, and so many of the cheapest slots."""
        state = self.state._replace(cheap=np.empty(count, np.int64))
        two_nearest.cheapest_slots(state.losses, state.cheap)
        return state

    def changes(self, candidates, cheap=1):
        slots, changes = np.empty(len(candidates), np.int64), np.empty(len(candidates))
        space, held = self.space(), (self.demand, self.with_cheap(cheap), candidates)
        entered = two_nearest.swap_changes(self.graph, space, *held, slots, changes)
        order = eliminate(self.simple, self.simple[2], 10**6)
        if len(order.start) > len(self.slot_at):  # else there was no room for more arcs
            swept = np.empty_like(slots), np.empty_like(changes)
            assert two_nearest.swept_changes(order, *held, *swept) <= entered
            np.testing.assert_allclose(swept[1], changes, atol=1e-9)
        # left as found
        assert (space.distance == FAR).all() and not space.change.any() and not space.seen.any()
        return slots, changes


@st.composite
def states(draw):
    graph = draw(naive.graphs())
    n = graph[0]
    return graph, draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=min(n, 4), unique=True))


@tries(100, states(), st.sampled_from([1, 2]), st.data(), fixed=True)
def test_labels_and_sums_stay_right_through_many_moves(state, power, data):
    graph, centers = state
    n, true = graph[0], naive.all_pairs(*graph)
    weights = data.draw(st.lists(st.integers(-3, 4), min_size=n, max_size=n))
    kept = Centers(graph, centers, weights, power)
    kept.check(true)
    for _ in range(data.draw(st.integers(0, 6)) if len(centers) < n else 0):
        slot, vertex = data.draw(st.integers(0, len(centers) - 1)), data.draw(st.integers(0, n - 1))
        if vertex not in kept.centers:
            kept.move(slot, vertex)
            kept.check(true)


def test_labels_stay_right_on_a_larger_graph_and_moves_are_local():
    graph = naive.random_graph(70, 3)
    true, rng = naive.all_pairs(*graph), np.random.default_rng(4)
    kept, entered = Centers(graph, rng.choice(70, 9, replace=False), rng.normal(1, 1, 70)), 0
    for _ in range(150):
        before = [label.copy() for label in kept.labels[:2]]
        entered += kept.move(rng.integers(9), rng.choice(np.setdiff1d(np.arange(70), kept.centers)))
        kept.check(true)
        for old, new in zip(before, kept.labels):
            # whoever won or lost demand
            assert kept.dirty[np.r_[old[old != new], new[old != new]]].all()
    assert entered < 150 * 50


@tries(100, states(), st.sampled_from([1, 2]), st.integers(1, 4), st.data(), fixed=True)
def test_changes_of_all_swaps(state, power, cheap, data):
    graph, centers = state
    n, true = graph[0], naive.all_pairs(*graph) * UNIT
    weights = np.array(data.draw(st.lists(st.integers(-3, 4), min_size=n, max_size=n)), float)
    kept = Centers(graph, centers, weights, power)
    slots, changes = kept.changes(np.arange(n), min(cheap, len(centers)))
    expected = naive.swap_changes(true, weights, centers, power)
    assert kept.cost == pytest.approx(naive.cost(true, weights, centers, power), abs=1e-9)
    np.testing.assert_allclose(changes, expected.min(axis=1), atol=1e-9)
    # and the slot named does it
    np.testing.assert_allclose(changes, expected[np.arange(n), slots], atol=1e-9)
    if len(centers) > 1:
        expected = naive.removal_losses(true, weights, centers, power)
        np.testing.assert_allclose(kept.losses, expected, atol=1e-9)
    else:
        # nothing is left to serve: by convention at no cost
        assert kept.losses[0] == pytest.approx(-kept.cost)


@tries(100, st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 12), fixed=True)
def test_cheapest_slots(losses, count):
    cheap = np.empty(min(count, len(losses)), np.int64)
    two_nearest.cheapest_slots(np.array(losses, float), cheap)
    assert [losses[i] for i in cheap] == sorted(losses)[: len(cheap)]
    assert len(set(cheap.tolist())) == len(cheap)
