"""No private method beats what no private method can: instances of Gupta, Ligett, McSherry, Roth &
Talwar (SODA 2010, Theorem 4.5), as statistics of every method of finite universes.

n points, all at distance 1; t records at each of k of them, S, drawn at random: k centers at S cost
nothing. Let h be the expected share of S that an epsilon-DP method finds, over S too.

*Add-remove*: without the t records of i in S the method answers i at least exp(-t·epsilon) times as
often; i is then one of n - k + 1 points that are all alike, of which it answers k at most. So h <=
exp(t·epsilon)·k / (n - k + 1). *Replace-one*: the t records of i move to a random point outside S,
which makes another random S', and i one of n - k points outside, of which k(1 - h) are answered: h
<= x / (1 + x), x = exp(t·epsilon)·k / (n - k).

The cost is t·k·(1 - h), so these are bounds of cost from below. Neither sees how a method works.
"""

import math

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods import BY_NAME, LocalSearch, MaxCoverage

N, K, RUNS = 40, 3, 100
SLACK = math.sqrt(-math.log(1e-7) / (2 * RUNS))
"""By Hoeffding a mean of so many shares exceeds its expectation by this with probability 1e-7."""
METRIC = mdp.PrecomputedMetric(1.0 - np.eye(N))
METHODS = {name: name for name, kind in BY_NAME.items() if kind.in_finite and not kind.free} | {
    "local-search from all": LocalSearch(start="k-median++", steps=4),
    "max-coverage, few picks": MaxCoverage(picks=K),
}


def found(method, ask, relation, t, epsilon):
    """Mean share of the places of demand that are centers."""
    rng, shares = np.random.default_rng(7), []
    for run in range(RUNS):
        places = rng.choice(N, K, replace=False)
        demand = mdp.PrivateDemand(METRIC, np.repeat(places, t).tolist())
        paid = {"epsilon": epsilon, "ledger": mdp.Ledger(epsilon, neighboring=relation)}
        centers = ask(METRIC, demand, K, method=method, seed=run % 3, **paid).centers
        shares.append(len(set(centers) & set(places.tolist())) / K)
    return float(np.mean(shares))


def bound(relation, t, epsilon):
    """Most that h can be."""
    if relation == "add-remove":
        return math.exp(t * epsilon) * K / (N - K + 1)
    x = math.exp(t * epsilon) * K / (N - K)
    return x / (1 + x)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_no_method_finds_more_than_any_can(method, relation):
    """False alarms: below 1e-7 each."""
    t, epsilon = 4, 0.25
    assert bound(relation, t, epsilon) + SLACK < 0.5
    assert found(method, mdp.k_median, relation, t, epsilon) < bound(relation, t, epsilon) + SLACK


@pytest.mark.parametrize("method", ["partition", "local-search"])
def test_nor_with_squared_distances_and_a_few_records_of_much_epsilon(method):
    assert found(method, mdp.k_means, "add-remove", 1, 1) < bound("add-remove", 1, 1) + SLACK


def test_the_statistic_tells_a_method_that_is_not_private():
    """Centers of the demand itself are found always; with t = 200 records a place, where the bound
    says nothing, a private method finds most of them, too.
    """
    weights = np.zeros(N)
    weights[[3, 5, 8]] = 4
    assert set(mdp.k_median(METRIC, k=K, weights=weights).centers) == {3, 5, 8}
    assert bound("add-remove", 4, 0.25) + SLACK < 1
    assert found("partition", mdp.k_median, "add-remove", 200, 0.25) > 0.5
