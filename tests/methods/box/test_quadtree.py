"""The method quadtree: budgets add up over the rounds that are made, cells open by released counts
alone.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.box import quadtree
from metricdp.methods.box.quadtree import CellCounts
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from tests import cases
from tests.methods.spending import BOX, blobs, box, cost

Quadtree = mdp.methods.Quadtree


@pytest.mark.parametrize("ask", [mdp.k_median, mdp.k_means])
@cases(("method", "most"), ("quadtree", 1.05), (Quadtree(rounds=3, budget=1), 1.1))
def test_finds_the_groups(ask, method, most):
    points, middle = blobs(20_000)
    power = 1 if ask is mdp.k_median else 2
    found = ask(BOX, mdp.PrivateDemand(BOX, points), 3, epsilon=5, method=method)
    assert cost(points, found.centers, power) < most**power * cost(points, middle, power)


@pytest.mark.parametrize("d", [1, 3, 5])
def test_other_dimensions(d):
    points, middle = blobs(20_000, d)
    space = box(d)
    found = mdp.k_means(space, mdp.PrivateDemand(space, points), 3, epsilon=5, method="quadtree")
    assert cost(points, found.centers, 2) < 1.5 * cost(points, middle, 2)


def test_a_round_that_opens_nothing_leaves_its_share(monkeypatch):
    monkeypatch.setattr(quadtree, "POINTS", 64)
    demand = mdp.PrivateDemand(BOX, np.full((40, 2), 1.0))
    # 4 scales: 404 at first, then 4
    result = mdp.k_median(BOX, demand, 1, epsilon=1, method=Quadtree(budget=100, records_hint=30))
    assert [m.epsilon for m in result.receipt.mechanisms] == [1]
    assert result.release.cells.n_parts > 1


def test_more_centers_than_cells():
    result = mdp.k_median(BOX, mdp.PrivateDemand(BOX, []), 100, epsilon=1, method="quadtree")
    assert result.release.cells.n_parts < 100
    assert len(np.unique(result.centers, axis=0)) == 100


def test_empty_regions_hold_nothing():
    demand = mdp.PrivateDemand(BOX, np.full((5000, 2), 2.0))
    release = mdp.k_median(BOX, demand, 1, epsilon=1, method="quadtree").release
    far = np.linalg.norm(release.universe.points - 2, axis=1) > 4
    assert np.abs(release.weights[far]).sum() < 100
    assert release.weights.sum() == pytest.approx(5000, rel=0.05)


def test_long_boxes_and_loose_bounds():
    points, middle = blobs(20_000)
    space = mdp.EuclideanSpace([-1000, 0], [1000, 10])
    demand = mdp.PrivateDemand(space, points)
    found = [mdp.k_means(space, demand, 3, epsilon=5, method="quadtree") for _ in range(7)]
    costs = [cost(points, one.centers, 2) for one in found]  # of some hundred one is far beyond
    assert np.median(costs) < 2 * cost(points, middle, 2)


def test_counts_are_averaged_by_precision():
    cells = ShiftedQuadtree(BOX).root_cell().split([0])
    counts = CellCounts(np.array([10.0]), np.array([4.0]))
    mechanism = SimpleNamespace(name="discrete Gaussian", scale=2.0)
    values = np.array([20, 6])
    release = SimpleNamespace(values=values, receipt=SimpleNamespace(mechanisms=[mechanism]))
    both = counts.with_values(cells, np.array([0, 2]), release)
    assert both.measured.tolist() == [15, 0, 6] and both.variance.tolist() == [2, np.inf, 4]
    again = both.with_values(cells, np.array([1, 2]), release)
    assert again.measured.tolist() == [15, 20, 6] and again.variance.tolist() == [2, 4, 2]
    assert again.consistent(cells)[0][0] == pytest.approx(again.consistent(cells)[0][1:].sum())
