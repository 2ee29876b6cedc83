"""What k sites can cover: above every choice, whatever the prices and however little the time."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_array, diags_array, hstack, vstack

import metricdp as mdp
from metricdp.methods.solving import instance_of
from metricdp.solvers.objectives import cover_bound as module
from metricdp.solvers.objectives.cover_bound import (
    PriceSums,
    cover_bound,
    cover_prices,
    most_collected,
)
from metricdp.solvers.stopping import NEVER
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
    exact = price_sums.exact_sums(np.arange(len(price_sums.groups)), np.ones(n))
    for group, found in zip(price_sums.groups, exact):
        sums[group] = found
    assert (sums >= true).all() and (sums <= (costs <= limit * (1 + 1e-5)).sum(axis=1)).all()


def optimum(reach, levels, k, fixed):
    """Of the same program."""
    n_sites, (n_levels, n_cells) = reach.shape[0], levels.shape
    taken = hstack([diags_array(np.ones(n_cells))] * n_levels)
    count = csr_array(np.r_[np.ones(n_sites), np.zeros(n_levels * n_cells)][None])
    least = np.isin(np.arange(n_sites + n_levels * n_cells), fixed).astype(float)
    rows = vstack([hstack([-reach.T, taken]), count], format="csr")
    bounds, room = np.c_[least, np.ones(len(least))], np.r_[np.zeros(n_cells), float(k)]
    found = linprog(-np.r_[np.zeros(n_sites), levels.ravel()], A_ub=rows, b_ub=room, bounds=bounds)
    return -found.fun


@pytest.mark.parametrize("n_levels", [1, 2])
@pytest.mark.parametrize("n_fixed", [0, 2, 6])
def test_near_the_best_prices_and_shares(n_levels, n_fixed):
    rng = np.random.default_rng(10 * n_levels + n_fixed)
    sites, cells = rng.random((60, 2)), rng.random((150, 2))
    away = np.linalg.norm(sites[:, None] - cells[None], axis=2)
    reach = csr_array(np.clip((0.24 - away) / 0.1, 0, 1))
    levels = np.sort(rng.integers(0, 9, (n_levels, 150)), axis=0)[::-1].astype(float)
    k, fixed = 6, np.arange(n_fixed)
    least = optimum(reach, levels, k, fixed)
    begin = levels.sum(axis=0) / 2, np.full(60, k / 60)
    price, shares = cover_prices(reach, levels, k, fixed, begin, NEVER)
    assert price.min() >= 0
    bound = np.maximum(levels - price, 0).sum() + most_collected(reach @ price, k, fixed)
    assert least * (1 - 1e-6) <= bound <= least * 1.01
    assert shares.sum() == pytest.approx(k, rel=1e-4) and shares[fixed] == pytest.approx(1)
    assert 0 <= shares.min() <= shares.max() <= 1
    often = reach.T @ shares
    value = sum(level @ np.clip(often - t, 0, 1) for t, level in enumerate(levels))
    assert 0.99 * least <= value <= least * (1 + 1e-4)


def test_nobody_is_reached():
    nowhere, begin = csr_array((3, 4)), (np.ones(4), np.ones(3))
    price, shares = cover_prices(nowhere, np.ones((1, 4)), 2, np.empty(0, int), begin, NEVER)
    assert price.shape == (4,)
    assert shares.shape == (3,)
