"""Objectives where all pairs of site and client are too many to be listed: their answers beside
those of the listed pairs, values that are what the sites serve, and bounds that hold.
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.solving import instance_of
from metricdp.solvers.objectives import facility_location, instance, p_center, wide_center
from metricdp.solvers.objectives.sampled_cover import sampled_cover
from metricdp.solvers.programs import fewest_columns, greedy_columns
from tests import cases, refuses
from tests.solvers.objectives.universes import universes

o = mdp.objectives
METRICS, _rng = universes(12, 150)
ASKED = {"anywhere": {}, "opened": {"opened": [7, 21]}, "candidates": {"candidates": range(0, 90)}}
WEIGHTS = np.random.default_rng(5).integers(0, 4, 200).astype(float)


@pytest.fixture(params=sorted(METRICS))
def metric(request):
    return METRICS[request.param]


@pytest.fixture(params=sorted(ASKED))
def asked(request, metric):
    return {name: [metric.sites[i] for i in at] for name, at in ASKED[request.param].items()}


def is_allowed(plan, asked):
    centers = set(plan.centers)
    opened = set(asked.get("opened", []))
    return opened <= centers and ("candidates" not in asked or centers <= set(asked["candidates"]))


@cases(("by_site", "share"), (False, None), (True, None), (False, 0.3))
def test_capacities_are_kept_at_little_more_cost(metric, asked, by_site, share, monkeypatch):
    """Also within a limit, some share of the largest distance."""
    weights = WEIGHTS[: len(metric)]
    room = 1.15 * weights.sum() / 6
    rooms = {site: room * (1.2 if i % 2 else 0.9) for i, site in enumerate(metric.sites)}
    limit = None if share is None else share * float(np.max(metric.distance_rows([0])))
    objective = o.Capacitated(6, capacities=rooms if by_site else room, limit=limit)
    listed = mdp.solve(metric, objective, weights=weights, **asked, time_limit=0.4)
    monkeypatch.setattr(instance.Instance, "fits", False)
    plan = mdp.solve(metric, objective, weights=weights, **asked, time_limit=0.4)
    assert len(set(plan.centers)) == 6 and is_allowed(plan, asked)
    loads = plan.to_dict()["loads"]
    for center, load in zip(plan.centers, loads):
        assert load <= (rooms[center] if by_site else room) * (1 + 1e-9)
    assert limit is not None or sum(loads) == pytest.approx(weights.sum())
    assert listed.bound * (1 - 1e-9) <= plan.value <= 1.25 * listed.value


@pytest.mark.parametrize("alike", [True, False])
def test_opening_costs(metric, asked, alike, monkeypatch):
    weights = WEIGHTS[: len(metric)]
    scale = float(np.max(metric.distance_rows([0]))) * weights.sum() / 60
    costs = scale if alike else {x: scale * (1 + i % 3) for i, x in enumerate(metric.sites)}
    objective = o.FacilityLocation(costs)
    listed = mdp.solve(metric, objective, weights=weights, **asked)
    assert listed.gap <= 1e-6
    monkeypatch.setattr(instance.Instance, "fits", False)
    monkeypatch.setattr(facility_location, "_COARSE", 60)
    plan = mdp.solve(metric, objective, weights=weights, **asked)
    assert is_allowed(plan, asked) and plan.value == plan.compare(plan.centers)["other"]
    assert listed.value * (1 - 1e-9) <= plan.value <= 1.2 * listed.value
    assert plan.bound is None


@pytest.mark.parametrize("most", [6000, 20])
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_fewest_sites(metric, asked, share, most, monkeypatch):
    weights = WEIGHTS[: len(metric)]
    limit = share * float(np.max(metric.distance_rows([0])))
    try:
        listed = mdp.solve(metric, o.SetCover(limit), weights=weights, **asked)
    except mdp.InputError as error:
        assert "candidates" in asked
        refuses(str(error)[:20], few_listed, monkeypatch, most, metric, limit, weights, asked)
        return
    assert listed.gap == 0
    plan = few_listed(monkeypatch, most, metric, limit, weights, asked)
    assert is_allowed(plan, asked)
    clients = np.flatnonzero(weights > 0)
    assert metric.nearest(plan.centers)[1][clients].max() <= limit * (1 + 1e-6)
    assert plan.bound <= listed.value <= plan.value <= listed.value + 2


def test_fewest_sites_where_no_program_is_settled(monkeypatch):
    def unsettled(*args, **options):
        rows, bound, _ = fewest_columns(*args, **options)
        return greedy_columns(args[0]) if rows is None else rows, bound, False

    metric = mdp.EuclideanMetric(np.random.default_rng(1).random((90, 2)))
    best = mdp.solve(metric, o.SetCover(0.2))
    monkeypatch.setattr(p_center, "fewest_columns", unsettled)
    plan = few_listed(monkeypatch, 6000, metric, 0.2, np.ones(90), {})
    assert best.gap == 0 and plan.bound <= best.value <= plan.value <= best.value + 1
    assert metric.nearest(plan.centers)[1].max() <= 0.2 * (1 + 1e-6)


def few_listed(monkeypatch, most, metric, limit, weights, asked):
    monkeypatch.setattr(p_center, "_ALL_LISTED", 5)
    monkeypatch.setattr(p_center, "_FIRST_LISTED", 8)
    monkeypatch.setattr(p_center, "_MOST_LISTED", most)
    return mdp.solve(metric, o.SetCover(limit), weights=weights, **asked)


@cases("asked", mdp.objectives.FacilityLocation(3.0), mdp.objectives.Capacitated(3, 9.0), ids=str)
@pytest.mark.parametrize("shape", [(30, 20), (20, 30)])
def test_tables_of_which_not_all_costs_are_held(asked, shape, monkeypatch):
    """A table's sites are no clients: their numbers named clients that were others, or none."""
    table = mdp.CostTable(np.random.default_rng(2).random(shape) * 9)
    weights = np.ones(shape[1]) * (20 / shape[1])
    best = mdp.solve(table, asked, weights=weights).value
    monkeypatch.setattr(instance, "WHOLE_BLOCK", 3)
    plan = mdp.solve(table, asked, weights=weights)
    assert best <= plan.value * (1 + 1e-9)
    assert plan.value <= 2 * best
    assert plan.value == pytest.approx(plan.compare(plan.centers)["other"])


LARGE, _ = universes(24, 600)


@pytest.mark.parametrize("universe", sorted(LARGE))
@pytest.mark.parametrize("levels", [1, 2])
def test_near_the_best_with_a_bound_that_holds(universe, levels):
    metric = LARGE[universe]
    n = len(metric)
    weights = np.random.default_rng(3).integers(0, 5, n).astype(float)
    limit = float(np.quantile(metric.distances(metric.ids[:20]), 0.1))
    objective = (o.MaxCoverage(5, limit), o.BackupCoverage(5, limit, first=0.7))[levels - 1]
    exact = mdp.solve(metric, objective, weights=weights)
    instance = instance_of(metric, weights, opened=[metric.ids[3]])
    worth = objective._worth(instance)
    sites, bound = sampled_cover(instance, 5, limit, worth)
    assert len(set(sites.tolist())) == 5
    assert 3 in sites
    value = objective.judge(instance, sites).value
    assert value <= bound * (1 + 1e-9)
    free = instance_of(metric, weights)
    sites, bound = sampled_cover(free, 5, limit, worth)
    value = objective.judge(free, sites).value
    assert 0.8 * exact.value <= value <= exact.value * (1 + 1e-9) <= bound * (1 + 2e-9)


def test_more_sites_than_groups_of_them():
    metric = LARGE["points"]
    instance = instance_of(metric, np.ones(len(metric)))
    sites, bound = sampled_cover(instance, 60, 3.0, instance.weight[None, :])
    value = o.MaxCoverage(60, 3.0).judge(instance, sites).value
    assert len(set(sites.tolist())) == 60
    assert value <= bound * (1 + 1e-9)
    assert value >= 0.9 * mdp.solve(metric, o.MaxCoverage(60, 3.0)).value


WIDE, _draws = universes(12, 140)
WIDE["table"] = mdp.CostTable(_draws.random((40, 80)).round(3) * 100)
CHOICES = {
    "anywhere": {},
    "opened": {"opened": [7, 21]},
    "candidates": {"candidates": range(0, 40, 2)},
    "all opened": {"opened": [3, 8, 20, 31, 35]},
}


@pytest.mark.parametrize("choice", sorted(CHOICES))
@pytest.mark.parametrize("universe", sorted(WIDE))
def test_centers_near_the_best_with_a_bound_that_holds(universe, choice, monkeypatch):
    monkeypatch.setattr(wide_center, "_SAMPLE", 80)
    monkeypatch.setattr(wide_center, "_SECONDS", 100)  # looks at the clock, on any machine
    ticks = itertools.count()
    monkeypatch.setattr(wide_center, "time", SimpleNamespace(process_time=lambda: next(ticks)))
    metric = WIDE[universe]
    weights = np.random.default_rng(3).integers(0, 3, len(metric)).astype(float)
    wanted = {name: [metric.sites[i] for i in at] for name, at in CHOICES[choice].items()}
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
    assert plan.bound >= (0 if choice == "all opened" else 0.75) * exact.value


def test_prices_are_tried_when_time_and_memory_are_spent(monkeypatch):
    metric = WIDE["graph"]
    exact = mdp.solve(metric, o.PCenter(5)).value
    monkeypatch.setattr(p_center, "_LARGE", 10)
    monkeypatch.setattr(wide_center, "_MOST_PRICED", 0)
    monkeypatch.setattr(wide_center.WideSearch, "_out_of_time", lambda self, part: True)
    plan = mdp.solve(metric, o.PCenter(5))
    assert 0.6 * exact <= plan.bound <= exact * (1 + 1e-9)


def test_costs_of_which_the_least_is_nearly_the_largest(monkeypatch):
    """Within a little less no site reaches anybody, and no prices are to be found."""
    monkeypatch.setattr(p_center, "_LARGE", 10)
    monkeypatch.setattr(wide_center, "_SECONDS", 0.5)
    table = mdp.CostTable(600.0 + np.random.default_rng(1).integers(0, 9, (30, 40)))
    plan = mdp.solve(table, o.PCenter(3))
    assert plan.value == plan.compare(plan.centers)["other"] and plan.bound <= plan.value <= 608


def test_exchanges_reach_scattered_demand_too():
    metric = WIDE["graph"]
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
