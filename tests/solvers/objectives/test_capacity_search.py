"""Sites that can be full, where the program on what is left is cut short: no false bound."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from metricdp.solvers.objectives import capacity_search
from metricdp.solvers.objectives.capacity_search import CapacitySearch, SiteRules
from metricdp.solvers.objectives.single_source import SingleSourceSearch
from metricdp.solvers.stopping import NEVER


def search(seed: int, k: int = 3) -> CapacitySearch:
    """Among twelve sites."""
    rng = np.random.default_rng(seed)
    points = rng.random((12, 2))
    loads = rng.integers(1, 20, 12).astype(float)
    costs = np.linalg.norm(points[:, None] - points[None], axis=2) * loads
    room = loads.sum() / k * rng.uniform(0.9, 1.6, 12)
    return CapacitySearch(costs, loads, room, k, np.empty(0, np.int64), None, NEVER)


@cache
def least(seed: int) -> float:
    """What the best of all choices costs."""
    made = search(seed)
    return min(made.flow(np.array(rows))[0] for rows in combinations(range(12), 3))


@pytest.mark.parametrize("pairs", [0, 12 * 5, 12 * 8, 12 * 12])
def test_the_most_promising_sites_prove_nothing_but_may_be_better(pairs, monkeypatch):
    monkeypatch.setattr(capacity_search, "_PROGRAM_PAIRS", pairs)
    found = []
    for seed in range(2):
        made, best = search(seed), least(seed)
        made.run(np.argsort(-made.capacity)[:3])
        assert made.lower <= best * (1 + 1e-9) and made.upper >= best * (1 - 1e-9)
        assert made.upper == pytest.approx(made.flow(made.rows)[0])
        found.append(made.upper <= best * (1 + 1e-4))
    assert pairs < 12 * 8 or all(found)


@pytest.mark.parametrize("sizes", [1, 2])
def test_sharing_clients_is_no_dearer_without_programs_too(sizes, monkeypatch):
    """With a least load for each site, and with two sizes."""
    monkeypatch.setattr(capacity_search, "_PROGRAM_PAIRS", 0)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        points, loads = rng.random((24, 2)), rng.integers(1, 20, 24).astype(float)
        costs = np.linalg.norm(points[:, None] - points[None], axis=2) * loads
        room = np.repeat([1.3, 0.9][:sizes], 24) * loads.sum() / 4
        fee = np.repeat([1.0, 0.0][:sizes], 24)
        rules = SiteRules(np.array([2, 4][-sizes:]), fee, min_load=0.8 * loads.sum() / 4)
        asked = np.tile(costs, (sizes, 1)), loads, room, 4, np.empty(0, np.int64), None, NEVER
        shared, whole = CapacitySearch(*asked, rules=rules), SingleSourceSearch(*asked, rules=rules)
        for made in (shared, whole):
            made.run(np.arange(4))
            assert made.rows is not None and len(np.unique(made.place[made.rows])) == 4
        assert shared.lower <= shared.upper <= whole.upper * (1 + 1e-9)
        used = np.bincount(whole.site, loads, 4)
        assert (used >= rules.min_load * (1 - 1e-9)).all()
        assert (used <= room[whole.rows] * (1 + 1e-9)).all()


def test_large_blocks_look_at_the_time_after_each_round(monkeypatch):
    """Ten rounds of 2,500 places and points outlasted a limit of 3 s by 6 s."""
    rounds, kernel = [], capacity_search.local_search
    monkeypatch.setattr(
        capacity_search, "local_search", lambda *asked: rounds.append(asked[8]) or kernel(*asked)
    )
    monkeypatch.setattr(capacity_search, "_ROUND_COSTS", 200)
    made = search(0)
    made.run(np.argsort(-made.capacity)[:3])
    assert set(rounds) == {1}
