"""A grant spent in shares."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.methods.box.distances import shells_together
from metricdp.methods.shares import Allowance
from metricdp.privacy import HistogramQuery, Ledger, PrivateDemand

DELTA = Fraction(1, 10**6)


def scene(d=6, n=30_000, k=5, seed=0, spread=0.03):
    rng = np.random.default_rng(seed)
    space = mdp.EuclideanSpace([-1.0] * d, [1.0] * d)
    middles = rng.uniform(-0.6, 0.6, (k, d))
    return space, space.clip(middles[rng.integers(0, k, n)] + rng.normal(0, spread, (n, d)))


def test_an_allowance_spends_shares_of_the_rest():
    space, points = scene(d=4, n=10)
    for cost_, relation in ((Cost.zcdp(1, DELTA), "replace-one"), (Cost.of(1), "add-remove")):
        allowance = Allowance(
            PrivateDemand(space, points),
            Ledger(1, DELTA, neighboring=relation).charge(cost_),
            Fraction(1, 2),
        )
        release = allowance.ask(HistogramQuery(shells_together(space, points[:1])), Fraction(1, 4))
        scale = release.receipt.mechanisms[0].scale
        assert allowance.deviation_of_counts(Fraction(1, 4)) == pytest.approx(
            scale * (1 if cost_.delta else 2**0.5)
        )
        allowance.spread(Fraction(1, 5))  # what is left, a half, for shares that add up to a fifth
        again = allowance.ask(
            HistogramQuery(shells_together(space, points[:1])), Fraction(1, 5)
        ).receipt.mechanisms[0]
        assert again.scale == pytest.approx(scale)
        assert allowance.receipt.epsilon == 1 and allowance.receipt.delta == cost_.delta
