"""`KMedoids`: scikit-learn's own checks, and answers of the definition."""

from itertools import combinations

import numpy as np
import pytest

pytest.importorskip("sklearn", "1.6", reason="needs the extra: sklearn")
import warnings

import pytest
from sklearn.base import clone
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

import metricdp as mdp
from metricdp.sklearn import KMedoids, PrivateKMeans, _corners
from tests import cases, path_metric, refuses


@parametrize_with_checks(
    [KMedoids(3), KMedoids(2, metric="cosine"), KMedoids(2, metric="precomputed")],
    expected_failed_checks=lambda estimator: (
        {"check_clustering": "passes points where a matrix is asked for"}
        if estimator.metric == "precomputed"
        else {}
    ),
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def best(distances, weights, k):
    """Least cost over all choices of k rows of some weight."""
    choices = combinations(np.flatnonzero(weights), k)
    return min(float(weights @ distances[:, list(choice)].min(axis=1)) for choice in choices)


def city(a, b):
    return float(np.abs(a - b).sum())


@cases("metric", "euclidean", "l2", "manhattan", "cityblock", "chebyshev", "cosine", city)
def test_small_optima_are_found(metric):
    rng = np.random.default_rng(3)
    for _ in range(5):
        X = rng.normal(size=(14, 3)).round(1)
        weights = rng.integers(0, 4, 14).astype(float)
        distances = pairwise_distances(X, metric=metric)
        model = KMedoids(3, metric=metric, random_state=0).fit(X, sample_weight=weights)
        assert np.isclose(model.inertia_, best(distances, weights, 3), rtol=1e-5)
        chosen = distances[:, model.medoid_indices_]
        assert np.isclose(weights @ chosen.min(axis=1), model.inertia_)
        assert np.array_equal(model.cluster_centers_, X[model.medoid_indices_])
        assert (weights[model.medoid_indices_] > 0).all()
        assert np.allclose(model.transform(X), chosen, atol=1e-6)
        nearest = np.take_along_axis(chosen, model.labels_[:, None], 1)[:, 0]
        assert np.allclose(nearest, chosen.min(axis=1))
        own = np.take_along_axis(chosen, model.predict(X)[:, None], 1)[:, 0]
        assert np.allclose(own, chosen.min(axis=1))


def test_a_matrix_and_its_points_have_the_same_answer():
    X = np.random.default_rng(1).normal(size=(60, 2))
    matrix = pairwise_distances(X)
    points = KMedoids(4, random_state=0).fit(X)
    table = KMedoids(4, metric="precomputed", random_state=0).fit(matrix)
    assert np.isclose(points.inertia_, table.inertia_)
    assert table.cluster_centers_ is None and table.predict(matrix[:7]).shape == (7,)
    for wrong in (matrix[:5], -matrix):
        refuses("precomputed", clone(table).fit, wrong)


def test_a_matrix_need_not_be_symmetric():
    cost = np.random.default_rng(2).random((12, 12))
    model = KMedoids(3, metric="precomputed", random_state=0).fit(cost)
    assert np.isclose(model.inertia_, best(cost, np.ones(12), 3), rtol=1e-5)
    assert np.isclose(cost[:, model.medoid_indices_].min(axis=1).sum(), model.inertia_)


def test_rows_of_a_metric_are_ids():
    model = KMedoids(2, metric=path_metric(9)).fit([0, 1, 1, 2, 6, 7, 8, 8])
    assert model.cluster_centers_ in ([1, 7], [1, 8]) and model.inertia_ == 5.0
    assert model.predict([0, 8]).tolist() == [0, 1]
    assert model.transform([4]).tolist() == [[3.0, model.cluster_centers_[1] - 4.0]]


def test_given_rows_begin_and_wrong_ones_are_refused():
    X = np.random.default_rng(1).normal(size=(60, 2))
    assert KMedoids(4, init=[0, 1, 2, 3]).fit(X).inertia_ <= 1.05 * KMedoids(4).fit(X).inertia_
    for init in ([0, 1], [0, 0, 1, 2], [0, 1, 2, 60], [0.5, 1, 2, 3], "k-means++"):
        refuses("init", KMedoids(4, init=init).fit, X)
    for n_clusters in (0, 61, 2.5):
        refuses("n_clusters", KMedoids(n_clusters).fit, X)
    refuses(r"[Nn]egative", KMedoids(2).fit, X, sample_weight=-np.ones(60), error=ValueError)


def test_no_matrix_of_all_distances(monkeypatch):
    """Of 12,000 points 144 million distances would be 0.6 GB at the least."""
    from metricdp.metrics import EuclideanMetric

    sizes = []
    rows = EuclideanMetric.distance_rows

    def watched(self, sources, targets=None):
        found = rows(self, sources, targets)
        sizes.append(found.size)
        return found

    monkeypatch.setattr(EuclideanMetric, "distance_rows", watched)
    X = np.random.default_rng(0).normal(size=(12_000, 3))
    model = KMedoids(5, random_state=0).fit(X)
    assert max(sizes, default=0) < 30_000_000
    near = pairwise_distances(X, model.cluster_centers_).min(axis=1)
    assert np.isclose(near.sum(), model.inertia_)


def test_a_row_is_at_no_distance_from_itself():
    """Between two tables scikit-learn tells 1 for the cosine of zeros, of a row and itself too."""
    X = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0, 5.0], [3.0, 1.0, 0.0]])
    found = KMedoids(4, metric="cosine").fit(X)
    assert found.inertia_ == 0 and sorted(found.labels_) == [0, 1, 2, 3]


def test_distances_that_are_no_numbers_are_refused():
    """Of a row of zeros there is no correlation: the sum of distances was reported as infinite."""
    X = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 5.0], [3.0, 1.0, 0.0]])
    refuses("finite", lambda: KMedoids(2, metric="correlation").fit(X), error=ValueError)
    refuses("none negative", KMedoids(2, metric=lambda a, b: -1.0).fit, X, error=ValueError)


def test_rows_far_from_the_origin_lose_no_digits():
    """scikit-learn's distances come from squares of coordinates: at 1e8 all were 0 or 2 apart."""
    X = 1e8 + np.array([[0.0, 0.0], [1e-3, 0.0], [0.5, 0.0], [0.6, 0.2]])
    model = KMedoids(2).fit(X)
    assert model.predict(X).tolist() == model.labels_.tolist()
    assert np.isclose(model.score(X), -model.inertia_, rtol=1e-9)


def test_undefined_distances_to_medoids_are_refused():
    model = KMedoids(2, metric="braycurtis").fit([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])
    refuses("finite", model.score, [[0.0, 0.0]], error=ValueError)


def test_a_first_row_without_a_weight_is_refused():
    model = KMedoids(2, init=[0, 1])
    refuses("rows with a weight", model.fit, [[0.0], [1.0], [5.0]], sample_weight=[0, 1, 1])


def test_a_search_over_parameters_needs_no_scoring():
    from sklearn.model_selection import GridSearchCV

    X = np.random.default_rng(0).normal(size=(60, 2))
    model = KMedoids(3).fit(X, sample_weight=np.arange(60))
    assert np.isclose(model.score(X, sample_weight=np.arange(60)), -model.inertia_)
    found = GridSearchCV(KMedoids(), {"n_clusters": [1, 5]}, cv=3).fit(X)
    assert found.best_params_ == {"n_clusters": 5}


# Bounds of the estimators in both forms, and words in their own parameters


pytest.importorskip("sklearn")


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
