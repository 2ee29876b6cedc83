"""Every objective on every universe, public and released, against all choices of sites; numbers of
points and sites told by a series of pandas: by its index, if it has labels.
"""

import json
from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import metricdp as mdp
from metricdp.cli.streams import to_json
from metricdp.solvers.objectives.instance import Chosen
from tests import naive_objectives as naive
from tests import one_way_metric, path_metric, refuses

o = mdp.objectives
N = 11


def _universes():
    rng = np.random.default_rng(5)
    points = rng.integers(0, 9, (N, 2)).astype(float)
    graph = nx.random_geometric_graph(N, 0.6, seed=3)
    graph = nx.compose(graph, nx.path_graph(N))
    nx.set_edge_attributes(graph, {e: int(rng.integers(1, 7)) for e in graph.edges}, "length")
    names = [f"v{i}" for i in range(N)]
    table = rng.integers(0, 20, (N, N)).astype(float)
    return {
        "graph": mdp.GraphMetric(nx.relabel_nodes(graph, dict(enumerate(names)))),
        "hops": mdp.GraphMetric(nx.cycle_graph(N), weight=None),
        "euclidean": mdp.EuclideanMetric(points + rng.random((N, 2)) / 8, ids=names),
        "one-way": one_way_metric(N),
        "round trip": one_way_metric(N, "round-trip"),
        "table": mdp.CostTable(table, sites=names, clients=names),
        "entry costs": mdp.EuclideanMetric(points, ids=names).with_costs(sites=range(N)),
    }


UNIVERSES = _universes()


def _limit(metric):
    return float(np.quantile(metric.distances(metric.sites), 0.25))


def _definition(case, limit, total):
    """Objective, value of some rows of costs."""
    kappa = {"equity, weak": 0.2 / limit, "equity, strong": 3 / limit}.get(case)
    if kappa is not None:
        return o.Equity(3, kappa=kappa), lambda c, w: naive.equal_distance(c, w, kappa)
    k = 2 if case in ("kz", "limit", "threshold", "max-coverage") else 3  # 2: all are opened
    make, value = naive.definitions(k, limit, total)[case]
    return make(), value


OF_ANY_COSTS = "k-median k-means kz limit p-center threshold max-coverage backup-coverage"


def _checked(plan, value, costs, weights, allowed, opened, metric):
    objective = plan.objective
    best = naive.best_of(
        lambda rows: value(rows, weights), costs, plan.k, allowed, opened, objective.maximized
    )
    at = metric.positions(plan.centers)
    assert len(set(at)) == plan.k
    assert set(opened) <= set(at) <= set(allowed)
    assert list(at[: len(opened)]) == sorted(opened)
    assert plan.value == pytest.approx(value(costs[at], weights), rel=1e-9)
    assert plan.value == pytest.approx(best, rel=1e-6)  # blocks are held in single precision
    assert plan.gap == pytest.approx(0.0, abs=1e-4)
    worse = plan.compare([metric.ids[allowed[0]]])
    assert worse["other"] == pytest.approx(value(costs[allowed[:1]], weights), rel=1e-9)


@pytest.mark.parametrize("case", [*OF_ANY_COSTS.split(), "equity, weak", "equity, strong"])
@pytest.mark.parametrize("universe", sorted(UNIVERSES))
def test_the_best_choice_of_public_demand(universe, case):
    metric = UNIVERSES[universe]
    costs = metric.distances(metric.sites)
    weights = np.random.default_rng(7).integers(0, 6, N).astype(float)
    objective, value = _definition(case, _limit(metric), weights.sum())
    everywhere = list(range(N))
    plan = mdp.solve(metric, objective, weights=weights)
    _checked(plan, value, costs, weights, everywhere, [], metric)
    some, opened, forbidden = [1, 3, 5, 6, 8, 10], [1, 6], [0, 2, 7]
    allowed = [i for i in everywhere if i not in forbidden]
    asked = {"opened": opened, "forbidden": forbidden}, {"candidates": some}
    for where, held, first in zip(asked, (allowed, some), (opened, [])):
        ids = {name: [metric.ids[i] for i in at] for name, at in where.items()}
        plan = mdp.solve(metric, objective, weights=weights, **ids)
        _checked(plan, value, costs, weights, held, first, metric)


def test_a_start_is_where_searches_begin_and_never_lost(monkeypatch):
    metric = UNIVERSES["euclidean"]
    for objective in (o.KMedian(3), o.PDispersion(3), o.Capacitated(3, 8, single_source=True)):
        best = mdp.solve(metric, objective)
        assert mdp.solve(metric, objective, start=best.centers).value == pytest.approx(best.value)
        bad = Chosen(np.arange(3), np.inf if not objective.maximized else -np.inf, best.bound)
        monkeypatch.setattr(type(objective), "choose", lambda self, instance, bad=bad: bad)
        kept = mdp.solve(metric, objective, start=best.centers, opened=best.centers[:1])
        assert set(kept.centers) == set(best.centers)
        assert kept.value == pytest.approx(best.value) and kept.bound == best.bound


def test_where_no_single_source_has_capacity_left():
    metric = path_metric(3)
    tight = o.Capacitated(2, 5, single_source=True)
    refuses("no assignment of every point to", mdp.solve, metric, tight, weights=[3, 3, 3])
    assert mdp.solve(metric, o.Capacitated(2, 5), weights=[3, 3, 3]).value == 3


def test_where_true_loads_are():
    metric = path_metric(60)
    release = mdp.release(metric, mdp.PrivateDemand(metric, [5] * 4000 + [50] * 2000), epsilon=4)
    plan = release.solve(o.Capacitated(2, 0.55 * np.maximum(release.weights, 0).sum()))
    reported = plan.load_intervals()
    assert reported.level == 0.95 and (reported.low <= reported.estimate).all()
    assert (reported.estimate <= reported.high).all()
    # two sites serve everybody: Laplace noise of the total is far from 600 with chance exp(-600)
    assert abs(reported.estimate.sum() - 6000) < 600
    assert (plan.load_intervals(level=0.999).high > reported.high).all()
    assert plan.to_dict()["load_intervals"]["high"] == reported.high.tolist()
    assert plan.to_dict()["load_intervals"]["basis"] == "release"
    near = release.solve(o.KMedian(2))
    same = release.summary(near.centers).loads
    assert near.load_intervals().high == pytest.approx(same.high)
    refuses("level", plan.load_intervals, level=2)


def test_loads_that_are_public_need_no_intervals():
    metric = UNIVERSES["hops"]
    plan = mdp.solve(metric, o.KMedian(2))
    refuses("weights are public", plan.load_intervals)
    assert plan.to_dict()["load_intervals"] is None
    release = mdp.release(metric, mdp.PrivateDemand(metric, [3] * 50), epsilon=1)
    vans = release.solve(o.KMedian(2), loads=[1] * N)
    refuses("loads= are public", vans.load_intervals)
    assert vans.to_dict()["load_intervals"] is None


def test_what_a_solution_tells():
    metric = path_metric(list("abcdef"))
    loads = {"a": 1, "b": 2, "e": 0, "f": 5}
    weights = {"a": 4, "b": 1, "e": 2, "f": 3}
    plan = mdp.solve(metric, o.KMedian(2), weights=weights, loads=loads)
    assert plan.centers == ["a", "f"] or set(plan.centers) == {"a", "f"}
    assert plan.value == plan.cost == 3
    assert [plan.centers[i] for i in plan.labels] == ["a", "a", "a", "f", "f", "f"]
    assert plan.loads == {"a": 3.0, "f": 5.0} and plan.served == 10
    assert plan.mean == pytest.approx(0.3)
    assert plan.percentiles == {50.0: 0.0, 90.0: 1.0, 95.0: 1.0, 100.0: 1.0}
    assert plan.percentile([70]) == [0.0]
    for wrong in (None, 50, [101], ["x"]):
        refuses("percentiles must be", plan.percentile, wrong)
    rows = plan.to_frame().set_index("center")
    assert rows["load"].to_dict() == plan.loads
    assert rows["demand"].to_dict() == {"a": 5.0, "f": 5.0}
    frame = plan.to_frame(assignments=True)
    assert list(frame.columns) == ["vertex", "center", "distance", "weight", "share"]
    assert frame["vertex"].tolist() == list("abcdef")
    assert frame["distance"].tolist() == [0, 1, 2, 2, 1, 0]
    assert float((frame["weight"] * frame["distance"]).sum()) == plan.value
    reported = json.loads(to_json(plan.to_dict()))
    assert reported["weights"] == "public" and reported["gap"] == 0
    other = plan.compare(["b"])
    assert other["other"] == 4 + 6 + 12 and other["ratio"] == other["other"] / 3


def test_nobody_is_served_beyond_the_limit():
    plan = mdp.solve(path_metric(9), o.MaxCoverage(1, 2), candidates=[4])
    assert plan.labels.tolist() == [-1, -1, 0, 0, 0, 0, 0, -1, -1]
    assert plan.served == plan.value == 5
    assert plan.to_frame(assignments=True)["center"].isna().sum() == 4


def test_weights_that_are_all_zero_count_as_one_each():
    metric = path_metric(9)
    plain = mdp.k_median(metric, k=2, exact=True)
    zero = mdp.k_median(metric, k=2, weights=np.zeros(9), exact=True)
    asked = mdp.solve(metric, o.KMedian(2), weights=np.zeros(9))
    assert zero.value == asked.value == plain.value == plain.bound == zero.bound == 10
    for plan in (zero, asked):  # tables had a demand of 0 beside a load of 4
        assert plan.to_columns()["demand"] == plan.to_columns()["load"]


# One set of sites for several demands, against all choices of small universes
PLACES = 9


def grids(seed, n=3):
    rng = np.random.default_rng(seed)
    graph = nx.random_geometric_graph(PLACES, 0.9, seed=seed)
    for _, _, data in graph.edges(data=True):
        data.update({f"t{i}": float(rng.integers(1, 9)) for i in range(n)})
    weights = [rng.integers(0, 9, PLACES) + 0.5 for _ in range(n)]
    return [mdp.GraphMetric(graph, weight=f"t{i}") for i in range(n)], weights


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("how", ["mean", "worst", (3, 1, 0)])
@pytest.mark.parametrize("one_universe", [False, True])
def test_the_value_is_the_definitions_and_nearly_the_best(seed, how, one_universe):
    metrics, weights = grids(seed)
    if one_universe:
        metrics = [metrics[0]] * 3

    how, total = how if isinstance(how, str) else np.array(how), np.mean(np.sum(weights, axis=1))

    def value(sites):
        away = [m.distance_rows(np.array(sites)).min(axis=0) for m in metrics]
        seen = np.array([w @ d * total / w.sum() for d, w in zip(away, weights)])
        if isinstance(how, str):
            return seen.mean() if how == "mean" else seen.max()
        return seen @ how / how.sum()

    plan = mdp.solve(metrics, o.KMedian(2), weights=weights, scenarios=how)
    best = min(value(s) for s in combinations(range(PLACES), 2))
    own = value(metrics[0].positions(plan.centers))
    assert plan.value == pytest.approx(own) and plan.gap == 0
    assert own == pytest.approx(best)
    for i, one in enumerate(plan.scenarios):
        assert one.centers == plan.centers
        sites = metrics[i].positions(plan.centers)
        assert one.value == pytest.approx(weights[i] @ metrics[i].distance_rows(sites).min(axis=0))
        assert sum(one.loads.values()) == pytest.approx(weights[i].sum())
    assert plan.compare(plan.centers)["ratio"] == pytest.approx(1)
    assert sum(plan.loads.values()) == pytest.approx(total)
    assert plan.to_dict()["objective"] == "scenarios"


def test_releases_of_several_days_share_their_sites():
    metric = path_metric(30)
    homes = mdp.PrivateDemand(metric, [3] * 900), mdp.PrivateDemand(metric, [25] * 300)
    days = [mdp.release(metric, one, epsilon=2) for one in homes]
    plan = mdp.solve(days, o.KMedian(1), scenarios="worst")
    assert plan.noisy and float(plan.receipt.epsilon) == 4 and plan.release == tuple(days)
    assert 11 <= plan.centers[0] <= 17  # in the middle, though most records are on one day
    assert [one.release for one in plan.scenarios] == days
    assert plan.scenarios[0].summary().records == pytest.approx(900, abs=100)
    refuses("need a release of counts", plan.summary)
    assert plan.scenarios[1].load_intervals().high[0] > 250
    refuses("of several releases, each of which has intervals", plan.load_intervals)


def test_coverage_of_the_worst_scenario():
    metric = path_metric(20)
    left, right = np.zeros(20), np.zeros(20)
    left[:3], right[-3:] = 1.0, 1.0
    asked = o.MaxCoverage(2, limit=1)
    plan = mdp.solve([metric] * 2, asked, weights=[left, right], scenarios="worst")
    assert sorted(plan.centers) == [1, 18] and plan.value == 3.0 == plan.bound


METRIC = path_metric(list("abcd"))


def test_labels_say_whose_weights_are_whose():
    people = pd.Series([5, 1], index=["d", "a"])
    plan = mdp.solve(METRIC, o.KMedian(1), weights=people, loads=people)
    assert plan.weights.tolist() == [1, 0, 0, 5] and plan.loads == {"d": 6.0}
    assert mdp.k_median(METRIC, k=1, weights=people).centers == ["d"]
    plain = pd.Series([1, 0, 0, 5])  # a default index says nothing
    assert mdp.solve(METRIC, o.KMedian(1), weights=plain).weights.tolist() == [1, 0, 0, 5]
    dear = pd.Series([1, 9, 9, 9], index=list("bacd"))
    assert mdp.solve(METRIC, o.FacilityLocation(dear)).centers == ["b"]
    assert METRIC.with_costs(sites=pd.Series([7.0], index=["b"])).distances(["b"], ["b"])[0, 0] == 7
