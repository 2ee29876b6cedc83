"""Estimators in scikit-learn's shape: its own checks, nothing private kept, and refusals that quote
nothing.
"""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import BudgetError, InputError, MissingExtraError
from metricdp.privacy import PrivateDataWarning

pytest.importorskip("sklearn", "1.6", reason="needs the extra: sklearn")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from metricdp.sklearn import PrivateKMeans, PrivateKMedian
from tests import cases, refuses
from tests.methods.test_privacy import of_other_number

SECRET = "CANARY-48611"
NUMBER = 48_611
DO_NOT_APPLY = {
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
    ],
    expected_failed_checks=lambda estimator: DO_NOT_APPLY,
)
def test_scikit_learns_own_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivateDataWarning)
        check(estimator)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    middles = rng.choice([0.2, 0.5, 0.8], (NUMBER, 1))
    return np.clip(middles + 0.02 * rng.normal(size=(NUMBER, 2)), 0, 1)


@pytest.fixture(scope="module")
def model(rows):
    model = PrivateKMeans(3, epsilon=1, bounds=(0, 1), random_state=4)
    return of_other_number(lambda: model.fit(rows))


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
    with pytest.warns(PrivateDataWarning):
        assert model.score(rows) == pytest.approx(-(away.min(axis=1) ** model._power).sum())
    assert model.release_.k_means(5).centers.shape == (5, 2)


def test_nothing_exact_is_kept(model, rows):
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
        with pytest.warns(PrivateDataWarning):
            assert model.score(np.ones((0, 2))) == 0


def test_scores_warn_in_a_search_too(rows):
    search = GridSearchCV(PrivateKMeans(2, epsilon=1, bounds=(0, 1)), {"n_clusters": [1, 3]}, cv=2)
    with pytest.warns(PrivateDataWarning, match="fits once for each choice and split"):
        assert search.fit(rows[:4000]).best_params_ == {"n_clusters": 3}


@cases(
    ("options", "message"),
    ({"bounds": None}, "bounds=.lower, upper. are needed"),
    ({"epsilon": None}, "epsilon= is needed"),
    ({"bounds": 3}, "bounds must be a sequence"),
    ({"bounds": (0, 1, 2)}, "bounds must be .lower, upper."),
    ({"bounds": ([0, 0, 0], [1, 1, 1])}, "two arrays of 2 numbers"),
    ({"bounds": ("a", "b")}, "bounds must be"),
    ({"bounds": (1, 0)}, "lower < upper"),
    ({"bounds": (0, np.inf)}, "finite corners"),
    ({"epsilon": -1}, "epsilon"),
    ({"delta": 2}, "delta"),
    ({"n_clusters": 0}, "n_clusters must be"),
    ({"n_clusters": 2.5}, "n_clusters must be"),
    ({"method": "hst"}, "needs a finite universe"),
    ({"method": "best"}, "method must be one of"),
    ({"neighboring": "none"}, "neighboring"),
    ({"max_contributions": 3}, "whose each record is"),
)
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
