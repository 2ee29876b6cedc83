"""Opening costs where most service is far too dear: sites must form a cover."""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers.objectives import facility_location


def test_a_hidden_cover_is_found():
    """Twelve sites serve all; the others overlap, and local exchanges end with more sites."""
    rng = np.random.default_rng(0)
    n, few = 96, 8
    costs = np.full((120, n), 1e6)
    parts = rng.permutation(n).reshape(-1, few)
    decoys = np.array([rng.permutation(n)[:few] for _ in range(len(costs) - len(parts))])
    for site, members in zip(rng.permutation(len(costs)), [*parts, *decoys]):
        costs[site, members] = rng.integers(0, 5, few)
    objective = mdp.objectives.FacilityLocation(3000)
    plan = mdp.solve(mdp.CostTable(costs), objective)
    assert len(plan.centers) == len(parts)
    assert plan.bound <= plan.value <= 3000 * len(parts) + 4 * n


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_bounds_far_off_are_raised_by_branches(seed, equal, monkeypatch):
    """Without HiGHS, whose optimum it then is."""
    rng = np.random.default_rng(seed)
    costs = np.where(rng.random((40, 40)) < 0.15, rng.integers(0, 5, (40, 40)), 1e6)
    costs[np.arange(40), np.arange(40)] = 1.0
    prices = np.full(40, 3000.0) if equal else rng.integers(2000, 4000, 40).astype(float)
    metric, objective = mdp.CostTable(costs), mdp.objectives.FacilityLocation(prices)
    monkeypatch.setattr(facility_location, "_WIDE_GAP", 1.0)
    exact = mdp.solve(metric, objective, opened=[0, 7])
    monkeypatch.setattr(facility_location, "_WIDE_GAP", 0.0)
    monkeypatch.setattr(facility_location.OpeningSearch, "_integer_program", None)
    plan = mdp.solve(metric, objective, opened=[0, 7])
    assert exact.gap == plan.gap == 0
    assert plan.value == pytest.approx(exact.value)


def test_the_least_numbers_end_branches():
    """Below 1e-320 sums are so coarse that bounds stay where they are."""
    rng = np.random.default_rng(8)
    points, weights = rng.integers(0, 5, (6, 2)), rng.integers(0, 4, 6) * 5e-324
    objective = mdp.objectives.FacilityLocation(1e-323)
    plan = mdp.solve(mdp.ManhattanMetric(points), objective, weights=weights)
    assert 0 < plan.bound <= plan.value < 1e-321


def test_no_program_that_would_outlast_the_time_limit(monkeypatch):
    """HiGHS takes several times its limit where most of these 490,000 pairs are left."""
    sizes = []

    def answered(question, deadline):
        sizes.append(len(question.entries.cost))
        return None, 0.0

    monkeypatch.setattr(facility_location, "answered", answered)
    rng = np.random.default_rng(0)
    metric = mdp.EuclideanMetric(rng.random((700, 2)))
    asked = mdp.objectives.FacilityLocation(2.0)
    plan = mdp.solve(metric, asked, weights=rng.integers(1, 9, 700), time_limit=1.5)
    assert max(sizes, default=0) <= 100_000 and plan.bound <= plan.value
