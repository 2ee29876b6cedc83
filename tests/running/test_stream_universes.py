"""Streams and synthetic points in every finite universe: ids in, ids (or sites) out."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.report import days_page
from tests import refuses

N = 40
PLACES = np.random.default_rng(5).random((N, 2))


def one_way():
    ring = nx.DiGraph()
    for v in range(N):
        ring.add_edge(v, (v + 1) % N, time=float(1 + v % 5))
        ring.add_edge((v + 1) % N, v, time=2.0)
    return mdp.GraphMetric(ring, weight="time", directed=True)


UNIVERSES = {
    "plane": lambda: mdp.EuclideanMetric(PLACES, ids=[f"v{i}" for i in range(N)]),
    "space": lambda: mdp.ManhattanMetric(np.random.default_rng(6).random((N, 3))),
    "chebyshev": lambda: mdp.ChebyshevMetric(PLACES),
    "globe": lambda: mdp.HaversineMetric(PLACES),
    "matrix": lambda: mdp.PrecomputedMetric(np.abs(np.arange(N)[:, None] - np.arange(float(N)))),
    "one-way roads": one_way,
    "one point": lambda: mdp.PrecomputedMetric([[0.0]]),
    "table of costs": lambda: mdp.CostTable(
        np.random.default_rng(7).random((9, N)),
        sites=[f"s{i}" for i in range(9)],
        clients=[f"c{i}" for i in range(N)],
    ),
}


@pytest.mark.parametrize("name", UNIVERSES)
@pytest.mark.parametrize("unit", ["event", "user"])
def test_days_are_reported_in_the_universes_own_ids(name, unit, tmp_path):
    metric = UNIVERSES[name]()
    path = tmp_path / "days.stream"
    stream = mdp.Stream(metric, epsilon=4, horizon=3, unit=unit, path=path, recourse=1)
    k = min(2, len(metric))
    for day, size in (("monday", 300), ("tuesday", 0), ("wednesday", 50)):
        ids = [metric.ids[i % len(metric)] for i in range(size)]
        whose = {"user": list(range(size))} if unit == "user" else {}
        release = stream.step(mdp.PrivateDemand(metric, ids, **whose), day=day)
        found = stream.k_median(k)
        assert len(set(found.centers)) == k and set(found.centers) <= set(metric.sites)
        assert found.moved <= 1
    again = mdp.Stream.open(path, metric)
    reported = again.history(k)
    assert [list(day.centers) for day in reported][-1] == list(found.centers)
    assert [day.label for day in reported] == ["monday", "tuesday", "wednesday"]
    assert len(found.result.labels) == len(metric)
    assert found.result.to_columns()["center"] == list(found.centers)
    assert set(release.sample(20, seed=1)) <= set(metric.ids)
    if metric.sites is metric.ids:
        assert "wednesday" in days_page(metric, reported, receipt=again.receipt)
    else:
        refuses("have no places", days_page, metric, reported)
