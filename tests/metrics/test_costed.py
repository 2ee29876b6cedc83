"""Entry and access costs, against brute force."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.solvers.kmedian import solve
from tests import refuses


def universe(seed=0, directed=True):
    rng = np.random.default_rng(seed)
    graph = nx.grid_2d_graph(5, 6).to_directed()
    for _, _, data in graph.edges(data=True):
        data["time"] = int(rng.integers(1, 9))
    travel = mdp.GraphMetric(graph, weight="time", directed=True)
    if not directed:
        travel = travel.symmetric
    entry, access = rng.integers(0, 9, 30).astype(float), rng.integers(0, 5, 30).astype(float)
    rows = entry[:, None] + travel.distance_rows(np.arange(30)) + access
    return travel, travel.with_costs(entry, access), rows


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("power", [1, 2])
def test_costs_count_for_each_unit_of_demand(power, directed):
    for seed in range(4):
        _, metric, rows = universe(seed, directed)
        assert np.array_equal(metric.distance_rows(np.arange(30)), rows)
        assert np.array_equal(metric.grid_rows(np.arange(30)) * metric.unit, rows)
        assert np.array_equal(metric.nearest_to(np.array([3, 8]))[1], rows[[3, 8]].min(axis=0))
        weights = np.random.default_rng(seed).integers(0, 4, 30).astype(float)
        best = min(weights @ rows[list(c)].min(axis=0) ** power for c in combinations(range(30), 2))
        assert np.isclose(solve(metric, weights, 2, power=power, starts=None).cost, best)


def test_searches_by_rows_find_what_a_block_finds(monkeypatch):
    travel, metric, rows = universe()
    whole = solve(metric, np.ones(30), 3).cost
    monkeypatch.setattr("metricdp.solvers.kmedian.WHOLE_BLOCK", 0)
    assert np.isclose(solve(metric, np.ones(30), 3).cost, whole)
    monkeypatch.setattr("metricdp.solvers.kmedian.LARGE", 10)  # from centers for the bound
    found = solve(metric, np.ones(30), 3, candidates=np.arange(0, 30, 2), opened=np.array([7]))
    assert found.centers[0] == 7 and set(found.centers[1:] % 2) == {0}
    assert np.isclose(found.cost, rows[found.centers].min(axis=0).sum())
    assert travel.directed


def test_private_demand_pays_costs():
    _, metric, rows = universe(2)
    demand = mdp.PrivateDemand(metric, [metric.ids[3]] * 60_000 + [metric.ids[20]] * 50_000)
    totals = 60_000 * rows[:, 3] + 50_000 * rows[:, 20]
    found = mdp.k_median(metric, demand, k=1, epsilon=1)
    assert totals[metric.positions(found.centers)[0]] <= 1.02 * totals.min()
    with pytest.raises(InputError, match="same in both directions"):
        mdp.k_median(metric, demand, k=1, epsilon=1, method="local-search")


def test_mappings_and_tables():
    table = mdp.CostTable([[1, 5], [4, 2]], sites=["A", "B"], clients=[7, 8])
    costed = table.with_costs(sites={"B": 10}, access={8: 1})
    assert costed.distances(["B", "A"]).tolist() == [[14, 13], [1, 6]]
    assert mdp.k_median(costed, k=1).centers == ["A"]
    for bad, said in (
        ({"sites": [1]}, "2 finite costs"),
        ({"sites": {"C": 1}}, "'C'"),
        ({"access": [-1, 0]}, "not negative"),
        ({"access": [np.inf, 0]}, "finite"),
    ):
        refuses(said, table.with_costs, **bad)
