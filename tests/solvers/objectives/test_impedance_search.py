"""Impedances on graphs whose distances are not held, against the block of all of them."""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers import kmedian
from metricdp.solvers.objectives import instance
from metricdp.solvers.objectives.impedances import Impedance
from metricdp.solvers.objectives.instance import Instance
from metricdp.solvers.objectives.medians import chosen_by_impedance
from tests.solvers.objectives.universes import universes

METRICS, RNG = universes(12, 5)
WEIGHTS = RNG.integers(0, 9, 144).astype(float)
o = mdp.objectives
ASKED = {"kz": o.KZ(5, z=3), "limit": o.KMedian(5, limit=12), "equity": o.Equity(5)}


def searched_along_edges(monkeypatch):
    """No block of distances is small enough to be held."""
    for module in (instance, kmedian):
        monkeypatch.setattr(module, "WHOLE_BLOCK", 0)


@pytest.mark.extended
@pytest.mark.parametrize("asked", sorted(ASKED))
@pytest.mark.parametrize("universe", ["graph", "one-way"])
def test_as_good_as_on_the_block(universe, asked, monkeypatch):
    metric = METRICS[universe]
    some = {"opened": [metric.ids[7]], "forbidden": list(metric.ids[20:30])}
    best = mdp.solve(metric, ASKED[asked], weights=WEIGHTS, **some)
    searched_along_edges(monkeypatch)
    found = mdp.solve(metric, ASKED[asked], weights=WEIGHTS, **some)
    assert found.centers[0] == metric.ids[7] and not set(found.centers) & set(some["forbidden"])
    assert best.value * (1 - 1e-9) <= found.value <= best.value * 1.05


@pytest.mark.parametrize("universe", ["graph", "one-way"])
def test_no_exchange_with_a_neighbor_helps(universe, monkeypatch):
    searched_along_edges(monkeypatch)
    metric = METRICS[universe]
    all_ = np.arange(len(metric))
    costs = metric.distance_rows(all_)
    impedance = Impedance(growth=0.2)
    asked = Instance(metric, WEIGHTS, all_)
    first = np.array([0, 1, 2, 3])
    sites = chosen_by_impedance(asked, 4, impedance, prove=False, first=first).sites

    def cost(of):
        return float(WEIGHTS @ impedance(costs[of].min(axis=0)))

    for t in range(4):
        for v in np.setdiff1d(all_, sites):
            assert cost(np.r_[np.delete(sites, t), v]) >= cost(sites) * (1 - 1e-6)
