"""The solver on every metric and at every scale, against the best of all choices."""

from functools import cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.metrics import landmarks as landmark_module
from metricdp.solvers import kmedian
from metricdp.solvers.kmedian import solve
from tests import cases, everything, grid_metric, metric_of, naive, one_way_metric, road_like, tries


def check(metric, weights, solution, k, power=1, allowed=None):
    assert solution.centers.dtype == np.int64
    assert len(set(solution.centers.tolist())) == len(solution.centers) == k
    assert allowed is None or set(solution.centers) <= set(allowed)
    distance = metric.nearest_to(solution.centers)[1]
    assert solution.cost == pytest.approx(float(weights @ distance**power), rel=2e-6, abs=1e-6)


# Small: against the best of all choices


@tries(60, naive.graphs(), st.sampled_from([1, 2]), st.data(), fixed=True)
def test_near_the_best_of_all_choices(graph, power, data):
    n, true = graph[0], naive.all_pairs(*graph)
    metric = metric_of(*graph)
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), float)
    k = data.draw(st.integers(1, n))
    candidates = data.draw(st.none() | st.lists(st.integers(0, n - 1), min_size=k, unique=True))
    among = None if candidates is None else np.array(candidates)
    found = solve(metric, weights, k, power=power, candidates=among, starts=10)
    counted = weights if weights.any() else np.ones(n)
    check(metric, counted, found, k, power, candidates)
    best = naive.best_centers(true, counted, k, power, candidates)[1]
    # the proven bound of single swaps, here and everywhere
    assert best - 1e-6 <= found.cost <= (5 if power == 1 else 25) * best + 1e-6


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("kind", ["graph", "points", "matrix"])
def test_the_best_of_all_choices_on_typical_instances(kind, power):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        graph = metric_of(*naive.random_graph(16, seed, integers=False))
        metrics = {"graph": graph, "points": mdp.EuclideanMetric(rng.random((16, 2)))}
        metric = metrics.get(kind) or mdp.PrecomputedMetric(everything(graph))
        # negative ones too, as signed noisy counts have, or nothing else
        weights = -np.ones(16) if seed == 3 else rng.normal(1, 1.5, 16)
        for k in (1, 2, 4, 15, 16):
            found = solve(metric, weights, k, power=power, starts=8)
            check(metric, weights, found, k, power)
            best = naive.best_centers(everything(metric), weights, k, power)[1]
            assert best - 1e-6 <= found.cost <= best + 0.02 * abs(best) + 1e-6


# Large: the same paths of code on small universes


@pytest.fixture
def large(monkeypatch):
    """Every universe counts as too large for a block: full passes of pruned searches on graphs,
    landmarks and rows elsewhere.
    """
    monkeypatch.setattr(kmedian, "WHOLE_BLOCK", 0)
    monkeypatch.setattr(kmedian, "LANDMARKS", 40)


@pytest.fixture
def sampled(large, monkeypatch):
    """And as too large for full passes on graphs, where centers are chosen among landmarks first,
    and for all demand at once elsewhere.
    """
    monkeypatch.setattr(kmedian, "_PASSES", 10**9)
    monkeypatch.setattr(kmedian, "_ROWS_SAMPLED", 100)


@pytest.fixture
def huge(large, monkeypatch):
    """And as too large for exact rows of landmarks: solved on cells first."""
    monkeypatch.setattr(landmark_module, "_ROW_ENTRIES", 0)
    monkeypatch.setattr(kmedian, "LARGE", 100)


WORLDS = {
    "roads": lambda: road_like(18),
    "social": lambda: mdp.GraphMetric(nx.barabasi_albert_graph(300, 2, seed=0), weight=None),
    "zeros": lambda: metric_of(240, [(i, i + 1, i % 3) for i in range(239)]),
    "one-way": lambda: one_way_metric(240),
    "round trip": lambda: one_way_metric(240, "round-trip"),
    "costs": lambda: one_way_metric(240).with_costs(np.arange(240) % 7.0, np.arange(240) % 5.0),
    "one place": lambda: metric_of(200, [(i, i + 1, i >= 20) for i in range(199)]),
    "points": lambda: mdp.EuclideanMetric(np.random.default_rng(0).random((300, 2))),
    "duplicates": lambda: mdp.ManhattanMetric(
        np.random.default_rng(0).integers(0, 6, (300, 2)).astype(float)
    ),
}


def best_known(metric, weights, k, power=1, candidates=None):
    return solve(metric, weights, k, power=power, candidates=candidates, starts=4).cost


@cache
def best_of_some(name, power):
    """Weights, a number of centers, and the best known cost: the same at every scale."""
    metric, rng = WORLDS[name](), np.random.default_rng(1)
    n = len(metric)
    few = np.bincount(rng.choice(n, 30), minlength=n).astype(float)
    even, signed = np.ones(n), rng.normal(1, 1, n)
    some = [(even, 5), (even, 12), (few, 1), (few, 12), (signed, 5)]
    return [(w, k, best_known(metric, w, k, power)) for w, k in some]


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("scale", ["large", "sampled", "huge"])
def test_nearly_as_good_without_a_block_of_all_distances(name, power, scale, request):
    metric, some = WORLDS[name](), best_of_some(name, power)
    request.getfixturevalue(scale)
    for weights, k, best in some:
        found = solve(metric, weights, k, power=power)
        check(metric, weights, found, k, power)
        assert found.cost <= best + (0.15 if power == 1 else 0.3) * abs(best) + 1e-9


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("name", ["roads", "points"])
def test_among_the_centers_of_several_searches(name, power, large, monkeypatch):
    points = np.random.default_rng(1).random((900, 2))
    metric = road_like(30) if name == "roads" else mdp.EuclideanMetric(points)
    weights, opened = np.random.default_rng(0).random(len(metric)), np.array([7, 200])
    asked, costs = {"power": power, "opened": opened, "starts": None}, []
    for union in (kmedian._UNION, 0):
        monkeypatch.setattr(kmedian, "_UNION", union)
        costs.append([solve(metric, weights, 25, seed=seed, **asked).cost for seed in range(4)])
    assert all(a <= b * (1 + 1e-9) for a, b in zip(*costs)) and sum(costs[0]) < sum(costs[1])


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("scale", ["large", "sampled", "huge"])
def test_candidates_of_large_universes(name, scale, request):
    metric, rng = WORLDS[name](), np.random.default_rng(2)
    n, weights = len(metric), np.ones(len(metric))
    spread, corner = rng.choice(n, 60, replace=False), np.arange(21 if name == "one place" else 30)
    expected = {k: best_known(metric, weights, k, candidates=spread) for k in (1, 6)}
    request.getfixturevalue(scale)
    for k, best in expected.items():
        found = solve(metric, weights, k, candidates=spread)
        check(metric, weights, found, k, allowed=spread)
        assert found.cost <= 1.1 * best
    for k in (1, 7, len(corner) - 1, len(corner)):
        check(metric, weights, solve(metric, weights, k, candidates=corner), k, allowed=corner)


@pytest.mark.parametrize("scale", ["large", "sampled", "huge"])
@pytest.mark.parametrize("name", ["roads", "points"])
def test_more_centers_than_landmarks(name, scale, request):
    metric = WORLDS[name]()
    request.getfixturevalue(scale)
    for k in (41, len(metric) - 1, len(metric)):
        check(metric, np.ones(len(metric)), solve(metric, np.ones(len(metric)), k), k)


@pytest.mark.parametrize("name", ["roads", "points"])
@pytest.mark.parametrize("scale", [None, "large", "sampled", "huge"])
def test_repeatable_with_any_number_of_processors(name, scale, request, monkeypatch):
    weights = np.random.default_rng(3).random(400)
    if scale:
        request.getfixturevalue(scale)

    def run(seed):
        metric = WORLDS[name]()  # anew: nothing may depend on what was asked before
        found = solve(metric, weights[: len(metric)], 7, seed=seed)
        return found.centers.tolist(), found.cost

    expected = run(5)
    for processors in (1, 7):
        monkeypatch.setattr("os.cpu_count", lambda n=processors: n)
        assert run(5) == expected


@pytest.mark.parametrize("scale", ["large", "sampled", "huge"])
@cases(("name", "power"), ("roads", 1), ("social", 2), ("points", 1), ("points", 2))
def test_opened_facilities_of_large_universes(name, scale, power, request):
    metric, rng = WORLDS[name](), np.random.default_rng(4)
    n, weights = len(metric), np.ones(len(metric))
    opened, some = rng.choice(n, 3, replace=False), rng.choice(n, 50, replace=False)
    known = solve(metric, weights, 6, power=power, opened=opened, starts=4).cost
    request.getfixturevalue(scale)
    for candidates in (None, some):
        found = solve(metric, weights, 6, power=power, candidates=candidates, opened=opened)
        allowed = None if candidates is None else np.union1d(some, opened)
        check(metric, weights, found, 6, power, allowed)
        assert found.centers[:3].tolist() == sorted(opened.tolist())
        assert found.cost <= (1.15 if candidates is None else 1.6) ** power * known
    for k, fixed in ((50, 3), (50, 45)):  # more centers than a sample has room for
        found = solve(metric, weights, k, power=power, opened=np.arange(fixed))
        check(metric, weights, found, k, power)
        assert found.centers[:fixed].tolist() == list(range(fixed))


@pytest.mark.parametrize("scale", ["large", "sampled", "huge"])
@pytest.mark.parametrize("name", ["roads", "points"])
def test_an_answer_within_any_time(name, scale, request):
    metric, weights = WORLDS[name](), np.ones(len(WORLDS[name]()))
    request.getfixturevalue(scale)
    unhurried, long = solve(metric, weights, 5), solve(metric, weights, 5, time_limit=1000.0)
    assert long.centers.tolist() == unhurried.centers.tolist()
    for limit in (0.0, 1e-4, 1e-3, 1e-2):
        found = solve(metric, weights, 5, time_limit=limit)
        check(metric, weights, found, 5)
        assert found.cost <= 4 * unhurried.cost


# Proven optima


@pytest.mark.parametrize("limit", [20_000_000, 100])
def test_the_solver_starts_from_centers_that_are_given(limit, monkeypatch):
    monkeypatch.setattr(kmedian, "WHOLE_BLOCK", limit)
    metric = grid_metric(9, 9)
    weights = np.random.default_rng(0).random(81)
    start = np.array([7, 3, 40, 60])
    found = kmedian.solve(metric, weights, 4, opened=np.array([7]), first=start, starts=1)
    assert found.centers[0] == 7 and len(set(found.centers)) == 4
    assert found.cost <= weights @ metric.nearest_to(start)[1]
