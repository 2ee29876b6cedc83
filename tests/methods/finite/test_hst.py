"""The method hst: budgets of levels, what is paid, what is answered."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.accounting import Cost, Ledger
from metricdp.methods.asking import level_shares
from metricdp.methods.finite import hst
from metricdp.releases import Mechanism
from metricdp.running.runner import Run
from tests import grid_metric

DPHST = mdp.methods.DPHST


GRID = grid_metric(12, 12)


RECORDS = [(1, 1)] * 300 + [(10, 2)] * 200 + [(6, 10)] * 400


@settings(max_examples=60, derandomize=True)
@given(st.one_of(st.sampled_from(sorted(hst.BUDGETS)), st.floats(0.001, 1000)), st.integers(1, 12))
def test_shares_of_levels_add_up_to_one_exactly(budget, n_levels):
    factor = hst.checked_budget(budget)
    shares = level_shares(factor, n_levels)
    assert sum(shares) == 1 and all(isinstance(share, Fraction) and share > 0 for share in shares)
    assert all(after == before * factor for before, after in pairwise(shares))


def test_the_papers_budgets_are_halved_from_level_to_level_and_normalized():
    # as printed, eps / 2**(L - i) for i = L, L - 1, ..., 1: more than eps from the second level on
    printed = [Fraction(1, 2**j) for j in range(8)]
    assert sum(printed) == 2 - Fraction(1, 128)
    assert level_shares(hst.BUDGETS["geometric"], 8) == [share / sum(printed) for share in printed]


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("budget", ["rising", "uniform", "geometric", 1.3])
def test_all_levels_together_cost_epsilon(relation, budget):
    ledger = Ledger(1, neighboring=relation)
    users = [i // 3 for i in range(len(RECORDS))]
    demand = mdp.PrivateDemand(GRID, RECORDS, user=users, max_contributions=3)
    method = DPHST(budget=budget, levels=4)
    result = mdp.k_median(GRID, demand, 3, epsilon="2/3", ledger=ledger, method=method)
    assert ledger.spent == result.receipt.epsilon == Fraction(2, 3) and result.receipt.delta == 0
    costs = [mechanism.epsilon for mechanism in result.receipt.mechanisms]
    assert costs == [
        Fraction(2, 3) * share for share in level_shares(hst.checked_budget(budget), 4)
    ]
    sensitivity = 3 if relation == "add-remove" else 6
    for mechanism, cost in zip(result.receipt.mechanisms, costs):
        assert mechanism.sensitivity == sensitivity
        assert mechanism.scale == pytest.approx(float(sensitivity / cost))


def test_the_count_that_chooses_the_levels_is_paid_for():
    demand = mdp.PrivateDemand(GRID, RECORDS)
    counted = mdp.k_median(GRID, demand, 3, epsilon=1, method="hst").receipt.mechanisms
    assert counted[0].query == "number of records" and counted[0].epsilon == Fraction(1, 20)
    assert sum(m.epsilon for m in counted) == 1
    asked = {"epsilon": 1, "method": "hst"}
    hinted = mdp.k_median(GRID, demand, 3, records_hint=900, **asked).receipt.mechanisms
    assert all("histogram" in m.query for m in hinted) and sum(m.epsilon for m in hinted) == 1
    ledger = Ledger(1, neighboring="replace-one")
    public = mdp.k_median(GRID, demand, 3, ledger=ledger, **asked).receipt.mechanisms
    assert public[0].name == "exact" and sum(m.epsilon for m in public) == 1


def test_delta_buys_gaussian_noise_where_that_is_less():
    demand = mdp.PrivateDemand(GRID, RECORDS)
    many, one = DPHST(budget="uniform", levels=20), DPHST(budget="uniform", levels=1)
    assert many.price(1, "1/1000").in_rho and one.price(1, "1/1000") == Cost.of(1)
    assert many.price(1, 0) == Cost.of(1)
    ledger = Ledger(1, "1/100")
    result = mdp.k_median(GRID, demand, 3, epsilon=1, delta="1/1000", ledger=ledger, method=many)
    assert (ledger.spent, ledger.spent_delta) == (1, Fraction(1, 1000))
    assert (result.receipt.epsilon, result.receipt.delta) == (1, Fraction(1, 1000))
    assert {m.name for m in result.receipt.mechanisms} == {"discrete Gaussian"}
    assert sum(m.rho for m in result.receipt.mechanisms) == many.price(1, "1/1000").rho


def test_centers_are_near_the_demand():
    method = DPHST(levels=6)
    result = mdp.k_median(GRID, mdp.PrivateDemand(GRID, RECORDS), 3, epsilon=50, method=method)
    true = np.bincount(GRID.positions(RECORDS), minlength=len(GRID))
    cost = true @ GRID.nearest(result.centers)[1]
    assert len(set(result.centers)) == 3 and cost <= 2 * len(RECORDS)
    weights = result.release.weights
    assert weights.sum() == pytest.approx(len(RECORDS), rel=0.2) and not weights.flags.writeable


def test_levels_fit_the_number_of_records():
    tree = mdp.build_hst(GRID, 0)
    sizes = [len(tree.nodes_at(level)) for level in range(tree.n_levels)]
    assert hst.splitting_levels(tree) == [
        i for i in range(1, tree.n_levels) if sizes[i] > sizes[i - 1]
    ]
    sizes = (-50, 0, 10, 1000, 10**6, 10**12)
    numbers = [hst.number_of_levels(tree, records, 1.0) for records in sizes]
    assert numbers[0] == numbers[1] == 1 and numbers == sorted(numbers) and numbers[-1] <= 8


def test_counts_of_a_chain_are_averaged_by_precision():
    tree = mdp.build_hst(GRID, 0)
    run = Run(mdp.PrivateDemand(GRID, [(0, 0)] * 500), Ledger(1).charge(1))
    counts = run.drive(hst.count_levels(run.terms, tree, Fraction(2), 99))
    assert (
        counts.levels == tuple(hst.splitting_levels(tree))
        and np.isfinite(counts.variance[1:]).all()
    )
    scales = [m.scale for m in counts.receipt.mechanisms]
    assert len(scales) == len(counts.levels)
    for node in (tree.leaf[0], tree.leaf[-1]):
        first, last = tree.level[node], tree.last_level[node]
        levels = [i for i, level in enumerate(counts.levels) if first <= level <= last]
        precision = sum(1 / hst.noise_variance(counts.receipt.mechanisms[i]) for i in levels)
        assert counts.variance[node] == pytest.approx(1 / precision)
    assert hst.release_of(GRID, counts).weights.sum() == pytest.approx(500, abs=20 * scales[0])


def test_variance_of_noise_is_that_of_its_distribution():
    for scale in (0.3, 1.0, 7.5):
        values = np.arange(-2000, 2001)
        laplace, gauss = np.exp(-abs(values) / scale), np.exp(-(values**2) / (2 * scale**2))
        distributions = ("discrete Laplace", laplace), ("discrete Gaussian", gauss)
        for name, distribution in (*distributions, ("discrete Gaussian in shares", gauss)):
            expected = (distribution * values**2).sum() / distribution.sum()
            found = hst.noise_variance(Mechanism(name, "", 1, scale, Fraction(1)))
            assert found == pytest.approx(expected, rel=0.05) or max(found, expected) <= 0.1
