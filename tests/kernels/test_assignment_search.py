"""Every client by one site, against all assignments."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metricdp.kernels.assignment_search import Sites, local_search

NUMBERS = st.integers(0, 9).map(float)


def _sites(costs: np.ndarray, loads: np.ndarray, room: np.ndarray) -> Sites:
    """One size, no fees, no least load."""
    m = len(room)
    nothing, own = np.zeros(m), np.arange(m)
    most = np.array([m])
    return Sites(costs, loads, room, nothing, nothing, own, np.zeros(m, np.int64), most)


def _explored(costs, loads, room, first, fixed, chains) -> tuple[float, float]:
    """What the search ends with, held to its own account, and the best of all assignments."""
    (n, m), k = costs.shape, len(first)
    best = np.inf
    for more in combinations(np.setdiff1d(np.arange(m), first[:fixed]), k - fixed):
        rows = np.r_[first[:fixed], more].astype(np.int64)
        for site in product(range(k), repeat=n):
            if (np.bincount(site, loads, k) <= room[rows]).all():
                best = min(best, costs[np.arange(n), rows[list(site)]].sum())
    rows, site = first.copy(), np.zeros(n, np.int64)
    best_rows, best_site = rows.copy(), site.copy()
    coins, price = np.array([1], np.uint64), np.array([1.0, 0.1, 1e6])
    near = np.tile(np.arange(m), (n, 1))
    moves = (coins, price, 1.0, 300, chains, best_rows, best_site, np.inf)
    cost = local_search(_sites(costs, loads, room), rows, site, fixed, near, *moves)
    if np.isfinite(cost):
        assert best_rows[:fixed].tolist() == first[:fixed].tolist()
        assert len(set(best_rows.tolist())) == k
        assert (np.bincount(best_site, loads, k) <= room[best_rows]).all()
        assert cost == costs[np.arange(n), best_rows[best_site]].sum()
    return cost, best


@given(st.data(), st.booleans())
def test_capacities_hold_and_no_assignment_is_cheaper(data: st.DataObject, chains: bool) -> None:
    m, n = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    k = data.draw(st.integers(1, min(m, 2)))
    fixed = data.draw(st.integers(0, k - (m > k)))
    costs = np.array(data.draw(st.lists(NUMBERS, min_size=m * n, max_size=m * n))).reshape(n, m)
    loads = np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n)))
    room = np.array(data.draw(st.lists(NUMBERS, min_size=m, max_size=m))) * 3
    first = np.array(data.draw(st.permutations(range(m)))[:k], np.int64)
    cost, best = _explored(costs, loads, room, first, fixed, chains)
    assert cost >= best


def test_chains_find_the_best_of_small_instances_but_for_a_few() -> None:
    """Public coins: the same 300 instances each time."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(300):
        m, n = int(rng.integers(2, 5)), int(rng.integers(1, 6))
        costs, loads = rng.integers(0, 10, (n, m)) * 1.0, rng.integers(0, 10, n) * 1.0
        room, first = rng.integers(0, 10, m) * 3.0, rng.permutation(m)[: rng.integers(1, 3)]
        cost, best = _explored(costs, loads, room, first, 0, chains=True)
        missed += cost > best
    assert missed <= 3


@given(st.data())
def test_sizes_fees_and_least_loads_are_kept(data: st.DataObject) -> None:
    """Three places in two sizes, of the larger of which one can be open."""
    k, n = 2, data.draw(st.integers(2, 5))
    fixed = data.draw(st.integers(0, k))
    costs = np.array(data.draw(st.lists(NUMBERS, min_size=3 * n, max_size=3 * n))).reshape(n, 3)
    loads = np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n)))
    large = loads.sum() * data.draw(st.sampled_from([0.5, 0.7, 1.0]))
    room = np.repeat([data.draw(st.sampled_from([0.5, 1.0])) * large, large], 3)
    least = np.full(6, data.draw(st.sampled_from([0.0, 0.3])) * loads.sum())
    fee = np.repeat(data.draw(st.lists(NUMBERS, min_size=2, max_size=2)), 3)
    both, most = np.tile(costs, (1, 2)), np.array([k, 1])
    size, place = np.divmod(np.arange(6), 3)
    sites = Sites(both, loads, room, least, fee, place, size, most)

    kept = []
    for rows in map(list, combinations(range(6), k)):
        held = set(range(fixed)) <= set(place[rows].tolist())
        if not held or place[rows[0]] == place[rows[1]] or size[rows].sum() > 1:
            continue
        for site in product(range(k), repeat=n):
            used = np.bincount(site, loads, k)
            if (used <= room[rows]).all() and (used >= least[rows]).all():
                kept.append(both[np.arange(n), np.array(rows)[list(site)]].sum() + fee[rows].sum())
    rows, site = np.array([3, 1]), np.zeros(n, np.int64)  # the first place large
    best_rows, best_site = rows.copy(), site.copy()
    coins, price = np.array([1], np.uint64), np.array([1.0, 0.1, 1e6])
    near = np.tile(np.arange(6), (n, 1))
    moves = (coins, price, 1.0, 600, True, best_rows, best_site, np.inf)
    cost = local_search(sites, rows, site, fixed, near, *moves)
    if np.isinf(cost):
        return
    assert place[best_rows][:fixed].tolist() == list(range(fixed))
    assert len(set(place[best_rows].tolist())) == k
    assert size[best_rows].sum() <= 1
    used = np.bincount(best_site, loads, k)
    assert (used <= room[best_rows]).all() and (used >= least[best_rows]).all()
    expected = pytest.approx(both[np.arange(n), best_rows[best_site]].sum() + fee[best_rows].sum())
    assert cost == expected and cost >= min(kept) - 1e-9
