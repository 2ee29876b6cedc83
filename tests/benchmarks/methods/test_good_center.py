"""GOOD-CENTER with its projection: what it asks, what it pays, where it finds centers."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods import good_center
from benchmarks.methods.good_center import AVERAGE, AXES, BOX, GoodCenter, Prices
from benchmarks.methods.printed_coreset import PrintedCoreset
from metricdp.errors import InputError
from metricdp.methods.asking import Select, driven
from metricdp.methods.box.ball_counts import peel
from metricdp.partitions.box.grid import Grid
from metricdp.privacy import _vault
from metricdp.releases import Release


def space_of(d):
    return mdp.EuclideanSpace([0.0] * d, [1.0] * d)


def clusters(d, k=3, n=6000, seed=0, spread=0.02):
    rng = np.random.default_rng(seed)
    middle = rng.uniform(0.2, 0.8, (k, d))
    return np.clip(middle[rng.integers(k, size=n)] + spread * rng.normal(size=(n, d)), 0, 1), middle


def exactly(grid, points, images, seed=0):
    """A `GoodCenter`, what answers it without noise, and the questions it asked."""
    counts, asked = np.bincount(grid.encode(points), minlength=grid.n_parts), []

    def left(removed):
        rest = counts.astype(np.int64)
        for cell, number in removed:
            peel(rest, grid, cell, number)
        return rest

    def put(request):
        query, share, _ = request
        if isinstance(request, Select):
            scores = query._scores
            asked.append((str(scores), share))
            return int(np.argmax(scores(left(query._peeled.removed))))
        asked.append((query, share))
        return Release(query.exact(points), query, None)

    prices = Prices(Fraction(1), Fraction(2), Fraction(3))
    return GoodCenter(grid, images, len(points), seed, prices), put, asked


@pytest.mark.parametrize(("d", "images"), [(1, 1), (2, 2), (4, 4), (6, 3), (6, 1)])
def test_the_center_of_a_cluster_is_found(d, images):
    """All steps without noise: most records of one small cluster lie in the box and the region."""
    points, middle = clusters(d, 1)
    grid = Grid(space_of(d), (8,) * d if d < 6 else (4,) * d)
    good, put, asked = exactly(grid, points, images)
    cell = driven(good.next(0, []), put)
    (point,) = good.points
    assert np.linalg.norm(point - middle[0]) <= np.linalg.norm(grid.side)
    assert grid.encode(point[None])[0] == cell
    told = [question.split(" with")[0] for question, _ in asked[:-1]]
    assert told == ["box of images", *(["interval of an axis"] * d if images < d else [])]
    query, price = asked[-1]
    assert price == 3 and query.exact(points)[0] >= 0.3 * len(points) * 2**good_center.BITS


def test_rounds_have_coins_of_their_own():
    points, _ = clusters(2)
    grid = Grid(space_of(2), (16, 16))
    questions = []
    for seed in (0, 0, 1):
        good, put, asked = exactly(grid, points, 2, seed)
        for removed in ([], [(3, 100)]):
            driven(good.next(1, removed), put)
        questions.append([q.offsets.tolist() for q, _ in asked[1::2]])
    assert questions[0] == questions[1] != questions[2]
    assert questions[0][0] != questions[0][1]


def test_prices_add_up():
    for axes in (0, 7):
        prices = Prices.of(Fraction(4, 5), 10, axes)
        each = Fraction(4, 5) / 10
        assert prices.box + axes * prices.axis + prices.average == each
        assert prices.box == each * BOX
    assert BOX + AXES + AVERAGE == 1


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize(("d", "images"), [(2, None), (3, 2)])
def test_rounds_find_the_clusters(relation, delta, d, images):
    points, middle = clusters(d, 2, 20_000)
    space = space_of(d)
    ledger = mdp.Ledger(20, "1e-6", neighboring=relation)
    method = PrintedCoreset(cells=16**d, center="projection", images=images, left_over=0.2)
    demand = mdp.PrivateDemand(space, points)
    result = mdp.k_means(space, demand, 2, epsilon=20, delta=delta, ledger=ledger, method=method)
    away = np.linalg.norm(middle[:, None] - result.centers[None], axis=2).min(axis=1)
    assert away.max() < 0.2
    told = [m.query for m in result.receipt.mechanisms]
    rounds = sum(query.startswith("number and sum") for query in told)
    assert rounds == len(result.release.coreset().weights) or rounds > 0
    assert sum(query.startswith("box of images") for query in told) == rounds
    axes = sum(query.startswith("interval of an axis") for query in told)
    assert axes == (d * rounds if images else 0)
    assert Fraction(99, 100) * 20 <= ledger.spent <= 20


def test_users_and_chunks():
    points, middle = clusters(2, 1, 8000)
    space = space_of(2)
    users = np.arange(8000) // 2
    method = PrintedCoreset(cells=256, center="projection", chunk=4000, left_over=0.3)
    for bound in ({}, {"user": users, "max_contributions": 2}):
        demand = mdp.PrivateDemand(space, points, **bound)
        result = mdp.k_means(space, demand, 1, epsilon=40, method=method)
        assert np.linalg.norm(result.centers[0] - middle[0]) < 0.2
    nobody = mdp.PrivateDemand(space, np.empty((0, 2)))
    assert mdp.k_means(space, nobody, 2, epsilon=1, method=method).centers.shape == (2, 2)


@pytest.mark.parametrize("chunk", [None, 100])
@pytest.mark.parametrize(("epsilon", "delta"), [("1e-12", 0), ("1e-11", "1e-9")])
def test_too_small_an_epsilon_is_refused_before_it_is_charged(monkeypatch, epsilon, delta, chunk):
    monkeypatch.setattr(_vault, "_open", lambda holder: pytest.fail("private data was read"))
    space = space_of(2)
    demand, ledger = mdp.PrivateDemand(space, [[0.5, 0.5]] * 500), mdp.Ledger(1, "1e-6")
    method = PrintedCoreset(center="projection", chunk=chunk, records_hint=500)
    with pytest.raises(InputError):
        mdp.k_means(space, demand, 2, epsilon=epsilon, delta=delta, ledger=ledger, method=method)
    assert ledger.spent == 0


@pytest.mark.parametrize(
    "options",
    [{"center": "stable histogram"}, {"images": 2}, {"center": "projection", "images": 0}],
)
def test_bad_options_are_refused(options):
    with pytest.raises(InputError):
        PrintedCoreset(**options)
