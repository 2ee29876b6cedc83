"""Every client by one site, against all assignments."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from metricdp.kernels.whole_service import largest_first, serve_whole

NUMBERS = st.integers(0, 9).map(float)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_room_is_kept_and_moves_only_help(data: st.DataObject) -> None:
    k, n = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 6))
    costs = np.array(data.draw(st.lists(NUMBERS, min_size=k * n, max_size=k * n))).reshape(k, n)
    loads = np.array(data.draw(st.lists(NUMBERS, min_size=n, max_size=n)))
    room = np.array(data.draw(st.lists(NUMBERS, min_size=k, max_size=k))) * 3
    start = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)), np.int64)

    def used(site: np.ndarray) -> np.ndarray:
        return np.bincount(site, loads, k)

    def cost(site: np.ndarray) -> float:
        return float(costs[site, np.arange(n)].sum())

    every = [np.array(site) for site in product(range(k), repeat=n)]
    kept = [cost(site) for site in every if (used(site) <= room).all()]
    packed = np.empty(n, np.int64)
    largest_first(costs, loads, room, packed)
    for site in (start.copy(), packed):
        roomy = bool((used(site) <= room).all())
        before = cost(site)
        found = serve_whole(costs, loads, room, site)
        assert found or not roomy
        if found:
            assert (used(site) <= room).all()
            assert min(kept) <= cost(site)
            assert not roomy or cost(site) <= before


def test_exchanges_make_room() -> None:
    costs = np.zeros((2, 4))
    site = np.array([0, 0, 1, 1], np.int64)
    assert serve_whole(costs, np.array([5.0, 4.0, 3.0, 2.0]), np.array([7.0, 7.0]), site)
    assert sorted(np.bincount(site, [5.0, 4.0, 3.0, 2.0]).tolist()) == [7.0, 7.0]


def test_a_place_is_taken_where_the_other_loses_less() -> None:
    costs = np.array([[0.0, 1.0], [9.0, 2.0]])
    site = np.array([1, 0], np.int64)
    assert serve_whole(costs, np.ones(2), np.ones(2), site)
    assert site.tolist() == [0, 1]
