"""Estimators in scikit-learn's shape and `KMedoids`: its own checks, nothing private kept, answers
of the definition, and refusals that quote nothing.
"""

import pickle
import subprocess
import sys
import warnings

import networkx as nx
import numpy as np
import pytest

pytest.importorskip("sklearn", "1.6", reason="needs the extra: sklearn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import metricdp as mdp
from metricdp.errors import BudgetError, InputError, MissingExtraError
from metricdp.sklearn import KMedoids, PrivateKMeans, PrivateKMedian, _corners
from tests import cases, naive, path_metric, refuses
from tests.methods.test_privacy import of_other_number
from tests.methods.test_refusals import changes

SECRET = "CANARY-48611"
NUMBER = 48_611
TO_MATRICES = {"euclidean": {}, "cosine": {}}
TO_MATRICES["precomputed"] = {"check_clustering": "passes points where a matrix is asked for"}
TO_PRIVATE_ROWS = {
    "check_estimators_empty_data_messages": (
        "a table without rows is answered: whether anybody is there is private"
    ),
    "check_clustering": "needs labels_, an exact function of the private rows",
    "check_fit_idempotent": "two fits have other noise, which nothing seeds",
}


@parametrize_with_checks(
    [
        PrivateKMeans(3, epsilon=1, bounds=(-10, 10)),
        PrivateKMedian(2, epsilon="1/2", delta=1e-6, bounds=(-10, 10), method="lsh"),
        *(KMedoids(2, metric=metric) for metric in ("euclidean", "cosine", "precomputed")),
    ],
    expected_failed_checks=lambda estimator: (
        TO_PRIVATE_ROWS if hasattr(estimator, "epsilon") else TO_MATRICES[estimator.metric]
    ),
)
def test_scikit_learns_own_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdp.PrivateDataWarning)
        check(estimator)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    middles = rng.choice([0.2, 0.5, 0.8], (NUMBER, 1))
    return np.clip(middles + 0.02 * rng.normal(size=(NUMBER, 2)), 0, 1)


@pytest.mark.parametrize("kind", [PrivateKMeans, PrivateKMedian])
def test_finds_the_clusters_and_says_what_they_cost(kind, rows):
    model = kind(3, epsilon=1, bounds=([0, 0], [1, 1])).fit(rows)
    middle = np.sort(model.cluster_centers_[:, 0])
    assert middle == pytest.approx([0.2, 0.5, 0.8], abs=0.05) and model.n_features_in_ == 2
    expected = 1, "add-remove", "record"
    assert (model.receipt_.epsilon, model.receipt_.neighboring, model.receipt_.unit) == expected
    away = np.linalg.norm(rows[:, None] - model.cluster_centers_, axis=2)
    assert np.array_equal(model.predict(rows), away.argmin(axis=1))
    assert model.transform(rows) == pytest.approx(away, abs=1e-6)
    assert list(model.get_feature_names_out()) == [f"{kind.__name__.lower()}{i}" for i in range(3)]
    with pytest.warns(mdp.PrivateDataWarning):
        assert model.score(rows) == pytest.approx(-(away.min(axis=1) ** model._power).sum())
    assert model.release_.k_means(5).centers.shape == (5, 2)


def test_nothing_exact_is_kept(rows):
    model = PrivateKMeans(3, epsilon=1, bounds=(0, 1), random_state=4)
    of_other_number(lambda: model.fit(rows))
    kept = {name for name in vars(model) if name.endswith("_")}
    assert kept == {"cluster_centers_", "receipt_", "release_", "n_features_in_"}
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.cluster_centers_, model.cluster_centers_)
    assert again.receipt_ == model.receipt_
    found = again.release_.k_means(2, seed=1).centers
    assert found == pytest.approx(model.release_.k_means(2, seed=1).centers)
    wide = PrivateKMeans(2, epsilon=1, bounds=(0, 1)).fit(np.zeros((100, 40)))
    assert len(pickle.dumps(wide)) < 400_000  # without the public nets of its box, 1.3 MB
    todo, seen = [again], set()
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, type):
            continue
        seen.add(id(value))
        assert not isinstance(value, mdp.PrivateDataWarning | mdp.PrivateDemand)
        if isinstance(value, np.ndarray):
            assert NUMBER not in value.shape and not (value.size == 1 and value.item() == NUMBER)
        elif isinstance(value, int | float):
            assert value != NUMBER
        elif isinstance(value, dict | list | tuple):
            todo += [*value, *value.values()] if isinstance(value, dict) else list(value)
        elif hasattr(value, "__dict__"):
            todo += vars(value).values()
    labels = PrivateKMeans(2, epsilon=5, bounds=(0, 1)).fit_predict(rows)
    assert labels.shape == (NUMBER,) and not hasattr(model, "labels_")
    assert not hasattr(model, "inertia_")


def test_parameters_clone_and_pipelines(rows):
    asked = {"n_clusters": 3, "epsilon": "1/3", "delta": 0, "bounds": (0, 2)}
    asked["method"] = mdp.methods.Quadtree(rounds=2)
    asked |= {"neighboring": "replace-one", "max_contributions": None, "random_state": 1}
    model = PrivateKMedian(**asked)
    assert model.get_params() == asked
    assert clone(model).set_params(epsilon=2).get_params() == asked | {"epsilon": 2}
    assert "method=Quadtree(" in repr(model)
    scaled = make_pipeline(FunctionTransformer(lambda x: 2 * x), model).fit(rows)
    assert np.sort(scaled[-1].cluster_centers_[:, 0]) == pytest.approx([0.4, 1.0, 1.6], abs=0.2)
    assert scaled[-1].receipt_.to_dict()["epsilon_exact"] == "1/3"
    assert scaled[-1].receipt_.neighboring == "replace-one"
    assert clone(scaled).predict is not None and not hasattr(clone(scaled)[-1], "cluster_centers_")


def test_data_frames_name_their_columns(rows):
    pandas = pytest.importorskip("pandas", reason="needs pandas")
    frame = pandas.DataFrame(rows[:3000], columns=["x", "y"])
    model = PrivateKMeans(2, epsilon=3, bounds=(0, 1)).fit(frame)
    assert list(model.feature_names_in_) == ["x", "y"] and model.predict(frame).shape == (3000,)
    expected = ["privatekmeans0", "privatekmeans1"]
    assert model.set_output(transform="pandas").transform(frame).columns.tolist() == expected
    refuses("feature names", model.predict, frame.rename(columns={"y": "z"}), error=ValueError)


def test_one_ledger_for_several_fits(rows):
    ledger = mdp.Ledger(1, neighboring="replace-one")
    model = PrivateKMeans(2, epsilon="1/2", bounds=(0, 1))
    for left in (0.5, 0):
        assert model.fit(rows[:500], ledger=ledger).receipt_.neighboring == "replace-one"
        assert ledger.left == left
    refuses("", lambda: model.fit(rows[:500], ledger=ledger), error=BudgetError)


def test_users_are_protected_when_they_are_named(rows):
    who = [f"{SECRET}-{i // 4}" for i in range(2000)]
    model = PrivateKMeans(2, epsilon=2, bounds=(0, 1), max_contributions=2)
    model.fit(rows[:2000], user=who)
    assert model.receipt_.unit == "user"
    assert {m.sensitivity for m in model.receipt_.mechanisms} >= {2}
    assert SECRET.encode() not in pickle.dumps(model)
    refuses("whose each record is", model.fit, rows)


def test_public_coins_are_seeded_and_noise_is_not(rows):
    from metricdp.audit.recording import Recording, recorded

    def centers(seed):
        model = PrivateKMeans(3, epsilon=1, bounds=(0, 1), method="lloyd", random_state=seed)
        return model.fit(rows[:100]).cluster_centers_

    with recorded(Recording()):
        assert np.array_equal(centers(1), centers(1)) and not np.array_equal(centers(1), centers(2))
    assert not np.array_equal(centers(1), centers(1))


def test_nobody_is_somebody_too():
    for n in (0, 1):
        model = PrivateKMeans(4, epsilon=1, bounds=([0, 1], [1, 2])).fit(np.ones((n, 2)))
        assert model.cluster_centers_.shape == (4, 2) and len(model.predict(np.ones((0, 2)))) == 0
        assert model.transform(np.ones((0, 2))).shape == (0, 4)
        with pytest.warns(mdp.PrivateDataWarning):
            assert model.score(np.ones((0, 2))) == 0


def test_scores_warn_in_a_search_too(rows):
    """Whose fits, four and the best again, are all on the ledger."""
    search = GridSearchCV(PrivateKMeans(2, epsilon=1, bounds=(0, 1)), {"n_clusters": [1, 3]}, cv=2)
    ledger = mdp.Ledger(100)
    with pytest.warns(mdp.PrivateDataWarning, match="fits once for each choice and split"):
        assert search.fit(rows[:4000], ledger=ledger).best_params_ == {"n_clusters": 3}
    assert ledger.spent == 5


@cases(("options", "message"), *changes("estimators"))
def test_wrong_parameters_are_refused(options, message):
    model = PrivateKMeans(**{"n_clusters": 2, "epsilon": 1, "bounds": (0, 1), **options})
    refuses(message, model.fit, [[0.5, 0.5]])
    refuses("", model.predict, [[0.5, 0.5]], error=NotFittedError)


@cases(
    "table",
    [[SECRET, 1.0]],
    [[0.48611, np.nan]],
    [0.48611] * 7,
    np.full((NUMBER, 2, 2), 0.48611),
    [[0.48611 + 1j, 2]],
    [[{SECRET: 1}, 2.0]],
    np.full((NUMBER, 2), np.inf),
    [[0.48611], [1, 2]],
    np.zeros((NUMBER, 0)),
    SECRET,
    {SECRET: 1},
    None,
    [[10**400, 0]],
    [[f"feature names of {SECRET}", 1.0]],
    [[f"{SECRET} has 2 features, but none is expecting 2 features as input", 1.0]],
    ids=range(15),
)
def test_refusals_quote_no_entry_and_no_number_of_rows(table):
    for call in (
        PrivateKMeans(2, epsilon=1, bounds=(0, 1)).fit,
        PrivateKMeans(2, epsilon=1, bounds=(0, 1)).fit([[0.5, 0.5]]).predict,
    ):
        error = refuses("", call, table, error=(InputError, TypeError))
        while error is not None:
            assert not any(secret in str(error) for secret in (SECRET, "48611", "48,611"))
            assert error.__cause__ is None
            error = error.__context__


def test_weights_are_refused(rows):
    with pytest.raises(TypeError, match="sample_weight"):
        PrivateKMeans(2, epsilon=1, bounds=(0, 1)).fit(rows, sample_weight=np.ones(len(rows)))


def test_it_is_loaded_on_first_use_and_only_with_scikit_learn(monkeypatch):
    code = (
        "import sys, metricdp; assert 'sklearn' not in sys.modules; "
        "metricdp.sklearn.PrivateKMeans; assert 'sklearn' in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
    monkeypatch.delitem(sys.modules, "metricdp.sklearn")
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    assert refuses("", __import__, "metricdp.sklearn", error=MissingExtraError).extra == "sklearn"


def test_labels_far_from_the_origin_lose_no_digits():
    rows = 1e8 + np.random.default_rng(0).random((400, 2))
    model = PrivateKMeans(3, epsilon=50, bounds=(1e8, 1e8 + 1)).fit(rows)
    square = ((rows[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    assert model.predict(rows).tolist() == square.argmin(axis=1).tolist()
    assert np.allclose(model.transform(rows), np.sqrt(square))


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
        best = naive.best_centers(distances, weights, 3, candidates=np.flatnonzero(weights))[1]
        assert np.isclose(model.inertia_, best, rtol=1e-5)
        chosen = distances[:, model.medoid_indices_]
        assert np.isclose(weights @ chosen.min(axis=1), model.inertia_)
        assert np.array_equal(model.cluster_centers_, X[model.medoid_indices_])
        assert (weights[model.medoid_indices_] > 0).all()
        assert np.allclose(model.transform(X), chosen, atol=1e-6)
        nearest = np.take_along_axis(chosen, model.labels_[:, None], 1)[:, 0]
        assert np.allclose(nearest, chosen.min(axis=1))
        own = np.take_along_axis(chosen, model.predict(X)[:, None], 1)[:, 0]
        assert np.allclose(own, chosen.min(axis=1))


def test_small_tables_of_no_metric_are_searched_from_more_starts():
    """Of four starts the second of these ended .8 % above the best, others up to 16 %."""
    for seed in range(20):
        square = np.random.default_rng(seed).random((16, 16))
        if seed % 4:  # else costs of no symmetry, which none is from itself either
            square += square.T
            np.fill_diagonal(square, 0)
        model = KMedoids(3, metric="precomputed", random_state=0).fit(square)
        best = naive.best_centers(square.T, np.ones(16), 3)[1]
        assert np.isclose(model.inertia_, best, rtol=1e-5)
        assert np.isclose(square[:, model.medoid_indices_].min(axis=1).sum(), best, rtol=1e-5)


def test_a_matrix_and_its_points_have_the_same_answer():
    X = np.random.default_rng(1).normal(size=(60, 2))
    matrix = pairwise_distances(X)
    points = KMedoids(4, random_state=0).fit(X)
    table = KMedoids(4, metric="precomputed", random_state=0).fit(matrix)
    assert np.isclose(points.inertia_, table.inertia_)
    assert table.cluster_centers_ is None and table.predict(matrix[:7]).shape == (7,)
    for wrong in (matrix[:5], -matrix):
        refuses("precomputed", clone(table).fit, wrong)


def test_rows_of_a_metric_are_ids():
    model = KMedoids(2, metric=path_metric(9)).fit([0, 1, 1, 2, 6, 7, 8, 8])
    assert model.cluster_centers_ in ([1, 7], [1, 8]) and model.inertia_ == 5.0
    assert model.predict([0, 8]).tolist() == [0, 1]
    assert model.transform([4]).tolist() == [[3.0, model.cluster_centers_[1] - 4.0]]
    again = KMedoids(1, metric=path_metric(9)).fit([3, 4, 3], sample_weight=[0, 1, 9])
    assert again.medoid_indices_.tolist() == [2]  # not 0, whose weight is 0
    table = mdp.CostTable([[0.0, 2.0]], sites=["s"], clients=["a", "b"])
    refuses("a table of costs has no medoids", KMedoids(1, metric=table).fit, ["a", "b"])


def test_vertices_between_medoids_are_predicted_as_fitted():
    grid = mdp.GraphMetric(nx.grid_2d_graph(6, 6), weight=None)
    rows = [*grid.ids, *grid.ids[::-1]]
    for k in range(2, 8):
        model = KMedoids(k, metric=grid, random_state=k)
        assert np.array_equal(model.fit_predict(rows), model.predict(rows))


def test_given_rows_begin_and_wrong_ones_are_refused():
    X = np.random.default_rng(1).normal(size=(60, 2))
    assert KMedoids(4, init=[0, 1, 2, 3]).fit(X).inertia_ <= 1.05 * KMedoids(4).fit(X).inertia_
    for init in ([0, 1], [0, 0, 1, 2], [0, 1, 2, 60], [0.5, 1, 2, 3], "k-means++"):
        refuses("init", KMedoids(4, init=init).fit, X)
    for n_clusters in (0, 61, 2.5):
        refuses("n_clusters", KMedoids(n_clusters).fit, X)
    refuses(r"[Nn]egative", KMedoids(2).fit, X, sample_weight=-np.ones(60), error=ValueError)
    refuses("rows with a weight", KMedoids(2, init=[0, 1]).fit, X[:3], sample_weight=[0, 1, 1])


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
    model = KMedoids(2, metric="braycurtis").fit([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])
    refuses("finite", model.score, [[0.0, 0.0]], error=ValueError)


def test_rows_far_from_the_origin_lose_no_digits():
    """scikit-learn's distances come from squares of coordinates: at 1e8 all were 0 or 2 apart."""
    X = 1e8 + np.array([[0.0, 0.0], [1e-3, 0.0], [0.5, 0.0], [0.6, 0.2]])
    model = KMedoids(2).fit(X)
    assert model.predict(X).tolist() == model.labels_.tolist()
    assert np.isclose(model.score(X), -model.inertia_, rtol=1e-9)


def test_a_search_over_parameters_needs_no_scoring():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = KMedoids(3).fit(X, sample_weight=np.arange(60))
    assert np.isclose(model.score(X, sample_weight=np.arange(60)), -model.inertia_)
    found = GridSearchCV(KMedoids(), {"n_clusters": [1, 5]}, cv=3).fit(X)
    assert found.best_params_ == {"n_clusters": 5}


# Bounds of the estimators in both forms, and words in their own parameters


def test_what_may_mean_two_boxes_is_lower_and_upper():
    for bounds, lower, upper in (
        ((0, 1), [0, 0], [1, 1]),
        (([0, 0], [1, 1]), [0, 0], [1, 1]),
        ([(0, 1)] * 2, [0, 0], [1, 1]),
        (np.array([[0, 1]] * 3), [0, 0, 0], [1, 1, 1]),
        ([(0, 0), (3, 5)], [0, 0], [3, 5]),
        ([(0, 10), (20, 30)], [0, 10], [20, 30]),
        ({"lower": (0, 10), "upper": (20, 30)}, [0, 10], [20, 30]),
        ([(0, 1), (1, 2)], [0, 1], [1, 2]),
    ):
        assert [corner.tolist() for corner in _corners(bounds, len(lower))] == [lower, upper]


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
