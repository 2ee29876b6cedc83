"""Branches on whom a client is served by, against all choices of sites."""

import numpy as np
import pytest

from metricdp.kernels.opening import NearSites, branches, search_branches


def random_instance(seed, dear):
    """Costs (10 sites, 12 clients), infinite where there is no service, and prices."""
    rng = np.random.default_rng(seed)
    served = rng.random((10, 12)) < 0.3
    served[rng.integers(10, size=12), np.arange(12)] = True
    costs = np.where(served, rng.integers(0, 5, served.shape), np.inf)
    return costs, rng.integers(50, 90, 10).astype(float) if dear else rng.random(10) * 6


def lists(costs, prices):
    site, client = (each.astype(np.int32) for each in np.nonzero(np.isfinite(costs)))
    start = np.searchsorted(site, np.arange(len(costs) + 1))
    order = np.lexsort((site, client))
    back = np.searchsorted(client[order], np.arange(costs.shape[1] + 1))
    return NearSites(start, client, back, site[order], costs[site, client][order], prices)


def naive_best(costs, prices, fixed):
    """The least cost of all choices that have the fixed sites."""
    chosen = np.arange(1, 2 ** len(costs))[:, None] >> np.arange(len(costs)) & 1 == 1
    chosen = chosen[chosen[:, fixed].all(axis=1)]
    served = np.where(chosen[:, :, None], costs, np.inf).min(axis=1).sum(axis=1)
    return (served + chosen @ prices).min()


@pytest.mark.parametrize("fixed", [[], [3], [2, 7]])
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("dear", [True, False])
def test_all_choices_are_bounded(seed, dear, fixed):
    costs, prices = random_instance(seed, dear)
    near, best = lists(costs, prices), naive_best(costs, prices, fixed)
    for target in (0.5 * best, 0.9 * best, best, 1.1 * best):
        state = branches(near, np.array(fixed, int))
        seen = 1
        while state.at[0] >= 0:
            seen = search_branches(near, state, costs.min(axis=0), target, 3)
            assert seen <= 3
        found = state.found
        assert min(target, found[0]) <= best * (1 + 1e-12)
        assert found[1] >= best * (1 - 1e-12)
        if np.isfinite(found[1]):
            rows = np.flatnonzero(state.best)
            assert set(fixed) <= set(rows)
            assert costs[rows].min(axis=0).sum() + prices[rows].sum() == pytest.approx(found[1])
        if dear and target > best:
            assert found[:2] == pytest.approx([best, best])
