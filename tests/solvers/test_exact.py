"""Proven best centers against all choices, also where only the integer program settles it."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.solvers import exact, programs
from metricdp.solvers.bounds import judged_on_block
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.near_lists import BlockCosts
from metricdp.solvers.stopping import NEVER, Deadline
from tests import naive, raising, tries
from tests.solvers.test_bounds import unlisted

NONE = np.empty(0, np.int64)


def proven(block, weights, rows, opened=NONE, deadline=NEVER):
    return judged_on_block(block, weights, rows, opened, exact.prove, deadline)


@tries(30, st.integers(0, 10**6), st.booleans())
def test_blocks_against_all_choices_from_bad_rows(seed, whole):
    rng = np.random.default_rng(seed)
    block = rng.integers(1, 40, (9, 14)).astype(float)
    block = block if whole else block + rng.random((9, 14))
    weights = rng.integers(0, 4, 14).astype(float)
    k = int(rng.integers(1, 5))
    opened = np.arange(int(rng.integers(0, min(k, 2) + 1)))
    rows, proof = proven(block, weights, np.arange(k), opened)
    best = naive.best_centers(block, weights, k, opened=opened)[1]
    assert proof.cost == pytest.approx(best) and proof.lower_bound <= best * (1 + 1e-12)
    assert proof.gap <= 1e-6
    assert weights @ block[rows].min(axis=0) == pytest.approx(best)
    assert np.isin(opened, rows).all()


@pytest.mark.parametrize("pairs", [programs.MOST_PAIRS, 0])
@pytest.mark.parametrize("seed", range(8))
def test_the_program_alone_settles_it_and_branches_what_is_too_large(seed, pairs, monkeypatch):
    monkeypatch.setattr(programs, "MOST_PAIRS", pairs)
    monkeypatch.setattr(exact, "_STEPS", 1 + 5 * seed if pairs else 5)
    block = np.random.default_rng(seed).integers(1, 60, (12, 20)).astype(float)
    rows, proof = proven(block, np.ones(20), np.arange(4))
    assert proof.gap == 0
    best = naive.best_centers(block, np.ones(20), 4)[1]
    assert proof.cost == best == block[rows].min(axis=0).sum()


@pytest.mark.parametrize("seed", range(20))
def test_no_pair_of_a_better_solution_is_dropped(seed):
    block = np.random.default_rng(seed).integers(1, 60, (9, 12)).astype(float)
    costs = BlockCosts(block, np.ones(12))
    ascent = Ascent.below(costs, np.arange(3), np.empty(0, np.int64), True, NEVER)
    ascent.climb(ascent.best, 20)
    ascent.shrink()
    if ascent.bound > ascent.target:
        assert naive.best_centers(block, np.ones(12), 3)[1] >= ascent.upper
        return
    ascent.narrow()
    left = unlisted(ascent.entries, 12)
    for c in combinations(range(9), 3):
        if block[list(c)].min(axis=0).sum() < ascent.upper:
            at = np.searchsorted(ascent.rows, c)
            assert np.isin(c, ascent.rows).all()
            served = np.minimum(left[at].min(axis=0), ascent.beyond)
            assert served.sum() == block[list(c)].min(axis=0).sum()


def test_no_time_is_an_honest_interval():
    block = np.random.default_rng(0).integers(1, 99, (30, 40)).astype(float)
    rows, proof = proven(block, np.ones(40), np.arange(5), deadline=Deadline(0.0))
    assert rows.tolist() == [0, 1, 2, 3, 4]
    assert proof.lower_bound <= naive.best_centers(block[:12], np.ones(40), 5)[1]
    assert proof.cost == block[:5].min(axis=0).sum()


def test_the_front_door():
    points = np.random.default_rng(3).integers(0, 99, (60, 2))
    metric = mdp.PrecomputedMetric(np.abs(points[:, None] - points[None]).sum(axis=2).astype(float))
    result = mdp.k_median(metric, k=6, exact=True, effort=0.2, time_limit=60)
    assert result.gap == 0
    assert result.certificate.cost == metric.nearest(result.centers)[1].sum()
    assert mdp.k_means(metric, k=3, exact=True).gap == 0


def test_what_a_short_ascent_proves_is_not_searched_at_length(monkeypatch):
    """Costs that are no integers, of a table and of points."""
    rng = np.random.default_rng(0)
    away = np.linalg.norm(rng.random((60, 1, 2)) - rng.random((300, 2)), axis=2) * 100
    table = mdp.CostTable(away, sites=[f"Store_{i}" for i in range(60)], clients=list(range(300)))
    points = mdp.EuclideanMetric(np.random.default_rng(4).random((40, 2)))
    monkeypatch.setattr(exact, "prove", raising(AssertionError("a glance is enough")))
    for metric in (table, points):
        plan = mdp.k_median(metric, k=4, exact=True)
        assert plan.gap == 0 and plan.certificate.cost >= plan.lower_bound
        assert plan.lower_bound > plan.certificate.cost * (1 - 2e-9)
        best = mdp.solve(metric, mdp.objectives.KMedian(4)).value
        assert plan.certificate.cost == pytest.approx(best)
