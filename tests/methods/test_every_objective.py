"""Every objective on releases of every kind, and on boxes, against all choices of sites."""

from itertools import combinations

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods import solving
from metricdp.methods.box import quadtree
from tests import naive_objectives as naive
from tests import path_metric, refuses

o = mdp.objectives
PLACES = 9
SPACES = {d: mdp.EuclideanSpace([0.0] * d, [10.0] * d) for d in (1, 2, 5)}
METRIC = path_metric(list("abcdefghi"))


def _demand():
    return mdp.PrivateDemand(METRIC, ["c"] * 400 + ["h"] * 250)


def _local():
    public = mdp.local.public_parameters(METRIC, epsilon=4, users=1000, k=2)
    messages = mdp.local.simulated_messages(public, ["c", "h"] * 500)
    return mdp.local.Decoder(public).fit(messages).release(METRIC)


def _boxed(method, dimension):
    space = SPACES[dimension]
    rng = np.random.default_rng(1)
    groups = [rng.normal(at, 0.3, (n, dimension)) for at, n in ((3, 400), (7, 250))]
    demand = mdp.PrivateDemand(space, np.concatenate(groups))
    if method == "release":
        return mdp.release(space, demand, epsilon=2)
    return mdp.k_median(space, demand, k=2, epsilon=2, delta=1e-6, method=method).release


FINITE = {
    "partition": lambda: mdp.release(METRIC, _demand(), epsilon=2),
    "hst": lambda: mdp.k_median(METRIC, _demand(), k=2, epsilon=2, method="hst").release,
    "max-coverage": lambda: (
        mdp.k_median(METRIC, _demand(), k=2, epsilon=2, delta=1e-6, method="max-coverage").release
    ),
    "stream": lambda: mdp.Stream(METRIC, epsilon=2, horizon=2).step(_demand()),
    "local": _local,
}
BOXED = [("release", 1), ("release", 5), ("coreset", 1), ("quadtree", 2), ("lsh", 2)]
BOXES = {f"{method}, {d} dimensions": (method, d) for method, d in BOXED}
UNIVERSES = ["box", *FINITE, *BOXES]


SAVED = ["partition, saved", "coreset, 1 dimensions, saved", "quadtree, 2 dimensions, saved"]
CASES = [name for name in naive.OBJECTIVES if name != "single source"]  # noise may find it no room
ALL = ("box", "partition")
SOME = ("k-median", "p-center", "max-coverage", "capacitated", "facility-location")
PAIRS = [(name, case) for name in UNIVERSES for case in (CASES if name in ALL else SOME)]
PAIRS += [(name, "capacitated") for name in SAVED]
"""Releases differ in points and weights: what is asked of each kind has a search of its own."""


@pytest.fixture(scope="module")
def universe(request, tmp_path_factory):
    """What `metricdp.solve` is asked about."""
    name = request.param.removesuffix(", saved")
    with pytest.MonkeyPatch.context() as patch:
        _shrink(patch)
        found = FINITE[name]() if name in FINITE else None
        if name in BOXES:
            found = _boxed(*BOXES[name])
        if name == "box":
            return SPACES[2]
    if request.param != name:
        path = tmp_path_factory.mktemp("saved") / "homes.release"
        found.save(path)
        return mdp.Release.load(path, METRIC if found.space is None else found.space)
    return found


def _shrink(patch):
    """Few places in boxes: all choices of them can be tried."""
    patch.setattr(solving, "NET_POINTS", PLACES)
    patch.setattr(solving, "_BOX_PLACES", PLACES)
    patch.setattr(quadtree, "POINTS", 64)


@pytest.fixture(autouse=True)
def _few_places(monkeypatch):
    _shrink(monkeypatch)


@pytest.mark.parametrize(("universe", "case"), PAIRS, indirect=["universe"])
def test_every_objective_answers(universe, case):
    released = isinstance(universe, mdp.EuclideanSpace) is False
    weights = np.maximum(universe.weights, 0) if released else np.ones(PLACES)
    n = max(len(weights), PLACES if getattr(universe, "space", True) is not None else 0)
    # as many choices as can be tried
    k = 2 if n <= PLACES or case == "p-dispersion" else 1
    make, value = naive.definitions(k, 3.0, weights.sum(), threshold=9)[case]
    objective = make()
    plan = mdp.solve(universe, objective, time_limit=0.3)
    assert plan.noisy == released and (not released or plan.receipt is universe.receipt)
    assert len(plan.weights) == len(plan.labels) == len(weights)
    assert plan.loads is not None and plan.to_dict()["value"] == plan.value
    places, weights = plan._instance.metric, plan._instance.weights
    costs = places.distance_rows(np.arange(n))
    own = value(costs[plan._chosen.sites], weights)
    assert plan.value == pytest.approx(own, rel=1e-6, abs=1e-9)
    assert plan.compare(plan.centers)["other"] == pytest.approx(own, rel=1e-6, abs=1e-9)
    best = _best(value, costs, weights, k, objective.maximized)
    # private noise draws the instance: what is proven is asked for, not how good a search is
    sign = -1 if objective.maximized else 1
    slack = 1e-6 * abs(best) + 1e-9
    if plan.k == k:
        assert sign * best <= sign * plan.value + slack
    if plan.bound is not None:
        assert sign * plan.bound <= sign * best + slack


def _best(value, costs, weights, k, largest):
    values = [value(costs[list(sites)], weights) for sites in combinations(range(len(costs)), k)]
    return (max if largest else min)(one for one in values if one is not None)


def test_sites_of_a_box_are_points():
    plan = mdp.solve(SPACES[2], o.PCenter(1))
    for sites in ([1.0, 2.0], [[1.0, 2.0, 3.0]], [[np.nan, 0.0]], ["a"]):
        refuses("sites in a box are points", plan.compare, sites)
    refuses("at least one site", plan.compare, [])
    assert plan.compare([[5.0, 5.0]])["ratio"] > 0


def test_more_sites_than_a_release_has_points(monkeypatch):
    monkeypatch.setattr(solving, "_BOX_PLACES", 12)
    release = _boxed("lsh", 2)
    assert len(release.weights) < 10
    plan = release.solve(o.PCenter(12))
    assert plan.centers.shape == (12, 2)
    assert len(np.unique(plan.centers, axis=0)) == 12
    assert len(plan.labels) == len(release.weights)


def test_a_saved_box_puts_sites_where_the_first_one_does():
    """A file holds the points of positive weight: sites may stand between them all the same."""
    weights, space = np.array([1.0, 1.0]), SPACES[2]
    points = mdp.EuclideanMetric([[0.0, 0.0], [10.0, 10.0]])
    plan = solving.answered_in_box(space, points, weights, o.PCenter(1))
    assert plan.value < np.hypot(10, 10) * 0.8
