"""Bounds of the estimators in both forms, and words in their own parameters."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.model_selection import GridSearchCV

import metricdp as mdp
from metricdp.sklearn import PrivateKMeans, _corners
from tests import refuses


def test_both_forms_of_bounds():
    for form in ((0, 1), ([0, 0, 0], [1, 1, 1]), [(0, 1)] * 3, np.array([[0, 1]] * 3)):
        lower, upper = _corners(form, 3)
        assert lower.tolist() == [0, 0, 0] and upper.tolist() == [1, 1, 1]
    assert [c.tolist() for c in _corners([(0, 1), (0, 1)], 2)] == [[0, 0], [1, 1]]
    assert [c.tolist() for c in _corners([(0, 0), (3, 5)], 2)] == [[0, 0], [3, 5]]
    assert [c.tolist() for c in _corners((0, 1), 2)] == [[0, 0], [1, 1]]


def test_what_may_mean_two_boxes_is_lower_and_upper():
    assert [c.tolist() for c in _corners([(0, 10), (20, 30)], 2)] == [[0, 10], [20, 30]]
    named = {"lower": (0, 10), "upper": (20, 30)}
    assert [c.tolist() for c in _corners(named, 2)] == [[0, 10], [20, 30]]
    assert [c.tolist() for c in _corners([(0, 1), (1, 2)], 2)] == [[0, 1], [1, 2]]


def test_words_are_the_estimators_own():
    refuses("n_clusters must be", lambda: PrivateKMeans(0, epsilon=1, bounds=(0, 1)).fit([[0.5]]))


def test_a_search_on_a_ledger_counts_all_its_fits():
    rows = np.random.default_rng(0).random((400, 2))
    ledger = mdp.Ledger(100)
    model = PrivateKMeans(2, epsilon="1/2", bounds=(0, 1))
    GridSearchCV(model, {"n_clusters": [1]}, cv=2).fit(rows, ledger=ledger)
    assert ledger.spent == 1.5


def test_a_single_fit_warns_of_nothing():
    rows = np.random.default_rng(0).random((400, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateKMeans(2, epsilon=1, bounds=(0, 1)).fit(rows)


def test_too_few_records_are_reported_from_the_noisy_count():
    with pytest.warns(UserWarning, match="too small for n_clusters=40"):
        PrivateKMeans(40, epsilon=50, bounds=(0, 1)).fit([[0.5, 0.5]])


def test_centers_around_one_mean_are_warned_of():
    """Handwritten digits have 64 features: without a delta the noise hides where they differ."""
    rows = np.random.default_rng(0).integers(0, 17, (2_000, 64))
    with pytest.warns(UserWarning, match="around one mean; for n_clusters=10 give a del"):
        PrivateKMeans(10, epsilon=1, bounds=(0, 16)).fit(rows)
    differing = np.repeat([[0.1, 0.1], [0.9, 0.9]], 5_000, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PrivateKMeans(2, epsilon=1, bounds=(0, 1)).fit(differing)
