"""How often the default rounds, what that costs, and that it pays where demand is in few places."""

from fractions import Fraction
from functools import cache

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.finite import rounds
from metricdp.methods.finite.rounds import few_in_plane, last_round, number_of_parts, planned
from metricdp.partitions.finite.ward import hierarchy
from tests import grid_metric


@pytest.mark.parametrize("plan", [rounds.ONE, rounds.TWO, rounds.POINTS, rounds.THREE, rounds.FAST])
def test_shares_add_up_and_rounds_get_finer(plan):
    assert sum(each.share for each in plan) == 1
    assert [each.finer for each in plan] == sorted(each.finer for each in plan)


def test_more_records_for_the_noise_more_rounds():
    assert planned(-1e9, 1.0, 9.0) == planned(100, 1.0, 9.0) == rounds.ONE
    assert planned(1000, 10.0, 9.0) == rounds.ONE
    assert planned(1000, 1.0, 2.0) == planned(1e9, 1.0, 2.0) == rounds.THREE
    assert planned(300, 1.0, 2.0) == planned(999, 1.0, 2.0) == rounds.POINTS
    assert planned(200, 1.0, 9.0) == planned(400, 1.0, 9.0) == rounds.THREE
    assert planned(1e9, 1.0, float("inf")) == rounds.FAST
    assert number_of_parts(1e300, 1.0, 16.0) == rounds.MOST_PARTS
    assert number_of_parts(1e4, 2.0) == number_of_parts(1e5, 20.0)


def test_few_records_in_a_plane_have_finer_parts_and_typical_splits():
    for records, times in ((-5.0, 1.0), (50.0, 1.0), (75.0, 1.5), (119.0, 2.38)):
        (each,) = planned(10 * records, 10.0, 2.0)
        assert each.share == 1 and each.finer == pytest.approx(times)
    assert planned(120, 1.0, 2.0) == rounds.TWO and len(planned(119, 1.0, 2.0)) == 1
    some = (999, 3.0), (1000, 3.0), (50, 3.1)
    assert [few_in_plane(n, 1.0, d) for n, d in some] == [1, 0, 0]


@pytest.mark.parametrize("scale", [0.3, 5.0, 400.0])
@pytest.mark.parametrize("uneven", [0.0, 0.03, 0.4])
def test_a_last_round_splits_what_tells_two_units_of_its_noise(uneven, scale):
    each = last_round(Fraction(4, 5), uneven, scale)
    records = each.least * scale
    assert each.share == Fraction(4, 5) and not each.points
    assert uneven * records + 0.4 * records**0.5 == pytest.approx(2 * scale)


@pytest.mark.parametrize(("even", "rounds"), [(True, 2), (False, 3)])
def test_even_demand_is_looked_at_twice(even, rounds):
    """The first of three rounds finds demand spread, or on one place of the grid."""
    metric = grid_metric(40, 40)
    places = list(metric.ids) if even else [(3, 4), (31, 20)]
    demand = mdp.PrivateDemand(metric, places * (3200 // len(places)))
    release = mdp.release(metric, demand, epsilon=1)
    assert len(release.histograms) == rounds
    assert sum(h.receipt.mechanisms[0].epsilon for h in release.histograms) == Fraction(19, 20)


def test_light_parts_are_not_split():
    metric = mdp.EuclideanMetric(np.arange(64.0)[:, None])
    density = np.full(64, 0.1 / 63)
    density[5] = 0.9
    whole = hierarchy(metric)
    parts = whole.cut(64, density, 0.2)
    assert (parts.labels == parts.labels[5]).sum() == 1 and parts.n_parts < 16
    points = whole.cut(64, density, 0.2, np.arange(64) < 10)
    assert len(set(points.labels[:10])) == 10 and points.n_parts < 32
    assert whole.cut(64, density).n_parts == 64 and whole.cut(64, None, 0.2).n_parts == 64


@cache
def heavy() -> tuple[mdp.GraphMetric, np.ndarray]:
    """A social network, three quarters of the records on eight people, the rest anywhere."""
    metric = mdp.GraphMetric(nx.powerlaw_cluster_graph(3000, 3, 0.3, seed=2), weight=None)
    rng = np.random.default_rng(4)
    people = rng.choice(np.arange(100, 3000), 8, replace=False)
    return metric, np.r_[np.repeat(people, 225), rng.integers(0, 3000, 600)]


def test_the_rounds_are_on_the_ledger():
    metric, records = heavy()
    demand, ledger = mdp.PrivateDemand(metric, records.tolist()), mdp.Ledger(2)
    release = mdp.release(metric, demand, epsilon="3/2", ledger=ledger)
    assert ledger.left == Fraction(1, 2)
    assert sum(m.epsilon for m in release.receipt.mechanisms) == release.receipt.epsilon
    assert release.receipt.epsilon == Fraction(3, 2)
    assert len(release.histograms) == 3 and release.histogram is release.histograms[-1]
    assert abs(release.weights.sum() - 2400) < 600
    expected = {len(h.values) for h in release.histograms}
    assert {h.query.n_parts for h in release.histograms} == expected


@pytest.mark.extended
def test_people_on_whom_many_records_stand_are_found():
    metric, records = heavy()
    demand = mdp.PrivateDemand(metric, records.tolist())
    weights = np.bincount(records, minlength=3000)
    found = metric.positions(mdp.release(metric, demand, epsilon=4).k_median(8).centers)
    best = metric.positions(mdp.k_median(metric, k=8, weights=weights).centers)
    cost = [float(weights @ metric.nearest_to(at)[1]) for at in (found, best)]
    assert cost[0] < 1.1 * cost[1]
    assert len(set(found) & set(np.argsort(-weights)[:8])) >= 7


@pytest.mark.extended
@pytest.mark.parametrize("per_place", [150, 900])
def test_heavy_places_of_a_road_network_are_found(per_place):
    """Four cells of a grid hold all records: 150 are 57 units of the last round's noise.

    The chance that one of them is not found is below 1e-9.
    """
    metric = grid_metric(60, 60)
    places = [(7, 9), (7, 50), (33, 12), (41, 44)]
    demand = mdp.PrivateDemand(metric, [at for at in places for _ in range(per_place)])
    assert sorted(mdp.release(metric, demand, epsilon=1).k_median(4).centers) == places
