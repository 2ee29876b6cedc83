"""Intervals of what was released: from draws of the posterior against direct integration and the
truth, and from the known distribution of the noise; with the wrong one they would not cover.
"""

import networkx as nx
import numpy as np
import pytest
from scipy.stats import binom

import metricdp as mdp
from metricdp.partitions.finite.ward import hierarchy
from metricdp.solvers.estimate import intervals, tree_posterior
from metricdp.solvers.estimate.credible import HUBS, Credible, in_cells
from metricdp.solvers.estimate.intervals import Interval, Noisy, verdict
from metricdp.solvers.estimate.tree_posterior import Counts, joint_posterior
from metricdp.solvers.kmedian import solve
from tests import cases
from tests.solvers.estimate.test_tree_posterior import PAIR, counts, integrated, random_tree


@cases(
    "rounds",
    [counts([2], [70], 6.0), counts([0, 1], [40, 10], 8.0)],
    [counts([2], [300], 6.0, True), counts([0, 1], [120, 190], 8.0, True)],
    [counts([2], [-9], 6.0), counts([0, 1], [5, -3], 8.0)],
)
def test_draws_have_the_posterior_mean(rounds, monkeypatch):
    monkeypatch.setattr(tree_posterior, "_ROUNDS", 1)
    drawn = joint_posterior(PAIR, rounds).draw(20_000)
    assert (drawn >= 0).all()
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    exact = integrated(PAIR, rounds, any_share=False)
    # what was learned in one round moves the posterior a little from that of equal frequencies
    np.testing.assert_allclose(drawn.mean(axis=0), exact, rtol=0.1, atol=1.5 + 6 * error.max())


def test_draws_of_a_large_tree_add_up_and_spread_as_noise_does():
    rng = np.random.default_rng(0)
    tree = random_tree(40, rng)
    true = rng.poisson(200 * tree.sizes[:40] / tree.sizes[:40].mean())
    noisy = true + np.rint(rng.laplace(0, 5, 40)).astype(int)
    total = Counts(np.array([78]), np.array([int(true.sum())]), 0.5)
    estimate = joint_posterior(tree, [Counts(np.arange(40), noisy, 5.0), total])
    drawn = estimate.draw(3000)
    np.testing.assert_allclose(drawn.mean(axis=0), estimate.mean, rtol=0.05, atol=2)
    assert abs(drawn.sum(axis=1) - true.sum()).max() < 60
    # noise of standard deviation 7, and whether a part follows the universe or its own count
    assert (drawn.std(axis=0) < 3 * np.sqrt(2) * 5.0).all()
    np.testing.assert_array_equal(drawn, estimate.draw(3000))


@pytest.fixture(scope="module")
def grid():
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(30, 30))
    return mdp.GraphMetric(graph, weight=None)


def released(metric, true, scale, seed):
    """An estimate of 64 parts, counted once with Laplace noise by public coins."""
    tree = hierarchy(metric, 0).cut(64)
    coins = np.random.default_rng(seed)
    parts = np.bincount(tree.labels, true, 64).astype(int)
    noise = laplace(scale, 64, coins)
    root = Counts(np.array([126]), np.array([int(true.sum())]), scale)
    return joint_posterior(tree, [Counts(np.arange(64), parts + noise, scale), root])


@pytest.mark.parametrize("scale", [2.0, 12.0])
@pytest.mark.parametrize("spots", [0, 3])
def test_intervals_hold_for_even_and_for_concentrated_demand(grid, spots, scale):
    rng = np.random.default_rng([spots, int(scale)])
    mean_held = 0
    loads_held = []
    for seed in range(20):
        if spots:
            away = grid.nearest_to(rng.integers(0, 900, spots))[1]
            distribution = np.exp(-away / 3)
        else:
            distribution = np.ones(900)
        true = rng.multinomial(4000, distribution / distribution.sum())
        estimate = released(grid, true, scale, seed)
        centers = solve(grid, estimate.tree.spread(estimate.mean), 6, starts=1).centers
        labels, away = grid.nearest_to(centers)
        reported = Credible(estimate)
        mean = reported.mean(np.asarray(away, float))
        mean_held += mean.low <= true @ away / 4000 <= mean.high
        loads = np.bincount(labels, true, 6)
        sums = reported.sums(np.asarray(labels, np.int64), 6)
        loads_held += list((sums.low <= loads) & (loads <= sums.high))
        assert mean.low <= mean.estimate <= mean.high
    assert mean_held >= 18
    assert np.mean(loads_held) >= 0.93


def test_more_noise_and_higher_levels_widen(grid):
    true = np.random.default_rng(1).multinomial(4000, np.full(900, 1 / 900))
    away = np.asarray(grid.nearest_to(np.array([100, 700]))[1], float)
    quiet = Credible(released(grid, true, 2.0, 0))
    loud = Credible(released(grid, true, 60.0, 0))
    assert loud.mean(away).half_width > quiet.mean(away).half_width
    assert quiet.mean(away, level=0.99).half_width > quiet.mean(away).half_width
    near = quiet.mean((away <= 10).astype(float))
    assert 0 <= near.low <= near.high <= 1
    labels = np.asarray(grid.nearest_to(np.array([100, 700]))[0], np.int64)
    assert (loud.sums(labels, 2).half_width > quiet.sums(labels, 2).half_width).all()


def test_a_single_part_has_intervals_too(grid):
    reported = Credible(joint_posterior(hierarchy(grid, 0).cut(1), [counts([0], [500], 3.0)]))
    mean = reported.mean(np.asarray(grid.nearest_to(np.array([450]))[1], float))
    assert mean.low < mean.estimate < mean.high
    assert reported.sums(np.zeros(900, np.int64), 1).estimate[0] == pytest.approx(500)


def test_shared_territories_are_reported_as_unshared_ones_are(grid):
    rng = np.random.default_rng(4)
    reported = Credible(released(grid, rng.poisson(3, 900), 4.0, 1))
    labels = rng.integers(0, 3, 900)
    whole = reported.sums(labels, 3)
    points = np.tile(np.arange(900), 2)
    halves = reported.shared(points, np.r_[labels, labels + 3], np.full(1800, 0.5), 6)
    np.testing.assert_allclose(halves.estimate[:3], whole.estimate / 2)
    np.testing.assert_allclose(halves.estimate[3:], whole.estimate / 2)
    everything = reported.shared(points, np.r_[labels * 0, labels * 0 + 1], np.full(1800, 0.5), 2)
    assert everything.estimate.sum() == pytest.approx(whole.estimate.sum())


def test_demand_is_said_to_cluster_within_cells_only_where_it_clusters_among_them():
    """Of even demand every interval was too low; of 12 at 90 % fewer than 4 hold once in 10^7."""
    assert in_cells(0.15).nearer == 0 and in_cells(0.4).nearer == HUBS.nearer
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    points = np.random.default_rng(1).random((2000, 2))
    held = 0
    for _ in range(12):
        found = mdp.k_median(space, mdp.PrivateDemand(space, points), 15, epsilon=0.25)
        away = np.linalg.norm(points[:, None] - np.asarray(found.centers), axis=2).min(axis=1)
        held += found.interval.low <= away.mean() <= found.interval.high
    assert held >= 4


RUNS = 400
FEWEST = int(binom.ppf(1e-7, RUNS, 0.95))
"""Fewer covered of so many happen by chance once in 10^7."""


@pytest.fixture
def few_draws(monkeypatch):
    """Fewer public draws, for speed: the intervals are a little wider, and cover as well."""
    monkeypatch.setattr(intervals, "_DRAWS", 1 << 12)


def laplace(scale: float, size: int, coins: np.random.Generator) -> np.ndarray:
    p = -np.expm1(-1 / scale)
    return coins.geometric(p, size) - coins.geometric(p, size)


def covered(exact, statistic, truth, scale=20.0, claimed=None, known=None) -> int:
    """How many of many intervals hold the truth."""
    coins = np.random.default_rng(5)
    n, claimed = len(exact), claimed or scale
    reported = np.full(n, claimed), ["discrete Laplace"] * n, None, known
    first = Noisy(exact, *reported)
    hits = 0
    for _ in range(RUNS):
        noisy = Noisy(exact + laplace(scale, n, coins), *reported)
        noisy._cached_draws = first._cached_draws  # the same public draws: made once
        found = statistic(noisy)
        hits += bool(found.low <= truth <= found.high)
    return hits


def ratio(above, most):
    """The interval of a ratio of weighted counts to all, at most `most`."""
    return lambda noisy: noisy.ratio(np.array(above, float), np.ones(len(above)), (0.0, most))


def quantile(q, n):
    """The interval of a quantile of n counts a step apart."""
    return lambda noisy: noisy.quantile(q, slice(n), np.arange(n + 1.0))


CASES = {
    "mean": ([900, 300], ratio([0, 4], 4.0), 1.0),
    "share of few": ([30, 20, 10], ratio([1, 1, 0], 1.0), 50 / 60),
    "share of nobody": ([0, 500], ratio([1, 0], 1.0), 0.0),
    "median": ([100, 300, 350, 200, 50], quantile(0.5, 5), 2 + 100 / 350),
    "largest decile": ([400, 300, 230, 70], quantile(0.9, 4), 2 + 200 / 230),
}


@pytest.mark.parametrize("name", CASES)
def test_they_cover_at_their_level_and_would_not_with_twice_the_claimed_noise(name, few_draws):
    exact, statistic, truth = CASES[name]
    assert covered(np.array(exact, float), statistic, truth) >= FEWEST
    if name in ("mean", "share of few"):
        more = np.array(exact, float) * (1 if name == "mean" else 20)
        assert covered(more, statistic, truth, scale=20.0, claimed=10.0) < FEWEST


def test_a_public_total_makes_them_narrower_and_they_still_cover(few_draws):
    exact = np.array([60.0, 40.0])
    known = (np.ones((1, 2)), np.array([100.0]))

    share = ratio([1, 0], 1.0)
    assert covered(exact, share, 0.6, known=known) >= FEWEST
    scales, distributions = np.full(2, 20.0), ["discrete Laplace"] * 2
    wide = share(Noisy(exact, scales, distributions))
    narrow = share(Noisy(exact, scales, distributions, None, known))
    assert narrow.half_width < wide.half_width


def test_counts_linear_and_exact_values():
    noisy = Noisy(np.array([5, 100]), np.zeros(2), ["exact", "exact"])
    assert noisy.linear(np.ones(2)) == (105.0, 0.0)
    counts = noisy.counts(slice(2))
    assert counts.low.tolist() == counts.high.tolist() == [5.0, 100.0]
    assert noisy.quantile(0.5, slice(2), np.array([0.0, 1.0, 2.0])).low == 1.0


def test_without_any_records_everything_is_possible():
    noisy = Noisy(np.array([0, 0]), np.full(2, 50.0), ["discrete Laplace"] * 2)
    found = noisy.ratio(np.array([0.0, 7.0]), np.ones(2), (0.0, 7.0))
    assert (found.low, found.high) == (0.0, 7.0)


@pytest.mark.parametrize("scale", [0.4, 3.0, 5000.0])
def test_draws_of_gaussian_noise_have_its_distribution(scale):
    draws = Noisy(np.zeros(1), np.array([scale]), ["discrete Gaussian"])._noise(0)
    support = np.arange(-200, 201)
    distribution = np.exp(-(support**2) / (2 * scale**2))
    variance = (distribution / distribution.sum() @ support**2) if scale < 10 else scale**2
    # the sum of squares of 2^16 draws is off by 5.5 standard errors once in 10^7
    assert abs((draws**2).mean() / variance - 1) < 5.5 * np.sqrt(12 / len(draws))


def test_verdicts():
    assert verdict(Interval(-2.0, -3.0, -1.0)) == "yes"
    assert verdict(Interval(2.0, 1.0, 3.0)) == "no"
    assert verdict(Interval(0.5, -1.0, 3.0)) == "cannot tell"


def test_noise_beyond_a_bound_leaves_what_is_near_to_it():
    """All 8,000 records are within: the interval must not say that perhaps none is."""
    noisy = Noisy(np.array([8060, -40]), np.full(2, 10.0), ["discrete Laplace"] * 2)
    found = noisy.ratio(np.array([1.0, 0.0]), np.ones(2), (0.0, 1.0))
    assert (found.estimate, found.high) == (1.0, 1.0) and 0.99 < found.low < 1.0
    other = noisy.ratio(np.array([0.0, 1.0]), np.ones(2), (0.0, 1.0))
    assert (other.estimate, other.low) == (0.0, 0.0) and 0.0 < other.high < 0.01
