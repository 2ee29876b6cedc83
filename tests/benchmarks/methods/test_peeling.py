"""Rounds of small balls: counts, removals, scores and what one record moves, candidates."""

import math
from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import metricdp as mdp
from benchmarks.methods import ball_counts, peeling
from benchmarks.methods.ball_counts import BallScores, lattice, peel
from benchmarks.methods.grid import Grid
from benchmarks.methods.peeling import Intervals, Levels, Only, Peeled, PeeledSums, RadiusScores
from benchmarks.methods.summed_area import cell_counts, lattice_counts, summed_area
from metricdp.audit.exact import examine
from metricdp.audit.runner import REFUTED
from tests import naive_peeling as naive
from tests import tries
from tests.benchmarks.methods.peeling_cases import round_cases

SHAPES = [(7,), (4, 5), (3, 2, 4), (1, 6)]


def grid_of(shape):
    """Of cells whose sides differ, the third by so much that the others count as none."""
    sides = [n * long for n, long in zip(shape, (1, 2.5, 1700))]
    return Grid(mdp.EuclideanSpace([0.0] * len(shape), sides), shape)


def counted(cells, shape):
    at = [int(np.ravel_multi_index(cell, shape)) for cell in cells]
    return np.bincount(np.array(at, np.int64), minlength=math.prod(shape))


def some_cells(shape, n, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(int(rng.integers(s)) for s in shape) for _ in range(n)]


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_of_balls(shape):
    cells = some_cells(shape, 40)
    held = Counter(cells)
    table = summed_area(counted(cells, shape).reshape(shape))
    assert table.flat[-1] == 40
    for radius in (0, 1, 2, 9):
        counts = lattice_counts(table, lattice(shape, radius), radius)
        scores = BallScores(shape, radius)
        every = np.array(np.unravel_index(np.arange(math.prod(shape)), shape))
        around = cell_counts(table, list(every), radius)
        assert scores(counted(cells, shape)).tolist() == counts.ravel().tolist()
        for index, count in enumerate(counts.ravel()):
            cell = np.unravel_index(scores.cell(index), shape)
            assert count == naive.in_ball(held, cell, radius) == around[scores.cell(index)]


@pytest.mark.parametrize("shape", SHAPES)
def test_exactly_so_many_records_are_removed(shape):
    grid, cells = grid_of(shape), some_cells(shape, 30, 1)
    assert grid.shape == shape
    for number in (0, 1, 7, 29, 30, 50):
        center = some_cells(shape, 1, number)[0]
        counts = counted(cells, shape)
        peel(counts, grid, int(np.ravel_multi_index(center, shape)), number)
        left = naive.peeled(Counter(cells), grid.side, center, number)
        assert counts.tolist() == [left[cell] for cell in np.ndindex(shape)]
        assert counts.sum() == max(0, 30 - number)


REMOVALS = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 6)), max_size=4)
VIEWS = [(), (Levels(1, 3),), (Levels(0, 2), Only((0, 1))), (Intervals(2, 1),)]
PLACES = st.lists(st.integers(0, 19), max_size=25)


@tries(60, PLACES, st.lists(st.integers(0, 19), min_size=1, max_size=3), REMOVALS)
def test_a_unit_more_is_at_most_a_unit_more_after_removals(places, unit, removals):
    grid = grid_of((4, 5))
    left = []
    for some in (places, places + unit):
        counts = np.bincount(some, minlength=20).astype(np.int64)
        for cell, number in removals:
            peel(counts, grid, cell, number)
        left.append(counts)
    more = left[1] - left[0]
    assert (more >= 0).all() and more.sum() <= len(unit)


@settings(max_examples=60)
@given(PLACES, st.integers(0, 19), st.integers(1, 8), st.integers(0, 20), st.sampled_from(VIEWS))
def test_scores_move_by_no_more_than_they_say(places, one, target, slack, views):
    shape = (4, 5)
    both = (places, [*places, one])
    before, after = (np.bincount(some, minlength=20).astype(np.int64) for some in both)
    for scores in (
        *(
            RadiusScores(shape, (0, 1, 2, 3), target, slack, average, views)
            for average in (False, True)
        ),
        *(BallScores(shape, radius) for radius in (0, 1, 2)),
    ):
        moved = scores(after) - scores(before)
        assert np.abs(moved).max() <= scores.change
        assert not scores.monotone or moved.min() >= 0


@pytest.mark.parametrize("size", [2, 3, 5, 8, 9, 33, 100])
def test_levels_by_definition(size):
    rng = np.random.default_rng(size)
    cases = rng.integers(-9, 9, size), -np.abs(np.arange(size) - size // 3), np.arange(size) - size
    for scores in cases:
        assert Levels(1, 4)(scores).tolist() == naive.levels(scores.tolist(), 1, 4)


@tries(40, PLACES, st.integers(1, 8), st.integers(0, 20))
def test_scores_of_radii_by_definition(places, target, slack):
    """The smaller of how far the radius before misses the target, and how far this one meets it."""
    cells, radii = [tuple(map(int, np.unravel_index(p, (4, 5)))) for p in places], (0, 1, 3)
    middles = [(i, j) for i in range(4) for j in range(5)]
    held = Counter(cells)
    largest = [max(naive.in_ball(held, middle, r) for middle in middles) for r in radii]
    counts = counted(cells, (4, 5))
    for average, most in ((False, largest), (True, naive.averages(cells, radii, target))):
        scores = RadiusScores((4, 5), radii, target, slack, average)
        pairs = zip([0, *most], most)
        expected = [min(target - smaller, n - target + slack) for smaller, n in pairs]
        assert scores(counts).tolist() == expected
    assert str(scores) == f"radius of a ball with {target} of the records left"


# The exact distributions of these questions, on all neighbors of tiny universes


CASES = list(round_cases())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_exact_distribution(case):
    finding = examine(case)
    assert finding.passed, finding


def caught(*names):
    """By how much the worst of some cases exceeds its claim."""
    found = [examine(case) for case in CASES if str(case) in names]
    assert len(found) == len(names)
    return max(one.excess for one in found if not one.passed)


def test_removal_by_a_private_radius_is_caught(monkeypatch):
    """One record more brings back a whole cell of others."""
    monkeypatch.setattr(
        ball_counts, "taken", lambda there, before, number: there * (before < number)
    )
    assert caught("balls after removals, a box, add-remove") > REFUTED
    assert caught("balls after removals, a box, replace-one") > REFUTED


def test_removals_counted_on_the_data_are_caught(monkeypatch):
    honest = ball_counts.peel

    def peel(counts, grid, cell, number):
        honest(counts, grid, cell, (counts.sum() + 1) // 2)

    monkeypatch.setattr(peeling, "peel", peel)
    assert caught("balls after removals, a box, add-remove") > REFUTED


# Sums of the records that removals left: slow reference implementations, sensitivities, refusals,
# and what the gate keeps between questions


SHAPE = (4, 5)
GRID = Grid(mdp.EuclideanSpace([0.0, 0.0], [4.0, 5.0]), SHAPE)
CELLS = np.array([0, 3, 7, 8, 12, 19])
OFFSETS = np.array([[4, 0], [0, -4], [2, 3], [-3, 2], [0, 0], [-2, -3]])


def at(places):
    """Middles of cells, as records."""
    return GRID.centers[np.array(places, np.int64)]


def naive_answer(places, removed):
    """Record by record."""
    cells = list(np.ndindex(SHAPE))
    left = Counter(cells[p] for p in places)
    for cell, number in removed:
        left = naive.peeled(left, GRID.side, cells[cell], number)
    moved = [left[cells[c]] * np.array([4, *offset]) for c, offset in zip(CELLS, OFFSETS)]
    return sum(moved, np.zeros(3, np.int64)).tolist()


def query(removed=()):
    return PeeledSums(Peeled(GRID, tuple(removed)), CELLS, OFFSETS, bits=2)


@tries(80, PLACES, REMOVALS)
def test_sums_record_by_record(places, removed):
    assert query(removed).exact(at(places)).tolist() == naive_answer(places, removed)


@tries(80, PLACES, st.lists(st.integers(0, 19), min_size=1, max_size=3), REMOVALS)
def test_a_unit_moves_sums_by_no_more_than_they_say(places, unit, removed):
    asked = query(removed)
    one, two = (asked.exact(at(some)) for some in (places, places + unit))
    moved = np.abs(two - one)
    m = len(unit)
    assert moved.sum() <= asked.sensitivity("add-remove", m)
    assert (moved**2).sum() <= asked.squared_sensitivity("add-remove", m)
    moved = np.abs(two - asked.exact(at([*places, *[(place + 7) % 20 for place in unit]])))
    assert moved.sum() <= asked.sensitivity("replace-one", m)
    assert (moved**2).sum() <= asked.squared_sensitivity("replace-one", m)
