"""Weights inside a box's cells, and centers for them, against a reference implementation."""

from types import SimpleNamespace

import numpy as np
import pytest

import metricdp as mdp
from metricdp.kernels.points import nearest_centers
from metricdp.methods.box import anywhere
from metricdp.methods.box.anywhere import STEEP, WIDTH, by_density, in_halves, on_points
from metricdp.partitions.box.halving import Halves
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.partitions.box.refining import refined


def by_hand(points, weights, sides):
    """Weights of all halves, cell by cell."""
    m, d = points.shape
    middles, _, _ = in_halves(points, weights, sides)
    found = []
    for i, places in enumerate(middles.reshape(m, -1, d)):
        near = np.argsort(np.linalg.norm(points - points[i], axis=1), kind="stable")[: 3**d]
        density = np.zeros(len(places))
        for j in near:
            variance = (WIDTH * sides[i]) ** 2 + sides[j] ** 2 / 12
            away = ((places - points[j]) ** 2 / variance).sum(axis=1)
            density += weights[j] * np.exp(-away / 2) / np.sqrt(np.prod(variance))
        found.append(weights[i] * density**STEEP / (density**STEEP).sum())
    return np.concatenate(found)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("m", [1, 2, 60])
def test_cells_lean_to_denser_neighbors(d, m):
    rng = np.random.default_rng(10 * d + m)
    points, weights, sides = rng.random((m, d)), rng.random(m) ** 3, rng.uniform(0.05, 0.3, (m, d))
    middles, found, halves = by_density(points, weights, sides)
    np.testing.assert_allclose(found, by_hand(points, weights, sides))
    np.testing.assert_allclose(found.reshape(m, -1).sum(axis=1), weights)
    np.testing.assert_array_equal(middles, in_halves(points, weights, sides).points)
    np.testing.assert_array_equal(halves[:: 2**d], sides / 2)


def test_a_cell_leans_to_the_side_where_its_neighbor_is():
    points, sides = np.array([[0.5], [1.5], [2.5]]), np.ones((3, 1))
    found = by_density(points, np.array([0.0, 10.0, 90.0]), sides).weights
    assert found[3] > 1.5 * found[2]
    even = by_density(points, np.array([5.0, 5.0, 5.0]), sides).weights
    assert even[2] == pytest.approx(even[3])


@pytest.mark.parametrize("d", [2, 5])
def test_weights_stay_even_without_weight_or_sides_or_in_many_dimensions(d):
    points = np.random.default_rng(d).random((50, d))
    nothing = by_density(points, np.zeros(50), np.ones((50, d)))
    assert (nothing.weights == 0).all() and np.isfinite(nothing.joined(50).points).all()
    narrow = by_density(points, np.ones(50), np.zeros((50, d)))
    np.testing.assert_allclose(narrow.weights, 2.0**-d)
    np.testing.assert_allclose(narrow.joined(50).points, points)
    if d > 3:
        wide = by_density(points, np.arange(50.0), np.ones((50, d))).weights
        np.testing.assert_allclose(wide, np.repeat(np.arange(50.0), 2**d) / 2**d)


@pytest.mark.parametrize("most", [4096, 1], ids=["in pieces", "one point a cell"])
def test_clusters_in_cells_as_wide_as_they_are_found_better(monkeypatch, most):
    rng = np.random.default_rng(5)
    at = rng.integers(0, 30, 20_000)
    curve = np.c_[(at + 0.5) / 30, 0.5 + 0.4 * np.sin(at * np.pi / 6)]
    records = (curve + rng.normal(0, 0.008, curve.shape)).clip(0, 1)
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    cells = Halves(**vars(ShiftedQuadtree(space).root_cell()))
    for number in (20, 40, 80, 160, 320):
        amounts = np.zeros(len(cells.level))
        amounts[cells.leaves] = np.bincount(cells.encode(records), minlength=cells.n_parts)
        cells, _ = refined(cells, amounts, number)
    held = SimpleNamespace(
        universe=mdp.EuclideanMetric(cells.centers[cells.leaves]),
        weights=np.bincount(cells.encode(records), minlength=cells.n_parts).astype(float),
        sides=cells.sides[cells.leaves],
        space=space,
    )
    question = SimpleNamespace(k=30, power=2, seed=0, time_limit=None)
    monkeypatch.setattr(anywhere, "MOST_PIECES", most)
    costs = []
    for spread in (by_density, in_halves):
        monkeypatch.setattr(anywhere, "by_density", spread)
        costs.append(nearest_centers(records, on_points(held, question))[1].sum())
    assert costs[0] < 0.98 * costs[1]
