"""Sums of records in a box, hashes of it, and the centers found by them."""

import pickle
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.audit.worlds import finest
from metricdp.methods.finite.max_coverage import MaxCoverage, private_candidates
from metricdp.partitions.box.cells import HashBuckets
from metricdp.privacy import HistogramQuery, PrivateDemand, SumsQuery, measure
from metricdp.running.runner import Run
from tests import refuses

BOX = mdp.EuclideanSpace([-1.0, 0.0, 2.0], [1.0, 4.0, 3.0])


def inside(unit):
    """Points of the box for points of the unit cube."""
    return BOX.lower + np.asarray(unit, float).reshape(-1, 3) * (BOX.upper - BOX.lower)


def test_sums_are_of_boxes_and_are_released_with_their_noise():
    line = mdp.EuclideanMetric([[0.0], [1.0]])
    for bad in (
        lambda: SumsQuery(HistogramQuery(finest(line))),
        lambda: SumsQuery(HistogramQuery(HashBuckets(BOX, 1.0, 0)), 0),
        lambda: SumsQuery(3),
    ):
        refuses("", bad)
    query = SumsQuery(HistogramQuery(HashBuckets(BOX, 1.0, 0)))
    ledger = mdp.Ledger(2, "1e-6")
    demand = PrivateDemand(BOX, inside([[0.5, 0.5, 0.5]] * 10))
    laplace = measure(demand, query, 1, ledger.charge(1)).receipt
    assert (laplace.epsilon, laplace.mechanisms[0].scale) == (1, query.sensitivity("add-remove", 1))
    gauss = measure(demand, query, 1, ledger.charge(1, "1e-6"), "1e-6").receipt
    assert gauss.delta in (0, Fraction(1, 10**6))


def test_a_hash_looks_at_nothing_but_the_record_and_public_coins():
    one, other = HashBuckets(BOX, 0.4, 7), HashBuckets(BOX, 0.4, 7)
    points = inside(np.random.default_rng(0).random((200, 3)))
    codes = one.encode(points)
    assert (codes == other.encode(points)).all()
    assert (codes[::-1] == one.encode(points[::-1])).all() and codes.min() >= 0
    assert codes.max() < one.n_parts and len(set(codes.tolist())) > 10
    assert codes.tolist() == [int(one.encode(point[None])[0]) for point in points]
    assert (codes != HashBuckets(BOX, 0.4, 8).encode(points)).any()
    assert (codes == one.encode(points + 1e-6)).mean() > 0.95


def mixture(n, d, seed):
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-0.7, 0.7, (4, d))
    return centers, np.clip(centers[rng.integers(0, 4, n)] + 0.04 * rng.normal(size=(n, d)), -1, 1)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_candidates_stand_near_the_clusters(delta):
    """Four clusters of 10,000 points in R^4, epsilon 2: noise of a mean is below 0.02 with delta,
    0.1 without.
    """
    box = mdp.EuclideanSpace([-1] * 4, [1] * 4)
    centers, points = mixture(40_000, 4, 1)
    budget = mdp.Ledger(2, 1e-6).charge(Cost.zcdp(2, "1e-6") if delta else 2)
    run = Run(PrivateDemand(box, points), budget)
    found, radii = run.drive(private_candidates(run.terms, box, 0))
    assert radii == sorted(radii, reverse=True)
    assert run.receipt.epsilon <= Fraction(2) + Fraction(1, 10**20)
    assert (np.abs(found) <= 1).all()
    assert np.linalg.norm(found[:, None] - centers, axis=2).min(axis=0).max() < 0.3


@pytest.mark.parametrize("ask", [mdp.k_median, mdp.k_means])
def test_centers_beyond_two_dimensions(ask):
    box = mdp.EuclideanSpace([-1] * 5, [1] * 5)
    centers, points = mixture(40_000, 5, 2)
    ledger = mdp.Ledger(2, 1e-6)
    demand = PrivateDemand(box, points)
    result = ask(box, demand, 4, epsilon=2, delta=1e-6, ledger=ledger, method="max-coverage")
    assert result.centers.shape == (4, 5)
    assert ledger.left == 0
    assert result.receipt.epsilon <= 2 and result.receipt.delta <= Fraction(1, 10**6)
    assert np.linalg.norm(result.centers[:, None] - centers, axis=2).min(axis=0).max() < 0.4
    assert len(result.release.coreset().points) == len(result.release.coreset().weights)
    back = pickle.loads(pickle.dumps(result))
    assert (back.centers == result.centers).all() and back.receipt == result.receipt


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_few_records_many_centers_and_users(relation, delta):
    box = mdp.EuclideanSpace([-1] * 3, [1] * 3)
    users = {"user": [1, 1, 2], "max_contributions": 2}
    demands = PrivateDemand(box, []), PrivateDemand(box, np.zeros((3, 3)), **users)
    for demand, k in zip(demands, (1, 100)):
        ledger = mdp.Ledger(1, 1e-6, neighboring=relation)
        asked = {"epsilon": 1, "delta": delta, "ledger": ledger, "method": MaxCoverage(picks=2)}
        result = mdp.k_means(box, demand, k, **asked)
        assert result.centers.shape == (k, 3)
        assert (np.abs(result.centers) <= 1).all()
        assert ledger.left == 0


def test_a_pickled_universe_holds_no_search_tree_and_still_snaps():
    metric = mdp.EuclideanMetric(np.random.default_rng(0).random((50, 3)))
    fresh, at = pickle.dumps(metric), metric.snap([[0.5, 0.5, 0.5]])
    assert pickle.dumps(metric) == fresh
    assert (pickle.loads(fresh).snap([[0.5, 0.5, 0.5]]) == at).all()
