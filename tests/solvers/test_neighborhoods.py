"""The search part by part: never worse than where it begins, optimal on small blocks, opened rows
stay.
"""

import numpy as np
import pytest

from metricdp import EuclideanMetric
from metricdp.solvers import neighborhoods
from metricdp.solvers.block import block_search
from metricdp.solvers.near_lists import BlockCosts, MetricCosts
from metricdp.solvers.neighborhoods import _Search, thorough_search
from metricdp.solvers.stopping import Deadline
from tests import naive

NONE = np.empty(0, np.int64)


def distances(points, whole=False):
    block = np.hypot(*(points[:, None] - points[None]).T)
    return (np.floor(block) if whole else block).astype(np.float32, "C")


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    monkeypatch.setattr(neighborhoods, "_WORK", (200_000, 500, 5_000_000))


def begun(block, rows, fixed=NONE):
    """A search for which all demand counts one, at these rows, and what it found there."""
    search = _Search(BlockCosts(block, np.ones(block.shape[1])), fixed, Deadline(None))
    search.regions = neighborhoods._regions(search._near(rows), rows, fixed)
    return search, search.found(rows)


@pytest.mark.parametrize("seed", range(6))
def test_small_blocks_against_all_choices(seed):
    rng = np.random.default_rng(seed)
    block = rng.integers(0, 50, (9, 12)).astype(np.float32)
    weights = rng.integers(-1, 5, 12).astype(float)
    opened = np.array([4]) if seed % 2 else NONE
    first = np.r_[opened, np.setdiff1d(np.arange(9), opened)][:3]
    rows, cost = thorough_search(BlockCosts(block, weights), 3, rng, first=first, opened=opened)
    assert cost == pytest.approx(naive.best_centers(block, weights, 3, opened=opened)[1])
    assert cost == pytest.approx(weights @ block[rows].min(axis=0))
    assert rows[: len(opened)].tolist() == opened.tolist()


@pytest.mark.extended
def test_parts_find_what_swaps_do_not_and_ends_by_itself():
    block = distances(np.random.default_rng(5).integers(0, 400, (500, 2)).astype(float), whole=True)
    weights = np.ones(500)
    first, before = block_search(block, weights, 80, np.random.default_rng(0))
    costs, coins = BlockCosts(block, weights), [np.random.default_rng(1) for _ in range(2)]
    found = [thorough_search(costs, 80, rng, first=first) for rng in coins]
    assert found[0][1] < before and found[0][1] == found[1][1]
    assert len(np.unique(found[0][0])) == 80
    assert found[0][1] == block[found[0][0]].min(axis=0).sum()


@pytest.mark.parametrize("opened", [[], [3, 70]])
def test_towns_far_apart_share_out_centers(opened, monkeypatch):
    monkeypatch.setattr(neighborhoods, "_TEMPERATURES", (0.0,))
    rng = np.random.default_rng(2)
    middles = 1e5 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    points = np.concatenate([at + rng.integers(0, 300, (25, 2)) for at in middles])
    block = distances(points, whole=True)
    fixed = np.array(opened, np.int64)
    uneven = np.r_[fixed, np.setdiff1d(np.r_[0:9, 25:28, 50:53, 75:78], fixed)][:18]
    search, best = begun(block, uneven, fixed)
    regions = search.regions
    assert sorted(len(region.sites) for region in regions) == [25] * 4
    assert sum(region.fixed for region in regions) == len(opened)
    assert sorted(np.concatenate([region.sites for region in regions])) == list(range(100))
    for _ in range(6):
        found = search._search_regions(best, rng)
        assert found[0] <= best[0]
        best = found
    assert len(np.unique(best[1])) == 18
    assert best[1][: len(opened)].tolist() == opened
    assert best[0] == block[best[1]].min(axis=0).sum()
    counts = np.bincount(best[1] // 25)
    assert counts.min() >= 4  # nine, three, three and three at first
    least = [region.cost for region in regions]
    assert best[0] == pytest.approx(sum(cost[c] for cost, c in zip(least, counts)))


def test_towns_of_one_pattern_share_what_they_find():
    pattern = np.random.default_rng(5).integers(0, 300, (25, 2))
    middles = 1e5 * np.array([[0, 0], [1, 0], [0, 1]])
    block = distances(np.concatenate([at + pattern for at in middles]), whole=True)
    search, best = begun(block, np.r_[0:8, 25:29, 50:54])
    search._search_regions(best, np.random.default_rng(0))
    first, *others = [region.cost for region in search.regions]
    assert np.isfinite(first[2:11]).all() and all((first == other).all() for other in others)


def test_a_town_of_one_center_is_searched_too():
    at = 1e5 * np.repeat([[0, 0], [1, 0], [0, 1], [1, 1]], [25, 25, 25, 5], axis=0)
    block = distances(at + np.random.default_rng(3).integers(0, 300, at.shape))
    small = block[75:, 75:].sum(axis=0)
    search, best = begun(block, np.r_[0:4, 25:29, 50:54, 75 + small.argmax()])
    assert len(search.regions) == 4
    rows = search._search_regions(best, np.random.default_rng(0))[1]
    assert rows[rows >= 75].tolist() == [75 + small.argmin()]


@pytest.mark.parametrize(("by_tree", "opened"), [(True, [3, 70]), (False, [])])
def test_a_core_of_candidates_where_lists_are_too_long(by_tree, opened, monkeypatch):
    points = np.random.default_rng(4).random((600, 2))
    block = distances(points)
    weights, fixed = np.ones(600), np.array(opened, np.int64)
    place = np.arange(600)
    costs = MetricCosts(EuclideanMetric(points), place, place, weights)
    first = np.r_[fixed, np.setdiff1d(np.arange(100, 110), fixed)][:10]
    monkeypatch.setattr(neighborhoods, "MOST_ENTRIES", 20_000)
    monkeypatch.setattr(neighborhoods, "_CORE", 0.5)
    rng = np.random.default_rng(0)
    costs = costs if by_tree else BlockCosts(block, weights)
    rows, cost = thorough_search(costs, 10, rng, first=first, opened=fixed)
    best = block_search(block, weights, 10, rng, opened=fixed)[1]
    assert rows[: len(opened)].tolist() == opened
    assert cost == pytest.approx(block[rows].min(axis=0).sum()) and cost < 1.03 * best


@pytest.mark.parametrize(("endless", "least"), [(False, 0.9), (True, 0.5)])
def test_chains_follow_in_a_core_while_they_gain_or_there_is_time(endless, least, monkeypatch):
    block = distances(np.random.default_rng(4).random((300, 2)))
    costs, deadline = [1.0, 0.9, 0.9 * (1 - 1e-6), 0.5, 0.4], Deadline(1e9)

    def chain(*_, first, **more):
        deadline._end = deadline._end if len(costs) > 2 else 0.0
        return costs.pop(0), first

    monkeypatch.setattr(neighborhoods, "MOST_ENTRIES", 20_000)
    monkeypatch.setattr(neighborhoods, "near_search", chain)
    asked = {"first": np.arange(5), "deadline": deadline, "endless": endless}
    whole, rng = BlockCosts(block, np.ones(300)), np.random.default_rng(0)
    rows, cost = thorough_search(whole, 5, rng, **asked)
    assert (rows.tolist(), cost) == ([0, 1, 2, 3, 4], pytest.approx(least, rel=1e-5))


def test_no_time_leaves_what_was_given():
    block = np.random.default_rng(0).random((30, 30), np.float32)
    asked = {"first": np.arange(4), "deadline": Deadline(0.0), "endless": True}
    costs, rng = BlockCosts(block, np.ones(30)), np.random.default_rng(0)
    rows, cost = thorough_search(costs, 4, rng, **asked)
    assert sorted(rows) == [0, 1, 2, 3]
    assert cost == pytest.approx(block[:4].min(axis=0).sum())
