"""p-center of large universes: on small ones the bound holds, and sites are as good as said."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.solving import siting_of
from metricdp.solvers.objectives import p_center, wide_center

o = mdp.objectives


def _metrics():
    rng = np.random.default_rng(2)
    graph = nx.grid_2d_graph(14, 14)
    nx.set_edge_attributes(graph, {e: int(rng.integers(1, 9)) for e in graph.edges}, "length")
    roads = nx.DiGraph()
    for u, v in graph.edges:
        roads.add_edge(u, v, length=int(rng.integers(1, 9)))
        roads.add_edge(v, u, length=int(rng.integers(1, 9)))
    return {
        "graph": mdp.GraphMetric(graph),
        "one-way": mdp.GraphMetric(roads, directed=True),
        "points": mdp.EuclideanMetric(rng.random((200, 2)) * 100),
        "table": mdp.CostTable(rng.random((40, 80)).round(3) * 100),
    }


METRICS = _metrics()
ASKED = {
    "anywhere": {},
    "opened": {"opened": [7, 21]},
    "candidates": {"candidates": range(0, 40, 2)},
    "all opened": {"opened": [3, 8, 20, 31, 35]},
}


@pytest.mark.parametrize("asked", sorted(ASKED))
@pytest.mark.parametrize("universe", sorted(METRICS))
def test_near_the_best_with_a_bound_that_holds(universe, asked, monkeypatch):
    monkeypatch.setattr(wide_center, "_SAMPLE", 80)
    monkeypatch.setattr(wide_center, "_SECONDS", 1.5)
    metric = METRICS[universe]
    weights = np.random.default_rng(3).integers(0, 3, len(metric)).astype(float)
    wanted = {name: [metric.sites[i] for i in at] for name, at in ASKED[asked].items()}
    exact = mdp.solve(metric, o.PCenter(5), weights=weights, **wanted)
    assert exact.gap == 0
    monkeypatch.setattr(p_center, "_LARGE", 10)
    plan = mdp.solve(metric, o.PCenter(5), weights=weights, **wanted)
    assert len(set(plan.centers)) == 5
    assert set(wanted.get("opened", [])) <= set(plan.centers)
    assert set(plan.centers) <= set(wanted.get("candidates", metric.sites))
    assert plan.value == plan.compare(plan.centers)["other"]
    assert plan.bound <= exact.value * (1 + 1e-9) <= plan.value * (1 + 2e-9)
    assert plan.value <= 1.15 * exact.value
    assert plan.bound >= (0 if asked == "all opened" else 0.75) * exact.value


def test_a_few_demand_points_need_no_search():
    metric = METRICS["graph"]
    weights = {metric.ids[i]: 1.0 for i in (3, 100, 190)}
    at = metric.positions(weights)
    siting = siting_of(metric, np.bincount(at, minlength=len(metric)).astype(float))
    search = wide_center.WideSearch(siting, at, 4)
    search.run()
    assert search.upper == 0.0
    assert search.lower == 0.0
    assert len(set(search.best.tolist())) == 4
