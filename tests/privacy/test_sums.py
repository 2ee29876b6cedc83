"""Sums of clipped records: how far one record moves them, and what is refused."""

from itertools import product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

import metricdp as mdp
from benchmarks.methods.grid import Grid
from metricdp.privacy import CountQuery, HistogramQuery, LevelsQuery, SumsQuery
from tests import cases, refuses

BOX = mdp.EuclideanSpace([-4.0, -4.0], [4.0, 4.0])


@given(
    arrays(float, st.tuples(st.integers(1, 8), st.just(2)), elements=st.floats(-4, 4)),
    st.floats(1e-3, 20),
    st.integers(1, 20),
)
def test_no_record_moves_a_clipped_sum_by_more_than_the_sensitivities(points, radius, bits):
    centers = np.array([[-1.0, 0.0], [2.0, 3.0]])
    query = SumsQuery(HistogramQuery(Grid(BOX, 2)), bits, centers, [radius, 2 * radius])
    rows = np.array([query.exact(point[None]) for point in points])
    assert (rows**2).sum(axis=1).max() <= query.squared_sensitivity("add-remove", 1)
    assert np.abs(rows).sum(axis=1).max() <= query.sensitivity("add-remove", 1)
    gaps = rows[:, None] - rows
    assert (gaps**2).sum(axis=2).max() <= query.squared_sensitivity("replace-one", 1)
    assert np.abs(gaps).sum(axis=2).max() <= query.sensitivity("replace-one", 1)
    assert (query.exact(points) == rows.sum(axis=0)).all()


@cases(
    ("centers", "radii"),
    ([[0, 0]] * 3, 1),
    ([0, 0, 0], 1),
    ([[np.nan, 0]] * 2, 1),
    ([[np.inf, 0], [0, 0]], 1),
    (None, 0),
    (None, -1),
    (None, [1, np.inf]),
    (None, [1, 1, 1]),
    (None, 1e-6),
    (None, 0.75 * BOX.diameter_bound() / 2**20),
    ("a", 1),
    (None, None.__class__),
)
def test_bad_centers_and_radii_are_refused(centers, radii):
    refuses("", lambda: SumsQuery(HistogramQuery(Grid(BOX, 2)), 10, centers, radii))


def test_centers_of_sums_are_kept_in_the_box_and_cannot_be_changed_from_outside():
    centers, radii = np.array([[9.0, 0.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    query = SumsQuery(HistogramQuery(Grid(BOX, 2)), 4, centers, radii)
    before = query.exact(np.array([[1.0, 2.0], [-3.0, 0.0]])).tolist()
    centers[:], radii[:] = 0.0, 1e-9
    assert query.centers.tolist() == [[4.0, 0.0], [1.0, 1.0]]
    assert query.steps.tolist() == [1 / 16, 2 / 16]
    assert query.exact(np.array([[1.0, 2.0], [-3.0, 0.0]])).tolist() == before


PARTS = HistogramQuery(Grid(mdp.EuclideanSpace([0.0, 0.0], [8.0, 2.0]), (4, 1)))


def test_sums_are_from_the_middle_of_the_box_unless_reported():
    space = PARTS.universe
    query = SumsQuery(PARTS, 4)
    assert query.centers.tolist() == [[4.0, 1.0]] * 4
    assert query.radii.tolist() == [space.diameter_bound() / 2] * 4
    least = space.diameter_bound() / 2**20
    assert SumsQuery(PARTS, 4, None, least).radii.tolist() == [least] * 4


def test_folded_sums_are_of_even_parts_less_those_of_odd_ones():
    points = np.array([[0.5, 0.0], [2.5, 1.5], [4.5, 2.0], [5.0, 0.5], [7.9, 0.5]])
    plain, folded = SumsQuery(PARTS, 6), SumsQuery(PARTS, 6, folded=True)
    zero, one, two, three = plain.exact(points).reshape(4, 2).tolist()
    expected = [a - b + c - d for a, b, c, d in zip(zero, one, two, three)]
    assert folded.exact(points).tolist() == expected
    assert (plain.n_values, folded.n_values) == (8, 2)
    wanted = "sums of records in 4 parts", "differences of sums of records in 4 parts"
    assert (str(plain), str(folded)) == wanted


@pytest.mark.parametrize("folded", [False, True])
def test_the_bounds_of_sums_in_numbers(folded):
    """B = 16, d = 2, floor(16 sqrt(2)) = 22: what is stated, and what so many records may have."""
    query = SumsQuery(PARTS, 4, folded=folded)
    cases = product(("add-remove", "replace-one"), (1, 3))
    stated = [(query.sensitivity(*case), query.squared_sensitivity(*case)) for case in cases]
    assert stated == [(22, 16**2), (67, 48**2), (45, 32**2), (135, 96**2)]
    none = np.zeros(query.n_values, np.int64)
    for sign in (1, -1):
        most = none.copy()
        most[-1], most[0] = 40 * sign, 26 * sign
        assert query.fits(most, 3) and not query.fits(most, 2)
        most[0] += sign
        assert not query.fits(most, 3)
    assert not query.fits(np.zeros(10 - query.n_values, np.int64), 3)


def test_levels_answer_side_by_side_and_are_held_to_it_one_by_one():
    two = HistogramQuery(Grid(PARTS.universe, (2, 1)))
    given = [PARTS, two]
    levels = LevelsQuery(given)
    given.clear()
    assert levels.levels == (PARTS, two) and str(levels) == "2 histograms of 6 parts in all"
    assert str(LevelsQuery([SumsQuery(PARTS)] * 2)) == "2 times sums of records in 4 parts"
    for answer, fits in (
        ([2, 0, 1, 0, 2, 1], True),
        ([2, 0, 1, 0, 2, 2], False),
        ([2, 0, 2, 0, 2, 1], False),
        ([2, 0, 1, 0, 2, 1, 0], False),
        ([2, 0, 1, 0, 3], False),
    ):
        assert levels.fits(np.array(answer), 3) == fits


@pytest.mark.parametrize("levels", [(), (PARTS, "histogram"), (PARTS, CountQuery()), ("a", "b")])
def test_levels_of_anything_else_are_refused(levels):
    refuses("levels must be one or more", LevelsQuery, levels)


@pytest.mark.parametrize(
    ("histogram", "bits"),
    [(PARTS, 0), (PARTS, 21), (PARTS, None), (PARTS, 1.5), ("a", 4), (LevelsQuery((PARTS,)), 4)],
)
def test_sums_are_of_a_histogram_and_of_few_bits(histogram, bits):
    refuses("1 to 20 bits", SumsQuery, histogram, bits)
    assert [SumsQuery(PARTS, bits).bits for bits in (1, 20)] == [1, 20]
