"""`effort`: quick is what it was, thorough and seconds are no worse, whatever the universe."""

import time

import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers import effort, kmedian, neighborhoods
from metricdp.solvers.effort import solve_with
from metricdp.solvers.kmedian import solve
from tests import cases, grid_metric


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    monkeypatch.setattr(neighborhoods, "_WORK", (200_000, 500, 5_000_000))


@pytest.fixture
def metric() -> mdp.EuclideanMetric:
    return mdp.EuclideanMetric(np.random.default_rng(0).integers(0, 300, (250, 2)).astype(float))


@cases(("how", "block"), ("thorough", True), (1.0, False))
def test_no_worse_than_quick_with_opened_and_candidates(metric, how, block, monkeypatch):
    if not block:
        monkeypatch.setattr(kmedian, "WHOLE_BLOCK", 0)
        monkeypatch.setattr(effort, "WHOLE_BLOCK", 0)
    asked = {"candidates": np.arange(0, 250, 2), "opened": np.array([7])}
    weights = np.random.default_rng(1).integers(0, 3, 250).astype(float)
    quick = solve(metric, weights, 20, **asked)
    found = solve_with(how, metric, weights, 20, **asked)
    assert found.cost <= quick.cost and found.centers[0] == 7
    assert np.isin(found.centers[1:], asked["candidates"]).all()
    assert weights @ metric.nearest_to(found.centers)[1] == pytest.approx(found.cost, rel=1e-5)


def test_quick_is_as_before_and_no_weight_is_one_everywhere(metric):
    ones = np.ones(250)
    quick = solve(metric, ones, 9, starts=None)
    assert (solve_with("quick", metric, ones, 9).centers == quick.centers).all()
    for k in (9, 250):
        none = solve_with("thorough", metric, np.zeros(250), k)
        assert none.cost == solve_with("thorough", metric, ones, k).cost


def test_seconds_are_kept_about(metric):
    start = time.monotonic()
    solve_with(0.5, metric, np.ones(250), 20)
    assert 0.4 < time.monotonic() - start < 30


def test_private_demand_and_releases_take_it():
    metric = grid_metric(6, 6)
    demand = mdp.PrivateDemand(metric, [(0, 0)] * 900 + [(5, 5)] * 900)
    found = mdp.k_median(metric, demand, k=2, epsilon=1, effort="thorough")
    assert sorted(found.centers) == [(0, 0), (5, 5)]
    assert sorted(found.release.k_means(2, effort="thorough").centers) == [(0, 0), (5, 5)]


def test_points_without_a_near_candidate():
    away = np.abs(np.subtract.outer([0, 0, 0, 9], [0, 0, 0, 9]))
    for k in (1, 2, 3):
        found = solve_with("thorough", mdp.PrecomputedMetric(away), np.array([1.0, 1, 1, 0]), k)
        assert found.cost == 0


@pytest.mark.parametrize("weights", [None, [1.0, -1.0] * 12])
def test_gains_by_rounding_alone_are_not_taken(weights):
    """Of tight clusters far apart, and of weights of both signs: swaps went on without end."""
    rng = np.random.default_rng(0)
    middles = np.repeat(rng.uniform(-1e6, 1e6, (4, 2)), 6, axis=0)
    tight = mdp.EuclideanMetric(middles + 1e-3 * rng.normal(size=(24, 2)))
    found = mdp.k_means(tight, k=4, weights=weights, effort="thorough")
    assert weights or found.cost < 1e-3
