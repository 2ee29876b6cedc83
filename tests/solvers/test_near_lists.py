"""Lists and nearest rows of a metric are those of the block of all its costs, whatever finds them;
proofs and searches from lists agree with those on a block.
"""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers import bounds, dual_ascent, effort, kmedian, neighborhoods
from metricdp.solvers.near_lists import BlockCosts, MetricCosts
from tests import one_way_metric, road_like
from tests.solvers.test_bounds import unlisted


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    monkeypatch.setattr(neighborhoods, "_WORK", (200_000, 500, 5_000_000))


POINTS = np.random.default_rng(0).integers(0, 40, (70, 2)).astype(float)
METRICS = {
    "graph": lambda: road_like(8),
    "directed": lambda: one_way_metric(60),
    "plane": lambda: mdp.EuclideanMetric(POINTS),
    "blocks": lambda: mdp.ManhattanMetric(POINTS),
    "many dimensions": lambda: mdp.EuclideanMetric(np.random.default_rng(1).random((50, 9))),
    "sphere": lambda: mdp.HaversineMetric(POINTS),
    "chebyshev": lambda: mdp.ChebyshevMetric(POINTS),
    "costed": lambda: mdp.EuclideanMetric(POINTS).with_costs(access=np.arange(70) % 5.0),
}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("steps", [False, True])
def test_the_same_as_on_a_block(name, power, steps):
    metric = METRICS[name]()
    if steps and not metric.on_grid:
        return
    n = len(metric)
    allowed, demand = np.arange(0, n, 2), np.arange(1, n, 3)
    measure = metric.grid_rows if steps else metric.distance_rows
    block = measure(allowed, demand).astype(float) ** power
    weights = np.ones(len(demand))
    whole = BlockCosts(block, weights)
    part = MetricCosts(metric, allowed, demand, weights, power, steps)
    assert whole.shape == part.shape
    for rows in ([3], [1, 5, 8], list(range(20))):
        for a, b in zip(whole.two_nearest(np.array(rows)), part.two_nearest(np.array(rows))):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    reach = np.quantile(block, np.linspace(0.05, 0.9, len(demand)), axis=0).diagonal() * 1.0001
    found, asked = part.lists(reach, block.size), whole.lists(reach, block.size)
    assert (found.start == asked.start).all()
    np.testing.assert_allclose(found.cost, asked.cost, rtol=1e-12, atol=1e-9)
    sites = (unlisted(each, n) < np.inf for each in (found, asked))
    np.testing.assert_array_equal(*sites)
    assert part.lists(reach, int(found.start[-1]) - 1) is None


@pytest.mark.parametrize("name", ["graph", "plane", "costed"])
@pytest.mark.parametrize("power", [1, 2])
def test_proofs_from_lists(name, power, monkeypatch):
    metric = METRICS[name]()
    weights = np.arange(len(metric)) % 4.0
    ask = mdp.k_median if power == 1 else mdp.k_means
    block = ask(metric, k=7, weights=weights, exact=True)
    assert block.gap < 1e-6
    monkeypatch.setattr(bounds, "MOST_ENTRIES", 0)
    monkeypatch.setattr(dual_ascent, "_LISTED_WHOLE", 0)
    lists = ask(metric, k=7, weights=weights, exact=True)
    assert lists.certificate.cost == pytest.approx(block.certificate.cost)
    assert lists.lower_bound <= block.certificate.cost * (1 + 1e-12) and lists.gap < 1e-6
    plain = ask(metric, k=7, weights=weights, certificate=True)
    assert plain.lower_bound <= block.certificate.cost * (1 + 1e-12)
    assert plain.lower_bound > 0.9 * plain.certificate.cost


def test_thorough_without_a_block_finds_what_it_finds_with_one(monkeypatch):
    metric = mdp.EuclideanMetric(np.random.default_rng(2).random((400, 2)))
    quick = mdp.k_median(metric, k=60)
    block = mdp.k_median(metric, k=60, effort="thorough")
    for module in (kmedian, effort):
        monkeypatch.setattr(module, "WHOLE_BLOCK", 0)
    lists = mdp.k_median(metric, k=60, effort="thorough")
    costs = [metric.nearest(one.centers)[1].sum() for one in (quick, block, lists)]
    assert costs[1] <= costs[0] * (1 + 1e-9) and costs[2] <= costs[1] * 1.002


@pytest.mark.extended
def test_points_with_many_centers_are_searched_on_lists():
    """As good as rows of distances, the opened kept, and within the candidates."""
    rng = np.random.default_rng(8)
    points = mdp.EuclideanMetric(rng.random((600, 2)))
    weights = rng.integers(0, 3, 600).astype(float)
    allowed = np.flatnonzero(rng.random(600) < 0.5)
    opened = allowed[[3, 7]]
    start = np.r_[opened, np.setdiff1d(allowed, opened)[:58]]
    allowed, opened = np.sort(allowed), np.sort(opened)
    problem = kmedian._Problem(points, weights, 60, 1, allowed, rng, opened=opened, first=start)
    found = kmedian._solve_on_lists(problem, None)
    assert found.cost <= kmedian._search_rows(problem, start).cost * 1.01
    assert found.cost == pytest.approx(weights @ points.nearest_to(found.centers)[1])
    assert len(np.unique(found.centers)) == 60 and np.isin(found.centers, allowed).all()
    assert np.isin(opened, found.centers).all()
    wide = mdp.EuclideanMetric(rng.random((600, 9)))
    problem = kmedian._Problem(wide, weights, 60, 1, allowed, rng)
    assert kmedian._solve_on_lists(problem, None) is None
