"""Coverage where pairs are not listed: values are what the sites cover, and the bound holds."""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.solving import instance_of
from metricdp.solvers.objectives.sampled_cover import sampled_cover
from tests.solvers.objectives.universes import universes

o = mdp.objectives


METRICS, _ = universes(24, 600)


@pytest.mark.parametrize("universe", sorted(METRICS))
@pytest.mark.parametrize("levels", [1, 2])
def test_near_the_best_with_a_bound_that_holds(universe, levels):
    metric = METRICS[universe]
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
    metric = METRICS["points"]
    instance = instance_of(metric, np.ones(len(metric)))
    sites, bound = sampled_cover(instance, 60, 3.0, instance.weight[None, :])
    value = o.MaxCoverage(60, 3.0).judge(instance, sites).value
    assert len(set(sites.tolist())) == 60
    assert value <= bound * (1 + 1e-9)
    assert value >= 0.9 * mdp.solve(metric, o.MaxCoverage(60, 3.0)).value
