"""Every objective passes the tests of `metricdp.testing.ObjectiveTestCase`."""

import signal

import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers.objectives import OBJECTIVES
from metricdp.solvers.stopping import Deadline
from metricdp.testing import ObjectiveTestCase
from tests import naive_objectives as naive


def definition(name, k):
    return naive.definitions(k, limit=2.5, total=12.0)[name]


class TestObjectives(ObjectiveTestCase):
    """Each of the table in turn."""

    @pytest.fixture(autouse=True, params=naive.OBJECTIVES)
    def named(self, request):
        self.name = request.param

    def objective(self, k):
        return definition(self.name, k)[0]()

    def value(self, costs, weights):
        return definition(self.name, len(costs))[1](costs, weights)

    def universes(self):
        tables = self.name != "p-dispersion"  # they have no distances between sites
        return super().universes()[: 3 if tables else 2]

    def test_ctrl_c_at_once_returns_sites_and_a_bound(self, monkeypatch):
        """Without a time limit too; what was there before stays."""
        asked, metric, weights = self.objective(2), self.universes()[1], self.weights()[1]
        best = mdp.solve(metric, asked, weights=weights)
        enter, before = Deadline.__enter__, signal.getsignal(signal.SIGINT)

        def interrupted(self):
            found = enter(self)
            signal.raise_signal(signal.SIGINT)
            return found

        monkeypatch.setattr(Deadline, "__enter__", interrupted)
        plan = mdp.solve(metric, asked, weights=weights)
        assert signal.getsignal(signal.SIGINT) is before
        sign, slack = -1 if asked.maximized else 1, 1e-9 * abs(best.value)
        assert sign * best.value <= sign * plan.value + slack and np.isfinite(plan.value)
        assert plan.bound is None or sign * plan.bound <= sign * best.value + slack
        rows = metric.distance_rows(metric.site_positions(plan.centers))
        assert plan.value == pytest.approx(self.value(rows, weights))


def test_every_objective_has_a_case():
    tested = {type(definition(name, 1)[0]()) for name in naive.OBJECTIVES}
    assert tested == set(OBJECTIVES.values())
