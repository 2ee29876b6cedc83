"""What k sites can cover: above every choice, whatever the prices and the points looked around."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metricdp.methods.solving import instance_of
from metricdp.solvers.objectives.cover_bound import _Looking, cover_bound
from tests.solvers.objectives.universes import universes

METRICS, _ = universes(9, 80)


@pytest.mark.parametrize("universe", sorted(METRICS))
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6), n_points=st.sampled_from([1, 3, 12, 40]), share=st.floats(0, 0.6)
)
def test_places_collect_no_more(universe, seed, n_points, share):
    metric, rng = METRICS[universe], np.random.default_rng(seed)
    n = len(metric)
    costs = metric.distances(metric.ids)
    weights = rng.integers(0, 4, n).astype(float)
    weights[0] = 1
    limit = float(np.quantile(costs, share))
    instance = instance_of(metric, weights, candidates=[metric.ids[i] for i in range(0, n, 2)])
    demand = instance.demand
    points = demand[rng.permutation(len(demand))[:n_points]]
    price = rng.random(len(demand))
    looking = _Looking(instance, points, limit, instance.mass * price)
    collected = np.zeros(len(instance.allowed))
    for places, amounts in looking:
        collected[places] += amounts
    covers = costs[np.ix_(instance.allowed, demand)] <= limit * (1 + 1e-9)
    assert (covers @ looking.paid <= collected * (1 + 1e-9) + 1e-9).all()
    k = int(rng.integers(1, 5))
    bound = cover_bound(instance, points, limit, instance.mass[None, :], price, k)
    sites = rng.choice(len(covers), k, replace=False)
    assert covers[sites].any(axis=0) @ instance.mass <= bound * (1 + 1e-9)


def test_a_point_around_everybody_tells_the_truth():
    """With all demand points looked around and no prices above, bounds are what is collected."""
    metric = METRICS["points"]
    instance = instance_of(metric, np.ones(len(metric)))
    costs = metric.distances(metric.ids)
    limit = float(np.quantile(costs, 0.2))
    looking = _Looking(instance, instance.demand, limit, instance.mass)
    collected = np.zeros(len(metric))
    for places, amounts in looking:
        collected[places] += amounts
    assert collected == pytest.approx((costs <= limit).sum(axis=1))
