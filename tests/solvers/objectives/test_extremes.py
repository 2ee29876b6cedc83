"""Powers and aversions so large that costs leave single precision, against all choices of sites."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError

o = mdp.objectives
PATH = mdp.GraphMetric(nx.path_graph(8), weight=None)
COSTS = PATH.distances(PATH.ids)
WEIGHTS = np.array([3.0, 0, 1, 1, 50, 0, 2, 1])


def level(distance, kappa):
    """The Kolm–Pollak equivalent, summed relative to the largest."""
    counted = WEIGHTS > 0
    most = distance[counted].max()
    terms = WEIGHTS[counted] @ np.exp(kappa * (distance[counted] - most))
    return most + np.log(terms / WEIGHTS.sum()) / kappa


def best(value, k=2):
    return min(value(COSTS[list(rows)].min(axis=0)) for rows in combinations(range(8), k))


@pytest.mark.parametrize("kappa", [0.01, 1.0, 7.0, 12.0, 300.0, 1e9])
def test_aversion_without_overflow(kappa):
    plan = mdp.solve(PATH, o.Equity(2, kappa=kappa), weights=WEIGHTS)
    found = COSTS[PATH.positions(plan.centers)].min(axis=0)
    assert plan.value == pytest.approx(level(found, kappa), rel=1e-9)
    assert plan.value == pytest.approx(best(lambda d: level(d, kappa)), rel=1e-9)
    assert plan.gap <= 1e-3  # bounds of costs of many digits
    assert plan.compare(plan.centers)["ratio"] == pytest.approx(1)


@pytest.mark.parametrize("z", [3, 30, 50, 250])
def test_powers_without_overflow(z):
    plan = mdp.solve(PATH, o.KZ(2, z), weights=WEIGHTS)
    assert plan.value == pytest.approx(best(lambda d: float(WEIGHTS @ d**z)), rel=1e-9)


def test_powers_that_cannot_be_told_apart():
    with pytest.raises(InputError, match="z=1e\\+06 is too large: distances of up to"):
        mdp.solve(PATH, o.KZ(2, 1e6))
