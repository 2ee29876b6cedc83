"""Maximum coverage in a box, as published: Section 5's private candidates, and what they cost."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import metricdp as mdp
from metricdp.methods import MaxCoverage
from metricdp.methods.box import private_candidates as candidates
from metricdp.methods.finite import max_coverage

PRINTED = MaxCoverage(published=True)


def mixture(n, d, seed):
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-0.7, 0.7, (4, d))
    return np.clip(centers[rng.integers(0, 4, n)] + 0.04 * rng.normal(size=(n, d)), -1, 1)


@pytest.mark.parametrize("ask", [mdp.k_median, mdp.k_means])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_universe_of_a_box_is_its_private_candidates(monkeypatch, ask, d):
    found = []

    def watched(*args, **options):
        answer = yield from candidates.private_candidates(*args, **options)
        found.append(answer[0])
        return answer

    monkeypatch.setattr(max_coverage, "private_candidates", watched)
    box = mdp.EuclideanSpace([-1] * d, [1] * d)
    demand = mdp.PrivateDemand(box, mixture(40_000, d, 1))
    ledger = mdp.Ledger(2, "1e-6")
    result = ask(box, demand, 4, epsilon=2, delta="1e-6", ledger=ledger, method=PRINTED)
    (points,) = found
    assert len(np.unique(points, axis=0)) >= 4
    assert np.array_equal(result.release.universe.points, np.unique(points, axis=0))
    assert (ledger.left, ledger.left_delta) == (0, 0)
    assert result.receipt.epsilon <= 2
    assert result.receipt.delta <= Fraction(1, 10**6)
    assert any("published" in str(each) for each in result.receipt.mechanisms)


def test_five_dimensions_cost_less_than_twice_the_best():
    """Before candidates, on a public net: 5.3 times. Four clusters of 10,000, epsilon 2: means are
    known to 0.02 each, so a failure by chance has probability below 1e-6.
    """
    points = mixture(40_000, 5, 2)
    box = mdp.EuclideanSpace([-1] * 5, [1] * 5)
    best = 40_000 * 5 * 0.04**2
    result = mdp.k_means(
        box, mdp.PrivateDemand(box, points), 4, epsilon=2, delta=1e-6, method=PRINTED
    )
    assert cdist(points, result.centers, "sqeuclidean").min(axis=1).sum() < 2 * best


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_where_candidates_are_fewer_than_k_public_points_join_them(relation):
    box = mdp.EuclideanSpace([-1] * 3, [1] * 3)
    for k in (1, 30):
        ledger = mdp.Ledger(1, "1e-6", neighboring=relation)
        demand = mdp.PrivateDemand(box, np.zeros((2, 3)))
        result = mdp.k_means(box, demand, k, epsilon=1, delta="1e-6", ledger=ledger, method=PRINTED)
        assert np.asarray(result.centers).shape == (k, 3)
        assert (ledger.left, ledger.left_delta) == (0, 0)


def test_a_share_that_candidates_leave_nothing_for_is_refused_and_costs_nothing():
    ledger = mdp.Ledger(1, "1e-6")
    box = mdp.EuclideanSpace([-1] * 3, [1] * 3)
    demand = mdp.PrivateDemand(box, np.zeros((2, 3)))
    for share in ("1/2", "3/4"):
        with pytest.raises(mdp.InputError, match="share"):
            mdp.k_means(
                box,
                demand,
                1,
                epsilon=1,
                delta="1e-6",
                ledger=ledger,
                method=MaxCoverage(share=share),
            )
    assert (ledger.left, ledger.left_delta) == (1, Fraction(1, 10**6))
