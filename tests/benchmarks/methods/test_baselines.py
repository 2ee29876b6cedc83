"""Other published methods: without noise each is the algorithm that it says it is; the best of
several runs is chosen privately and priced.
"""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods import balcan, k_variates
from benchmarks.methods.best_run import BITS, CLIP, CostDifferences, best_run
from benchmarks.methods.projected import Projected
from benchmarks.methods.rings import Rings, ring_median
from metricdp.methods.box.descent import N_SHELLS, RATIO
from metricdp.partitions.box.cells import Shells, WholeBox
from metricdp.privacy.queries import TotalsQuery
from metricdp.running.runner import Run
from tests.methods.spending import BOX, blobs, cost
from tests.methods.test_baselines import exactly  # noqa: F401
from tests.running.test_private_centers import BOX as SQUARE
from tests.running.test_private_centers import (
    check_all_is_spent,
    check_median,
    check_what_is_asked,
    cloud,
)


def test_variates_are_drawn_by_weight_and_distance():
    points, weights = np.array([[0.0], [1.0], [3.0]]), np.array([2.0, 1.0, 1.0])
    rng = np.random.default_rng(0)
    draws = [tuple(k_variates.seeded(points, weights, 2, 2, rng)[:, 0]) for _ in range(4000)]
    distribution = {
        (0, 1): 0.5 * 0.1,
        (0, 3): 0.5 * 0.9,
        (1, 0): 0.25 / 3,
        (1, 3): 0.25 * 2 / 3,
        (3, 0): 0.25 * 18 / 22,
        (3, 1): 0.25 * 4 / 22,
    }
    expected = pytest.approx(distribution, abs=0.03)
    assert {pair: draws.count(pair) / 4000 for pair in distribution} == expected
    assert k_variates.seeded(points, np.zeros(3), 5, 1, rng).shape == (5, 1)


def test_candidates_lie_where_the_records_are(exactly):  # noqa: F811
    points, middle = blobs(1000)
    run = Run(mdp.PrivateDemand(BOX, points), mdp.Ledger(1).charge(1))
    found = run.drive(balcan._candidates(balcan.Projection(BOX, 2, 0), 3, 0))
    assert len(np.unique(found, axis=0)) == len(found) <= balcan.MOST
    assert np.linalg.norm(found[:, None] + 5 - middle, axis=2).min(axis=0).max() < 0.6


PLANE = mdp.EuclideanSpace([0, 0], [10, 10])
RNG = np.random.default_rng(5)


@pytest.mark.parametrize("power", [1, 2])
def test_differences_are_those_of_a_loop_clipped_and_within_the_bound(power):
    sets = [RNG.uniform(0, 10, (k, 2)) for k in (3, 1, 4)]
    rows, some = RNG.uniform(0, 10, (200, 2)), CostDifferences(PLANE, sets, power)
    amounts = some.amounts(rows)
    most = 2**BITS // 2
    step = CLIP * PLANE.diameter_bound() ** power / most
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
    demand = mdp.PrivateDemand(PLANE, np.tile([[2.0, 3.0]], (4000, 1)))
    good, bad = np.array([[2.0, 3.0]]), np.array([[2.0, 6.0]])
    for order in ([good, bad, bad], [bad, good, bad], [bad, bad, good]):
        task = Run(demand, mdp.Ledger(1).charge(1))
        shares = []

        def run(number, share, order=order, shares=shares):
            yield from ()
            shares.append(share)
            return number, order[number]

        made, centers = task.drive(best_run(PLANE, Fraction(1), 3, run, 2))
        assert shares == [Fraction(3, 10)] * 3
        assert centers is good
        assert order[made] is good
        assert task.budget.spent == Fraction(1, 10)


def mixture(n=6000, d=30, k=4, seed=0):
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-0.6, 0.6, (k, d))
    return middle[rng.integers(0, k, n)] + rng.normal(0, 0.05, (n, d)), middle


@pytest.mark.parametrize("delta", [1e-6, 0])
def test_finds_the_groups(delta):
    points, middle = mixture()
    space = mdp.EuclideanSpace([-1] * 30, [1] * 30)
    asked = {"epsilon": 3, "delta": delta, "method": Projected(inner="partition")}
    result = mdp.k_means(space, mdp.PrivateDemand(space, points), 4, **asked)
    assert cost(points, result.centers, 2) < 1.2 * cost(points, middle, 2)
    assert result.centers.shape == (4, 30) and result.method == "projected"


@pytest.mark.parametrize(("d", "delta"), [(2, 0), (10, 1e-6)])
def test_the_median_is_found_to_a_fraction_of_the_effective_diameter(d, delta):
    assert check_median(ring_median, d, delta).method == "private-median, rings"


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [0, "1/1000000"])
@pytest.mark.parametrize("points", [np.empty((0, 2)), cloud(300)])
def test_all_that_is_charged_is_spent_and_no_more(relation, delta, points):
    demand = mdp.PrivateDemand(SQUARE, points)
    ask = partial(ring_median, SQUARE, demand, sample=0.5)
    check_all_is_spent(lambda ledger, **price: ask(ledger=ledger, **price), relation, delta)


def test_what_is_asked_depends_on_released_values_alone():
    check_what_is_asked(partial(ring_median, sample=0.7))


def test_rings_are_what_they_say():
    rng = np.random.default_rng(5)
    centers, points = rng.uniform(0, 100, (3, 2)), rng.uniform(0, 100, (400, 2))
    outer = SQUARE.diameter_bound() * RATIO ** np.arange(N_SHELLS)
    one = Shells(WholeBox(SQUARE), centers[:1], N_SHELLS, RATIO)
    parts = Rings(SQUARE, one, np.arange(N_SHELLS) == 4, 1.0, 0).encode(points)
    away = np.linalg.norm(points - centers[0], axis=1)
    assert (parts == np.where((away <= outer[4]) & (away > outer[5]), 0, 1)).all()
    every = Rings(SQUARE, one, np.ones(N_SHELLS, bool), 0.3, 7)
    sample = every.encode(np.repeat(points, 5, axis=0)).reshape(-1, 5)
    assert (sample == sample[:, :1]).all() and abs((sample[:, 0] == 0).mean() - 0.3) < 0.1
