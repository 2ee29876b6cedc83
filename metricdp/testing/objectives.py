"""Conformance tests of objectives, to inherit."""

from __future__ import annotations

import math
import pickle
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from metricdp.arguments import Floats
from metricdp.errors import InputError
from metricdp.methods.solving import solve
from metricdp.metrics import CostTable, EuclideanMetric, Metric
from metricdp.metrics.graph import GraphMetric
from metricdp.solvers.objectives import OBJECTIVES
from metricdp.solvers.objectives.objective import Objective

_PLACES = 7  # few enough to enumerate all choices of sites


class ObjectiveTestCase:
    """Pytest class that compares an objective's solutions, values and bounds with its definition.

    Inherit it, and define `objective` and `value`. All choices of sites are enumerated on small
    graphs, points and cost tables.

    Examples
    --------
    >>> class TestMine(ObjectiveTestCase):
    ...     def objective(self, k):
    ...         return mdp.objectives.KMedian(k)
    ...
    ...     def value(self, costs, weights):
    ...         return float(weights @ costs.min(axis=0))
    >>> TestMine().test_it_is_registered()
    """

    def objective(self, k: int) -> Objective:
        """The objective to be tested, for about k sites."""
        raise NotImplementedError("define the objective: def objective(self, k): return …")

    def value(self, costs: Floats, weights: Floats) -> float | None:
        """The value of some sites by the definition, from costs (k, n); None if infeasible."""
        raise NotImplementedError("define the value: def value(self, costs, weights): …")

    def universes(self) -> list[Metric]:
        """A path graph with ties, points with a duplicate, and an asymmetric cost table."""
        import networkx as nx

        rng = np.random.default_rng(5)
        road = GraphMetric(nx.grid_2d_graph(1, _PLACES), weight=None)
        places = rng.uniform(0, 6, (_PLACES, 2)).round(1)
        places[-1] = places[0]
        sites = [f"s{i}" for i in range(_PLACES)]
        clients = [f"c{i}" for i in range(_PLACES)]
        table = CostTable(rng.uniform(0, 6, (_PLACES, _PLACES)), sites=sites, clients=clients)
        return [road, EuclideanMetric(places), table]

    def weights(self) -> list[Floats]:
        """Unit weights, and unequal ones with a zero."""
        return [np.ones(_PLACES), np.array([3.0, 0.0, 1.0, 2.5, 1.0, 4.0, 0.5])]

    def test_it_is_registered(self) -> None:
        """The objective is registered under its own name, and equals its pickled copy."""
        asked = self.objective(2)
        assert OBJECTIVES[asked.name] is type(asked)
        assert pickle.loads(pickle.dumps(asked)) == asked
        assert asked.arcgis and asked.spopt

    @pytest.mark.parametrize("k", [1, 2])
    def test_it_is_as_good_as_any_choice(self, k: int) -> None:
        """The solution's value is right and optimal, and the bound is valid."""
        for metric in self.universes():
            for weights in self.weights():
                self._against_all(metric, weights, k)

    def test_it_judges_what_it_did_not_choose(self) -> None:
        """`compare` gives other sites their value by the definition."""
        metric, weights = self.universes()[1], self.weights()[1]
        plan = solve(metric, self.objective(2), weights=weights)
        others = [metric.sites[i] for i in (1, 4)]
        judged = plan.compare(others)["other"]
        value = self.value(metric.distance_rows(np.array([1, 4])), weights)
        if value is not None and math.isfinite(value):
            assert judged == pytest.approx(value, rel=1e-9, abs=1e-9)

    def test_bad_numbers_of_sites_are_refused(self) -> None:
        """k = 0, and k beyond the number of sites."""
        metric = self.universes()[0]
        asked: Any
        for k in (0, _PLACES + 1):
            try:
                asked = self.objective(k)
            except InputError:
                continue
            if hasattr(asked, "k"):
                with pytest.raises(InputError):
                    solve(metric, asked)

    def _against_all(self, metric: Metric, weights: Floats, k: int) -> None:
        asked = self.objective(k)
        rows = metric.distance_rows(np.arange(len(metric.sites)))
        number = range(1, _PLACES + 1) if not hasattr(asked, "k") else [k]
        choices = (s for n in number for s in combinations(range(len(rows)), n))
        values = [self.value(rows[list(sites)], weights) for sites in choices]
        known = [v for v in values if v is not None and math.isfinite(v)]
        if not known:
            with pytest.raises(InputError):
                solve(metric, asked, weights=weights)
            return
        best = (max if asked.maximized else min)(known)
        plan = solve(metric, asked, weights=weights)
        sites = metric.site_positions(plan.centers)
        slack = 1e-6 * abs(best) + 1e-9
        own = self.value(rows[sites], weights)
        assert own is not None and plan.value is not None and abs(plan.value - own) <= slack
        assert abs(plan.value - best) <= slack
        if plan.bound is not None:
            assert (plan.bound - best) * (1 if asked.maximized else -1) >= -slack
