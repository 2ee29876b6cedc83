"""Cells above the noise threshold, alone or together, against a reference implementation."""

from dataclasses import replace

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.box.shrinking import LEAST, MOST, above_noise, shrinkage_factors, significance
from metricdp.partitions.finite.ward import PartitionTree
from metricdp.solvers.estimate.tree_posterior import Counts, Estimate, joint_posterior
from tests import naive


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("m", [1, 2, 40])
@pytest.mark.parametrize("sure", [0.5, 5.0])
def test_above_noise_equals_the_reference_implementation(d, m, sure):
    rng = np.random.default_rng(10 * d + m)
    points = rng.random((m, d))
    counts = rng.laplace(0, 1, m) + np.where(rng.random(m) < 0.2, 8.0, 0.0)
    deviation = rng.uniform(0.5, 1.5, m)
    found = above_noise(points, counts, deviation, 1.0, sure)
    assert found.tolist() == naive.above_noise(points, counts, deviation, 1.0, sure)


@pytest.mark.parametrize("records", [344, 1e3, 1e5])
def test_noise_seldom_exceeds_the_threshold_and_the_less_the_more_records_there_are(records):
    rng = np.random.default_rng(3)
    places = 100.0 * np.arange(400.0)[:, None]
    loud = np.full(400, 2**0.5)  # of one unit of noise
    sure = significance(records, 1.0)
    draws = [rng.laplace(0, 1, 400) for _ in range(300)]
    reported = [above_noise(places, draw, loud, 1.0, sure).sum() for draw in draws]
    # at most e^-L / 2 for a cell alone; its neighbors add about as much each
    assert sure >= LEAST and np.count_nonzero(reported) < 400 * 300 * 9 * np.exp(-sure)


def test_clusters_of_few_units_of_noise_may_stand_out_more_easily():
    assert significance(750, 1.0) == significance(750, 1.0, k=20) == significance(1500, 2.0) > 7
    assert significance(750, 1.0, k=50) == 5
    assert significance(300, 1.0) == LEAST and significance(1e9, 1.0) == MOST
    assert significance(100, 1.0) == significance(100, 1.0, k=5) == 2
    assert significance(100, 1.0, k=20) < 2


def row(m):
    """A balanced tree of m = 2^i cells on a line."""
    pairs, level = [], list(range(m))
    while len(level) > 1:
        first = m + len(pairs)
        pairs += list(zip(level[::2], level[1::2]))
        level = list(range(first, m + len(pairs)))
    points = mdp.EuclideanMetric(np.arange(m, dtype=float)[:, None])
    sizes = np.ones(2 * m - 1)
    return PartitionTree(points, np.arange(m, dtype=np.int32), np.array(pairs), sizes)


def reported(tree, mean, counts):
    """An estimate of all nodes' noisy counts, of standard deviation 1.5."""
    return Estimate(mean, {}, tree, [Counts(np.arange(15), counts, 1.5 / 2**0.5)])


def test_weight_above_the_threshold_stays_and_what_may_be_noise_does_not():
    tree = row(8)
    counts = np.zeros(15)
    counts[0] = 100.0
    counts[6] = 2.0
    for i, (left, right) in enumerate(tree.children, start=8):
        counts[i] = counts[left] + counts[right]
    mean = np.array([99.0, 1, 1, 0, 0, 0, 1.5, 0.5])
    weights = mean * shrinkage_factors(tree, reported(tree, mean, counts), 0.3)
    assert weights[0] == 99 and (weights[3:] < 0.3 * mean[3:] + 1e-9).all()
    loud = counts.copy()
    loud[[13, 11, 14]] += 30.0  # a wide cell that is certain, of small ones that are not
    far = mean * shrinkage_factors(tree, reported(tree, mean, loud), 0.3)
    assert far[0] == 99 and far[6] > 0.9 * mean[6] and (far <= mean).all()


def test_sparse_demand_that_is_seen_only_in_all_cells_together_stays():
    tree = row(64)
    mean = np.full(64, 2.0)
    mean[0] = 1000.0
    rounds = [Counts(np.arange(64), mean, np.full(64, 1.0))]  # two deviations of noise or less each
    kept = shrinkage_factors(tree, Estimate(mean, {}, tree, rounds), 1.0)
    assert kept[0] == 1 and (kept[4:] > 0.5).all()
    noise = mean + np.random.default_rng(5).laplace(-2.0, 1.0, 64)
    noise[0] = 1000.0
    rounds = [Counts(np.arange(64), noise, np.full(64, 1.0))]
    assert (shrinkage_factors(tree, Estimate(mean, {}, tree, rounds), 1.0)[8:] < 0.2).all()


def test_where_nothing_is_estimated_the_loudest_noise_leaves_nothing():
    tree = row(8)
    counts = np.full(15, 1e16)
    with np.errstate(all="raise"):
        left = shrinkage_factors(tree, reported(tree, np.zeros(8), counts), 1e17)
    assert ((left >= 0) & (left <= 1)).all()


def test_expected_weights_that_tell_no_more_than_volume_are_not_used():
    tree = row(2)
    named = PartitionTree(tree.universe, tree.labels, tree.children, tree.sizes, numbers=tree.sizes)
    rounds = [Counts(np.arange(3), np.array([40.0, 60.0, 100.0]), np.ones(3))]
    found = joint_posterior(named, rounds, any_share=True, several=True)
    assert found.trust == 0 and found.trusted_tree.numbers is None
    expected = replace(named, sizes=np.array([40.0, 60.0, 100.0]), numbers=tree.sizes)
    many = [Counts(np.arange(3), np.array([4000.0, 6000.0, 10000.0]), np.ones(3))]
    found = joint_posterior(expected, many, any_share=True, several=True)
    assert found.trust == 1 and found.trusted_tree is expected


def test_a_release_from_a_file_is_searched_alike(tmp_path):
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    points = np.random.default_rng(4).normal([0.3, 0.6], 0.02, (1000, 2))
    release = mdp.release(space, mdp.PrivateDemand(space, points), epsilon=1, records_hint=1000)
    # 120 runs: 938 (sd 28)
    assert (release.sure <= release.weights + 1e-9).all() and release.sure.sum() > 600
    release.save(tmp_path / "a.release")
    again = mdp.Release.load(tmp_path / "a.release", space)
    assert np.allclose(again.k_means(1).centers, release.k_means(1).centers)
