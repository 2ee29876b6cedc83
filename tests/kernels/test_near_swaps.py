"""Kicks on lists of near candidates: labels, losses and cost stay what they are by definition, and
the cost told is that of the centers.
"""

import numpy as np
import pytest

from metricdp.kernels import near_swaps
from metricdp.kernels.near_swaps import Near, near_of_block, transposed


def problem(seed, reach, m=30, n=40, k=6):
    rng = np.random.default_rng(seed)
    block = rng.integers(0, 50, (m, n)).astype(np.float32)
    weights = rng.integers(0, 4, n).astype(float)
    reach = np.full(n, reach)
    lists = near_of_block(block, reach, m * n)
    near = Near(*lists, *transposed(*lists, m), weights, 4 * reach)
    return near, np.where(block < reach, block, 4 * reach), rng.permutation(m)[:k]


def check(near, costs, state, cost, fixed):
    open_ = costs[state.centers]
    far = near.far[0]
    two = np.sort(np.vstack([open_, np.full(open_.shape[1], far)]), axis=0)[:2]
    assert (state.c_first == two[0]).all() and (state.c_second == two[1]).all()
    served = state.c_first < far
    at = np.arange(open_.shape[1])[served]
    assert (open_[state.first[served], at] == state.c_first[served]).all()
    assert cost == pytest.approx(near.weights @ two[0])
    size = len(state.losses) // 2
    for s in range(len(open_)):
        lost = np.where(served & (state.first == s), two[1] - two[0], 0.0) @ near.weights
        assert state.losses[size + s] == (np.inf if s < fixed else pytest.approx(lost))
    assert state.losses[1] == state.losses[size : size + len(open_)].min()
    assert (np.flatnonzero(state.slot >= 0) == np.sort(state.centers)).all()
    assert (state.slot[state.centers] == np.arange(len(open_))).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("reach", "heat"), [(7.0, 0.0), (25.0, 0.0), (25.0, 30.0), (100.0, 30.0)])
def test_the_state_is_what_it_is_by_definition(seed, reach, heat):
    near, costs, rows = problem(seed, reach)
    fixed = seed % 3
    state, cost = near_swaps.state_at(near, rows, fixed)
    check(near, costs, state, cost, fixed)
    space = near_swaps.workspace(30, 6)
    cost = near_swaps.descended(near, state, space, np.arange(30), cost, 1e-9 * abs(cost))
    check(near, costs, state, cost, fixed)
    best, least = state.centers.copy(), cost
    effort = np.array([0, 4000, 20000])
    coins = np.array([seed], np.uint64)
    while effort[0] < effort[2]:
        cost, least = near_swaps.kick_and_descend(
            near, state, space, fixed, coins, effort, heat, cost, 1e-9, best, least
        )
        check(near, costs, state, cost, fixed)
        assert least <= cost
        assert least == pytest.approx(near.weights @ np.minimum(costs[best].min(axis=0), near.far))
        assert not space.queued.any() and not space.stale.any() and not space.savings.any()
        effort[1] = min(effort[1] + 4000, effort[2])
    assert (best[:fixed] == rows[:fixed]).all()
    assert len(np.unique(best)) == 6


def test_a_descent_ends_where_no_swap_of_a_whole_list_improves():
    near, costs, rows = problem(1, 100.0)
    state, cost = near_swaps.state_at(near, rows, 0)
    asked = near, state, near_swaps.workspace(30, 6), np.arange(30)
    cost = near_swaps.descended(*asked, cost, 1e-9)
    again = near_swaps.descended(*asked, cost, 1e-9)
    assert again == cost
    for slot in range(6):
        for row in np.setdiff1d(np.arange(30), state.centers):
            trial = np.r_[np.delete(state.centers, slot), row]
            assert near.weights @ costs[trial].min(axis=0) >= cost


@pytest.mark.parametrize("reach", [7.0, 100.0])
def test_the_best_swap_is_the_best_of_all_with_weights_of_both_signs(reach):
    for seed in range(10):
        near, _, rows = problem(seed, reach)
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], len(near.weights))
        near = near._replace(weights=near.weights * signs)
        state, cost = near_swaps.state_at(near, rows, 0)
        for row in np.setdiff1d(np.arange(30), rows):
            gain, slot = near_swaps._best_swap(near, state, near_swaps.workspace(30, 6), row)
            after = [
                near_swaps.state_at(near, np.where(np.arange(6) == s, row, rows), 0)[1]
                for s in range(6)
            ]
            assert gain == pytest.approx(min(after) - cost) == pytest.approx(after[slot] - cost)
