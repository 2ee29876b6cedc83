"""k-variates++ and Balcan et al.: without noise each is the algorithm it says it is."""

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods import balcan, k_variates
from metricdp.privacy import PrivateDemand
from metricdp.running.runner import Run
from tests.methods.spending import BOX, blobs
from tests.methods.test_baselines import exactly  # noqa: F401


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
    run = Run(PrivateDemand(BOX, points), mdp.Ledger(1).charge(1))
    found = run.drive(balcan._candidates(balcan.Projection(BOX, 2, 0), 3, 0))
    assert len(np.unique(found, axis=0)) == len(found) <= balcan.MOST
    assert np.linalg.norm(found[:, None] + 5 - middle, axis=2).min(axis=0).max() < 0.6
