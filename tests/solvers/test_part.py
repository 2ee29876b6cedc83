"""Bounds for all numbers of centers at once against all choices."""

import numpy as np
import pytest
from hypothesis import strategies as st

from metricdp.solvers import level_programs
from metricdp.solvers.part import Part
from metricdp.solvers.stopping import NEVER
from tests import tries
from tests.solvers.test_parts import least, listed, towns


@tries(25, st.integers(0, 10**6), st.booleans(), st.integers(0, 30))
def test_a_price_bounds_all_numbers_of_centers_at_once(seed, whole, spare):
    block = towns(seed, whole)[:9]
    part = Part(9, listed(block), np.full(15, np.inf), np.full(15, 40.0), whole)
    best = np.r_[np.inf, [least(block, q) for q in range(1, 10)]]
    price = seed % 29 + (0.5 if seed % 3 == 0 else 0.0)
    before = part.lower.copy()
    room = best + spare - 10.0
    room[0] = -np.inf
    part.improve_all(price, room, NEVER, np.inf)
    assert (part.lower >= before).all()
    reached = np.minimum(best, np.where(whole, np.floor(room) + 1, room))
    assert (part.lower[1:] <= np.maximum(best, reached)[1:] * (1 + 1e-12)).all()
    for number, rows in part.best_rows.items():
        assert part.cost(rows) >= best[number] * (1 - 1e-12)
        if part.exact[number]:
            assert part.lower[number] == pytest.approx(best[number], rel=1e-6)
    if spare > 10 and part.size <= level_programs.MOST_PAIRS:
        assert part.best_rows


def test_what_a_search_finds_is_kept_with_its_cost():
    block = towns(5, True)
    part = Part(10, listed(block), np.full(15, np.inf), np.full(15, 40.0), True)
    for q in (0, 3, 5, 10):
        part._local_search(q)
    assert sorted(part.best_rows) == [3, 5] and part.best[3] == least(block, 3)
    assert part.best[5] == block[part.best_rows[5]].min(axis=0).sum()
    gaps = Part(2, listed(np.eye(2) + 1), np.array([1.5, np.inf]), np.ones(2), False)
    gaps._local_search(1)
    assert gaps.best[1] == 2.5
