"""Territories as shapes, against the nearest place of random points."""

import numpy as np
import pytest

from tests import cases

SHAPELY = pytest.importorskip("shapely")
pytest.importorskip("geopandas")

from scipy.spatial import cKDTree  # noqa: E402

from metricdp.report.layers import _areas  # noqa: E402


def grid(n, width=1.0, at=(0.0, 0.0)):
    steps = (np.stack(np.meshgrid(np.arange(n), np.arange(n)), -1).reshape(-1, 2) + 0.5) / n
    return steps * width + np.asarray(at)


@pytest.mark.parametrize("seed", range(4))
def test_areas_are_where_a_place_of_the_label_is_nearest(seed):
    """On grids that get finer where points are, as quadtrees do: many places on one circle."""
    rng = np.random.default_rng(seed)
    places = np.concatenate([grid(n, 2.0 ** -int(n), rng.random(2)) for n in rng.integers(2, 9, 4)])
    places = np.concatenate((places, grid(20)))
    k = int(rng.integers(1, 6))
    label = rng.integers(0, k, len(places)) if seed % 2 else (places[:, 0] * k).astype(int) % k
    areas = _areas(places, label, k)
    points = rng.random((2000, 2))
    hull = SHAPELY.convex_hull(SHAPELY.multipoints(places))
    points = points[SHAPELY.within(SHAPELY.points(points), hull)]
    near = label[cKDTree(places).query(points)[1]]
    assert all(SHAPELY.is_valid(area) for area in areas)
    inside = np.stack([SHAPELY.within(SHAPELY.points(points), area) for area in areas], 1)
    assert (inside.sum(axis=1) == 1).mean() > 0.999  # but for points on an edge
    assert (inside.argmax(axis=1) == near).mean() > 0.999


def test_places_nearer_than_a_drawing_shows_are_one():
    places = np.concatenate([grid(50), *(grid(9, 2.0**-e, (0.2, 0.2)) for e in range(10, 60, 7))])
    areas = _areas(places, np.arange(len(places)) % 3, 3)
    assert all(SHAPELY.is_valid(area) for area in areas)
    assert sum(SHAPELY.area(area) for area in areas) == pytest.approx(1.0, rel=0.02)


@cases("places", [[2.0, 3.0]], [[0, 0], [1, 0.0]], [[i, 2.0 * i] for i in range(9)])
def test_few_places_or_a_line_of_them_have_areas(places):
    places = np.asarray(places, float)
    areas = _areas(places, np.arange(len(places)) % 2, 2)
    at = [area is not None and SHAPELY.within(SHAPELY.Point(places[0]), area) for area in areas]
    assert at == [True, False]
    if len(places) == 1:
        assert areas[1] is None
