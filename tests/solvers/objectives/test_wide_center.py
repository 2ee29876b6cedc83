"""p-center of large universes: on small ones the bound holds, and sites are as good as said."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.solving import instance_of
from metricdp.solvers.objectives import p_center, wide_center
from tests.solvers.objectives.universes import universes

o = mdp.objectives


METRICS, _rng = universes(12, 140)
METRICS["table"] = mdp.CostTable(_rng.random((40, 80)).round(3) * 100)
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
    monkeypatch.setattr(wide_center, "_SECONDS", 100)  # looks at the clock, on any machine
    ticks = itertools.count()
    monkeypatch.setattr(wide_center, "time", SimpleNamespace(process_time=lambda: next(ticks)))
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


def test_costs_of_which_the_least_is_nearly_the_largest(monkeypatch):
    """Within a little less no site reaches anybody, and no prices are to be found."""
    monkeypatch.setattr(p_center, "_LARGE", 10)
    monkeypatch.setattr(wide_center, "_SECONDS", 0.5)
    table = mdp.CostTable(600.0 + np.random.default_rng(1).integers(0, 9, (30, 40)))
    plan = mdp.solve(table, o.PCenter(3))
    assert plan.value == plan.compare(plan.centers)["other"] and plan.bound <= plan.value <= 608


def test_exchanges_reach_scattered_demand_too():
    metric = METRICS["graph"]
    everywhere = np.arange(len(metric))
    differing = metric.distance_rows(everywhere)
    search = wide_center.WideSearch(instance_of(metric, np.ones(len(metric))), everywhere, 5)
    search._end = np.inf
    radius = search.lists.radius = 1.3 * mdp.solve(metric, o.PCenter(5)).value
    search._add_lists([0, 100])
    search._add_extra_clients()
    sites = search._cover(radius, np.arange(5))
    assert len(search._extra) > 50
    assert (differing[sites][:, search._extra].min(axis=0) <= radius).all()
