"""Bounds of the estimators in both forms, and words in their own parameters."""

import numpy as np
import pytest

pytest.importorskip("sklearn")

from metricdp.errors import InputError
from metricdp.sklearn import PrivateKMeans, _corners


def test_both_forms_of_bounds():
    for form in ((0, 1), ([0, 0, 0], [1, 1, 1]), [(0, 1)] * 3, np.array([[0, 1]] * 3)):
        lower, upper = _corners(form, 3)
        assert lower.tolist() == [0, 0, 0] and upper.tolist() == [1, 1, 1]
    assert [c.tolist() for c in _corners([(0, 1), (0, 1)], 2)] == [[0, 0], [1, 1]]
    assert [c.tolist() for c in _corners([(0, 0), (3, 5)], 2)] == [[0, 0], [3, 5]]
    assert [c.tolist() for c in _corners((0, 1), 2)] == [[0, 0], [1, 1]]


def test_what_may_mean_two_boxes_is_refused():
    with pytest.raises(InputError, match="both as"):
        _corners([(0, 10), (20, 30)], 2)
    named = {"lower": (0, 10), "upper": (20, 30)}
    assert [c.tolist() for c in _corners(named, 2)] == [[0, 10], [20, 30]]
    assert [c.tolist() for c in _corners([(0, 1), (1, 2)], 2)] == [[0, 1], [1, 2]]


def test_words_are_the_estimators_own():
    with pytest.raises(InputError, match="n_clusters must be"):
        PrivateKMeans(0, epsilon=1, bounds=(0, 1)).fit([[0.5]])


def test_too_few_records_are_told_from_the_noisy_count():
    with pytest.warns(UserWarning, match="too small for n_clusters=40"):
        PrivateKMeans(40, epsilon=50, bounds=(0, 1)).fit([[0.5, 0.5]])
