"""The default method in a box of many dimensions with few records in it."""

import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.box.directions import ELLIPSOID
from metricdp.privacy import PrivateDemand
from metricdp.solvers.lloyd import lloyd
from tests.methods.box.test_default import cost
from tests.methods.box.test_directions import thin_scene

DELTA = Fraction(1, 10**6)


DATA = Path(os.environ.get("METRICDP_DATA", "../shared/data")) / "points"


@pytest.mark.parametrize("power", [1, 2])
def test_few_records_of_many_dimensions(power):
    space, points, _ = thin_scene()
    best = cost(points, lloyd(points, np.ones(len(points)), 4, power=power), power)
    alone = cost(points, points.mean(axis=0)[None], power)
    ask = (mdp.k_median, mdp.k_means)[power - 1]
    found = ask(space, PrivateDemand(space, points), 4, epsilon=2, delta=DELTA)
    assert found.release.design.name == "subspace" and 3 <= len(found.release.subspace.axes) < 20
    assert cost(points, found.centers, power) < best + 0.4 * (alone - best)
    again = mdp.release(space, PrivateDemand(space, points), epsilon=2, delta=DELTA)
    expected = best + 0.5 * (alone - best)
    assert cost(points, (again.k_median, again.k_means)[power - 1](4).centers, power) < expected
    assert again.coreset().points.shape[1] == 60


def test_too_few_records_for_directions_give_the_mean():
    space, points, _ = thin_scene(n=300)
    found = mdp.k_means(space, PrivateDemand(space, points), 5, epsilon=4)
    assert found.release.design.name == "mean" and len(np.unique(found.centers, axis=0)) == 5
    # 300 runs: 1.06, 1.57 at most; the middle of the box costs 4.4 times as much as the mean
    assert cost(points, found.centers, 2) < 4 * cost(points, points.mean(axis=0)[None], 2)
    assert len(found.receipt.mechanisms) == 5 and found.receipt.epsilon == 4


def test_anisotropic_records():
    rng = np.random.default_rng(2)
    space = mdp.EuclideanSpace([-1.0] * 8, [1.0] * 8)
    spread = np.array([0.3, 0.2, 0.1, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3])
    middles = rng.normal(size=(6, 8)) * spread
    near = rng.normal(size=(30_000, 8)) * spread / 10
    points = space.clip(middles[rng.integers(0, 6, 30_000)] + near)
    found = mdp.k_means(space, PrivateDemand(space, points), 6, epsilon=1, delta=DELTA)
    assert found.release.design.shares == ELLIPSOID
    lengths = np.linalg.norm(found.release.subspace.ellipsoid, axis=1)
    assert lengths[0] > 30 * lengths[-1]
    expected = 1.2 * cost(points, lloyd(points, np.ones(len(points)), 6), 2)
    assert cost(points, found.centers, 2) < expected


def test_a_loose_box_in_ten_dimensions():
    rng = np.random.default_rng(3)
    middles = rng.uniform(-1, 1, (4, 10))
    points = 30 + middles[rng.integers(0, 4, 40_000)] + rng.normal(0, 0.1, (40_000, 10))
    space = mdp.EuclideanSpace([-100.0] * 10, [100.0] * 10)
    found = mdp.k_means(space, PrivateDemand(space, points), 4, epsilon=1, delta=DELTA)
    expected = 1.1 * cost(points, lloyd(points, np.ones(len(points)), 4), 2)
    assert cost(points, found.centers, 2) < expected


@pytest.mark.skipif(
    not (DATA / "mnist/sklearn_digits.csv.gz").exists(),
    reason="needs the data folder (METRICDP_DATA)",
)
def test_digits():
    points = np.loadtxt(DATA / "mnist/sklearn_digits.csv.gz", delimiter=",")[:, :64]
    space = mdp.EuclideanSpace([0.0] * 64, [16.0] * 64)
    demand, best = PrivateDemand(space, points), 1_165_190.0
    ratios = [
        cost(points, mdp.k_means(space, demand, 10, epsilon=1, delta=DELTA, seed=run).centers, 2)
        / best
        for run in range(5)
    ]
    # 100 runs: 1.19 (sd .03), so the mean of five is below by six deviations; one center: 1.85
    assert np.mean(ratios) < 1.27, ratios
