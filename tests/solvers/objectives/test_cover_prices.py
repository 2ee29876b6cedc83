"""Prices and shares of a linear program of coverage, beside HiGHS."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array, diags_array, hstack, vstack

from metricdp.solvers.objectives.cover_prices import cover_prices, most_collected
from metricdp.solvers.stopping import NEVER


def optimum(reach, levels, k, fixed):
    """Of the same program."""
    n_sites, (n_levels, n_cells) = reach.shape[0], levels.shape
    taken = hstack([diags_array(np.ones(n_cells))] * n_levels)
    count = csr_array(np.r_[np.ones(n_sites), np.zeros(n_levels * n_cells)][None])
    least = np.isin(np.arange(n_sites + n_levels * n_cells), fixed).astype(float)
    found = linprog(
        -np.r_[np.zeros(n_sites), levels.ravel()],
        A_ub=vstack([hstack([-reach.T, taken]), count], format="csr"),
        b_ub=np.r_[np.zeros(n_cells), float(k)],
        bounds=np.c_[least, np.ones(len(least))],
    )
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
