"""Parts of a box that a few points or a plane determine."""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.box.descent import N_SHELLS_TOGETHER as N_SHELLS
from metricdp.methods.box.descent import RATIO_TOGETHER as RATIO
from metricdp.methods.box.descent import shells_together
from metricdp.partitions.box.cells import HalfSpaces, PartsOfImages, Scaled, Subspace, VoronoiCells
from metricdp.privacy import HistogramQuery, LevelsQuery, SumsQuery


def test_shells_by_hand():
    space = mdp.EuclideanSpace([0.0, 0.0], [3.0, 4.0])
    centers = np.array([[0.0, 0.0], [3.0, 4.0]])
    points = np.random.default_rng(0).random((200, 2)) * [3, 4]
    points[0], shells = centers[1], shells_together(space, centers)
    for point, shell in zip(points, shells.encode(points)):
        distance = min(np.linalg.norm(point - center) for center in centers)
        outer, inner = 5 * RATIO**shell, 5 * RATIO ** (shell + 1) if shell < N_SHELLS - 1 else -1
        assert inner <= distance * (1 + 1e-12) and distance <= outer * (1 + 1e-12)


def test_halves_and_folded_sums_by_hand():
    rng = np.random.default_rng(0)
    space = mdp.EuclideanSpace([-3.0] * 3, [3.0] * 3)
    points, normal = rng.uniform(-3, 3, (500, 3)), np.array([1.0, 0.0, -2.0])
    center = np.array([0.5, 0.0, 0.25])
    halves = HalfSpaces(space, center, normal)
    found = halves.encode(points).tolist()
    assert found == [int((point - center) @ normal < 0) for point in points]
    query = SumsQuery(HistogramQuery(halves), 12, center, [2.0, 2.0], folded=True)
    expected = np.zeros(3)
    for point in points:
        away = point - center
        expected += np.sign(away @ normal) * away * min(1, 2 / np.linalg.norm(away))
    assert np.abs(query.exact(points) * query.steps[0] - expected).max() <= 500 * query.steps[0]
    plain = SumsQuery(HistogramQuery(halves), 12, center, [2.0, 2.0])
    halves = (plain.exact(points).reshape(2, 3) * [[1], [-1]]).sum(axis=0)
    assert halves.tolist() == query.exact(points).tolist()
    levels = LevelsQuery((query, query))
    assert levels.exact(points).tolist() == [*query.exact(points), *query.exact(points)]
    for neighboring in ("add-remove", "replace-one"):
        twice = 2 * query.sensitivity(neighboring, 2)
        assert levels.sensitivity(neighboring, 2) == twice == 2 * plain.sensitivity(neighboring, 2)
        square = query.squared_sensitivity(neighboring, 2)
        assert levels.squared_sensitivity(neighboring, 2) == 2 * square
    assert str(levels) == "2 times differences of sums of records in 2 parts"


@pytest.mark.parametrize("kind", ["halves", "scaled", "unscaled", "subspace"])
def test_a_records_place_does_not_depend_on_company(kind):
    rng = np.random.default_rng(1)
    space = mdp.EuclideanSpace([0.0] * 37, [1.0] * 37)
    points, axes = rng.random((301, 37)), np.linalg.qr(rng.normal(size=(37, 5)))[0].T
    scaled = Scaled(space, points[0], rng.uniform(0.5, 2, 37))
    places = {
        "halves": HalfSpaces(space, points[0], axes[0]),
        "scaled": scaled,
        "unscaled": PartsOfImages(scaled.space, scaled.back, VoronoiCells(space, points[:9])),
        "subspace": Subspace(space, points[0], axes, np.eye(5)),
    }[kind]
    together = places.encode(points)
    for part in (slice(0, 1), slice(7, 8), slice(3, 20), slice(None, None, 3)):
        assert np.array_equal(places.encode(np.ascontiguousarray(points[part])), together[part])
