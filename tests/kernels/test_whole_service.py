"""Every client by one site, against all assignments."""

from itertools import combinations, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metricdp.kernels.whole_service import explore

NUMBERS = st.integers(0, 9).map(float)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_room_is_kept_and_nothing_is_cheaper_than_the_best(data: st.DataObject) -> None:
    m, n = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    k = data.draw(st.integers(1, min(m, 2)))
    fixed = data.draw(st.integers(0, k - (m > k)))
    costs = np.array(data.draw(st.lists(NUMBERS, min_size=m * n, max_size=m * n))).reshape(n, m)
    loads = np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n)))
    room = np.array(data.draw(st.lists(NUMBERS, min_size=m, max_size=m))) * 3
    first = np.array(data.draw(st.permutations(range(m)))[:k], np.int64)

    kept = []
    for more in combinations(np.setdiff1d(np.arange(m), first[:fixed]), k - fixed):
        rows = np.r_[first[:fixed], more].astype(np.int64)
        for site in product(range(k), repeat=n):
            if (np.bincount(site, loads, k) <= room[rows]).all():
                kept.append(costs[np.arange(n), rows[list(site)]].sum())
    for chains in (True, False):
        rows, site = first.copy(), np.zeros(n, np.int64)
        best_rows, best_site = rows.copy(), site.copy()
        coins, price = np.array([1], np.uint64), np.array([1.0, 0.1, 1e6])
        near = np.tile(np.arange(m), (n, 1))
        moves = (coins, price, 1.0, 300, chains, best_rows, best_site, np.inf)
        cost = explore(costs, loads, room, rows, site, fixed, near, *moves)
        if np.isinf(cost):
            assert not (chains and kept)
            continue
        assert best_rows[:fixed].tolist() == first[:fixed].tolist()
        assert len(set(best_rows.tolist())) == k
        assert (np.bincount(best_site, loads, k) <= room[best_rows]).all()
        assert cost == costs[np.arange(n), best_rows[best_site]].sum()
        assert min(kept) <= cost
        assert not chains or cost == min(kept)


def _served(costs: list[list[float]], loads: list[float], room: list[float]) -> list[int]:
    table = np.array(costs)
    rows, site = np.arange(table.shape[1]), np.zeros(len(table), np.int64)
    best_rows, best_site = rows.copy(), site.copy()
    coins, price = np.array([1], np.uint64), np.array([10.0, 1.0, 1e6])
    near = np.tile(rows, (len(table), 1))
    moves = (coins, price, 0.0, 0, True, best_rows, best_site, np.inf)
    held = len(rows)
    assert explore(table, np.array(loads), np.array(room), rows, site, held, near, *moves) < np.inf
    return best_site.tolist()


def test_exchanges_make_room() -> None:
    loads = [5.0, 4.0, 3.0, 2.0]
    site = _served([[0.0, 0.0]] * 4, loads, [7.0, 7.0])
    assert np.bincount(site, loads).tolist() == [7.0, 7.0]


def test_a_place_is_taken_where_the_other_loses_less() -> None:
    assert _served([[0.0, 9.0], [1.0, 2.0]], [1.0, 1.0], [1.0, 1.0]) == [0, 1]
