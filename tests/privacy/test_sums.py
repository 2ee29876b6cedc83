"""Sums of clipped records: how far one record moves them, and what is refused."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import arrays

import metricdp as mdp
from metricdp.partitions.box.grid import Grid
from metricdp.privacy import HistogramQuery, SumsQuery

BOX = mdp.EuclideanSpace([-4.0, -4.0], [4.0, 4.0])


@settings(deadline=None)
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


@pytest.mark.parametrize(
    ("centers", "radii"),
    [
        ([[0, 0]] * 3, 1),
        ([0, 0, 0], 1),
        ([[np.nan, 0]] * 2, 1),
        (None, 0),
        (None, -1),
        (None, [1, np.inf]),
        (None, [1, 1, 1]),
        (None, 1e-6),
        ("a", 1),
        (None, None.__class__),
    ],
)
def test_bad_centers_and_radii_are_refused(centers, radii):
    with pytest.raises(mdp.InputError):
        SumsQuery(HistogramQuery(Grid(BOX, 2)), 10, centers, radii)


def test_centers_of_sums_are_kept_in_the_box_and_cannot_be_changed_from_outside():
    centers, radii = np.array([[9.0, 0.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    query = SumsQuery(HistogramQuery(Grid(BOX, 2)), 4, centers, radii)
    before = query.exact(np.array([[1.0, 2.0], [-3.0, 0.0]])).tolist()
    centers[:], radii[:] = 0.0, 1e-9
    assert query.centers.tolist() == [[4.0, 0.0], [1.0, 1.0]] and query.steps.tolist() == [
        1 / 16,
        2 / 16,
    ]
    assert query.exact(np.array([[1.0, 2.0], [-3.0, 0.0]])).tolist() == before
