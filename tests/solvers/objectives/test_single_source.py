"""Single sources: search, bound and the choice among sets against all choices there are."""

from itertools import combinations

import numpy as np
import pytest

from metricdp.solvers.objectives import capacity_search, single_source
from metricdp.solvers.objectives.single_source import SingleSourceSearch
from metricdp.solvers.stopping import NEVER
from tests.naive_objectives import within_room_whole

NONE = np.empty(0, np.int64)


def instance(seed: int, n: int = 9) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Costs, loads and room: whole numbers for even seeds."""
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2)) * 20
    loads = rng.integers(0, 9, n).astype(float)
    costs = np.linalg.norm(points[:, None] - points[None], axis=2)
    costs = np.floor(costs) if seed % 2 == 0 else costs
    return costs, loads, loads.sum() / 3 * rng.uniform(0.95, 1.4, n)


def least(costs, loads, room, k, fixed, spare=None):
    """By all choices of sites, and all services from them."""
    limit = None if spare is None else spare[0] / 10
    values = []
    for rows in combinations(range(len(costs)), k):
        if set(fixed.tolist()) <= set(rows):
            at = list(rows)
            values.append(within_room_whole(costs[at], np.ones(len(loads)), loads, room[at], limit))
    return min((value for value in values if value is not None), default=np.inf)


@pytest.mark.parametrize("way", ["plain", "fixed", "spare"])
@pytest.mark.parametrize("nearest", [5, 1_000])
def test_it_is_proven_best(way, nearest, monkeypatch):
    monkeypatch.setattr(single_source, "_FEW_SETS", 3)  # cuts, and not HiGHS at once
    monkeypatch.setattr(single_source, "_NEAREST_SETS", nearest)
    for seed in range(8):
        costs, loads, room = instance(seed)
        fixed = np.array([4]) if way == "fixed" else NONE
        spare, given = None, costs
        if way == "spare":
            spare, room = np.full(len(loads), 60.0), 0.7 * room
            given = np.where(costs > 6.0, 2 * spare[0], costs)
        best = least(costs, loads, room, 3, fixed, spare)
        made = SingleSourceSearch(given, loads, room, 3, fixed, spare, NEVER)
        made.run(np.r_[fixed, np.setdiff1d([0, 1, 2], fixed)][:3])
        if np.isinf(best):
            assert made.rows is None
            continue
        assert made.upper == pytest.approx(best, rel=1e-9) and made.lower == made.upper
        assert set(fixed.tolist()) <= set(made.rows.tolist())
        served = made.site >= 0
        used = np.bincount(made.site[served], loads[served], 3)
        assert (used <= room[made.rows] * (1 + 1e-8)).all()
        paid = given[made.rows[made.site[served]], np.flatnonzero(served)].sum()
        assert paid + (~served).sum() * 60.0 == pytest.approx(made.upper)


def test_a_cut_short_bound_is_still_below(monkeypatch):
    """Whatever ends the search among sets, nothing that is better is excluded."""
    monkeypatch.setattr(single_source, "_MOST_LISTED", (40, 400))
    monkeypatch.setattr(single_source, "_FEW_SETS", 1)
    monkeypatch.setattr(single_source, "_MOST_SETS", 0)
    monkeypatch.setattr(single_source, "_CUT_ROUNDS", 2)
    monkeypatch.setattr(capacity_search, "_ROOT_ASCENT", (30, 1.5, 20))
    monkeypatch.setattr(SingleSourceSearch, "_most_branches", 3)
    for seed in range(8):
        costs, loads, room = instance(seed)
        made = SingleSourceSearch(costs, loads, room, 3, NONE, None, NEVER)
        made.run(np.arange(3))
        best = least(costs, loads, room, 3, NONE)
        assert made.lower <= best * (1 + 1e-9) and made.upper >= best * (1 - 1e-9)


def test_a_choice_of_sets_finds_what_the_search_did_not(monkeypatch):
    """Rounds that never gain leave it to the sets of clients."""
    found = []
    for seed in range(8):
        costs, loads, room = instance(seed)
        made = SingleSourceSearch(costs, loads, room, 3, NONE, None, NEVER)
        made.run(np.arange(3))
        again = SingleSourceSearch(costs, loads, room, 3, NONE, None, NEVER)
        again._start(np.argsort(-room)[:3], None)
        again._search(0, 0.0)
        if again.rows is None:
            continue
        found.append(again.upper > made.upper * (1 + 1e-9))
        again._raise_bound()
        again._solve_remaining(False)
        assert again.upper == pytest.approx(made.upper) and again.proven
    assert any(found)


@pytest.mark.parametrize("spare", [None, 30.0])
def test_neighboring_sites_are_settled_with_all_they_serve(spare, monkeypatch):
    monkeypatch.setattr(single_source, "_PART_CLIENTS", (8, 12))
    costs, loads, room = instance(1, 30)
    room = np.full(30, 1.2 * loads.sum() / 6)
    unserved = None if spare is None else np.full(30, spare)
    made = SingleSourceSearch(costs, loads, room, 6, np.array([4, 20]), unserved, NEVER)
    made._start(made.with_capacity(np.array([4, 20, 0, 1, 2, 3])), None)
    for rounds in range(1, 100):
        made._search(rounds, 0.0)
        if np.isfinite(made.upper):
            break
    before = made.upper
    made._improve_parts()
    served = made.site >= 0
    assert made.upper < before
    assert served.all() or spare is not None
    assert made.rows[:2].tolist() == [4, 20]
    assert len(np.unique(made.rows)) == 6
    assert (np.bincount(made.site[served], loads[served]) <= room[0] * (1 + 1e-8)).all()
    paid = costs[made.rows[made.site[served]], np.flatnonzero(served)].sum()
    paid += 0.0 if spare is None else spare * np.count_nonzero(~served)
    assert paid == pytest.approx(made.upper)
