"""Branches on how many rows open in groups: the best choice within counts, and proofs by branches
alone, against all choices.
"""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metricdp.solvers.objectives import capacity_search
from metricdp.solvers.objectives.capacity_search import CapacitySearch, SiteRules
from metricdp.solvers.objectives.single_source import SingleSourceSearch
from metricdp.solvers.objectives.site_branches import SiteGroups
from metricdp.solvers.stopping import Deadline
from tests import cases
from tests.naive_objectives import least
from tests.solvers.objectives.universes import instance

NONE = np.empty(0, np.int64)


@given(st.integers(0, 10**6))
def test_the_best_choice_within_counts_is_that_of_all(seed):
    rng = np.random.default_rng(seed)
    m, k = 7, int(rng.integers(1, 5))
    groups = SiteGroups(rng.random((m, 3)))
    counts = groups.root(k, rng.permutation(m)[: rng.integers(0, k)])
    for group in rng.integers(0, 2 * m - 2, 4).tolist():
        low = int(rng.integers(0, 3))
        counts.setdefault(group, (low, low + int(rng.integers(0, 3))))
    worth = rng.integers(-3, 6, m).astype(float)
    members = {group: set(groups._members[group].tolist()) for group in counts}

    def fits(rows):
        return all(low <= len(members[g] & set(rows)) <= high for g, (low, high) in counts.items())

    allowed = [rows for rows in combinations(range(m), k) if fits(rows)]
    chosen = groups.chosen(worth, counts)
    assert (len(chosen) > 0) == (len(allowed) > 0)
    if allowed:
        assert tuple(sorted(chosen.tolist())) in allowed
        assert worth[chosen].sum() == max(worth[list(rows)].sum() for rows in allowed)


@cases(
    ("kind", "all_rows"),
    *product(["shares", "single source"], [0, 10**6]),
    *product(["least load", "unserved"], [0]),
)
def test_branches_alone_prove_the_best(kind, all_rows, monkeypatch):
    """Without programs of many sites, sets of clients and with few active rows."""
    monkeypatch.setattr(capacity_search, "_PROGRAM_PAIRS", 0)
    monkeypatch.setattr(capacity_search, "_ALL_ROWS", all_rows)
    monkeypatch.setattr(SingleSourceSearch, "_partition", lambda self, ascent, out: ascent.bound)
    single = kind == "single source"
    proven = 0
    for seed in range(2):
        costs, loads, room = instance(seed)
        unserved = np.full(len(loads), 60.0) if kind == "unserved" else None
        rules = SiteRules(np.array([3]), np.zeros(len(room)))
        if kind == "least load":
            rules = rules._replace(min_load=0.6 * float(loads.sum()) / 3)
        search = SingleSourceSearch if single else CapacitySearch
        made = search(costs, loads, room, 3, NONE, unserved, Deadline(60.0), rules=rules)
        made.run(np.arange(3))
        choices = combinations(range(len(room)), 3)
        best = (
            least(costs, loads, room, 3, NONE)
            if single
            else min(made.flow(np.array(rows))[0] for rows in choices)
        )
        assert made.lower <= best * (1 + 1e-6) and made.upper == pytest.approx(best)
        proven += made.lower == made.upper
    assert proven == 2
