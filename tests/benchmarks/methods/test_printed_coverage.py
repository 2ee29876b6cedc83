"""Maximum coverage in a box, as published: Section 5's private candidates, and what they cost."""

import math
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods import printed_coverage
from metricdp.accounting import Cost
from metricdp.accounting.covering import exponent
from metricdp.methods import MaxCoverage
from metricdp.methods.finite import max_coverage as candidates
from tests import cases

PRINTED = printed_coverage.PrintedCoverage()


def mixture(n, d, seed):
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-0.7, 0.7, (4, d))
    return np.clip(centers[rng.integers(0, 4, n)] + 0.04 * rng.normal(size=(n, d)), -1, 1)


@cases(("ask", "d"), (mdp.k_median, 2), (mdp.k_means, 5))
def test_the_universe_of_a_box_is_its_private_candidates(monkeypatch, ask, d):
    found = []

    def watched(*args, **options):
        answer = yield from candidates.private_candidates(*args, **options)
        found.append(answer[0])
        return answer

    monkeypatch.setattr(printed_coverage, "private_candidates", watched)
    box = mdp.EuclideanSpace([-1] * d, [1] * d)
    demand = mdp.PrivateDemand(box, mixture(40_000, d, 1))
    ledger = mdp.Ledger(2, "1e-6")
    result = ask(box, demand, 4, epsilon=2, delta="1e-6", ledger=ledger, method=PRINTED)
    (points,) = found
    assert len(np.unique(points, axis=0)) >= 4
    assert np.array_equal(result.release.universe.points, np.unique(points, axis=0))
    assert (ledger.left, ledger.left_delta) == (0, 0)
    assert result.receipt.epsilon <= 2 and result.receipt.delta <= Fraction(1, 10**6)


def test_a_share_that_candidates_leave_nothing_for_is_refused_and_costs_nothing():
    ledger = mdp.Ledger(1, "1e-6")
    box = mdp.EuclideanSpace([-1] * 3, [1] * 3)
    demand = mdp.PrivateDemand(box, np.zeros((2, 3)))
    for share in ("1/2", "3/4"):
        with pytest.raises(mdp.InputError, match="share"):
            method = MaxCoverage(share=share)
            mdp.k_means(box, demand, 1, epsilon=1, delta="1e-6", ledger=ledger, method=method)
    assert (ledger.left, ledger.left_delta) == (1, Fraction(1, 10**6))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("rounds", [5, 400])
def test_the_part_of_a_price_has_the_exponent_of_the_papers(rounds, m, relation):
    price = Cost.of("1/2", "1e-6")
    part = printed_coverage.printed_part(price, rounds, relation, m)
    eta = exponent(Cost(price.epsilon * part, price.delta), rounds, relation, m).eta
    assert float(eta * m) == pytest.approx(0.5 / (2 * (1 + 6 * math.log(10))), rel=1e-4)
    assert printed_coverage.printed_part(Cost.of(60, "1/20"), 5, "add-remove", 1) < 1
