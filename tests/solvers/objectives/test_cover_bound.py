"""What k sites can cover: above every choice, whatever the prices and however little the time."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.sparse import csr_array

import metricdp as mdp
from metricdp.methods.solving import instance_of
from metricdp.solvers.objectives import cover_bound as module
from metricdp.solvers.objectives.cover_bound import PriceSums, cover_bound
from tests import tries
from tests.solvers.objectives.universes import universes

METRICS, _rng = universes(9, 80)
METRICS["table"] = mdp.CostTable(_rng.random((40, 80)).round(3) * 100)


def asked(universe, seed, share):
    """An instance, a limit, and who covers whom."""
    metric, rng = METRICS[universe], np.random.default_rng(seed)
    costs = metric.distances(list(metric.sites))
    weights = rng.integers(0, 4, len(metric)).astype(float)
    weights[0] = 1
    limit = float(np.quantile(costs, share))
    candidates = [metric.sites[i] for i in range(0, len(metric.sites), 2)]
    instance = instance_of(metric, weights, candidates=candidates)
    covers = costs[np.ix_(instance.allowed, instance.demand)] <= limit * (1 + 1e-9)
    return instance, limit, covers, rng


@pytest.mark.parametrize("universe", sorted(METRICS))
@tries(12, seed=st.integers(0, 10**6), group=st.sampled_from([1, 5, 200]), share=st.floats(0, 0.6))
def test_sums_are_exact_or_above(universe, seed, group, share):
    instance, limit, covers, rng = asked(universe, seed, share)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_GROUP", group)
        price_sums = PriceSums(instance, limit, rng)
    price = rng.random(len(instance.demand))
    true = covers @ price
    found = price_sums.exact_sums(np.arange(len(price_sums.groups)), price)
    for sites, sums in zip(price_sums.groups, found):
        assert sums == pytest.approx(true[sites])
    k = int(rng.integers(1, 5))
    for end in (0.0, np.inf):  # no time, and enough
        most = price_sums.upper_bounds(price, k, end)
        assert (most >= true * (1 - 1e-9)).all()
    assert np.sort(most)[-k:] == pytest.approx(np.sort(true)[-k:])
    bound, _ = cover_bound(instance, price_sums, instance.weight[None, :], price, k, np.inf)
    sites = rng.choice(len(covers), k, replace=False)
    assert covers[sites].any(axis=0) @ instance.weight <= bound * (1 + 1e-9)


@pytest.mark.parametrize("scale", [1, 2**21, 2**28])
def test_long_lengths_lose_nothing(scale):
    """Where single precision cannot hold distances they are rounded down: nobody is left out."""
    rng = np.random.default_rng(4)
    n = 60
    matrix = np.triu(rng.integers(1, 9, (n, n)) * (rng.random((n, n)) < 0.1), 1)
    matrix[np.arange(n - 1), np.arange(1, n)] = 3
    lengths = (matrix + matrix.T) * float(scale)
    metric = mdp.GraphMetric(csr_array(lengths + (lengths > 0)))
    instance = instance_of(metric, np.ones(n))
    costs = metric.distances(metric.ids)
    limit = float(np.quantile(costs, 0.3))
    price_sums = PriceSums(instance, limit, rng)
    true = (costs <= limit * (1 + 1e-9)).sum(axis=1)
    sums = np.empty(n)
    for group, found in zip(
        price_sums.groups, price_sums.exact_sums(np.arange(len(price_sums.groups)), np.ones(n))
    ):
        sums[group] = found
    assert (sums >= true).all() and (sums <= (costs <= limit * (1 + 1e-5)).sum(axis=1)).all()
