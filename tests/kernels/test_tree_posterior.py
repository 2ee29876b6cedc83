"""Messages on a tree of counts: against full enumeration where all values lie on the grids, against
matrices elsewhere.
"""

import numpy as np
import pytest

from metricdp.kernels import tree_posterior
from tests import naive


def run(children, low, step, fractions, chances, leaves, prior, above=None):
    """Kernel messages: (inside, outside of the nodes above the leaves, posterior of shares, log
    evidence, means of leaves); `above`, likelihoods of the nodes above the leaves.

    Every share is a kind, every split a band: so frequencies learned are the shares' posterior.
    """
    n_splits, n_shares = fractions.shape
    grid = leaves.shape[1]
    kinds = np.repeat(np.eye(n_shares)[:, None], n_splits, axis=1)
    splits = tree_posterior.Splits(children, low, step, fractions, kinds, np.arange(n_splits))
    inside = np.empty((2 * n_splits + 1, grid))
    outside = np.empty((2 * n_splits + 1, grid))
    outside[-1] = prior
    seen = np.r_[leaves, np.ones((n_splits, grid)) if above is None else above]
    scale = tree_posterior.upward(splits, chances, seen, inside)
    messages = chances, seen, inside, outside
    posterior = tree_posterior.downward(splits, chances, messages, False)
    found = tree_posterior.downward(splits, chances, messages, True)
    np.testing.assert_array_equal(posterior, found)
    at = inside[: n_splits + 1] * outside[: n_splits + 1]
    at = np.where(at.sum(axis=1, keepdims=True) > 0, at, inside[: n_splits + 1])
    means = low[: n_splits + 1] + step[: n_splits + 1] * (at @ np.arange(grid) / at.sum(axis=1))
    return inside, outside[n_splits + 1 :], posterior, scale, means


TREES = {
    "pair": np.array([[0, 1]]),
    "balanced": np.array([[0, 1], [2, 3], [4, 5]]),
    "chain": np.array([[2, 3], [1, 4], [0, 5]]),
}


@pytest.mark.parametrize("shape", TREES)
@pytest.mark.parametrize("counted_above", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_against_the_sum_over_all_counts_and_shares(shape, seed, counted_above):
    children, rng, grid = TREES[shape], np.random.default_rng(seed), 25
    m = len(children) + 1
    fractions = np.tile([0.0, 0.5, 1.0], (m - 1, 1))
    chances = rng.dirichlet(np.ones(3), m - 1)
    chances[0] = [0.25, 0.75, 0.0]  # an impossible share too
    depth = np.zeros(2 * m - 1, int)
    for i in reversed(range(m - 1)):
        depth[children[i]] = depth[m + i] + 1
    # half of any value is on the grid below
    low, step = (np.zeros(2 * m - 1), 2.0 ** (depth.max() - depth))
    low[0] = step[0] * 2  # values below are impossible there
    leaves, prior = rng.random((m, grid)), rng.random(grid)
    above = rng.random((m - 1, grid)) if counted_above else np.ones((m - 1, grid))
    values = low[:, None] + step[:, None] * np.arange(grid)
    likelihoods = [dict(zip(values[v], row)) for v, row in enumerate(np.r_[leaves, above])]
    evidence, expected, mean = naive.enumerate_counts(
        children, fractions, chances, likelihoods, dict(zip(values[-1], prior))
    )
    tree = (children, low, step, fractions, chances, leaves, prior, above)
    inside, _, posterior, scale, means = run(*tree)
    assert np.exp(scale) * (inside[-1] @ prior) == pytest.approx(evidence, rel=1e-9)
    np.testing.assert_allclose(posterior, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(means, mean, rtol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_against_matrices_on_any_grids(seed):
    rng, grid = np.random.default_rng(seed), 30
    children = TREES[["pair", "balanced", "chain"][seed % 3]]
    m = len(children) + 1
    fractions, chances = rng.random((m - 1, 5)), rng.dirichlet(np.ones(5), m - 1)
    fractions[:, 0], fractions[:, 1] = 0.0, 1.0
    low, step = rng.random(2 * m - 1) * 3, 0.2 + rng.random(2 * m - 1)
    low[:m], step[m:] = 0.0, step[m:] + 0.3
    leaves, prior = rng.random((m, grid)), rng.random(grid)
    tree = (children, low, step, fractions, chances, leaves, prior)
    (inside, outside, posterior, _, means), expected = run(*tree), naive.messages(*tree)
    found = inside / inside.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected[0], rtol=1e-8, atol=1e-13)
    found = outside / outside.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected[1][m:], rtol=1e-8, atol=1e-13)
    np.testing.assert_allclose(posterior, expected[2], rtol=1e-8, atol=1e-13)
    belief = expected[0][:m] * expected[1][:m]
    values = low[:m, None] + step[:m, None] * np.arange(grid)
    np.testing.assert_allclose(means, (belief * values).sum(axis=1) / belief.sum(axis=1), rtol=1e-8)


def test_what_contradicts_itself_falls_back_to_the_prior():
    children, grid = TREES["pair"], 10
    fractions, chances = np.array([[0.0, 1.0]]), np.array([[0.3, 0.7]])
    low, step = np.array([50.0, 50.0, 0.0]), np.ones(3)  # no share of 0..9 reaches 50
    leaves, prior = np.ones((2, grid)), np.full(grid, 0.1)
    tree = (children, low, step, fractions, chances, leaves, prior)
    inside, outside, posterior, _, means = run(*tree)
    assert np.isfinite(inside).all() and np.isfinite(outside).all()
    np.testing.assert_allclose(means, [54.5, 54.5])  # as counted
    np.testing.assert_array_equal(posterior, chances)


@pytest.mark.parametrize("shape", TREES)
def test_consistent_counts_against_dense_least_squares(shape):
    children, rng = TREES[shape], np.random.default_rng(3)
    m = len(children) + 1
    below = np.eye(m)
    for left, right in children:
        below = np.r_[below, (below[left] + below[right])[None]]
    value, precision = rng.normal(20, 9, 2 * m - 1), rng.random(2 * m - 1) + 0.01
    precision[m : 2 * m - 2] *= rng.random(m - 2) < 0.5  # some nodes were not counted
    covariance = np.linalg.inv(below.T @ (precision[:, None] * below))
    expected = below @ covariance @ below.T @ (precision * value)
    mean, variance = tree_posterior.consistent(children, value, precision)
    np.testing.assert_allclose(mean, expected, rtol=1e-9)
    np.testing.assert_allclose(variance, np.diag(below @ covariance @ below.T), rtol=1e-9)
