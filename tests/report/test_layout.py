"""Public layouts: shapes are recovered, degenerate universes survive, nothing is random."""

import networkx as nx
import numpy as np
import pytest
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist, pdist

import metricdp as mdp
from metricdp.report import pivot_layout
from tests.report.map.test_map import grid


def test_points_of_the_plane_are_recovered():
    points = np.random.default_rng(0).random((400, 2)) * [3, 1]
    placed = pivot_layout(mdp.PrecomputedMetric(cdist(points, points)))
    assert procrustes(points, placed)[2] < 1e-9
    np.testing.assert_allclose(pdist(placed), pdist(points), rtol=1e-6)


def test_a_grid_graph_keeps_its_shape():
    shape = np.c_[np.tile(np.arange(15), 15), np.repeat(np.arange(15), 15)]
    assert procrustes(shape, pivot_layout(grid(15, coordinates=None)))[2] < 0.03


def test_vertices_that_look_alike_from_every_pivot_are_drawn_apart():
    star = mdp.GraphMetric(nx.star_graph(119), weight=None)
    assert (pdist(pivot_layout(star)) < 1e-3).mean() < 0.01


def test_layouts_are_deterministic_and_centered():
    metric = grid(9, coordinates=None)
    first, again = pivot_layout(metric), pivot_layout(metric)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first.mean(axis=0), 0, atol=1e-9)
    assert np.ptp(first[:, 0]) >= np.ptp(first[:, 1]) * 0.9


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("gap", [0.0, 1.0])
def test_tiny_and_collapsed_universes(n, gap):
    line = gap * np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    placed = pivot_layout(mdp.PrecomputedMetric(line))
    assert placed.shape == (n, 2) and np.isfinite(placed).all()
    assert np.ptp(placed[:, 0]) == pytest.approx(gap * (n - 1), abs=0.1)
