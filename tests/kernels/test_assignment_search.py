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


def _explored(sites: Sites, first: np.ndarray, fixed: int, chains: bool) -> tuple[float, float]:
    """What the search ends with, held to its own account, and the best of all assignments."""
    costs, loads, room, least, fee, place, size, most = sites
    (n, m), k = costs.shape, len(first)
    stay = place[first[:fixed]].tolist()

    def least_cost(rows: np.ndarray, site: np.ndarray) -> float:
        """Of assignments (n_assignments, n), infinite if all break a rule."""
        places, open_sizes = set(place[rows].tolist()), np.bincount(size[rows], minlength=len(most))
        if len(places) < k or not set(stay) <= places or (open_sizes > most).any():
            return np.inf
        used = np.stack([(site == slot) @ loads for slot in range(k)], axis=1)
        kept = ((used <= room[rows]) & (used >= least[rows])).all(axis=1)
        paid = costs[np.arange(n), rows[site[kept]]].sum(axis=1) + fee[rows].sum()
        return float(paid.min(initial=np.inf))

    every = np.array(list(product(range(k), repeat=n)))
    best = min(least_cost(np.array(rows), every) for rows in combinations(range(m), k))
    rows, site = first.copy(), np.zeros(n, np.int64)
    best_rows, best_site = rows.copy(), site.copy()
    coins, price = np.array([1], np.uint64), np.array([1.0, 0.1, 1e6])
    near = np.tile(np.arange(m), (n, 1))
    moves = (coins, price, 1.0, 600, chains, best_rows, best_site, np.inf)
    cost = local_search(sites, rows, site, fixed, near, *moves)
    if np.isfinite(cost):
        assert place[best_rows[:fixed]].tolist() == stay
        assert cost == pytest.approx(least_cost(best_rows, best_site[None]))
    assert cost >= best - 1e-9
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
    _explored(_sites(costs, loads, room), first, fixed, chains)


def test_chains_find_the_best_of_small_instances_but_for_a_few() -> None:
    """Public coins: the same 300 instances each time."""
    rng = np.random.default_rng(0)
    missed = 0
    for _ in range(300):
        m, n = int(rng.integers(2, 5)), int(rng.integers(1, 6))
        costs, loads = rng.integers(0, 10, (n, m)) * 1.0, rng.integers(0, 10, n) * 1.0
        room, first = rng.integers(0, 10, m) * 3.0, rng.permutation(m)[: rng.integers(1, 3)]
        cost, best = _explored(_sites(costs, loads, room), first, 0, chains=True)
        missed += cost > best
    assert missed <= 3


@given(st.data())
def test_sizes_fees_and_least_loads_are_kept(data: st.DataObject) -> None:
    """Three places in two sizes, of the larger of which one can be open."""
    n, fixed = data.draw(st.integers(2, 5)), data.draw(st.integers(0, 2))
    costs = np.array(data.draw(st.lists(NUMBERS, min_size=3 * n, max_size=3 * n))).reshape(n, 3)
    loads = np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n)))
    large = loads.sum() * data.draw(st.sampled_from([0.5, 0.7, 1.0]))
    room = np.repeat([data.draw(st.sampled_from([0.5, 1.0])) * large, large], 3)
    least = np.full(6, data.draw(st.sampled_from([0.0, 0.3])) * loads.sum())
    fee = np.repeat(data.draw(st.lists(NUMBERS, min_size=2, max_size=2)), 3)
    size, place = np.divmod(np.arange(6), 3)
    both, most = np.tile(costs, (1, 2)), np.array([2, 1])
    sites = Sites(both, loads, room, least, fee, place, size, most)
    _explored(sites, np.array([3, 1]), fixed, chains=True)  # the first place large
