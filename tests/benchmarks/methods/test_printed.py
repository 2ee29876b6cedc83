"""Methods as their papers print them: coresets by the rounds of Feldman, Xiang, Zhu & Rus, maximum
coverage with private candidates, Algorithm 6 of Fan, Li & Li beside a literal twin, local reports
and their distribution, and the quadtree of Cohen-Addad et al.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare, ks_2samp

import metricdp as mdp
from benchmarks.methods import printed_coverage
from benchmarks.methods.printed_coreset import PrintedCoreset
from benchmarks.methods.printed_hst import PrintedHST, chosen, released
from benchmarks.methods.printed_local import drawn, named_vectors, reporting, simulated_sketch
from benchmarks.methods.printed_quadtree import PrintedQuadtree
from benchmarks.methods.rec_concave import rec_concave, selections_of
from metricdp.accounting import Cost
from metricdp.accounting.covering import exponent
from metricdp.local import streams
from metricdp.local.oracles import oracle_of
from metricdp.local.randomizers import TopVectors
from metricdp.methods import MaxCoverage
from metricdp.methods.asking import driven
from metricdp.methods.finite import max_coverage as candidates
from metricdp.methods.question import Question
from tests import cases, grid_metric, naive
from tests.benchmarks.methods.test_baselines import mixture
from tests.local.test_decoding import SMALL, are_valid
from tests.methods.box.test_coreset import PLANE, clusters
from tests.methods.spending import BOX, blobs
from tests.naive_local import report_chance


@pytest.mark.parametrize("size", [10, 33, 200, 1000])
@pytest.mark.parametrize("where", [0.0, 0.01, 0.3, 1.0])
def test_rec_concave_finds_good_solutions(size, where):
    quality, asked = 60 - 3 * np.abs(np.arange(size) - int(where * (size - 1))), []

    def choose(views):
        asked.append(views)
        scores = quality
        for view in views:
            scores = view(scores)
        return int(np.argmax(scores))

    found = driven(rec_concave(lambda views: views, size, 60), choose)
    assert quality[found] >= 30 and len(asked) == selections_of(size)


@pytest.mark.parametrize(
    ("relation", "delta", "options"),
    [("add-remove", 1e-6, {"cells": 900}), ("replace-one", 0, {"cells": 400, "chunk": 10_000})],
)
def test_published_rounds_find_the_clusters(relation, delta, options):
    points, middle = clusters()
    demand, ledger = mdp.PrivateDemand(PLANE, points), mdp.Ledger(8, 1e-6, neighboring=relation)
    method = PrintedCoreset(**options)
    result = mdp.k_means(PLANE, demand, 4, epsilon=8, delta=delta, ledger=ledger, method=method)
    assert all(np.linalg.norm(result.centers - m, axis=1).min() < 0.1 for m in middle)
    points, weights = result.release.coreset()
    assert 0.9 * 20_000 < weights.sum() <= 20_400 and (weights > 0).all()
    assert len(points) <= 10 * 4 * (2 if "chunk" in options else 1)
    assert result.receipt.epsilon <= ledger.spent <= 8 and result.receipt.neighboring == relation
    assert (result.receipt.bound == "zCDP") == bool(delta)
    assert ("exact" in {m.name for m in result.receipt.mechanisms}) == (relation == "replace-one")
    spent = ledger.spent
    assert result.release.k_median(2).centers.shape == (2, 2) and ledger.spent == spent


COVERAGE = printed_coverage.PrintedCoverage()


@cases(("ask", "d"), (mdp.k_median, 2), (mdp.k_means, 5))
def test_the_universe_of_a_box_is_its_private_candidates(monkeypatch, ask, d):
    found = []

    def watched(*args, **options):
        answer = yield from candidates.private_candidates(*args, **options)
        found.append(answer[0])
        return answer

    monkeypatch.setattr(printed_coverage, "private_candidates", watched)
    box = mdp.EuclideanSpace([-1] * d, [1] * d)
    demand = mdp.PrivateDemand(box, mixture(40_000, d)[0])
    ledger = mdp.Ledger(2, "1e-6")
    result = ask(box, demand, 4, epsilon=2, delta="1e-6", ledger=ledger, method=COVERAGE)
    (points,) = found
    assert len(np.unique(points, axis=0)) >= 4
    assert np.array_equal(result.release.universe.points, np.unique(points, axis=0))
    assert (ledger.left, ledger.left_delta) == (0, 0)
    assert result.receipt.epsilon <= 2 and result.receipt.delta <= Fraction(1, 10**6)


def test_a_share_that_candidates_leave_nothing_for_is_refused_and_costs_nothing():
    ledger = mdp.Ledger(1, "1e-6")
    box = mdp.EuclideanSpace([-1] * 3, [1] * 3)
    demand = mdp.PrivateDemand(box, np.zeros((2, 3)))
    for share in ("1/2", "3/4"):
        with pytest.raises(mdp.InputError, match="share"):
            method = MaxCoverage(share=share)
            mdp.k_means(box, demand, 1, epsilon=1, delta="1e-6", ledger=ledger, method=method)
    assert (ledger.left, ledger.left_delta) == (1, Fraction(1, 10**6))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("rounds", [5, 400])
def test_the_part_of_a_price_has_the_exponent_of_the_papers(rounds, m, relation):
    price = Cost.of("1/2", "1e-6")
    part = printed_coverage.printed_part(price, rounds, relation, m)
    eta = exponent(Cost(price.epsilon * part, price.delta), rounds, relation, m).eta
    assert float(eta * m) == pytest.approx(0.5 / (2 * (1 + 6 * math.log(10))), rel=1e-4)
    assert printed_coverage.printed_part(Cost.of(60, "1/20"), 5, "add-remove", 1) < 1


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_centers_are_those_of_the_literal_algorithm(seed, power):
    rng = np.random.default_rng(seed)
    metric = mdp.EuclideanMetric(rng.random((30, 2)).round(2))
    tree = mdp.build_hst(metric, seed)
    levels = tuple(range(1, min(tree.n_levels, 6)))
    # real numbers: no ties
    counts = [rng.normal(1, 3, len(tree.nodes_at(i))) / 2.0 ** (i / 2) for i in levels]
    receipt = mdp.Receipt.of([], "add-remove", "record")
    release = released(tree, levels, counts, receipt, seed)
    rank = np.random.default_rng([seed, tree.seed]).permutation(30)
    for k in range(1, len(tree.nodes_at(levels[-1])) + 1):
        at = chosen(release, Question(metric, k, power, None, np.empty(0, np.int64), 0, None))
        assert len(set(at.tolist())) == k
        clusters = naive.hst_start([tree.labels_at(i) for i in levels], counts, k, power)
        first = [min(cluster, key=lambda p: rank[p]) for cluster in clusters]
        assert sorted(at.tolist()) == sorted(first)


def test_levels_and_shares_are_the_papers_and_add_up_to_epsilon():
    metric = grid_metric(12, 12)
    demand = mdp.PrivateDemand(metric, list(metric.ids)[:40] * 3)
    tree = mdp.build_hst(metric, 0)
    for relation, factor in (("add-remove", 1), ("replace-one", 2)):
        ledger = mdp.Ledger(1, "1e-6", neighboring=relation)
        method = PrintedHST(tree=tree, levels=3)
        paid = {"epsilon": 1, "delta": "1e-6", "ledger": ledger}
        result = mdp.k_median(metric, demand, 4, method=method, **paid)
        expected = [Fraction(4, 7), Fraction(2, 7), Fraction(1, 7)]
        assert [m.epsilon for m in result.receipt.mechanisms] == expected
        found = [m.scale for m in result.receipt.mechanisms]
        assert found == pytest.approx([factor * 7 / 4, factor * 7 / 2, factor * 7])
        assert (ledger.spent, ledger.spent_delta) == (1, 0)
        assert result.release.levels == (1, 2, 3)
    deep = mdp.k_median(metric, demand, 4, epsilon=1, method=PrintedHST(tree=tree))
    assert deep.release.levels == tuple(range(1, min(8, tree.n_levels - 1) + 1))


OPTIONS = [
    {"histogram": "levels", "split": "users"},
    {"histogram": "budget", "split": "budget"},
    {"split": "budget"},
    {"histogram": "budget", "split": "users"},
]


def test_simulated_vectors_have_the_devices_distribution():
    randomizer, rng, n = TopVectors(Fraction(2), 12, 64, 10, 3), np.random.default_rng(2), 3000
    x = rng.normal(size=12)
    x /= np.linalg.norm(x) * 1.25  # shorter than 1: rounded at random
    device = []
    for _ in range(n):
        character, nonce, index = randomizer.draw(
            (5, x), lambda bound: int.from_bytes(rng.bytes(16), "big") % bound
        )
        device.append((-1) ** (character & 5).bit_count() * streams.vector(nonce, index, 12) / 1024)
    rows, characters = named_vectors(randomizer, np.full(n, 5), np.tile(x, (n, 1)), rng)
    sign = np.array([(-1) ** (int(c) & 5).bit_count() for c in characters])
    simulated, device = rows * sign[:, None], np.array(device)
    for direction in (x, np.linalg.svd(x[None])[2][3]):
        assert ks_2samp(device @ direction, simulated @ direction).pvalue > 1e-4
    for named in (device, simulated):
        estimate = named / oracle_of(randomizer).scale
        found = estimate.mean(axis=0)
        assert found == pytest.approx(x, abs=5 * (oracle_of(randomizer).variance / 12 / n) ** 0.5)
        expected = pytest.approx(oracle_of(randomizer).variance, rel=0.05)
        assert (estimate**2).sum(axis=1).mean() == expected


def test_both_ways_of_reporting_are_epsilon_private_as_asked():
    space = mdp.EuclideanSpace([-1] * 10, [1] * 10)
    for split in ("users", "budget"):
        public = mdp.local.public_parameters(space, "3", users=10_000, k=4, radius=1.0, seed=0)
        public = reporting(public, split=split)
        spent = [sum(r.randomizer.epsilon for r in role.reports) for role in public.roles]
        assert max(spent) == 3 and len(public.roles) == (2 if split == "users" else 1)


@pytest.mark.parametrize("options", OPTIONS)
def test_every_message_is_valid(options):
    space = mdp.EuclideanSpace([-1] * 5, [1] * 5)
    points = np.random.default_rng(0).uniform(-1, 1, (40, 5))
    parameters = mdp.local.public_parameters(space, 3, k=2, depth=3)
    printed = reporting(parameters, **options)
    are_valid(printed, points)
    assert simulated_sketch(printed, points, seed=0).n_messages == 40
    assert reporting(parameters, "leaves", "users") == parameters


@pytest.mark.parametrize("randomizer", SMALL, ids=repr)
def test_drawn_reports_have_the_devices_distribution(randomizer):
    n = 40_000
    packed = drawn(randomizer, np.full(n, 2), np.random.default_rng(1))
    every = product(*map(range, randomizer.limits))
    outputs = [o for o in every if report_chance(randomizer, 2, o)]
    number = {randomizer.pack(o): i for i, o in enumerate(outputs)}
    seen = np.bincount([number[bytes(row)] for row in packed], minlength=len(outputs))
    expected = np.array([float(report_chance(randomizer, 2, o)) for o in outputs]) * n
    assert chisquare(seen, expected).pvalue > 1e-6


def test_levels_share_the_budget_by_the_true_depth():
    points, _ = blobs(2000)
    depth, ledger = 24, mdp.Ledger(1)
    everything = PrintedQuadtree(depth=depth, threshold=1e-9, records_hint=2000, steps=0)
    demand = mdp.PrivateDemand(BOX, points)
    result = mdp.k_median(BOX, demand, 2, epsilon=1, ledger=ledger, method=everything)
    levels = result.receipt.mechanisms
    assert len(levels) == depth > 2 * np.log2(2000)
    assert {m.epsilon for m in levels} == {Fraction(1, depth)}
    assert result.release.cells.level.max() == depth
