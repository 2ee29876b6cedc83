"""Boxes of intervals along random directions."""

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods import slabs as module
from benchmarks.methods.grid import Grid
from benchmarks.methods.slabs import Slabs, directions, middles, offsets


@pytest.mark.parametrize("keys", [2**62, 7])
@pytest.mark.parametrize("shape", [(9,), (6, 5), (3, 4, 2)])
def test_boxes_cell_by_cell(shape, keys, monkeypatch):
    """Also in blocks, and where there are more keys of intervals than integers."""
    monkeypatch.setattr(module, "_BLOCK", 4)
    monkeypatch.setattr(module, "_KEYS", keys)
    space = mdp.EuclideanSpace([0.0] * len(shape), [float(n) for n in shape])
    grid, coins = Grid(space, shape), np.random.default_rng(len(shape))
    q = len(shape)
    tried = Slabs(directions(q, q, coins), 1.7, coins.random(q))
    labels, places = tried.boxes(grid)
    points = grid.centers
    expected = [tuple(np.floor(tried.along @ x / 1.7 + tried.shift).astype(int)) for x in points]
    assert [tuple(places[label]) for label in labels] == expected
    assert len(places) == len(set(expected)) and set(labels.tolist()) == set(range(len(places)))
    assert (middles(grid, np.arange(grid.n_parts)) == points).all()


def test_offsets_are_integers_within_the_ball():
    points, center = np.random.default_rng(1).normal(size=(2000, 4)), np.full(4, 0.2)
    for bits, radius in ((1, 1.0), (12, 0.7), (20, 30.0)):
        steps = offsets(points, center, radius, bits)
        assert steps.dtype == np.int64 and ((steps**2).sum(axis=1) <= 4**bits).all()
        length = np.linalg.norm(points - center, axis=1)
        near = length <= radius
        away = np.abs(steps[near] / 2**bits * radius - (points - center)[near])
        assert away.max(initial=0.0) <= radius / 2**bits
        far = steps[~near] / 2**bits
        turned = (points - center)[~near] / length[~near, None]
        assert np.abs(far - turned).max(initial=0.0) <= 2 / 2**bits
