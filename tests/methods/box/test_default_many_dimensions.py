"""The default method in a box of many dimensions: what it finds, costs and may see."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.methods.box import default
from metricdp.methods.box.directions import MOST_MEANS
from metricdp.privacy import Ledger, PrivateDemand
from metricdp.solvers.lloyd import lloyd
from tests.methods.box.test_default import cost

DELTA = Fraction(1, 10**6)


def scene(d=6, n=30_000, k=5, seed=0, spread=0.03):
    rng = np.random.default_rng(seed)
    space = mdp.EuclideanSpace([-1.0] * d, [1.0] * d)
    middles = rng.uniform(-0.6, 0.6, (k, d))
    return space, space.clip(middles[rng.integers(0, k, n)] + rng.normal(0, spread, (n, d)))


@pytest.mark.extended
@pytest.mark.parametrize("delta", [0, DELTA])
@pytest.mark.parametrize("power", [1, 2])
def test_costs_are_near_those_of_public_records(power, delta):
    space, points = scene()
    best = cost(points, lloyd(points, np.ones(len(points)), 5, power=power), power)
    ask = (mdp.k_median, mdp.k_means)[power - 1]
    found = ask(space, PrivateDemand(space, points), 5, epsilon=1, delta=delta)
    assert found.centers.shape == (5, 6) and found.method == "partition"
    # 1.00 as a rule; two clusters taken for one cost more
    assert cost(points, found.centers, power) < 1.3 * best
    release = mdp.release(space, PrivateDemand(space, points), epsilon=1, delta=delta)
    again = (release.k_median, release.k_means)[power - 1](5)
    assert cost(points, again.centers, power) < 2 * best and again.receipt == release.receipt
    assert abs(release.coreset().weights.sum() / len(points) - 1) < 0.3


def test_one_cluster_far_from_the_middle_of_a_loose_box():
    space = mdp.EuclideanSpace([-1000.0] * 4, [1000.0] * 4)
    points = np.random.default_rng(1).normal(300, 10, (50_000, 4))
    found = mdp.k_means(space, PrivateDemand(space, points), 1, epsilon=1)
    assert np.linalg.norm(found.centers[0] - 300) < 3


def test_few_records_in_four_dimensions_are_counted_in_halves():
    space, points = scene(d=4, n=4000)
    best = cost(points, lloyd(points, np.ones(4000), 5), 2)
    demand = PrivateDemand(space, points)
    found = [mdp.k_means(space, demand, 5, epsilon="1/5") for _ in range(25)]
    # one of ten is beyond
    assert np.median([cost(points, one.centers, 2) for one in found]) < 3 * best
    found = [mdp.release(space, demand, epsilon="1/5"), *found]
    asked = [{one.query.split()[0] for one in result.receipt.mechanisms} for result in found]
    # the noisy number passes 6,250, from which on sums win, once in 180 draws
    assert asked[0] == {"number", "histogram"} and asked.count(asked[0]) > 20
    assert {result.receipt.epsilon for result in found} == {Fraction(1, 5)}
    with_delta = mdp.k_means(space, demand, 5, epsilon="1/5", delta=DELTA)
    many = mdp.k_means(space, PrivateDemand(space, np.tile(points, (20, 1))), 5, epsilon=1)
    assert with_delta.release.design and many.release.design


@pytest.mark.parametrize("neighboring", ["add-remove", "replace-one"])
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("delta", [0, DELTA])
def test_what_is_paid(delta, m, neighboring, monkeypatch):
    monkeypatch.setattr(default, "FEW", 0.0)
    n = 4000 * m * m  # noise hides 3,000 of them in one draw of a hundred million
    space, points = scene(d=4, n=n)
    users = {"user": np.arange(n) // 2, "max_contributions": m} if m > 1 else {}
    demand = PrivateDemand(space, points, **users)
    ledger = Ledger("1/2", delta, neighboring=neighboring)
    found = mdp.k_means(space, demand, 3, epsilon="1/2", delta=delta, ledger=ledger)
    receipt, design = found.receipt, found.release.design
    reported = ["4"] if design.shares.directions else []
    kinds = ["number", "histogram", "sums", "histogram", *reported]
    kinds += ["histogram", "sums", "histogram", "histogram", "sums", "histogram", "sums"]
    assert design.n_axes == 4  # fewer records: too much noise to look for all directions
    assert ledger.left == 0 and ledger.left_delta == 0
    asked = [mechanism.query.split()[0] for mechanism in receipt.mechanisms]
    retold = next(i for i in range(MOST_MEANS) if asked[4 + 2 * i] != "sums")
    kinds[4:4] = ["sums", "histogram"] * retold  # noise made the box look loose: the mean again
    assert asked == kinds
    expected = Fraction(1, 2), delta, neighboring
    assert (receipt.epsilon, receipt.delta, receipt.neighboring) == expected
    twice = 1 if neighboring == "add-remove" else 2
    # the sums of the two rounds; those of the mean and the last step have all coordinates
    along = int(m * twice * 4096 * design.n_axes**0.5)
    sums, counts = m * twice * 4096 * 2, m if neighboring == "add-remove" else m - 1
    assert {mechanism.sensitivity for mechanism in receipt.mechanisms} - {design.n_axes * sums} == {
        counts,
        m * twice,
        sums,
        along,
    }
    if delta:
        paid = sum(mechanism.rho or 0 for mechanism in receipt.mechanisms)
        assert paid == mdp.Ledger(1, DELTA).charge(Cost.zcdp("1/2", DELTA)).rho
    else:
        assert sum(mechanism.epsilon for mechanism in receipt.mechanisms) == Fraction(1, 2)
    assert found.release.receipt.epsilon < receipt.epsilon
    assert len(found.release.receipt.mechanisms) == len(kinds) - 2
    release = mdp.release(space, demand, epsilon="1/2", delta=delta)
    assert (release.receipt.epsilon, release.receipt.delta) == (Fraction(1, 2), delta)
    more = len(release.receipt.mechanisms) - len(kinds)  # the mean may be released again
    assert release.design != design or more in (-4, -2, 0)
