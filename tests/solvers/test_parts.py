"""Least costs by parts against all choices, on blocks that fall into parts."""

import numpy as np
import pytest
from hypothesis import strategies as st

from metricdp.solvers import exact, parts, programs
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.near_lists import BlockCosts
from metricdp.solvers.parts import Part, allocate, budgets
from metricdp.solvers.stopping import NEVER, Deadline
from tests import naive, tries
from tests.solvers.test_bounds import listed, unlisted


def towns(seed, whole):
    """A block of three groups far from each other, of which one row serves nobody well."""
    rng = np.random.default_rng(seed)
    block = rng.integers(300, 400, (10, 15)).astype(float)
    for rows, columns in ((slice(0, 3), slice(0, 5)), (slice(3, 6), slice(5, 9))):
        block[rows, columns] = rng.integers(0, 30, block[rows, columns].shape)
    block[6:9, 9:] = rng.integers(0, 30, (3, 6))
    return block if whole else block + rng.random(block.shape)


def least(block, k, opened=()):
    return naive.best_centers(block, np.ones(block.shape[1]), k, opened=opened)[1]


def narrowed(block, rows, fixed, whole):
    ascent = Ascent.below(BlockCosts(block, np.ones(block.shape[1])), rows, fixed, whole, NEVER)
    ascent.climb(ascent.best, 15)
    ascent.shrink()
    return ascent


@tries(25, st.integers(0, 10**6), st.booleans(), st.integers(0, 2))
def test_groups_are_settled_one_by_one(seed, whole, n_fixed):
    block = towns(seed, whole)
    k = 3 + seed % 4
    fixed = np.arange(n_fixed) * 3
    rows = np.union1d(np.array([0, 3, 6]), np.arange(k))[:k]
    best = least(block, k, fixed)
    given_cost = block[rows].min(axis=0).sum()
    ascent = narrowed(block, rows, fixed, whole)
    if ascent.bound > ascent.target:
        assert best >= ascent.target
        return
    ascent.narrow()
    chosen, bound = parts.cheapest_of_parts(ascent, exact._prove_part)
    if chosen is None:
        assert bound == np.inf
        assert best == pytest.approx(given_cost)
    else:
        assert len(np.unique(chosen)) == k and np.isin(fixed, chosen).all()
        assert bound <= best * (1 + 1e-12)
        assert block[chosen].min(axis=0).sum() == pytest.approx(best)


@tries(25, st.integers(0, 10**6), st.booleans())
def test_bounds_of_a_part_hold_for_every_number_of_centers(seed, whole):
    ascent = narrowed(towns(seed, whole), np.array([0, 3, 6, 1]), np.empty(0, np.int64), whole)
    if ascent.bound > ascent.target:
        return
    ascent.narrow()
    for part in parts._parts(ascent) or ():  # None: some point is served by none
        assert not ascent.required[part.rows].any()
        known = np.minimum(unlisted(part.entries, len(part.beyond)), part.beyond)
        for q in range(1, part.m + 1):
            assert part.lower[q] <= least(known, q) * (1 + 1e-12)


@tries(40, st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=4), min_size=1, max_size=4))
def test_centers_are_shared_out_as_by_trying_all_ways(values):
    known = [np.array(lower, float) for lower in values]
    for k in range(sum(len(lower) - 1 for lower in values) + 1):
        ways = [ways for ways in np.ndindex(*[len(lower) for lower in values]) if sum(ways) == k]
        sums = {way: sum(lower[q] for lower, q in zip(values, way)) for way in ways}
        value, shares = allocate(known, k)
        assert value == min(sums.values()) == sums[tuple(shares)]
        for i, q in enumerate(shares):
            rest = min(s - values[i][q] for way, s in sums.items() if way[i] == q)
            assert budgets(known, i, k, 90.0)[q] == 90.0 - rest


def test_without_time_the_bound_is_below_the_best():
    block = towns(3, True)
    ascent = narrowed(block, np.array([0, 3, 6, 1]), np.empty(0, np.int64), True)
    ascent.narrow()
    ascent.deadline = Deadline(0.0)
    chosen, bound = parts.cheapest_of_parts(ascent, exact._prove_part)
    assert chosen is None
    assert bound <= least(block, 4)


def test_parts_of_what_is_at_hand_go_with_what_is_better_elsewhere(monkeypatch):
    block = towns(0, True)
    good = np.array(naive.best_centers(block[:9], np.ones(15), 5)[0])
    ascent = narrowed(block, np.array([0, 3, 6, 1, 2]), np.empty(0, np.int64), True)
    ascent.narrow()
    ascent.deadline = Deadline(0.0)
    monkeypatch.setattr(Part, "_local_search", lambda self, q: None)
    chosen, bound = parts.cheapest_of_parts(ascent, exact._prove_part, good)
    assert sorted(chosen) == sorted(good)
    assert bound <= block[good].min(axis=0).sum()


def test_rows_that_are_open_in_any_case_join_nothing():
    block = towns(0, True)
    ascent = narrowed(block, np.array([0, 3, 6, 1]), np.empty(0, np.int64), True)
    ascent.target = np.inf
    ascent.entries = listed(block[ascent.rows])
    assert len(parts._parts(ascent)) == 1
    ascent.required[:] = np.isin(ascent.rows, [0, 3, 6])
    found = parts._parts(ascent)
    assert not any(ascent.required[part.rows].any() for part in found)
    served = block[[0, 3, 6]].min(axis=0)
    assert sum(part.beyond.sum() for part in found) == served.sum()


@pytest.mark.parametrize("seed", range(2))
def test_parts_that_are_alike_are_settled(seed):
    rng = np.random.default_rng(seed)
    town = rng.integers(1, 40, (6, 9)).astype(float)
    other = town[rng.permutation(6)][:, rng.permutation(9)]
    third = rng.integers(1, 40, (6, 9)).astype(float)
    block = np.full((18, 27), 900.0)
    for i, one in enumerate((town, other, third)):
        block[6 * i : 6 * i + 6, 9 * i : 9 * i + 9] = one
    ascent = narrowed(block, np.r_[np.arange(0, 12, 2), 13], np.empty(0, np.int64), True)
    ascent.narrow()
    differing = ascent.entries
    shared = (s for s in np.ndindex(6, 6, 6) if sum(s) == 7 and min(s) > 0)
    values = ([least(one, q) for one, q in zip((town, other, third), s)] for s in shared)
    best = min(map(sum, values))
    chosen, bound = parts.cheapest_of_parts(ascent, exact._prove_part)
    assert differing.rows == len(ascent.rows)
    if chosen is None:
        assert bound == np.inf
        assert best >= ascent.upper
    else:
        assert bound == best == block[chosen].min(axis=0).sum()


@tries(25, st.integers(0, 10**6), st.booleans(), st.integers(0, 30))
def test_a_price_bounds_all_numbers_of_centers_at_once(seed, whole, spare):
    block = towns(seed, whole)[:9]
    part = Part(np.arange(9), listed(block), np.full(15, np.inf), np.full(15, 40.0), whole)
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
    if spare > 10 and part.size <= programs.MOST_PAIRS:
        assert part.best_rows


def test_what_a_search_finds_is_kept_with_its_cost():
    block = towns(5, True)
    part = Part(np.arange(10), listed(block), np.full(15, np.inf), np.full(15, 40.0), True)
    for q in (0, 3, 5, 10):
        part._local_search(q)
    assert sorted(part.best_rows) == [3, 5] and part.best[3] == least(block, 3)
    assert part.best[5] == block[part.best_rows[5]].min(axis=0).sum()
    gaps = Part(np.arange(2), listed(np.eye(2) + 1), np.array([1.5, np.inf]), np.ones(2), False)
    gaps._local_search(1)
    assert gaps.best[1] == 2.5
