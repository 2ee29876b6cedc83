"""The posterior mean of counts on a partition's tree: against direct integration of its model, and
sane at every extreme.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

import metricdp as mdp
from metricdp.partitions.finite.ward import PartitionTree, hierarchy
from metricdp.solvers.estimate import tree_posterior
from metricdp.solvers.estimate.tree_posterior import Counts, joint_posterior


def tree_of(sizes, children) -> PartitionTree:
    sizes, m = list(sizes), len(sizes)
    for left, right in children:
        sizes.append(sizes[left] + sizes[right])
    labels = np.repeat(np.arange(m), np.array(sizes[:m], int)).astype(np.int32)
    universe = mdp.EuclideanMetric(np.arange(len(labels), dtype=float)[:, None])
    pairs = np.array(children, np.int64).reshape(-1, 2)
    return PartitionTree(universe, labels, pairs, np.array(sizes, float))


def random_tree(m: int, seed: int = 0) -> PartitionTree:
    rng = np.random.default_rng(seed)
    nodes, children = list(range(m)), []
    for i in range(m - 1):
        a, b = rng.choice(len(nodes), 2, replace=False)
        children.append((nodes[a], nodes[b]))
        nodes = [v for v in nodes if v not in children[-1]] + [m + i]
    return tree_of(rng.integers(1, 9, m), children)


def laplace(noisy, scale, rng):
    return np.rint(noisy + rng.laplace(0, scale, len(noisy))).astype(np.int64)


def posterior_mean(tree, noisy, scale, total=None, total_scale=0.0):
    rounds = [Counts(np.arange(tree.n_parts), noisy, scale)]
    if total is not None and tree.n_parts > 1:
        rounds.append(Counts(np.array([2 * tree.n_parts - 2]), np.array([total]), total_scale))
    return joint_posterior(tree, rounds).mean


PAIR = tree_of([3, 1], [(0, 1)])


def counts(nodes, values, scale, gaussian=False):
    return Counts(np.array(nodes), np.array(values), scale, gaussian)


def integrated(tree, rounds, any_share):
    """E(counts | rounds) of two parts by sums over a fine grid of totals and shares; every kind of
    split equally likely beforehand.
    """
    p = tree.sizes[0] / tree.sizes[2]
    reach = max(abs(each.values).max() + 25 * each.scale for each in rounds)
    x = np.linspace(0, reach, 2001)[:, None]
    c, at = tree_posterior._CONCENTRATION, np.linspace(0, 1, 2002)
    middle = (at[1:] + at[:-1]) / 2
    distributions = [beta(c * p, c * (1 - p)), *([beta(1, 1)] if any_share else [])]
    shares = [(np.array([1.0, 0.0]), np.array([p, 1 - p])), (np.array([p]), np.ones(1))]
    shares += [(middle, np.diff(distribution.cdf(at))) for distribution in distributions]
    fine = np.concatenate([f for f, _ in shares])[None, :]
    chance = np.concatenate([w / len(shares) for _, w in shares])[None, :]
    value, log = {0: fine * x, 1: (1 - fine) * x, 2: x}, 0.0
    for each in rounds:
        for node, noisy in zip(each.nodes.tolist(), each.values.tolist()):
            off = np.abs(noisy - value[node]) / each.scale
            log = log - (off**2 / 4 if each.gaussian else off)
    weight = np.exp(log - log.max()) * chance
    weight /= weight.sum()
    return np.array([(weight * fine * x).sum(), (weight * (1 - fine) * x).sum()])


SEEN = [(40, 10), (60, -3), (-4, 30), (2, 1), (-9, -6), (400, 2), (100, 300)]


@settings(max_examples=60, derandomize=True)
@given(st.integers(1, 8), st.integers(0, 1000), st.sampled_from([0.01, 1.0, 30.0, 1e6]), st.data())
def test_finite_and_not_negative_whatever_was_drawn(m, seed, scale, data):
    counts = data.draw(st.lists(st.integers(-40, 200), min_size=m, max_size=m))
    noisy = np.rint(scale * np.array(counts)).astype(np.int64)
    whole = float(noisy.sum())
    total = data.draw(st.sampled_from([None, 0.0, -5.0 * scale, whole, whole + 30 * scale]))
    found = posterior_mean(random_tree(m, seed), noisy, scale, total, 20 * scale)
    assert found.shape == (m,) and found.dtype == np.float64
    assert np.isfinite(found).all() and (found >= 0).all()


@pytest.mark.parametrize("scale", [0.001, 0.01, 0.3])
def test_small_noise_leaves_the_counts_alone(scale):
    tree, rng = random_tree(40, 3), np.random.default_rng(0)
    true = rng.integers(0, 60, 40) * (rng.random(40) < 0.6)
    found = posterior_mean(tree, true, scale, float(true.sum()), 0.5)
    assert np.abs(found - true).mean() < 1.5 * scale + 0.01


def test_an_accurate_total_is_kept():
    tree, rng = random_tree(30, 1), np.random.default_rng(1)
    true = rng.poisson(20, 30)
    noisy, off = laplace(true, 10, rng), 0.0
    free = posterior_mean(tree, noisy, 10.0)
    held = posterior_mean(tree, noisy, 10.0, true.sum() + off, 5.0)
    assert abs(held.sum() - true.sum()) < 25
    assert abs(held.sum() - true.sum()) < abs(free.sum() - true.sum()) + 5
    assert posterior_mean(tree, noisy, 10.0, true.sum() + 60.0, 5.0).sum() > held.sum() + 15


@pytest.mark.parametrize(("kind", "most"), [("sparse", 0.5), ("smooth", 0.5), ("plenty", 1.1)])
def test_better_than_the_noisy_counts_and_no_worse_where_these_are_good(kind, most):
    """On demand in few parts, on demand spread like the universe, and where every part holds many
    times the noise, so that the data outweigh any prior.
    """
    tree = hierarchy(mdp.EuclideanMetric(np.random.default_rng(0).random((600, 2)))).cut(60)
    rng, errors, plain, leftover = np.random.default_rng(1), [], [], []
    for _ in range(8):
        if kind == "sparse":
            true = np.zeros(60, int)
            true[rng.choice(60, 4, replace=False)] = rng.integers(80, 400, 4)
        elif kind == "smooth":
            true = rng.multinomial(1000, tree.sizes[:60] / 600)
        else:
            true = np.rint(tree.sizes[:60] * rng.uniform(50, 400, 60)).astype(int)
        noisy = laplace(true, 10, rng)
        found = posterior_mean(tree, noisy, 10.0, float(true.sum() + rng.laplace(0, 200)), 200.0)
        errors.append(np.abs(found - true).sum())
        plain.append(np.abs(noisy - true).sum())
        leftover.append(found[true == 0].sum() / true.sum())
    assert np.mean(errors) < most * np.mean(plain)
    assert kind != "sparse" or np.mean(leftover) < 0.15


def test_one_part():
    tree = tree_of([5], [])
    assert posterior_mean(tree, np.array([7]), 2.0, 9.0, 1.0).tolist() == [7.0]
    assert posterior_mean(tree, np.array([-7]), 2.0).tolist() == [0.0]


def test_an_exact_total_beside_very_noisy_counts():
    noisy = np.array([700_000, -300_000, 50_000])
    # what replace-one at epsilon 1e-5 gives
    found = posterior_mean(random_tree(3), noisy, 200_000.0, 500.0, 0.5)
    assert np.isfinite(found).all()
    assert found.sum() < 100_000
