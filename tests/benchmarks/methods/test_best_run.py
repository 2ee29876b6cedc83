"""The best of several runs: the choice is private, priced, and right where the demand is large."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.best_run import BITS, CLIP, CostDifferences, best_run, shares_of_runs
from metricdp.privacy.queries import TotalsQuery
from metricdp.running.runner import Run

BOX = mdp.EuclideanSpace([0, 0], [10, 10])
RNG = np.random.default_rng(5)


@pytest.mark.parametrize("power", [1, 2])
def test_differences_are_those_of_a_loop_clipped_and_within_the_bound(power):
    sets = [RNG.uniform(0, 10, (k, 2)) for k in (3, 1, 4)]
    rows, some = RNG.uniform(0, 10, (200, 2)), CostDifferences(BOX, sets, power)
    amounts = some.amounts(rows)
    most = 2**BITS // 2
    step = CLIP * BOX.diameter_bound() ** power / most
    for row, reported in zip(rows, amounts):
        away = [min(np.linalg.norm(row - c) for c in centers) ** power for centers in sets]
        expected = [np.clip((a - away[0]) / step, -most, most) for a in away[1:]]
        assert np.abs(reported - expected).max() <= 1
    assert np.abs(amounts).sum(axis=1).max() <= 2**BITS
    assert np.abs(amounts).max() == most  # the clip was reached
    assert all((some.amounts(rows[i : i + 1]) == amounts[i]).all() for i in range(0, 200, 20))
    assert (TotalsQuery(some, BITS).exact(rows) == amounts.sum(axis=0)).all()


def test_the_better_centers_are_chosen():
    """A wrong choice would take noise of 200 scales: a chance below 1e-80 each."""
    demand = mdp.PrivateDemand(BOX, np.tile([[2.0, 3.0]], (4000, 1)))
    good, bad = np.array([[2.0, 3.0]]), np.array([[2.0, 6.0]])
    for order in ([good, bad, bad], [bad, good, bad], [bad, bad, good]):
        task = Run(demand, mdp.Ledger(1).charge(1))
        shares = []

        def run(number, share, order=order, shares=shares):
            yield from ()
            shares.append(share)
            return number, order[number]

        made, centers = task.drive(best_run(BOX, Fraction(1), 3, run, 2))
        assert shares == [Fraction(3, 10)] * 3
        assert centers is good
        assert order[made] is good
        assert task.budget.spent == Fraction(1, 10)


@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(4, 7)])
@pytest.mark.parametrize("runs", [1, 2, 5])
def test_shares_add_up(share, runs):
    each, choice = shares_of_runs(share, runs)
    assert each * runs + choice == share
    assert (choice > 0) == (runs > 1)
