"""Every objective passes the tests of `metricdp.testing.ObjectiveTestCase`."""

import signal

import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers import kmedian
from metricdp.solvers.objectives import OBJECTIVES, instance
from metricdp.solvers.objectives.impedances import Impedance
from metricdp.solvers.objectives.instance import Instance
from metricdp.solvers.objectives.medians import chosen_by_impedance
from metricdp.solvers.stopping import Deadline
from metricdp.testing import ObjectiveTestCase
from tests import naive_objectives as naive
from tests import path_metric
from tests.solvers.objectives.universes import universes


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
        # tables have no distances between sites; of some each choice is a program
        without = self.name in ("p-dispersion", "sizes", "full center", "full coverage")
        return super().universes()[: 2 if without else 3]

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
    assert {type(definition(name, 1)[0]()) for name in naive.OBJECTIVES} == set(OBJECTIVES.values())


# Powers and aversions so large that costs leave single precision, against all choices of sites


o = mdp.objectives
PATH = path_metric(8)
COSTS = PATH.distances(PATH.ids)
WEIGHTS = np.array([3.0, 0, 1, 1, 50, 0, 2, 1])


@pytest.mark.parametrize("kappa", [0.01, 1.0, 7.0, 12.0, 300.0, 1e9])
def test_aversion_without_overflow(kappa):
    def level(rows):
        return naive.equal_distance(rows, WEIGHTS, kappa)

    plan = mdp.solve(PATH, o.Equity(2, kappa=kappa), weights=WEIGHTS)
    assert plan.value == pytest.approx(level(COSTS[PATH.positions(plan.centers)]), rel=1e-9)
    assert plan.value == pytest.approx(naive.best_of(level, COSTS, 2, range(8)), rel=1e-9)
    assert plan.gap <= 1e-3  # bounds of costs of many digits
    assert plan.compare(plan.centers)["ratio"] == pytest.approx(1)


@pytest.mark.parametrize("z", [3, 30, 50, 250])
def test_powers_without_overflow(z):
    plan = mdp.solve(PATH, o.KZ(2, z), weights=WEIGHTS)
    best = naive.best_of(lambda rows: naive.sums(rows, WEIGHTS, z), COSTS, 2, range(8))
    assert plan.value == pytest.approx(best, rel=1e-9)


def crowded(kind, mean, times):
    """Three sites of hardly enough room for so much on average, all in another unit."""
    share = mean * times
    if kind == "sizes":
        return o.Capacitated(3, [o.Size(0.77 * share), o.Size(1.76 * share, 0.25 * share, 2)])
    if kind == "coverage":
        return o.MaxCoverage(3, 2.0, capacities=0.8 * share)
    least = 0.85 * share if kind == "minimum" else 0.0
    return o.Capacitated(3, 1.2 * share, single_source=kind == "whole", minimum=least)


@pytest.mark.parametrize("kind", ["shared", "whole", "minimum", "sizes", "coverage"])
@pytest.mark.parametrize("seed", [10, pytest.param(5, marks=pytest.mark.extended)])
def test_units_of_demand_do_not_matter(seed, kind):
    """HiGHS's tolerances are absolute: beside loads of 1e-12 it saw neither room nor cost, and
    proved what was not so.
    """
    rng = np.random.default_rng(seed)
    metric = mdp.ManhattanMetric(rng.integers(0, 6, (9, 2)).astype(float))
    weights = rng.integers(1, 9, 9).astype(float)
    plain = mdp.solve(metric, crowded(kind, weights.mean() * 3, 1.0), weights=weights)
    for times in (2.0**-40, 2.0**90):
        plan = mdp.solve(metric, crowded(kind, weights.mean() * 3, times), weights=weights * times)
        assert plan.value == pytest.approx(plain.value * times, rel=1e-9)
        assert plan.bound == pytest.approx(plain.bound * times, rel=1e-5)
        rooms = np.array(plan.capacities)
        assert (np.array(list(plan.loads.values())) <= rooms * (1 + 1e-9)).all()


@pytest.mark.parametrize("single_source", [False, True])
def test_a_client_without_load_is_served_all_the_same(single_source):
    table = mdp.CostTable([[2.0], [5.0]])
    asked = o.PCenter(1, capacities=1.0, single_source=single_source)
    plan = mdp.solve(table, asked, weights=[1.0], loads=[0.0])
    assert (plan.value, plan.bound, plan.centers) == (2.0, 2.0, [0])


# Impedances on graphs whose distances are not held, against the block of all of them


METRICS, RNG = universes(12, 5)
SOME = RNG.integers(0, 9, 144).astype(float)
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
    best = mdp.solve(metric, ASKED[asked], weights=SOME, **some)
    searched_along_edges(monkeypatch)
    found = mdp.solve(metric, ASKED[asked], weights=SOME, **some)
    assert found.centers[0] == metric.ids[7] and not set(found.centers) & set(some["forbidden"])
    assert best.value * (1 - 1e-9) <= found.value <= best.value * 1.05


@pytest.mark.parametrize("universe", ["graph", "one-way"])
def test_no_exchange_with_a_neighbor_helps(universe, monkeypatch):
    searched_along_edges(monkeypatch)
    metric = METRICS[universe]
    all_ = np.arange(len(metric))
    costs = metric.distance_rows(all_)
    impedance = Impedance(growth=0.2)
    asked = Instance(metric, SOME, all_)
    first = np.array([0, 1, 2, 3])
    sites = chosen_by_impedance(asked, 4, impedance, prove=False, first=first).sites

    least = SOME @ impedance(costs[sites].min(axis=0))
    for t in range(4):  # all vertices in place of each site
        served = np.minimum(costs, costs[np.delete(sites, t)].min(axis=0))
        assert (impedance(served) @ SOME).min() >= least * (1 - 1e-6)
