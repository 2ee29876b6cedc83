"""Where in a box the records are surveyed to be."""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.box.focus import DOUBT, apart, filled


def test_blocks_that_meet_are_one():
    def block(low, high, mass):
        return np.array(low), np.array(high), mass

    blocks = [
        block([0, 0], [2, 2], 1.0),
        block([5, 5], [6, 6], 2.0),
        block([2, 0], [3, 2], 4.0),
        block([1, 1], [6, 3], 8.0),
    ]
    found = sorted((low.tolist(), high.tolist(), mass) for low, high, mass in apart(blocks))
    assert found == [([0, 0], [6, 3], 13.0), ([5, 5], [6, 6], 2.0)]


@pytest.mark.parametrize("part", [1.0, 0.5, 0.1, 0.01])
def test_without_noise_what_is_filled_is_known(part):
    counts = np.zeros(1000)
    counts[: round(1000 * part)] = 30.0
    assert filled(counts, 0.0) == pytest.approx(part)


def test_noise_is_not_taken_for_records():
    rng = np.random.default_rng(3)
    noise = 200.0
    for counts in (np.zeros(2048), np.full(2048, 10.0)):
        parts = [
            filled(counts + rng.laplace(0, noise / np.sqrt(2), 2048), noise) for _ in range(200)
        ]
        # by Cantelli one in 1 + DOUBT² at most, 20 of 200: 42 with probability below 1e-6
        assert DOUBT >= 3 and sum(part < 1 for part in parts) < 42


def test_records_along_a_curve_get_a_finer_grid():
    rng = np.random.default_rng(5)
    at = rng.integers(0, 100, 50_000) / 100
    thin = np.c_[at, 0.5 + 0.4 * np.sin(9 * at)] + rng.normal(0, 0.002, (50_000, 2))
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    even = mdp.release(space, mdp.PrivateDemand(space, rng.random((50_000, 2))), epsilon=1)
    along = mdp.release(space, mdp.PrivateDemand(space, np.clip(thin, 0, 1)), epsilon=1)
    assert along.partition.n_parts > 2.5 * even.partition.n_parts
