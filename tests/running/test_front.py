"""k_median, k_means and release from end to end: every universe, any demand, what is paid and what
comes out.
"""

import inspect
import json
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.audit.worlds import small_nets
from tests import cases, everything, grid_metric, metric_of, path_metric, road_like

TOWNS = {
    "graph": lambda: grid_metric(9, 9),
    "zeros": lambda: metric_of(60, [(i, i + 1, i % 4) for i in range(59)]),
    "points": lambda: mdp.EuclideanMetric(
        np.random.default_rng(0).random((80, 3)), ids=[f"p{i}" for i in range(80)]
    ),
    "blocks": lambda: mdp.ManhattanMetric(
        np.random.default_rng(0).integers(0, 5, (60, 2)).astype(float)
    ),
    "matrix": lambda: mdp.PrecomputedMetric(everything(road_like(6))),
}


def drawn(metric, n_records, seed=0):
    """Records around two places, as ids."""
    rng = np.random.default_rng(seed)
    near = metric.distance_rows(np.array([0, len(metric) - 1])).min(axis=0)
    density = np.exp(-5 * near / near.max())
    return [metric.ids[i] for i in rng.choice(len(metric), n_records, p=density / density.sum())]


def check(result, metric, k, method="partition"):
    assert result.k == k == len(result.centers) and result.method == method
    assert len(set(result.centers)) == k and set(result.centers) <= set(metric.ids)
    written = json.loads(json.dumps(result.to_dict()))
    assert set(written) - {"coordinates", "crs"} == {"centers", "k", "method", "receipt"}
    assert len(written["centers"]) == k


# Private


@pytest.mark.parametrize("name", TOWNS)
def test_every_universe(name):
    metric = TOWNS[name]()
    ledger = mdp.Ledger(2)
    demand = mdp.PrivateDemand(metric, drawn(metric, 2000))
    for ask, k in ((mdp.k_median, 1), (mdp.k_means, 4), (mdp.k_median, len(metric))):
        check(ask(metric, demand, k, epsilon=0.5, ledger=ledger), metric, k)
    assert ledger.left == Fraction(1, 2)


def test_centers_are_good_when_records_are_many():
    metric = road_like(16)
    records = drawn(metric, 20_000)
    true = np.bincount(metric.positions(records), minlength=len(metric)).astype(float)
    for ask, power in ((mdp.k_median, 1), (mdp.k_means, 2)):
        best = naive_cost(metric, true, ask(metric, k=5, weights=true).centers, power)
        private = ask(metric, mdp.PrivateDemand(metric, records), k=5, epsilon=1.0)
        assert naive_cost(metric, true, private.centers, power) < 1.1 * best


def naive_cost(metric, weights, centers, power):
    return float(weights @ metric.nearest(centers)[1] ** power)


def test_one_release_answers_every_question_from_one_charge():
    metric = TOWNS["graph"]()
    ledger = mdp.Ledger(1)
    demand = mdp.PrivateDemand(metric, drawn(metric, 500))
    release = mdp.release(metric, demand, epsilon=0.25, ledger=ledger)
    charged = ledger.entries
    assert ledger.left == Fraction(3, 4)
    for k in (1, 2, 3, 10, 81):
        check(release.k_median(k), metric, k)
        check(release.k_means(k), metric, k)
    assert release.k_median(3, seed=1).centers == release.k_median(k=3, seed=1).centers
    allowed = [(0, 0), (4, 4), (8, 8)]
    assert set(release.k_median(2, candidates=iter(allowed)).centers) <= set(allowed)
    assert release.k_median(5).release is release and release.k_median(5).receipt is release.receipt
    release.coreset()
    assert ledger.entries == charged and len(charged) == 1 and charged[0].purpose == "release"


def test_weights_are_fixed_not_negative_and_sum_to_about_the_number_of_records():
    metric = road_like(12)
    # twenty times the scale of the noise in the count
    for epsilon, within in ((0.5, 800), (100, 5)):
        demand = mdp.PrivateDemand(metric, drawn(metric, 3000))
        release = mdp.release(metric, demand, epsilon=epsilon, ledger=mdp.Ledger(100))
        weights = release.weights
        assert weights.shape == (len(metric),) and weights.dtype == np.float64
        assert np.isfinite(weights).all() and (weights >= 0).all()
        assert abs(weights.sum() - 3000) < within
        with pytest.raises(ValueError, match="read-only"):
            weights[0] = 1
        points, amounts = release.coreset()
        assert len(points) == len(amounts) and (amounts > 0).all()
        assert amounts.sum() == pytest.approx(weights.sum())
        np.testing.assert_array_equal(weights[metric.positions(points)], amounts)
        assert release.partition.universe is metric is release.universe
        total = np.bincount(release.partition.labels, weights).sum()
        np.testing.assert_allclose(total, weights.sum())


@pytest.mark.parametrize("n_records", [0, 1, 3, 100_000])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 100])
def test_few_or_many_records_for_the_universe(n_records, epsilon):
    metric = TOWNS["graph"]()
    demand = mdp.PrivateDemand(metric, drawn(metric, n_records))
    release = mdp.release(metric, demand, epsilon=epsilon, ledger=mdp.Ledger(100))
    assert np.isfinite(release.weights).all() and (release.weights >= 0).all()
    for k in (1, 5, 81):
        check(release.k_median(k), metric, k)
    if epsilon == 100 and n_records == 100_000:
        assert release.partition.n_parts == 81  # down to single points
        true = np.bincount(metric.positions(drawn(metric, n_records)), minlength=81)
        assert abs(release.weights - true).max() < 1 + 0.02 * true.max()


def test_a_box(seed=7):
    box = mdp.EuclideanSpace([0, 0], [10, 20])
    rng = np.random.default_rng(seed)
    # the last is moved inside
    points = np.r_[*[rng.normal(at, 0.2, (4000, 2)) for at in ([2, 3], [8, 15])], [[99.0, -99.0]]]
    ledger = mdp.Ledger(1)
    release = mdp.release(box, mdp.PrivateDemand(box, points), epsilon=1, ledger=ledger, seed=seed)
    assert ledger.left == 0
    for found in (release.k_median(2), release.k_means(2)):
        centers = found.centers[np.argsort(found.centers[:, 0])]
        np.testing.assert_allclose(centers, [[2, 3], [8, 15]], atol=1)
        assert json.loads(json.dumps(found.to_dict()))["centers"] == found.centers.tolist()
    coreset = release.coreset()
    assert coreset.points.shape == (len(coreset.weights), 2)
    assert (coreset.points >= box.lower).all() and (coreset.points <= box.upper).all()
    assert mdp.k_median(box, mdp.PrivateDemand(box, []), k=3, epsilon=0.1).centers.shape == (3, 2)


# What is paid


def mechanisms(receipt):
    return [(m.name, m.query.split(" of")[0], m.sensitivity, m.epsilon) for m in receipt.mechanisms]


USERS = {"user": [i % 50 for i in range(300)], "max_contributions": 4}
LAPLACE, TWENTIETH = "discrete Laplace", Fraction(1, 60)


@cases(
    ("neighboring", "users", "count", "sensitivity"),
    ("add-remove", {}, (LAPLACE, "number", 1, TWENTIETH), 1),
    ("replace-one", {}, ("exact", "number", 0, Fraction(0)), 2),
    ("add-remove", USERS, (LAPLACE, "number", 4, TWENTIETH), 4),
    ("replace-one", USERS, (LAPLACE, "number", 3, TWENTIETH), 8),
)
def test_a_receipt_names_the_count_and_the_histograms(neighboring, users, count, sensitivity):
    metric, ledger = TOWNS["graph"](), mdp.Ledger("1/3", neighboring=neighboring)
    demand = mdp.PrivateDemand(metric, drawn(metric, 300), **users)
    receipt = mdp.k_median(metric, demand, 3, epsilon="1/3", ledger=ledger).receipt
    assert (receipt.epsilon, receipt.delta) == (Fraction(1, 3), 0)
    assert (receipt.neighboring, receipt.unit) == (neighboring, "user" if users else "record")
    first, *rounds = mechanisms(receipt)
    assert first == count
    assert {each[:3] for each in rounds} == {(LAPLACE, "histogram", sensitivity)}
    assert sum(each[3] for each in (first, *rounds)) == Fraction(1, 3)
    assert all(Fraction(m.scale) * m.epsilon >= m.sensitivity for m in receipt.mechanisms)
    assert ledger.left == 0 and ledger.entries[0].purpose == "k_median"


def test_a_hint_saves_the_count():
    metric, ledger = TOWNS["graph"](), mdp.Ledger(1)
    demand = mdp.PrivateDemand(metric, drawn(metric, 1000))
    hinted = {"method": mdp.methods.Partition(records_hint=100.0), "delta": 1e-6}
    for options in ({"records_hint": 100, "ledger": ledger}, hinted):
        result = mdp.k_median(metric, demand, 3, epsilon=1, **options)
        assert mechanisms(result.receipt) == [("discrete Laplace", "histogram", 1, Fraction(1))]
        assert (result.receipt.epsilon, result.receipt.delta) == (1, 0)
        # the hint sets the parts, not the answer
        assert abs(result.release.weights.sum() - 1000) < 400
    assert ledger.spent == 1
    for hint in (np.int64(5), Fraction(7, 2), 1e18):
        check(mdp.k_median(metric, demand, 3, epsilon=1, records_hint=hint), metric, 3)


def test_a_delta_of_no_use_is_not_charged():
    metric = TOWNS["graph"]()
    ledger = mdp.Ledger(1, 1e-6)
    demand = mdp.PrivateDemand(metric, [(0, 0)] * 9)
    mdp.k_median(metric, demand, 1, epsilon=0.5, delta=1e-6, ledger=ledger)
    assert (ledger.spent, ledger.spent_delta) == (0.5, 0)


# Public


def test_uniform_reads_and_costs_nothing(sealed):
    metric = TOWNS["graph"]()
    demand = mdp.PrivateDemand(metric, [(0, 0)] * 1000)
    ledger = mdp.Ledger(1, neighboring="replace-one")
    for epsilon in (None, 0.5):
        result = mdp.k_median(metric, demand, 1, epsilon=epsilon, ledger=ledger, method="uniform")
        check(result, metric, 1, "uniform")
        assert result.centers == [(4, 4)]
        receipt = result.receipt
        assert (receipt.epsilon, receipt.mechanisms) == (0, ())
        assert receipt.neighboring == "replace-one"
    assert ledger.entries == ()


def test_the_public_universe():
    metric = path_metric(["a", "b", "c", "d", "e"])
    assert mdp.k_median(metric, k=1).centers == ["c"]
    assert mdp.k_median(metric, k=1).receipt is None
    check(mdp.k_median(metric, k=np.int64(2)), metric, 2, "public")
    assert mdp.k_median(metric, k=1, weights=[9, 1, 1, 1, 1]).centers == ["a"]
    assert mdp.k_median(metric, k=1, weights={"e": 5}).centers == ["e"]
    assert mdp.k_median(metric, k=1, candidates=("a", "b")).centers == ["b"]
    assert mdp.k_median(metric, k=1, weights=[3, 0, 0, 0, 2]).centers == ["a"]
    # 4·3 + 4·2 = 20; b: 3 + 18; a: 32
    assert mdp.k_means(metric, k=1, weights=[3, 0, 0, 0, 2]).centers == ["c"]
    assert sorted(mdp.k_median(metric, k=5).centers) == list("abcde")


def test_one_name_is_one_site():
    table = mdp.CostTable([[1, 5], [8, 2]], sites=["Store_1", "Store_2"], clients=[10, 20])
    assert mdp.k_median(table, k=1, opened="Store_2").centers == ["Store_2"]
    assert mdp.k_median(table, k=1, candidates="Store_2").centers == ["Store_2"]
    assert mdp.solve(table, mdp.objectives.KMedian(1), forbidden="Store_1").centers == ["Store_2"]


def test_signatures_say_what_they_take():
    """Of all that is public: a budget, ids and effort are not just anything."""
    reported = set(
        "epsilon epsilons delta candidates opened forbidden effort weights loads rng expected crs "
        "max_snap within clip limit limits ks capacities quantile against target scenarios".split()
    )
    seen = 0
    objectives = {name: getattr(mdp.objectives, name) for name in mdp.objectives.__all__}
    for name, owner in ({name: getattr(mdp, name) for name in mdp.__all__} | objectives).items():
        methods = vars(owner).values() if inspect.isclass(owner) else [owner]
        for call in filter(inspect.isfunction, methods):
            public = call.__name__ == "__init__" or not call.__name__.startswith("_")
            if not public or not call.__module__.startswith("metricdp."):
                continue
            for parameter in reported & set(call.__annotations__):
                kind = str(call.__annotations__[parameter])
                assert "Any" not in kind, f"{name}, {call.__name__}: {parameter}: {kind}"
                seen += 1
    assert seen >= 100


def test_a_solution_is_one_line():
    """In a shell: not its receipt with all mechanisms, nor a thousand centers."""
    metric = path_metric(50)
    public = mdp.k_median(metric, k=2)
    expected = f"Solution(2 centers: {public.centers[0]}, {public.centers[1]}; k-median)"
    assert repr(public) == expected
    private = mdp.k_median(metric, mdp.PrivateDemand(metric, [3] * 900), k=20, epsilon="1/2")
    assert repr(private).startswith("Solution(20 centers: ") and len(repr(private)) < 90
    assert repr(private).endswith(", …; method partition, epsilon 0.5)")
    box = mdp.EuclideanSpace([0, 0], [1, 1])
    found = mdp.k_means(box, mdp.PrivateDemand(box, [[0.2, 0.3]] * 9), k=1, epsilon=1)
    assert "\n" not in repr(found) and "epsilon 1)" in repr(found)


def test_certificates_are_of_public_demand_in_finite_universes():
    metric, box = TOWNS["graph"](), mdp.EuclideanSpace([0, 0], [1, 1])
    demand, ledger = mdp.PrivateDemand(metric, [(0, 0)] * 9), mdp.Ledger(1)
    for proof in ("certificate", "exact"):
        for asked in ((metric, demand), (box,)):
            given = {"epsilon": 1, "ledger": ledger} if demand in asked else {}
            with pytest.raises(mdp.InputError, match="a certificate is for public demand"):
                mdp.k_median(*asked, k=2, **given, **{proof: True})
        assert ledger.spent == 0
        found = mdp.k_median(metric, k=1, **{proof: True})
        assert found.certificate is not None and found.universe is metric
    assert mdp.k_median(metric, k=1).certificate is None


def test_public_answers_are_of_the_universe_that_was_given():
    box = mdp.EuclideanSpace([0, 0], [1, 1])
    with small_nets():
        found = mdp.k_means(box, k=2)
    assert found.universe is box and found.centers.shape == (2, 2)
    line = mdp.EuclideanMetric([[0.0], [1.0], [5.0]])
    weights = np.array([4.0, 2.0, -1.0])
    found = mdp.k_median(line, k=1, weights=weights)
    assert found.centers == [0] and (found.weights == weights).all()


def test_the_receipt_tells_what_was_asked():
    line = mdp.EuclideanMetric([[0.0], [1.0], [5.0]])
    demand = mdp.PrivateDemand(line, [0] * 90)
    for call, k in ((mdp.k_median, 1), (mdp.k_means, 2)):
        made = call(line, demand, k, epsilon=1, seed=5).receipt.made.to_dict()
        assert made["call"] == call.__name__ and made["options"]["k"]["value"] == k
        assert made["options"]["seed"]["value"] == 5 and "power" not in made["options"]
    release = mdp.release(line, demand, epsilon=1, seed=6)
    assert release.receipt.made.to_dict()["options"]["seed"]["value"] == 6


@pytest.mark.parametrize("seed", range(3))
def test_both_ways_to_ask_tell_the_same_centers_in_the_same_order(seed):
    rng = np.random.default_rng(seed)
    metric = mdp.EuclideanMetric(rng.random((60, 2)))
    weights = rng.integers(1, 9, 60) * 1.0
    for call, objective in (
        (mdp.k_median, mdp.objectives.KMedian),
        (mdp.k_means, mdp.objectives.KMeans),
    ):
        asked = {"weights": weights, "opened": [40, 7], "seed": seed}
        reported = call(metric, k=6, **asked).centers
        assert reported == [7, 40, *sorted(reported[2:])]
        assert reported == mdp.solve(metric, objective(6), **asked).centers
        assert call(metric, k=6, exact=True, **asked).centers[:2] == [7, 40]
