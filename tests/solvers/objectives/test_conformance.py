"""Every objective inherits the tests of `metricdp.testing.ObjectiveTestCase`."""

import signal

import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers.objectives import OBJECTIVES
from metricdp.solvers.stopping import Deadline
from metricdp.testing import ObjectiveTestCase
from tests import naive_objectives as naive

o = mdp.objectives
LIMIT = 2.5


class TestKMedian(ObjectiveTestCase):
    objective = o.KMedian

    def value(self, costs, weights):
        return naive.sums(costs, weights, 1)


class TestKMeans(ObjectiveTestCase):
    objective = o.KMeans

    def value(self, costs, weights):
        return naive.sums(costs, weights, 2)


class TestKZ(ObjectiveTestCase):
    def objective(self, k):
        return o.KZ(k, z=3.5)

    def value(self, costs, weights):
        return naive.sums(costs, weights, 3.5)


class TestPCenter(ObjectiveTestCase):
    objective = o.PCenter

    def value(self, costs, weights):
        return naive.farthest(costs, weights)


class TestPDispersion(ObjectiveTestCase):
    objective = o.PDispersion

    def universes(self):
        return super().universes()[:2]  # a table has no distances between sites

    def value(self, costs, weights):
        return naive.least_distance(costs)


class TestMaxCoverage(ObjectiveTestCase):
    def objective(self, k):
        return o.MaxCoverage(k, LIMIT)

    def value(self, costs, weights):
        return naive.covered(costs, weights, LIMIT * (1 + 1e-9))


class TestBackupCoverage(ObjectiveTestCase):
    def objective(self, k):
        return o.BackupCoverage(k, LIMIT)

    def value(self, costs, weights):
        return naive.covered(costs, weights, LIMIT * (1 + 1e-9), (0.5, 0.5))


class TestSetCover(ObjectiveTestCase):
    def objective(self, k):
        return o.SetCover(LIMIT)

    def value(self, costs, weights):
        covered = (costs[:, weights > 0] <= LIMIT * (1 + 1e-9)).any(axis=0).all()
        return float(len(costs)) if covered else None


class TestFacilityLocation(ObjectiveTestCase):
    def objective(self, k):
        return o.FacilityLocation(3.0)

    def value(self, costs, weights):
        return naive.with_prices(costs, weights, [3.0] * len(costs))


class TestCapacitated(ObjectiveTestCase):
    def objective(self, k):
        return o.Capacitated(k, 14.0 / max(k, 1))

    def value(self, costs, weights):
        held = weights > 0
        room = np.full(len(costs), 14.0 / len(costs))
        return naive.within_room(costs[:, held], weights[held], weights[held], room)


class TestSingleSource(ObjectiveTestCase):
    def objective(self, k):
        return o.Capacitated(k, 16.0 / max(k, 1), single_source=True)

    def value(self, costs, weights):
        held = weights > 0
        room = np.full(len(costs), 16.0 / len(costs))
        return naive.within_room_whole(costs[:, held], weights[held], weights[held], room)


class TestMinimum(ObjectiveTestCase):
    def objective(self, k):
        return o.Capacitated(k, 14.0 / max(k, 1), minimum=5.0)

    def value(self, costs, weights):
        held = weights > 0
        costs, weights = costs[:, held], weights[held]
        return naive.service(costs * weights, None, weights, 14.0 / len(costs), 5.0)


class TestSizes(ObjectiveTestCase):
    def objective(self, k):
        return o.Capacitated(k, [o.Size(6.0), o.Size(13.0, cost=4.0, most=max(k - 1, 1))])

    def value(self, costs, weights):
        held, k = weights > 0, len(costs)
        costs, weights = costs[:, held], weights[held]
        sizes = [(6.0, 0.0, k), (13.0, 4.0, max(k - 1, 1))]
        return naive.sized(
            lambda room: naive.service(costs * weights, None, weights, room), k, sizes
        )


class TestFullCoverage(ObjectiveTestCase):
    def objective(self, k):
        return o.MaxCoverage(k, LIMIT, capacities=3.5)

    def value(self, costs, weights):
        return naive.covered_within_room(
            costs, weights, weights, np.full(len(costs), 3.5), LIMIT * (1 + 1e-9)
        )


class TestFullCenter(ObjectiveTestCase):
    def objective(self, k):
        return o.PCenter(k, capacities=14.0 / max(k, 1))

    def value(self, costs, weights):
        held = weights > 0
        room = np.full(len(costs), 14.0 / len(costs))
        return naive.farthest_within_room(costs[:, held], weights[held], room)


class TestEquity(ObjectiveTestCase):
    def objective(self, k):
        return o.Equity(k, kappa=0.4)

    def value(self, costs, weights):
        return naive.equal_distance(costs, weights, 0.4)


class TestOrderedMedian(ObjectiveTestCase):
    def objective(self, k):
        return o.OrderedMedian(k, share=0.3, blend=0.5)

    def value(self, costs, weights):
        return naive.ordered(costs, weights, 0.3, 0.5)


class TestNested(ObjectiveTestCase):
    def objective(self, k):
        return o.Nested([k])

    def value(self, costs, weights):
        return naive.sums(costs, weights, 1)


CASES = [c for c in ObjectiveTestCase.__subclasses__() if c.__module__ == __name__]


def test_every_objective_has_a_case():
    assert {type(case().objective(1)) for case in CASES} == set(OBJECTIVES.values())


@pytest.mark.parametrize("case", CASES)
def test_ctrl_c_at_once_returns_sites_and_a_bound(case, monkeypatch):
    """Without a time limit too; what was there before stays."""
    asked, metric, weights = case().objective(2), case().universes()[1], case().weights()[1]
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
    assert plan.value == pytest.approx(case().value(rows, weights))
