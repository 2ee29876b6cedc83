"""Rounds of small balls: counts, removals, scores and what one record moves, candidates; grids and
slabs of a box; GOOD-CENTER with its projection.
"""

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metricdp as mdp
from benchmarks.methods import ball_counts, good_center, peeling
from benchmarks.methods import slabs as module
from benchmarks.methods.ball_counts import BallScores, lattice, peel
from benchmarks.methods.good_center import GoodCenter, Prices
from benchmarks.methods.grid import Grid
from benchmarks.methods.peeling import (
    Intervals,
    Levels,
    Only,
    PartScores,
    Peeled,
    PeeledQuery,
    PeeledSums,
    RadiusScores,
)
from benchmarks.methods.slabs import Slabs, directions, middles, offsets
from benchmarks.methods.summed_area import cell_counts, lattice_counts, summed_area
from metricdp.audit.exact import Case, examine
from metricdp.audit.runner import REFUTED
from metricdp.audit.worlds import FORMS, demands, worlds
from metricdp.methods.asking import Select, driven
from metricdp.privacy import measure, select
from metricdp.releases import Release
from tests import naive, tries

LARGE = Fraction(4)


def _single() -> Iterator[Case]:
    """In a box of three cells, where a removal can leave few records of a cell."""
    world = worlds()["a box"]
    grid = Grid(world.universe, 3)
    fine = Grid(world.universe, 24)
    removed = ((0, 1), (0, 1))
    once = partial(PeeledQuery, Peeled(grid, removed[:1]))
    radii = partial(RadiusScores, (3,), (0, 1, 2), 2)
    steps = partial(RadiusScores, (24,), tuple(range(24)), 2, 2, True)
    parts = PartScores((3,), (np.array([0, 1, 1]), np.array([-1, 0, 1])), (2, 2))
    queries: dict[str, tuple[Any, float]] = {
        "balls": (PeeledQuery(Peeled(grid), BallScores((3,), 0)), 0.7),
        "balls after removals": (PeeledQuery(Peeled(grid, removed), BallScores((3,), 0)), 0.7),
        "parts after removals": (once(parts), 0.7),
        "radii after removals": (once(radii()), 0.55),
        "radii by averages": (once(radii(2, True)), 0.2),
    }
    views = {"intervals": (Intervals(8, 4),), "two steps": (Levels(1, 3), Only((0, 3)))}
    for name, view in views.items():
        queries[f"RecConcave, {name}"] = PeeledQuery(Peeled(fine), steps(view)), 0.1

    def one(query: Any, demand: Any, ledger: Any) -> Any:
        return [*select(demand, query, LARGE, ledger.charge(LARGE)), str(query)]

    for (kind, (query, reach)), (relation, m) in product(queries.items(), FORMS):
        some = demands(3, 5 if reach > 0.5 else 3) if m is None else demands(3, 2, 3, 4)
        least = reach / (1 if relation == "add-remove" and m is None else 3)
        form = (some, relation, m, (LARGE, 0), least)
        essential = m is None and "after" in kind
        yield Case(kind, world, partial(one, query), *form, essential=essential)


def _sums() -> Iterator[Case]:
    """Number and sum of what is left in two of the cells."""
    world = worlds()["a box"]
    cells, offsets = np.array([1, 2]), np.array([[2], [-2]])
    query = PeeledSums(Peeled(Grid(world.universe, 3), ((0, 1),)), cells, offsets, bits=1)

    def one(price: Any, demand: Any, ledger: Any) -> Any:
        return [measure(demand, query, price, ledger.charge(price)), str(query)]

    name = "sums after removals"
    for relation, m in FORMS:
        some = demands(3, 3) if m is None else demands(3, 2, 2)
        reach = 0.999 if relation == "add-remove" or m is None else 0.7
        form = (some, relation, m, (LARGE, 0), reach)
        yield Case(name, world, partial(one, LARGE), *form, essential=m is None)


SHAPES = [(7,), (4, 5), (3, 2, 4), (1, 6)]


def grid_of(shape):
    """Of cells whose sides differ, the third by so much that the others count as none."""
    sides = [n * long for n, long in zip(shape, (1, 2.5, 1700))]
    return Grid(mdp.EuclideanSpace([0.0] * len(shape), sides), shape)


def counted(cells, shape):
    at = [int(np.ravel_multi_index(cell, shape)) for cell in cells]
    return np.bincount(np.array(at, np.int64), minlength=math.prod(shape))


def some_cells(shape, n, seed=0):
    rng = np.random.default_rng(seed)
    return [tuple(int(rng.integers(s)) for s in shape) for _ in range(n)]


@pytest.mark.parametrize("shape", SHAPES)
def test_counts_of_balls(shape):
    cells = some_cells(shape, 40)
    held = Counter(cells)
    table = summed_area(counted(cells, shape).reshape(shape))
    assert table.flat[-1] == 40
    for radius in (0, 1, 2, 9):
        counts = lattice_counts(table, lattice(shape, radius), radius)
        scores = BallScores(shape, radius)
        every = np.array(np.unravel_index(np.arange(math.prod(shape)), shape))
        around = cell_counts(table, list(every), radius)
        assert scores(counted(cells, shape)).tolist() == counts.ravel().tolist()
        for index, count in enumerate(counts.ravel()):
            cell = np.unravel_index(scores.cell(index), shape)
            assert count == naive.in_ball(held, cell, radius) == around[scores.cell(index)]


@pytest.mark.parametrize("shape", SHAPES)
def test_exactly_so_many_records_are_removed(shape):
    grid, cells = grid_of(shape), some_cells(shape, 30, 1)
    assert grid.shape == shape
    for number in (0, 1, 7, 29, 30, 50):
        center = some_cells(shape, 1, number)[0]
        counts = counted(cells, shape)
        peel(counts, grid, int(np.ravel_multi_index(center, shape)), number)
        left = naive.peeled(Counter(cells), grid.side, center, number)
        assert counts.tolist() == [left[cell] for cell in np.ndindex(shape)]
        assert counts.sum() == max(0, 30 - number)


REMOVALS = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 6)), max_size=4)
VIEWS = [(), (Levels(1, 3),), (Levels(0, 2), Only((0, 1))), (Intervals(2, 1),)]
PLACES = st.lists(st.integers(0, 19), max_size=25)


@tries(60, PLACES, st.lists(st.integers(0, 19), min_size=1, max_size=3), REMOVALS)
def test_a_unit_more_is_at_most_a_unit_more_after_removals(places, unit, removals):
    grid = grid_of((4, 5))
    left = []
    for some in (places, places + unit):
        counts = np.bincount(some, minlength=20).astype(np.int64)
        for cell, number in removals:
            peel(counts, grid, cell, number)
        left.append(counts)
    more = left[1] - left[0]
    assert (more >= 0).all() and more.sum() <= len(unit)


@settings(max_examples=60)
@given(PLACES, st.integers(0, 19), st.integers(1, 8), st.integers(0, 20), st.sampled_from(VIEWS))
def test_scores_move_by_no_more_than_they_say(places, one, target, slack, views):
    shape = (4, 5)
    both = (places, [*places, one])
    before, after = (np.bincount(some, minlength=20).astype(np.int64) for some in both)
    for scores in (
        *(
            RadiusScores(shape, (0, 1, 2, 3), target, slack, average, views)
            for average in (False, True)
        ),
        *(BallScores(shape, radius) for radius in (0, 1, 2)),
    ):
        moved = scores(after) - scores(before)
        assert np.abs(moved).max() <= scores.change
        assert not scores.monotone or moved.min() >= 0


@pytest.mark.parametrize("size", [2, 3, 5, 8, 9, 33, 100])
def test_levels_by_definition(size):
    rng = np.random.default_rng(size)
    cases = rng.integers(-9, 9, size), -np.abs(np.arange(size) - size // 3), np.arange(size) - size
    for scores in cases:
        assert Levels(1, 4)(scores).tolist() == naive.levels(scores.tolist(), 1, 4)


@tries(40, PLACES, st.integers(1, 8), st.integers(0, 20))
def test_scores_of_radii_by_definition(places, target, slack):
    """The smaller of how far the radius before misses the target, and how far this one meets it."""
    cells, radii = [tuple(map(int, np.unravel_index(p, (4, 5)))) for p in places], (0, 1, 3)
    middles = [(i, j) for i in range(4) for j in range(5)]
    held = Counter(cells)
    largest = [max(naive.in_ball(held, middle, r) for middle in middles) for r in radii]
    counts = counted(cells, (4, 5))
    for average, most in ((False, largest), (True, naive.averages(cells, radii, target))):
        scores = RadiusScores((4, 5), radii, target, slack, average)
        pairs = zip([0, *most], most)
        expected = [min(target - smaller, n - target + slack) for smaller, n in pairs]
        assert scores(counts).tolist() == expected
    assert str(scores) == f"radius of a ball with {target} of the records left"


# The exact distributions of these questions, on all neighbors of tiny universes
CASES = [*_single(), *_sums()]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_exact_distribution(case):
    finding = examine(case)
    assert finding.passed, finding


def caught(*names):
    """By how much the worst of some cases exceeds its claim."""
    found = [examine(case) for case in CASES if str(case) in names]
    assert len(found) == len(names)
    return max(one.excess for one in found if not one.passed)


def test_removal_by_a_private_radius_is_caught(monkeypatch):
    """One record more brings back a whole cell of others."""
    monkeypatch.setattr(
        ball_counts, "taken", lambda there, before, number: there * (before < number)
    )
    assert caught("balls after removals, a box, add-remove") > REFUTED
    assert caught("balls after removals, a box, replace-one") > REFUTED


def test_removals_counted_on_the_data_are_caught(monkeypatch):
    honest = ball_counts.peel

    def peel(counts, grid, cell, number):
        honest(counts, grid, cell, (counts.sum() + 1) // 2)

    monkeypatch.setattr(peeling, "peel", peel)
    assert caught("balls after removals, a box, add-remove") > REFUTED


# Sums of the records that removals left: slow reference implementations, sensitivities, refusals,
# and what the gate keeps between questions
SHAPE = (4, 5)
GRID = Grid(mdp.EuclideanSpace([0.0, 0.0], [4.0, 5.0]), SHAPE)
CELLS = np.array([0, 3, 7, 8, 12, 19])
OFFSETS = np.array([[4, 0], [0, -4], [2, 3], [-3, 2], [0, 0], [-2, -3]])


def at(places):
    """Middles of cells, as records."""
    return GRID.centers[np.array(places, np.int64)]


def naive_answer(places, removed):
    """Record by record."""
    cells = list(np.ndindex(SHAPE))
    left = Counter(cells[p] for p in places)
    for cell, number in removed:
        left = naive.peeled(left, GRID.side, cells[cell], number)
    moved = [left[cells[c]] * np.array([4, *offset]) for c, offset in zip(CELLS, OFFSETS)]
    return sum(moved, np.zeros(3, np.int64)).tolist()


def query(removed=()):
    return PeeledSums(Peeled(GRID, tuple(removed)), CELLS, OFFSETS, bits=2)


@tries(80, PLACES, REMOVALS)
def test_sums_record_by_record(places, removed):
    assert query(removed).exact(at(places)).tolist() == naive_answer(places, removed)


@tries(80, PLACES, st.lists(st.integers(0, 19), min_size=1, max_size=3), REMOVALS)
def test_a_unit_moves_sums_by_no_more_than_they_say(places, unit, removed):
    asked = query(removed)
    one, two = (asked.exact(at(some)) for some in (places, places + unit))
    moved = np.abs(two - one)
    m = len(unit)
    assert moved.sum() <= asked.sensitivity("add-remove", m)
    assert (moved**2).sum() <= asked.squared_sensitivity("add-remove", m)
    moved = np.abs(two - asked.exact(at([*places, *[(place + 7) % 20 for place in unit]])))
    assert moved.sum() <= asked.sensitivity("replace-one", m)
    assert (moved**2).sum() <= asked.squared_sensitivity("replace-one", m)


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
    grid = Grid(mdp.EuclideanSpace([0.0] * d, [1.0] * d), (8,) * d if d < 6 else (4,) * d)
    good, put, asked = exactly(grid, points, images)
    cell = driven(good.next(0, []), put)
    (point,) = good.points
    assert np.linalg.norm(point - middle[0]) <= np.linalg.norm(grid.side)
    assert grid.encode(point[None])[0] == cell
    reported = [question.split(" with")[0] for question, _ in asked[:-1]]
    assert reported == ["box of images", *(["interval of an axis"] * d if images < d else [])]
    query, price = asked[-1]
    assert price == 3 and query.exact(points)[0] >= 0.3 * len(points) * 2**good_center.BITS


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=4), st.integers(1, 300))
def test_a_grid_has_no_more_cells_than_asked_and_every_point_one(extent, n_cells):
    d = len(extent)
    space = mdp.EuclideanSpace([-1.0] * d, np.array(extent) - 1.0)
    grid = Grid(space, n_cells)
    assert 1 <= grid.n_parts <= n_cells and grid.n_parts == np.prod(grid.shape)
    assert grid.encode(grid.centers).tolist() == list(range(grid.n_parts))
    assert (grid.centers > space.lower).all() and (grid.centers < space.upper).all()
    assert grid.encode(np.array([space.lower, space.upper])).tolist() == [0, grid.n_parts - 1]
    points = space.lower + np.random.default_rng(0).random((50, d)) * (space.upper - space.lower)
    assert (np.abs(points - grid.centers[grid.encode(points)]) <= grid.side * (0.5 + 1e-9)).all()


@pytest.mark.parametrize("keys", [2**62, 7])
@pytest.mark.parametrize("shape", [(9,), (6, 5), (3, 4, 2)])
def test_boxes_cell_by_cell(shape, keys, monkeypatch):
    """Also in blocks, and where there are more keys of intervals than integers."""
    monkeypatch.setattr(module, "_BLOCK", 4)
    monkeypatch.setattr(module, "_KEYS", keys)
    space = mdp.EuclideanSpace([0.0] * len(shape), [float(n) for n in shape])
    grid, coins = Grid(space, shape), np.random.default_rng(len(shape))
    q = len(shape)
    tried = Slabs(directions(q, q, coins), 1.7, coins.random(q))
    labels, places = tried.boxes(grid)
    points = grid.centers
    expected = [tuple(np.floor(tried.along @ x / 1.7 + tried.shift).astype(int)) for x in points]
    assert [tuple(places[label]) for label in labels] == expected
    assert len(places) == len(set(expected)) and set(labels.tolist()) == set(range(len(places)))
    assert (middles(grid, np.arange(grid.n_parts)) == points).all()


def test_offsets_are_integers_within_the_ball():
    points, center = np.random.default_rng(1).normal(size=(2000, 4)), np.full(4, 0.2)
    for bits, radius in ((1, 1.0), (12, 0.7), (20, 30.0)):
        steps = offsets(points, center, radius, bits)
        assert steps.dtype == np.int64 and ((steps**2).sum(axis=1) <= 4**bits).all()
        length = np.linalg.norm(points - center, axis=1)
        near = length <= radius
        away = np.abs(steps[near] / 2**bits * radius - (points - center)[near])
        assert away.max(initial=0.0) <= radius / 2**bits
        far = steps[~near] / 2**bits
        turned = (points - center)[~near] / length[~near, None]
        assert np.abs(far - turned).max(initial=0.0) <= 2 / 2**bits
