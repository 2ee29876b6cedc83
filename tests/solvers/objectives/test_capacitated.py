"""Sites that can be full, beside programs and all choices of sites: capacities of every kind, and
single sources.
"""

from functools import partial
from itertools import combinations

import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers.objectives import capacity_search, single_source
from metricdp.solvers.objectives.single_source import SingleSourceSearch
from metricdp.solvers.stopping import NEVER
from tests import naive_objectives as naive
from tests import path_metric, refuses
from tests.naive_objectives import least
from tests.solvers.objectives.universes import instance

o = mdp.objectives
LIMIT, MOST = 4.0, 2


def case(seed):
    """A table of costs, weights, loads and room."""
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0, 10, (6, 7)).round(1)
    weights = rng.integers(1, 6, 7).astype(float)
    loads = rng.integers(1, 6, 7).astype(float)
    loads[0] = 0.0 if seed % 2 else loads[0]
    metric = mdp.CostTable(costs, sites=list("abcdef"), clients=[f"c{i}" for i in range(7)])
    return metric, costs, weights, loads, (loads.sum() * rng.uniform(0.42, 0.8, 6)).round(1)


def kinds(whole, costs, weights, loads, room):
    """Objectives, and the value of some rows (indices) by the definition."""
    sizes = [(0.35 * loads.sum(), 0.0, 2), (0.75 * loads.sum(), 3.0, 1)]
    sized = [o.Size(*one) for one in sizes]
    free = [o.Size(one[0], most=one[2]) for one in sizes]
    bare = [(one[0], 0.0, one[2]) for one in sizes]
    half = 0.4 * loads.sum()
    site = partial(o.Capacitated, 2, single_source=whole)

    def sums(rows, own, least=0.0):
        return naive.service(costs[rows] * weights, None, loads, own, least, whole)

    def covered(rows, own):
        return naive.covered_within_room(costs[rows], weights, loads, own, LIMIT, whole)

    def farthest(rows, own):
        return naive.farthest_within_room(costs[rows], loads, own, whole)

    def within(rows, limit=None):
        value = naive.within_room_whole if whole else naive.within_room
        return value(costs[rows], weights, loads, room[rows], limit)

    def of_sizes(value, sizes):
        return lambda rows: naive.sized(lambda own: value(rows, own), 2, sizes)

    uncovered = of_sizes(lambda rows, own: -covered(rows, own), bare)
    center = partial(o.PCenter, 2, single_source=whole)
    return {
        "sums": (site(room), within),
        "sums, limit": (site(room, limit=LIMIT), lambda rows: within(rows, LIMIT)),
        "coverage": (o.MaxCoverage(2, LIMIT, room, whole), lambda rows: covered(rows, room[rows])),
        "coverage, sizes": (o.MaxCoverage(2, LIMIT, free, whole), lambda rows: -uncovered(rows)),
        "center": (center(capacities=room), lambda rows: farthest(rows, room[rows])),
        "center, sizes": (center(capacities=free), of_sizes(farthest, bare)),
        "minimum": (site(room, minimum=half), lambda rows: sums(rows, room[rows], half)),
        "sizes": (site(sized), of_sizes(sums, sizes)),
        "sizes, minimum": (
            site(sized, minimum=half / 2),
            of_sizes(lambda rows, own: sums(rows, own, half / 2), sizes),
        ),
    }


@pytest.mark.parametrize("opened", [(), (4,)])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("kind", sorted(kinds(False, *case(0)[1:])))
def test_no_choice_is_better_and_what_is_reported_is_kept(kind, whole, opened):
    for seed in range(MOST):
        metric, costs, weights, loads, room = case(seed)
        asked, value = kinds(whole, costs, weights, loads, room)[kind]
        choices = [rows for rows in combinations(range(6), 2) if set(opened) <= set(rows)]
        known = [v for v in (value(list(rows)) for rows in choices) if v is not None]
        names = [metric.sites[i] for i in opened]
        given = {"weights": weights, "loads": loads, "opened": names}
        if not known:
            refuses("", mdp.solve, metric, asked, **given)
            continue
        best = (max if asked.maximized else min)(known)
        plan = mdp.solve(metric, asked, **given)
        assert plan.value == pytest.approx(best, abs=1e-6)
        assert plan.gap == pytest.approx(0, abs=2e-6)
        assert plan.compare(plan.centers)["ratio"] == pytest.approx(1)
        assert plan.centers[: len(names)] == names
        used = np.array(list(plan.loads.values()))
        assert (used <= np.array(plan.capacities) * (1 + 1e-6)).all()
        assert (used >= getattr(asked, "minimum", 0.0) * (1 - 1e-6)).all()
        if not isinstance(asked.capacities, tuple):
            assert plan.capacities == room[metric.site_positions(plan.centers)].tolist()
        frame = plan.to_frame(assignments=True)
        assert not whole or set(frame["share"]) <= {0.0, 1.0}
        if kind.startswith("sums"):  # who is left out costs ten times the limit
            served = frame.groupby("vertex")["share"].sum()
            assert (served <= 1 + 1e-9).all() and (kind == "sums, limit" or np.allclose(served, 1))
            paid = (frame["weight"] * frame["share"] * frame["distance"].fillna(0)).sum()
            left = weights @ (1 - served[[f"c{i}" for i in range(7)]].to_numpy())
            assert paid + 10 * LIMIT * left == pytest.approx(plan.value)


def test_without_all_distances_sites_are_those_without_capacities(monkeypatch):
    metric, _, weights, _, room = case(2)
    plans = {}
    for asked in (o.MaxCoverage(2, LIMIT, room), o.PCenter(2, capacities=room)):
        plans[asked.name] = mdp.solve(metric, asked, weights=weights)
    monkeypatch.setattr("metricdp.solvers.objectives.instance.Instance.fits", False)
    for asked in (o.MaxCoverage(2, LIMIT, room), o.PCenter(2, capacities=room)):
        plan, best = mdp.solve(metric, asked, weights=weights), plans[asked.name]
        sign = -1 if asked.maximized else 1
        assert sign * plan.bound <= sign * best.value <= sign * plan.value
        assert (np.array(list(plan.loads.values())) <= np.array(plan.capacities) + 1e-6).all()


@pytest.mark.parametrize("opened", [[7, 5, 1], [5]])
def test_required_sites_come_first_and_have_no_more_large_sizes_than_there_are(opened):
    metric = path_metric(9)
    asked = o.Capacitated(3, [o.Size(2.0), o.Size(7.0, most=1)])
    plan = mdp.solve(metric, asked, opened=opened, candidates=[1, 5, 7])
    assert sorted(plan.centers[: len(opened)]) == sorted(opened)
    assert sorted(plan.capacities) == [2.0, 2.0, 7.0] and plan.value == plan.bound == 9.0


NONE = np.empty(0, np.int64)


def check_service(made, costs, loads, room, spare):
    """Hold that what a search found serves within the room, at the cost that it tells."""
    served = made.site >= 0
    used = np.bincount(made.site[served], loads[served], len(made.rows))
    assert (used <= room[made.rows] * (1 + 1e-8)).all()
    paid = costs[made.rows[made.site[served]], np.flatnonzero(served)].sum()
    assert paid + spare * np.count_nonzero(~served) == pytest.approx(made.upper)


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
        check_service(made, given, loads, room, 60.0)


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
    assert made.upper < before
    assert (made.site >= 0).all() or spare is not None
    assert made.rows[:2].tolist() == [4, 20]
    assert len(np.unique(made.rows)) == 6
    check_service(made, costs, loads, room, spare or 0.0)
