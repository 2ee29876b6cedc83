"""Sums of the records that removals left: slow reference implementations, sensitivities, refusals,
and what the gate keeps between questions.
"""

from collections import Counter

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

import metricdp as mdp
from benchmarks.methods.grid import Grid
from benchmarks.methods.peeling import Peeled, PeeledSums
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
