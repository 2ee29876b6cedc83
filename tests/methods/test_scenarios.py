"""One set of sites for several demands, against all choices of small universes."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError
from tests import path_metric, refuses

o = mdp.objectives
N = 9


def grids(seed, n=3):
    rng = np.random.default_rng(seed)
    graph = nx.random_geometric_graph(N, 0.9, seed=seed)
    for _, _, data in graph.edges(data=True):
        data.update({f"t{i}": float(rng.integers(1, 9)) for i in range(n)})
    weights = [rng.integers(0, 9, N) + 0.5 for _ in range(n)]
    return [mdp.GraphMetric(graph, weight=f"t{i}") for i in range(n)], weights


def values(metrics, weights, sites):
    total = np.mean([w.sum() for w in weights])
    away = [m.distance_rows(np.array(sites)).min(axis=0) for m in metrics]
    return np.array([w @ d * total / w.sum() for d, w in zip(away, weights)])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("how", ["mean", "worst", (3, 1, 0)])
@pytest.mark.parametrize("one_universe", [False, True])
def test_the_value_is_the_definitions_and_nearly_the_best(seed, how, one_universe):
    metrics, weights = grids(seed)
    if one_universe:
        metrics = [metrics[0]] * 3

    how = how if isinstance(how, str) else np.array(how)

    def value(sites):
        seen = values(metrics, weights, sites)
        if isinstance(how, str):
            return seen.mean() if how == "mean" else seen.max()
        return seen @ how / how.sum()

    plan = mdp.solve(metrics, o.KMedian(2), weights=weights, scenarios=how)
    best = min(value(s) for s in combinations(range(N), 2))
    own = value(metrics[0].positions(plan.centers))
    assert plan.value == pytest.approx(own) and plan.gap == 0
    assert own == pytest.approx(best)
    for i, one in enumerate(plan.scenarios):
        assert one.centers == plan.centers
        sites = metrics[i].positions(plan.centers)
        assert one.value == pytest.approx(weights[i] @ metrics[i].distance_rows(sites).min(axis=0))
        assert sum(one.loads.values()) == pytest.approx(weights[i].sum())
    assert plan.compare(plan.centers)["ratio"] == pytest.approx(1)
    assert sum(plan.loads.values()) == pytest.approx(np.mean([w.sum() for w in weights]))
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


def test_what_scenarios_cannot_do_is_said():
    metric = path_metric(5)
    other = path_metric(6)
    cases = [
        (([metric, path_metric(5)], o.KMedian(1)), {"loads": [1] * 10}, "the same universe"),
        (([metric] * 2, o.PCenter(1)), {}, "k-means, kz and max-coverage; got p-center"),
        (([metric, other], o.KMedian(1)), {}, "the same sites"),
        (([metric] * 2, o.KMedian(1)), {"scenarios": "median"}, "scenarios must be"),
        (([metric] * 2, o.KMedian(1)), {"scenarios": [1]}, "scenarios must be"),
        (([metric] * 2, o.KMedian(1)), {"weights": [[1] * 5]}, "a list of 2"),
        (([metric] * 2, o.KMedian(1)), {"weights": [[1] * 5, [0] * 5]}, "no demand"),
        (([], o.KMedian(1)), {}, "at least one"),
        (([mdp.EuclideanSpace([0], [1])], o.KMedian(1)), {}, "finite universes"),
        ((metric, o.KMedian(1)), {"scenarios": "mean"}, "a list of universes"),
    ]
    for args, options, said in cases:
        refuses(said, mdp.solve, *args, **options)
    with pytest.raises(InputError, match="scenarios are of"):
        _ = mdp.solve(metric, o.KMedian(1)).scenarios
