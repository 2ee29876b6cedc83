"""Candidates of the two rounds."""

import numpy as np

import metricdp as mdp
from metricdp.methods.box import default as recipe
from metricdp.methods.box.default import around
from metricdp.partitions.box.cells import ball


def test_candidates():
    rng = np.random.default_rng(0)
    points = ball(4000, 3, rng)
    lengths = np.linalg.norm(points, axis=1)
    assert lengths.max() <= 1 and abs((lengths < 0.5).mean() - 1 / 8) < 0.03
    assert np.abs(points.mean(axis=0)).max() < 0.05
    means, first = np.array([[0.0, 0.0], [5.0, 5.0]]), np.array([[0.0, 1.0], [5.0, 4.0]])
    found = around(means, np.array([1.0, 9.0]), 102, first, 7 * np.eye(2), rng)
    assert found[:2].tolist() == means.tolist() and len(found) == 102
    near = np.linalg.norm(found[:, None] - means, axis=2).min(axis=1)
    assert near.max() <= recipe.SCATTER[1] and 70 < (found[:, 0] > 2.5).sum() < 100
    assert around(means, np.array([1.0, 9.0]), 1, first, np.eye(2), rng).tolist() == means.tolist()
    flat = around(means, np.array([1.0, 9.0]), 102, first, np.diag([3.0, 0.0]), rng)
    assert set(flat[:, 1]) == {0.0, 5.0} and np.ptp(flat[:, 0]) > 5


def test_means_nearer_than_distances_are():
    """In a small box the call was refused after it was paid for."""
    box = mdp.EuclideanSpace(np.zeros(4), np.full(4, 1e-14))
    records = np.full((2, 4), 5e-15)
    for _ in range(3):
        demand = mdp.PrivateDemand(box, records)
        asked = {"epsilon": "0.1", "delta": "1e-6", "records_hint": 1e12}
        found = np.array(mdp.k_median(box, demand, k=5, **asked).centers)
        assert ((found >= 0) & (found <= 1e-14)).all()
