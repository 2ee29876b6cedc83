"""Sums of the records that removals left: slow twins, sensitivities, what is refused, what the gate
keeps between questions.
"""

import itertools
import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import metricdp as mdp
from benchmarks.methods import peeling
from benchmarks.methods.peeling import PartScores, Peeled, PeeledQuery, PeeledSums, RadiusScores
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.methods.box.ball_counts import BallScores
from metricdp.partitions.box.grid import Grid
from metricdp.privacy import _vault, measure, select
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
    left = [tuple(map(int, np.unravel_index(p, SHAPE))) for p in places]
    for cell, number in removed:
        left = naive.peeled(left, SHAPE, GRID.side, np.unravel_index(cell, SHAPE), number)
    rows = {int(c): v for c, v in zip(CELLS, OFFSETS)}
    total = np.zeros(3, np.int64)
    for cell in left:
        at = int(np.ravel_multi_index(cell, SHAPE))
        if at in rows:
            total += [4, *rows[at]]
    return total.tolist()


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
    apart = np.abs(rows[:, None] - rows[None])
    for relation, moved in (("add-remove", np.abs(rows)), ("replace-one", apart)):
        for m in (1, 3):
            assert asked.sensitivity(relation, m) >= m * moved.sum(axis=-1).max()
            assert asked.squared_sensitivity(relation, m) == m * m * (moved**2).sum(axis=-1).max()
    assert asked.sensitivity("add-remove", 1) == 4 + math.isqrt(32)
    assert asked.sensitivity("replace-one", 1) == 2 * math.isqrt(32)


@pytest.mark.parametrize(
    "bad",
    [
        {"cells": np.array([0, 0])},
        {"cells": np.array([0, 20])},
        {"cells": np.array([-1, 2])},
        {"cells": np.array([0.0, 1.0])},
        {"cells": np.array([0])},
        {"offsets": np.array([[4, 1], [0, 0]])},
        *(  # also where their squares wrap
            {"offsets": np.array([[offset, offset % 2**62], [0, 0]])}
            for offset in (2**62, -(2**63), 2**63 - 1, 2**32, -5)
        ),
        {"offsets": np.array([4, 0])},
        {"offsets": np.zeros((2, 0), np.int64)},
        {"offsets": OFFSETS[:2].astype(np.int32)},
        {"offsets": 0 * OFFSETS[:2], "bits": 0},
        {"offsets": 0 * OFFSETS[:2], "bits": 21},
        {"bits": None},
        {"peeled": GRID},
    ],
)
def test_what_breaks_the_bound_is_refused(bad):
    given = {"peeled": Peeled(GRID), "cells": CELLS[:2], "offsets": OFFSETS[:2], "bits": 2}
    with pytest.raises(InputError):
        PeeledSums(**{**given, **bad})


@pytest.mark.parametrize("bits", [1, 3, 20])
def test_sums_of_any_bits_in_numbers(bits):
    """B = 2^bits; s is B in one dimension, and in three the floor of B times the root of 3."""
    most, line = 2**bits, Grid(mdp.EuclideanSpace([0.0], [4.0]), (4,))
    asked = PeeledSums(Peeled(line), np.array([0, 3]), np.array([[most], [-most]]), bits)
    records = np.array([[0.5], [0.5], [1.5], [3.5]])
    assert asked.exact(records).tolist() == [3 * most, most]
    assert asked.n_values == 2 and asked.counts.n_parts == 4
    for relation, one, square in (("add-remove", 2, 2), ("replace-one", 2, 4)):
        for m in (1, 3):
            assert asked.sensitivity(relation, m) == one * m * most
            assert asked.squared_sensitivity(relation, m) == square * (m * most) ** 2
            flat = {1: 3, 3: 13, 20: 1_816_186}[bits]
            wide = flat + (most if relation == "add-remove" else flat)
            assert PeeledSums.sensitivity_of(3, bits, relation, m) == m * wide
    for answer, n, fits in (
        ([3 * most, most], 3, True),
        ([0, 3 * most], 3, True),
        ([0, -3 * most], 3, True),
        ([0, 3 * most + 1], 3, False),
        ([0, -3 * most - 1], 3, False),
        ([3 * most + 1, 0], 3, False),
        ([-1, 0], 3, False),
        ([0, 0, 0], 3, False),
        ([0], 3, False),
        ([0.0, 0.0], 3, False),
        ([CAP, -CAP], CAP, True),
        ([CAP + 1, 0], CAP, False),
    ):
        assert asked.fits(np.array(answer), n) == fits


def test_sums_that_fit_no_such_number_of_records_are_a_fault(monkeypatch):
    monkeypatch.setattr(
        peeling, "sums_of", lambda left, amounts: np.array([4 * left.sum() + 1, 0, 0])
    )
    with pytest.raises(AssertionError, match="does not fit the number of records"):
        query().exact(at([0, 3]))


PARTS = PartScores(SHAPE, (np.zeros(20, np.int64),), (1,))


@pytest.mark.parametrize(
    ("peeled", "scores"),
    [(GRID, PARTS), (Peeled(GRID), "scores"), (Peeled(GRID), BallScores((5, 4), 1))],
)
def test_questions_about_what_is_left_need_scores_of_its_grid(peeled, scores):
    with pytest.raises(InputError, match="needs Peeled records on a grid"):
        PeeledQuery(peeled, scores)
    with pytest.raises(InputError):
        RadiusScores(SHAPE, (0,), 1, views=(np.negative,))


def test_what_questions_about_what_is_left_state():
    for scores, change, words in (
        (PARTS, 1, "part with most records left"),
        (BallScores(SHAPE, 1), 1, "ball"),
        (RadiusScores(SHAPE, (1, 2), 3), 1, "radius of a ball with 3 of the records left"),
        (RadiusScores(SHAPE, (1, 2), 3, average=True), 2, "radius"),
    ):
        asked = PeeledQuery(Peeled(GRID), scores)
        one_way = not isinstance(scores, RadiusScores)
        for relation in ("add-remove", "replace-one"):
            assert asked.sensitivity(relation, 3) == 3 * change
            times = 1 if one_way and relation == "add-remove" else 2
            assert asked.range(relation, 3) == 3 * change * times
        assert words in str(asked) and asked.bounds(7) == (-CAP, CAP)
        assert (
            np.concatenate(list(asked.blocks(at([0, 0])))).tolist()
            == scores(np.bincount([0, 0], minlength=20)).tolist()
        )


def test_a_query_keeps_what_it_was_made_from():
    cells, offsets = CELLS.copy(), OFFSETS.copy()
    asked = PeeledSums(Peeled(GRID), cells, offsets, 2)
    cells[0], offsets[0] = 5, 99
    assert asked.exact(at([0])).tolist() == [4, 4, 0]
    for array in (asked.cells, asked.offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        asked.bits = 3
    labels = np.arange(20)
    scores = PartScores(SHAPE, (labels,), (20,))
    labels[:] = 0
    assert scores(np.ones(20, np.int64)).tolist() == [1] * 20


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


def test_bad_parts_are_refused():
    for labels, n in (
        (np.zeros(19, np.int64), 1),
        (np.zeros(20, np.int64), 0),
        (np.full(20, 3), 3),
        (np.full(20, -2), 3),
        (np.arange(20), 19),
        (np.arange(20) - 2, 18),
        (np.zeros(20), 3),
        (np.full(20, -1), 0),
    ):
        with pytest.raises(InputError):
            PartScores(SHAPE, (labels,), (n,))


def test_the_gate_goes_on_from_what_is_left(monkeypatch):
    """Both kinds of questions of one grant share what removals left; another demand, or another
    grant, has its own.
    """
    calls = []
    exact = Grid.encode
    monkeypatch.setattr(
        Grid, "encode", lambda self, records: calls.append(len(records)) or exact(self, records)
    )
    demand = mdp.PrivateDemand(SPACE, at([0] * 9 + [19] * 6))
    grant = mdp.Ledger(1000).charge(1000)
    removed = ((0, 4),)
    parts = PartScores(SHAPE, (np.arange(20),), (20,))
    assert select(demand, PeeledQuery(Peeled(GRID, removed), parts), 300, grant)[0] == 19
    release = measure(demand, query(removed), 300, grant)
    assert np.abs(release.values - [11 * 4, 5 * 4 - 6 * 2, -18]).max() <= 1
    assert len(calls) == 1
    more = measure(demand, query(((0, 4), (19, 6))), 300, grant)
    assert np.abs(more.values - [5 * 4, 5 * 4, 0]).max() <= 1
    assert len(calls) == 1
    other = mdp.Ledger(300).charge(300)
    assert np.abs(measure(demand, query(), 300, other).values[0] - 15 * 4) <= 1
    assert len(calls) == 2


def test_receipts_and_refusals_before_reading(monkeypatch):
    demand, ledger = mdp.PrivateDemand(SPACE, at([0])), mdp.Ledger(1, "1e-6")
    release = measure(demand, query(), "1/2", ledger.charge("1/2"))
    told = release.receipt.mechanisms[0]
    assert told.sensitivity == 4 + math.isqrt(32) and told.name == "discrete Laplace"
    assert told.query == "number and sum of records left in 6 cells"
    monkeypatch.setattr(_vault, "_open", lambda holder: pytest.fail("private data was read"))
    elsewhere = mdp.PrivateDemand(mdp.EuclideanSpace([0.0, 0.0], [4.0, 5.0]), at([0]))
    with pytest.raises(InputError, match="different universes"):
        measure(elsewhere, query(), "1/4", ledger.charge("1/4"))
