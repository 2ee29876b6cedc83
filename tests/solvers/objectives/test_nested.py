"""Stages of an expansion, against all chains of small universes."""

from itertools import combinations

import numpy as np
import pytest

import metricdp as mdp
from tests import everything, grid_metric, naive, path_metric

o = mdp.objectives


def least_price(metric, weights, first, last):
    """The smallest possible largest price of two stages."""
    costs = everything(metric)
    best = [naive.best_centers(costs, weights, k)[1] for k in (first, last)]
    return min(
        max(naive.cost(costs, weights, few) / best[0], naive.cost(costs, weights, many) / best[1])
        for many in combinations(range(len(metric)), last)
        for few in combinations(many, first)
    )


@pytest.mark.parametrize("seed", range(6))
def test_stages_are_nested_priced_and_near_the_best_chain(seed):
    rng = np.random.default_rng(seed)
    metric, weights = mdp.EuclideanMetric(rng.random((9, 2))), rng.integers(1, 9, 9).astype(float)
    plan = mdp.solve(metric, o.Nested([3, 1]), weights=weights)
    one, three = plan.stages
    assert (one.k, three.k, plan.k) == (1, 3, 3) and len(set(plan.centers)) == 3
    for stage in plan.stages:
        at = metric.positions(plan.centers[: stage.k])
        own = naive.cost(everything(metric), weights, at)
        assert stage.value == pytest.approx(own)
        assert stage.price == pytest.approx(own / stage.best)
        assert stage.bound <= stage.best * (1 + 1e-9)
    assert plan.value == three.value
    least = least_price(metric, weights, 1, 3)
    assert least - 1e-9 <= max(one.price, three.price) <= 1.15 * least


def test_the_order_of_all_openings_keeps_what_is_open():
    plan = mdp.solve(grid_metric(5, 5), o.Nested(range(1, 6)), opened=[(0, 0)], forbidden=[(2, 2)])
    assert plan.centers[0] == (0, 0) and (2, 2) not in plan.centers
    assert [stage.k for stage in plan.stages] == [1, 2, 3, 4, 5]
    values = [stage.value for stage in plan.stages]
    assert values == sorted(values, reverse=True)
    assert plan.to_dict()["stages"][0]["price"] == 1.0


def test_coverage_grows_in_stages():
    metric = path_metric(30)
    asked = o.Nested([1, 3], of=lambda k: o.MaxCoverage(k, limit=3))
    plan = mdp.solve(metric, asked)
    assert asked.maximized and [stage.value for stage in plan.stages] == [7.0, 21.0]
    assert [stage.price for stage in plan.stages] == [1.0, 1.0]
    assert plan.value == 21.0 and plan.served == 21.0


def test_a_release_answers_in_stages():
    metric = path_metric(20)
    release = mdp.release(metric, mdp.PrivateDemand(metric, [3] * 900 + [15] * 500), epsilon=4)
    plan = release.solve(o.Nested([1, 2]))
    assert plan.noisy and plan.centers[0] in range(1, 17) and len(plan.stages) == 2


def test_stages_with_sizes_report_the_capacity_of_each_site():
    metric = path_metric(9)
    sizes = [o.Size(2.0), o.Size(7.0, most=1)]
    plan = mdp.solve(metric, o.Nested([2, 3], of=lambda k: o.Capacitated(k, sizes)))
    rows = plan.to_frame(assignments=True)
    assert sorted(plan.capacities) == [2.0, 2.0, 7.0]
    assert all(np.less_equal(list(plan.loads.values()), plan.capacities))
    assert plan.value == pytest.approx((rows["distance"] * rows["share"]).sum())


def test_only_the_stages_alone_are_proved(monkeypatch):
    """Chains between them are searched dozens of times, and their bounds were thrown away."""
    from metricdp.solvers.objectives import medians

    proved = []
    certify = medians.certify
    monkeypatch.setattr(medians, "certify", lambda *a, **o: proved.append(a) or certify(*a, **o))
    plan = mdp.solve(grid_metric(5, 5), mdp.objectives.Nested(ks=[2, 4, 6]))
    assert len(proved) == 3 and all(stage.bound for stage in plan.stages)
