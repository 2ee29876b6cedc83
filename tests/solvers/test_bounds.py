"""Certificates: never above the best of all choices, equal to it where branches settle it, and
rounded down.
"""

import json
import tomllib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import metricdp as mdp
from metricdp.kernels.dual_ascent import Entries
from metricdp.solvers import bounds, dual_ascent
from metricdp.solvers.bounds import Certificate, certificate, certify
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.stopping import Deadline
from metricdp.universe.samples import sample_path
from tests import data, naive, road_like, tries


def listed(costs, beyond=np.inf):
    """The costs that are below those beyond, row by row."""
    inside = costs < beyond
    start = np.r_[0, np.cumsum(inside.sum(axis=1))]
    return Entries(start, np.nonzero(inside)[1].astype(np.int32), costs[inside])


def unlisted(entries, n):
    """The costs that are listed, (n_rows, n); infinite elsewhere."""
    start, client, cost = entries
    costs = np.full((len(start) - 1, n), np.inf)
    costs[np.repeat(np.arange(len(costs)), np.diff(start)), client] = cost
    return costs


@st.composite
def problems(draw):
    """(block of whole or fractional costs, weights, centers, opened)."""
    m, n = draw(st.integers(1, 8)), draw(st.integers(1, 9))
    elements = st.integers(0, 12)
    block = draw(arrays(np.int64, (m, n), elements=elements)) * draw(st.sampled_from([1.0, 0.3]))
    elements = st.integers(draw(st.sampled_from([0, -2])), 4)
    weights = draw(arrays(np.int64, n, elements=elements)).astype(np.float64)
    centers = draw(st.permutations(range(m)))[: draw(st.integers(1, m))]
    opened = centers[: draw(st.integers(0, len(centers)))]
    return block, weights, np.array(centers), np.array(opened, np.int64)


@tries(60, problems(), fixed=True)
def test_never_above_the_best_of_all_choices(problem):
    block, weights, centers, opened = problem
    best = naive.best_centers(block, weights, len(centers), opened=opened)[1]
    found = certify(block, weights, centers, opened=opened)
    assert found.cost == pytest.approx(naive.cost(block, weights, centers))
    assert found.lower_bound <= min(best, found.cost) + 1e-12 * abs(best)
    if (weights >= 0).all():  # so small that all branches are looked into
        assert found.lower_bound >= best - 2e-9 * abs(best)
        assert (found.gap <= 2e-9) == (found.cost <= best * (1 + 2e-9))


@tries(60, problems(), st.data(), fixed=True)
def test_the_lagrangian_is_a_bound_for_any_multipliers(problem, data):
    block, weights, centers, opened = problem
    costs = block * np.abs(weights)
    n = costs.shape[1]
    drawn = data.draw(st.lists(st.integers(0, 40), min_size=n, max_size=n))
    multipliers, beyond = np.array(drawn) / 3, np.full(n, np.inf)
    ascent = Ascent(listed(costs, beyond), beyond, len(centers), np.inf, opened, False, Deadline())
    value, reduced, chosen = ascent._evaluate(multipliers)
    np.testing.assert_allclose(reduced, np.minimum(costs - multipliers, 0).sum(axis=1), atol=1e-12)
    exact = sum(map(Fraction, multipliers.tolist()))
    for i in chosen:
        pairs = zip(costs[i].tolist(), multipliers.tolist())
        exact += sum(min(Fraction(c) - Fraction(x), Fraction(0)) for c, x in pairs)
    assert set(opened) <= set(chosen) and len(set(chosen.tolist())) == len(centers)
    assert exact - Fraction(1, 10**9) <= Fraction(value) <= exact
    assert value <= naive.best_centers(costs, np.ones(n), len(centers), opened=opened)[1]


def test_a_certificate_is_json_whatever_it_was_computed_with():
    reported = Certificate(np.int64(7), np.float32(6.0)).to_dict()
    assert json.loads(json.dumps(reported)) == {"cost": 7.0, "lower_bound": 6.0, "gap": 1 / 7}
    assert Certificate(0.0, 0.0).gap == 0 and Certificate(0.0, -2.0).gap == 1


@pytest.mark.parametrize("power", [1, 2])
def test_a_graph_is_measured_on_its_own_grid(power):
    metric = road_like(12)
    weights = np.random.default_rng(0).integers(0, 5, len(metric)).astype(float)
    candidates, opened = np.arange(0, len(metric), 2), np.array([3, 8])
    found = mdp.k_median if power == 1 else mdp.k_means
    ids = np.array(metric.ids, object)
    where = {"candidates": ids[candidates], "opened": ids[opened]}
    result = found(metric, k=6, weights=weights, certificate=True, **where)
    assert set(ids[opened]) <= set(result.centers) and result.centers[:2] == ids[opened].tolist()
    assert set(result.centers[2:]) <= set(ids[candidates])
    distance = metric.nearest(result.centers)[1]
    assert result.certificate.cost == pytest.approx(float(weights @ distance**power))
    assert result.lower_bound <= result.certificate.cost and result.gap < 0.02
    at, where = metric.positions(result.centers), {"candidates": candidates, "opened": opened}
    assert certificate(metric, weights, at, power=power, **where) == result.certificate
    assert result.to_dict()["certificate"] == result.certificate.to_dict()


@pytest.mark.parametrize("most", [0, 1, 5, 40])
def test_a_limit_of_branches_leaves_a_valid_bound(most, monkeypatch):
    block, weights = np.random.default_rng(most).random((14, 20)), np.ones(20)
    best = naive.best_centers(block, weights, 3)
    monkeypatch.setattr(dual_ascent, "_MOST_NODES", most)
    for centers in (best[0], [0, 1, 2]):
        assert 0.5 * best[1] < certify(block, weights, np.array(centers)).lower_bound <= best[1]


def test_the_generated_instance_is_proven():
    path = sample_path("generated_pmed.txt")
    index = tomllib.loads((path.parent / "index.toml").read_text("utf-8"))
    optimum = index["generated_pmed.txt"]["optimum"]
    metric, k = mdp.read_graph(path, format="pmed"), int(path.read_text().split()[2])
    assert mdp.k_median(metric, k=k, certificate=True).certificate == Certificate(optimum, optimum)


def test_what_cannot_be_certified_is_refused_before_any_search(monkeypatch):
    metric = road_like(6)
    monkeypatch.setattr(bounds, "MOST_ENTRIES", 100)
    signed = np.where(np.arange(len(metric)) % 5, 1.0, -1.0)
    with pytest.raises(mdp.InputError, match="for negative weights needs all distances"):
        mdp.k_median(metric, k=2, weights=signed, certificate=True)
    weights = np.zeros(len(metric))
    weights[:5] = 1
    few = [metric.ids[i] for i in range(10)]
    assert mdp.k_median(metric, k=2, weights=weights, candidates=few, certificate=True).gap == 0
    assert mdp.k_median(metric, k=2).gap is None
    assert "certificate" not in mdp.k_median(metric, k=2).to_dict()


def test_lists_that_are_cut_short_leave_a_weak_bound(monkeypatch):
    metric = road_like(6)
    best = mdp.k_median(metric, k=2, exact=True).lower_bound
    monkeypatch.setattr(bounds, "MOST_ENTRIES", 100)
    monkeypatch.setattr(dual_ascent, "_LISTED_WHOLE", 0)
    found = []
    for most in (10**6, 400, 5):
        monkeypatch.setattr(dual_ascent, "MOST_LISTED", most)
        found.append(mdp.k_median(metric, k=2, certificate=True).lower_bound)
    assert 0.9 * best < found[0] <= best * (1 + 1e-6)
    assert 0 < found[1] <= best * (1 + 1e-6)
    assert found[2] == 0


@data.needs_data
@pytest.mark.parametrize("number", [6, 31])
def test_or_library(number, monkeypatch):
    monkeypatch.setenv("METRICDP_DATA", str(data.DATA))
    problem = mdp.datasets.load(f"pmed{number}")
    result = mdp.k_median(problem.metric, k=problem.k, certificate=True)
    assert result.certificate.cost == problem.optimum >= result.lower_bound and result.gap == 0


def test_whole_costs_round_a_bound_up_also_on_lists(monkeypatch):
    points = np.random.default_rng(4).integers(0, 300, (70, 2))
    differing = np.floor(np.hypot(*np.moveaxis(points[:, None] - points[None], 2, 0)))
    metrics = [
        mdp.PrecomputedMetric(np.maximum(differing, differing.T)),
        mdp.ManhattanMetric(points),
    ]
    monkeypatch.setattr(dual_ascent, "_NODE_WORK", 0)
    monkeypatch.setattr(dual_ascent, "_STEPS", 30)
    monkeypatch.setattr(dual_ascent, "_FEWEST_STEPS", 30)
    for metric in metrics:
        found = [mdp.k_median(metric, k=6, certificate=True).certificate]
        monkeypatch.setattr(bounds, "MOST_ENTRIES", 0)
        found.append(mdp.k_median(metric, k=6, certificate=True).certificate)
        monkeypatch.undo()
        for proof in found:
            assert proof.lower_bound == np.rint(proof.lower_bound)
            assert 0.9 * proof.cost < proof.lower_bound <= proof.cost
    monkeypatch.setattr(bounds, "MOST_ENTRIES", 0)
    found = mdp.k_median(mdp.PrecomputedMetric(differing / 2), k=6, certificate=True)
    assert found.lower_bound <= found.certificate.cost


@pytest.mark.parametrize("k", [1, 4, 40])
def test_no_time_at_all_leaves_a_bound(k):
    points = mdp.EuclideanMetric(np.random.default_rng(k).random((150, 2)))
    limited = mdp.k_median(points, k=k, exact=True, time_limit=1e-9)
    assert 0.5 * limited.certificate.cost < limited.lower_bound <= limited.certificate.cost
    proof = certificate(points, np.ones(150), np.arange(k), time_limit=0.0)
    best = mdp.k_median(points, k=k).centers
    assert 0 < proof.lower_bound <= points.nearest(best)[1].sum() * (1 + 1e-9)


def test_branches_are_not_begun_on_too_many_entries(monkeypatch):
    block = np.random.default_rng(5).integers(1, 60, (12, 20)).astype(float)
    monkeypatch.setattr(dual_ascent, "_STEPS", 5)
    monkeypatch.setattr(dual_ascent, "_FEWEST_STEPS", 5)
    best = naive.best_centers(block, np.ones(20), 4)[1]
    assert certify(block, np.ones(20), np.arange(4)).lower_bound == best
    monkeypatch.setattr(dual_ascent, "_MOST_BRANCHED", 20)
    monkeypatch.setattr(Ascent, "visit", lambda self: pytest.fail("a branch was looked into"))
    assert certify(block, np.ones(20), np.arange(4)).lower_bound <= best


def test_lists_that_keep_multipliers_low_are_made_longer(monkeypatch):
    """Where many pairs would be listed short lists come first, and what they cut off then."""
    metric = mdp.EuclideanMetric(np.random.default_rng(0).random((300, 2)))
    found = mdp.k_median(metric, k=5, certificate=True)
    monkeypatch.setattr(bounds, "MOST_ENTRIES", 100)
    monkeypatch.setattr(dual_ascent, "_LISTED_WHOLE", 0)
    monkeypatch.setattr(dual_ascent, "_ENOUGH", 0)
    monkeypatch.setattr(dual_ascent.Ascent, "branch", lambda ascent: (None, ascent.bound))
    bound = mdp.k_median(metric, k=5, certificate=True).lower_bound
    monkeypatch.setattr(dual_ascent, "_LONGER_REACH", 0.0)
    without = mdp.k_median(metric, k=5, certificate=True).lower_bound
    assert without < bound <= found.lower_bound * (1 + 1e-6)
    assert bound > 0.98 * found.lower_bound
