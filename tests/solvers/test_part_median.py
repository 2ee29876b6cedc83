"""Medians of parts: proven ones are best of all, bounds hold."""

import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.solvers.part_median import part_median
from metricdp.solvers.stopping import Deadline
from tests import naive, refuses, tries
from tests.metrics.test_diameter import road_like
from tests.metrics.test_graph import everything, metric_of


@tries(100, naive.graphs(), st.sampled_from([1, 2]), st.data(), fixed=True)
def test_proven_is_best_and_bounds_hold(graph, power, data):
    n, true, metric = graph[0], naive.all_pairs(*graph), metric_of(*graph)
    weights = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), float)
    points = st.lists(st.integers(0, n - 1), min_size=1, unique=True)
    part, allowed = np.array(data.draw(points)), data.draw(st.none() | points)
    inside = np.where(np.isin(np.arange(n), part), weights, 0)
    candidates = part if allowed is None else np.array(allowed)
    best = min(naive.cost(true, inside, [c], power) for c in candidates)
    for searches in (1, 2, 9):
        asked = {"power": power, "allowed": None if allowed is None else candidates}
        found = part_median(metric, weights, part, searches=searches, **asked)
        assert found.center in candidates
        expected = pytest.approx(naive.cost(true, inside, [found.center], power), rel=1e-9)
        assert found.cost == expected
        assert found.bound <= best * (1 + 1e-9) <= found.cost * (1 + 2e-9)
    assert found.cost == pytest.approx(best, rel=1e-9)
    assert found.bound == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("power", [1, 2])
def test_fewer_searches_than_points(power):
    metric = road_like(30)
    weights = np.random.default_rng(0).random(len(metric))
    costs = everything(metric) ** power @ weights
    found = part_median(metric, weights, power=power, searches=300)
    assert costs.min() * (1 - 1e-9) <= found.cost <= 1.001 * costs.min()
    assert 0.98 * costs.min() <= found.bound <= costs.min() * (1 + 1e-9)
    looser = part_median(metric, weights, power=power, searches=30)
    assert looser.bound <= found.bound <= found.cost <= looser.cost


def test_on_points():
    metric = mdp.EuclideanMetric(np.random.default_rng(1).normal(size=(200, 2)))
    costs = everything(metric).sum(axis=0)
    found = part_median(metric, np.ones(200), searches=200)
    assert found.center == costs.argmin() and found.cost == pytest.approx(costs.min())
    assert found.bound == found.cost


def test_refusals_and_a_deadline():
    metric = road_like(6)
    refuses("non-negative", lambda: part_median(metric, -np.ones(len(metric))))
    with pytest.raises(InputError, match="at least one candidate"):
        part_median(metric, np.ones(len(metric)), allowed=np.empty(0, np.int64))
    over = part_median(metric, np.ones(len(metric)), deadline=Deadline(0.0))
    assert over.cost == everything(metric)[over.center].sum() and over.bound < over.cost
