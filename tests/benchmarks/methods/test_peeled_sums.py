"""Sums of the records that removals left: slow twins, sensitivities, what is refused, what the gate
keeps between questions.
"""

import itertools
import math
from collections import Counter

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

import metricdp as mdp
from benchmarks.methods.grid import Grid
from benchmarks.methods.peeling import PartScores, Peeled, PeeledSums
from tests import naive_peeling as naive

SHAPE = (4, 5)
SPACE = mdp.EuclideanSpace([0.0, 0.0], [4.0, 5.0])
GRID = Grid(SPACE, SHAPE)
CELLS = np.array([0, 3, 7, 8, 12, 19])
OFFSETS = np.array([[4, 0], [0, -4], [2, 3], [-3, 2], [0, 0], [-2, -3]])
PLACES = st.lists(st.integers(0, 19), max_size=25)
REMOVALS = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 6)), max_size=4)


def at(places):
    """Middles of cells, as records."""
    return GRID.centers[np.array(places, np.int64)]


def naive_answer(places, removed):
    """Record by record."""
    cells = list(np.ndindex(SHAPE))
    left = Counter(cells[p] for p in places)
    for cell, number in removed:
        left = naive.peeled(left, GRID.side, cells[cell], number)
    return sum(
        (left[cells[c]] * np.array([4, *offset]) for c, offset in zip(CELLS, OFFSETS)),
        np.zeros(3, np.int64),
    ).tolist()


def query(removed=()):
    return PeeledSums(Peeled(GRID, tuple(removed)), CELLS, OFFSETS, bits=2)


@settings(max_examples=80)
@given(PLACES, REMOVALS)
def test_sums_record_by_record(places, removed):
    assert query(removed).exact(at(places)).tolist() == naive_answer(places, removed)


@settings(max_examples=80)
@given(PLACES, st.lists(st.integers(0, 19), min_size=1, max_size=3), REMOVALS)
def test_a_unit_moves_sums_by_no_more_than_they_say(places, unit, removed):
    asked = query(removed)
    one, two = (asked.exact(at(some)) for some in (places, places + unit))
    moved = np.abs(two - one)
    m = len(unit)
    assert moved.sum() <= asked.sensitivity("add-remove", m)
    assert (moved**2).sum() <= asked.squared_sensitivity("add-remove", m)
    swapped = asked.exact(at([*places, *[(place + 7) % 20 for place in unit]]))
    moved = np.abs(two - swapped)
    assert moved.sum() <= asked.sensitivity("replace-one", m)
    assert (moved**2).sum() <= asked.squared_sensitivity("replace-one", m)


def test_stated_sensitivities():
    """The largest over all records, and pairs of records, with any vectors in the disk."""
    asked = query()
    disk = [v for v in itertools.product(range(-4, 5), repeat=2) if v[0] ** 2 + v[1] ** 2 <= 16]
    rows = np.array([(4, *v) for v in disk] + [(0, 0, 0)])
    differing = np.abs(rows[:, None] - rows[None])
    for relation, moved in (("add-remove", np.abs(rows)), ("replace-one", differing)):
        for m in (1, 3):
            assert asked.sensitivity(relation, m) >= m * moved.sum(axis=-1).max()
            assert asked.squared_sensitivity(relation, m) == m * m * (moved**2).sum(axis=-1).max()
    assert asked.sensitivity("add-remove", 1) == 4 + math.isqrt(32)
    assert asked.sensitivity("replace-one", 1) == 2 * math.isqrt(32)


@settings(max_examples=60)
@given(PLACES, st.integers(0, 19))
def test_parts_count_records(places, one):
    first, second = np.arange(20) % 3, np.where(np.arange(20) < 9, np.arange(20) % 2, -1)
    scores = PartScores(SHAPE, (first, second), (3, 2))
    before, after = (
        np.bincount(some, minlength=20).astype(np.int64) for some in (places, [*places, one])
    )
    expected = [sum(p % 3 == part for p in places) for part in range(3)]
    expected += [sum(p < 9 and p % 2 == part for p in places) for part in range(2)]
    assert scores(before).tolist() == expected
    moved = scores(after) - scores(before)
    assert moved.min() >= 0 and moved.max() <= scores.change
    assert scores.monotone and str(scores) == "part with most records left, of 5"
