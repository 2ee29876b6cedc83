"""The search part by part: never worse than where it begins, optimal on small blocks, opened rows
stay.
"""

from itertools import combinations

import numpy as np
import pytest

from metricdp.solvers import neighborhoods
from metricdp.solvers.block import block_search
from metricdp.solvers.near_lists import BlockCosts
from metricdp.solvers.neighborhoods import thorough_search
from metricdp.solvers.stopping import Deadline


@pytest.fixture(autouse=True)
def short_chains(monkeypatch):
    monkeypatch.setattr(neighborhoods, "_WORK", (200_000, 500, 5_000_000))


@pytest.mark.parametrize("seed", range(6))
def test_small_blocks_against_all_choices(seed):
    rng = np.random.default_rng(seed)
    block = rng.integers(0, 50, (9, 12)).astype(float)
    weights = rng.integers(-1, 5, 12).astype(float)
    opened = np.array([4]) if seed % 2 else np.empty(0, np.int64)
    first = np.r_[opened, np.setdiff1d(np.arange(9), opened)][:3]
    rows, cost = thorough_search(BlockCosts(block, weights), 3, rng, first=first, opened=opened)
    choices = [c for c in combinations(range(9), 3) if set(opened) <= set(c)]
    costs = [weights @ block[list(c)].min(axis=0) for c in choices]
    assert cost == pytest.approx(min(costs))
    assert cost == pytest.approx(weights @ block[rows].min(axis=0))
    assert rows[: len(opened)].tolist() == opened.tolist()


@pytest.mark.extended
def test_parts_find_what_swaps_do_not_and_ends_by_itself():
    points = np.random.default_rng(5).integers(0, 400, (500, 2)).astype(float)
    block = np.floor(np.hypot(*(points[:, None] - points[None]).T))
    weights = np.ones(500)
    first, before = block_search(block, weights, 80, np.random.default_rng(0))
    found = [
        thorough_search(BlockCosts(block, weights), 80, np.random.default_rng(1), first=first)
        for _ in range(2)
    ]
    assert found[0][1] < before
    assert found[0][1] == found[1][1]
    assert len(np.unique(found[0][0])) == 80
    assert found[0][1] == block[found[0][0]].min(axis=0).sum()


def test_no_time_leaves_what_was_given():
    block = np.random.default_rng(0).random((30, 30))
    rows, cost = thorough_search(
        BlockCosts(block, np.ones(30)),
        4,
        np.random.default_rng(0),
        first=np.arange(4),
        deadline=Deadline(0.0),
        endless=True,
    )
    assert sorted(rows) == [0, 1, 2, 3]
    assert cost == pytest.approx(block[:4].min(axis=0).sum())
