"""GOOD-CENTER with its projection: what it asks, what it pays, where it finds centers."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods import good_center
from benchmarks.methods.ball_counts import peel
from benchmarks.methods.good_center import GoodCenter, Prices
from benchmarks.methods.grid import Grid
from metricdp.methods.asking import Select, driven
from metricdp.releases import Release


def clusters(d, k=3, n=6000, seed=0, spread=0.02):
    rng = np.random.default_rng(seed)
    middle = rng.uniform(0.2, 0.8, (k, d))
    return np.clip(middle[rng.integers(k, size=n)] + spread * rng.normal(size=(n, d)), 0, 1), middle


def exactly(grid, points, images, seed=0):
    """A `GoodCenter`, what answers it without noise, and the questions it asked."""
    counts, asked = np.bincount(grid.encode(points), minlength=grid.n_parts), []

    def left(removed):
        rest = counts.astype(np.int64)
        for cell, number in removed:
            peel(rest, grid, cell, number)
        return rest

    def put(request):
        query, share, _ = request
        if isinstance(request, Select):
            scores = query._scores
            asked.append((str(scores), share))
            return int(np.argmax(scores(left(query._peeled.removed))))
        asked.append((query, share))
        return Release(query.exact(points), query, None)

    prices = Prices(Fraction(1), Fraction(2), Fraction(3))
    return GoodCenter(grid, images, len(points), seed, prices), put, asked


@pytest.mark.parametrize(("d", "images"), [(1, 1), (2, 2), (4, 4), (6, 3), (6, 1)])
def test_the_center_of_a_cluster_is_found(d, images):
    """All steps without noise: most records of one small cluster lie in the box and the region."""
    points, middle = clusters(d, 1)
    grid = Grid(mdp.EuclideanSpace([0.0] * d, [1.0] * d), (8,) * d if d < 6 else (4,) * d)
    good, put, asked = exactly(grid, points, images)
    cell = driven(good.next(0, []), put)
    (point,) = good.points
    assert np.linalg.norm(point - middle[0]) <= np.linalg.norm(grid.side)
    assert grid.encode(point[None])[0] == cell
    reported = [question.split(" with")[0] for question, _ in asked[:-1]]
    assert reported == ["box of images", *(["interval of an axis"] * d if images < d else [])]
    query, price = asked[-1]
    assert price == 3 and query.exact(points)[0] >= 0.3 * len(points) * 2**good_center.BITS
