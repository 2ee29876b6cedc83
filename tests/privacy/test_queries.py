"""How far one record moves a sum, and what the gate asserts before it adds noise or selects: sums
that saturate, scores within their range, and public values that nobody changes.
"""

import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import metricdp as mdp
from benchmarks.methods.grid import Grid
from metricdp.audit.worlds import Coded
from metricdp.kernels.scores import CAP, add_covered, capped_dot
from metricdp.metrics.set_systems import Balls, ListedSets
from metricdp.privacy import (
    CentersQuery,
    CostQuery,
    CountQuery,
    CoverageQuery,
    CoverQuery,
    HistogramQuery,
    LevelsQuery,
    SumsQuery,
    SwapQuery,
    cover,
    gate,
    measure,
    select,
)
from metricdp.records.engines.sources import Tally
from metricdp.records.scores import CappedSwapCosts, Scale, Served, add_sums
from tests import cases, grid_metric, path_metric, refuses, tries
from tests.privacy_worlds import BOX, Labels, UnitCells, finest

PATH = path_metric(6)
TABLE = mdp.PrecomputedMetric(np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0))))
COUNTS = st.integers(0, 2**20) | st.integers(0, 2**61)


def tallied(universe, counts):
    """Demand of so many records at every point."""
    demand = mdp.PrivateDemand(universe, [])
    return demand._restricted(Tally(np.arange(len(universe)), np.array(counts, np.int64)), universe)


def scores_of(query, counts):
    records = Tally(np.arange(len(counts)), np.array(counts, np.int64))
    return np.concatenate(list(query.blocks(records))).tolist()


@tries(40, st.lists(COUNTS, min_size=6, max_size=6), st.sampled_from(["path", "table"]))
def test_sums_over_any_number_of_records_are_exact_and_saturate(counts, which):
    universe = PATH if which == "path" else TABLE
    ids, scale = list(universe.ids), Scale.of(universe, 1)
    rows = universe.grid_rows(np.arange(6))
    exact = -(-rows >> scale.shift)

    def cost(centers):
        near = exact[:, [ids.index(c) for c in centers]].min(axis=1).tolist()
        return min(sum(n * c for n, c in zip(counts, near)), CAP)

    query = SwapQuery(universe, [0, 4])
    costs = [cost({0, 4} - {ids[x]} | {ids[y]}) for x, y in map(query.decode, range(len(query)))]
    assert scores_of(query, counts) == [-c for c in costs]

    sets = [[0], [1, 5], [3]]
    each = np.stack([exact[:, s].min(axis=1) for s in sets])
    above = (each - each.min(axis=0)).tolist()
    expected = [-min(sum(n * c for n, c in zip(counts, row)), CAP) for row in above]
    assert scores_of(CentersQuery(universe, sets), counts) == expected

    within = (rows <= 2 * round(1 / universe.unit)).tolist()
    expected = [min(sum(n for n, w in zip(counts, row) if w), CAP) for row in within]
    assert scores_of(CoverageQuery(universe, 2), counts) == expected
    tally = Tally(np.arange(6), np.array(counts, np.int64))
    assert tally.total(HistogramQuery(finest(universe)).exact).tolist() == counts
    assert tally.total(CountQuery().exact).tolist() == [min(sum(counts), CAP)]


def test_one_record_more_does_not_turn_the_sign_of_a_cost():
    """Costs of 2^63 and more wrapped to negative ones: one record more decided the answer."""
    far = 671_088_640.0
    universe = mdp.PrecomputedMetric([[0.0, far, far], [far, 0.0, far], [far, far, 0.0]])
    for n in (13_743_895_347, 13_743_895_348, 2**40, 2**61):
        demand = tallied(universe, [n, 0, 0])
        query = SwapQuery(universe, [1])
        assert scores_of(query, [n, 0, 0])[0] == 0 > scores_of(query, [n, 0, 0])[1] == -CAP
        index, _ = select(demand, query, 1, mdp.Ledger(1).charge(1))
        assert query.decode(index)[1] == 0
        assert scores_of(CentersQuery(universe, [[0], [1]]), [n, 0, 0]) == [0, -CAP]


@tries(40, st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 62)), max_size=6))
def test_kernels_saturate_on_the_way(parts):
    values, counts = (np.array([p[i] for p in parts], np.int64) for i in (1, 0))
    assert capped_dot(values, counts) == min(sum(p * b for p, b in parts), CAP)
    covered = np.zeros(1, np.int64)
    for part, _ in parts:
        add_covered(np.zeros((1, 1), np.int64), np.array([part]), 0, covered)
    assert covered[0] == min(sum(min(p, CAP) for p, _ in parts), CAP)
    found = Tally(np.zeros(len(parts), int), counts).counts.tolist()
    assert found == ([min(sum(p for p, _ in parts), CAP)] if parts else [])


def test_warm_sums_of_large_demand_are_those_of_a_fresh_query():
    counts = np.random.default_rng(4).integers(0, 2**55, 6)
    warm = CappedSwapCosts(PATH, np.arange(6), counts, Scale.of(PATH, 2))
    for centers in ([0, 4], [0, 5], [2, 5]):
        served = Served.by(PATH, np.array(centers))
        cold = CappedSwapCosts(PATH, np.arange(6), counts, Scale.of(PATH, 2))
        found = []
        for costs in (warm, cold):
            costs.serve(served)
            found.append(np.concatenate(list(costs.costs(np.arange(2), np.arange(6)))).tolist())
        assert found[0] == found[1]


def test_covers_of_more_records_than_a_sum_can_hold_keep_their_order():
    universe = TABLE
    for system in (Balls(universe, 0), Balls(universe, 1), ListedSets([0, 2, 6], range(6), 6)):
        query = CoverQuery(finest(universe), [(system, 2)])
        shown = []
        counts = np.array([2**61] * 5 + [3])
        query.selected(counts, lambda scores, shown=shown: shown.append(scores.copy()) or 0)
        assert all((scores >= 0).all() and (scores <= CAP).all() for scores in shown)
    demand = tallied(universe, [2**61] * 6)
    assert cover(demand, query, 1, mdp.Ledger(1).charge(1))[0][0].tolist() in ([0, 1], [1, 0])


def test_images_are_refused_one_by_one():
    """By the map itself, whatever the engine that calls it looks at."""
    block = np.array([[0.5], [0.7]])
    for wrong in ([[0.5], [np.nan]], [[np.nan], [np.nan]], [[0.5]], [0.5, 0.7], [["a"], ["b"]]):
        with pytest.raises(AssertionError, match="one place"):
            gate._Images(lambda r, wrong=wrong: np.array(wrong), BOX)(block)
    for kind in (np.int64, np.uint8, np.float32):
        images = gate._Images(lambda r, kind=kind: np.array([[0], [1]], kind), BOX)(block)
        assert images.dtype == np.float64


@cases(
    "images",
    lambda r: r[:1],
    lambda r: np.vstack([r, r]),
    lambda r: r[:, 0],
    lambda r: np.hstack([r, r]),
    lambda r: np.where(r > 1, np.nan, r),
    lambda r: r.astype(str),
    lambda r: r.astype(complex),
    lambda r: None,
    ids=["fewer", "more", "flat", "wide", "NaN", "text", "complex", "none"],
)
def test_a_map_gives_every_record_one_place(images):
    demand = mdp.PrivateDemand(BOX, [[0.5], [2.5]])
    refused = refuses("cannot be mapped", lambda: gate.mapped(demand, Coded(BOX, images), BOX))
    assert refused.__cause__ is refused.__context__ is None
    assert gate.mapped(demand, Coded(BOX, lambda r: 7 * r), BOX).universe is BOX


@cases(
    "labels",
    lambda r: np.zeros(len(r) + 1, int),
    lambda r: np.full(len(r), 3),
    lambda r: np.full(len(r), -1),
    lambda r: np.full(len(r), np.nan),
    lambda r: np.zeros((len(r), 1), int),
    ids=["more", "beyond", "negative", "NaN", "square"],
)
def test_a_partition_gives_every_record_one_part(monkeypatch, labels):
    cells = UnitCells(BOX)
    monkeypatch.setattr(UnitCells, "encode", lambda self, r: labels(r))
    demand = mdp.PrivateDemand(BOX, [[0.5], [2.5]])
    three = mdp.PrecomputedMetric([[0.0, 1, 2], [1, 0.0, 2], [2, 2, 0.0]])
    ledger = mdp.Ledger(3)
    for call in (
        lambda: measure(demand, HistogramQuery(cells), 1, ledger.charge(1)),
        lambda: gate.moved(demand, cells, three),
        lambda: gate.split(demand, cells, 1, ledger),
    ):
        refuses("details withheld", call)


@cases(
    ("query", "bug"),
    (HistogramQuery(finest(PATH)), lambda self, r: np.zeros(6, np.int64)),
    (HistogramQuery(finest(PATH)), lambda self, r: np.array([len(r) + 1, -1, 0, 0, 0, 0])),
    (HistogramQuery(finest(PATH)), lambda self, r: np.array([len(r), 0, 0, 0, 0, 0.0])),
    (CountQuery(), lambda self, r: np.array([2 * len(r) + 1])),
    (SumsQuery(HistogramQuery(UnitCells(BOX)), 2), lambda self, r: np.full(3, 4 * len(r) + 1)),
)
def test_totals_beyond_what_the_counts_allow_are_refused(monkeypatch, query, bug):
    monkeypatch.setattr(type(query), "exact", bug)
    in_box = isinstance(query, SumsQuery)
    demand = mdp.PrivateDemand(BOX, [[0.5], [2.5]]) if in_box else mdp.PrivateDemand(PATH, [1, 2])
    with pytest.raises(mdp.InputError, match="the query failed on private records") as refused:
        measure(demand, query, 1, mdp.Ledger(1).charge(1))
    assert refused.value.__cause__ is refused.value.__context__ is None


@pytest.mark.parametrize("wrong", [1, -(2**62), -(10**9)])
def test_scores_beyond_their_range_are_refused(monkeypatch, wrong):
    demand = mdp.PrivateDemand(PATH, [1, 2])
    for query in (CostQuery(PATH), SwapQuery(PATH, [0]), CentersQuery(PATH, [[0], [1]])):
        with monkeypatch.context() as patch:
            bad = np.array([wrong] + [0] * 5)
            patch.setattr(type(query), "resumed", lambda self, r, m, bad=bad: iter([bad]))
            refuses("the selection failed", select, demand, query, 1, mdp.Ledger(1).charge(1))
    monkeypatch.setattr(CoverageQuery, "blocks", lambda self, r: iter([np.array([3, 0])]))
    with pytest.raises(mdp.InputError, match="the selection failed"):
        select(demand, CoverageQuery(PATH, 1), 1, mdp.Ledger(1).charge(1))


# Nothing can be changed once it is made
def read_only():
    """Queries and set systems of every kind."""
    hist = HistogramQuery(UnitCells(BOX))
    return [
        HistogramQuery(Labels(PATH, (0, 1, 1, 0, 2, 2), 3)),
        SumsQuery(hist, 4, [[1.0], [1.0], [1.5]], [0.25, 0.25, 0.5]),
        CostQuery(PATH, [0, 3]),
        CoverageQuery(PATH, 1),
        SwapQuery(PATH, [0, 3], candidates=[1, 2], opened=[0]),
        CentersQuery(PATH, [[0], [1]]),
        Balls(PATH, 1, np.array([1, 2])),
        ListedSets([0, 2, 3], [0, 1, 1], 6),
        CoverQuery(finest(PATH), [(Balls(PATH, 1), 1)]),
    ]


def arrays_of(value, seen=None):
    """All arrays that a query's attributes lead to, without the universe and its partition."""
    seen = seen if seen is not None else set()
    public = mdp.GraphMetric | mdp.EuclideanSpace | Labels | UnitCells
    if id(value) in seen or isinstance(value, public):
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from arrays_of(part, seen)
    elif hasattr(value, "__dict__"):
        for part in vars(value).values():
            yield from arrays_of(part, seen)


@pytest.mark.parametrize("query", read_only(), ids=lambda q: type(q).__name__)
def test_queries_and_set_systems_are_read_only(query):
    for array in arrays_of(query):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        if array.size:
            refuses("WRITEABLE", array.setflags, error=ValueError, write=True)
    for name in [*vars(query), "monotone", "sensitivity", "exact", "bits", "blocks"]:
        if hasattr(query, name):
            refuses("", setattr, query, name, 1, error=AttributeError)
            refuses("", delattr, query, name, error=AttributeError)


def test_balls_keep_nothing_of_the_records_that_they_were_asked_about():
    """Search buffers kept neighborhoods of records, and were pickled."""
    rng = np.random.default_rng(2)
    universe = grid_metric(9, 9)
    balls = Balls(universe, 2)
    records = [universe.ids[i] for i in rng.integers(81, size=40)]
    balls.members(0), mdp.PrivateDemand(universe, [])  # the metric's own public parts
    before = pickle.dumps(balls)
    query = CoverQuery(finest(universe), [(balls, 3)])
    cover(mdp.PrivateDemand(universe, records), query, "1/100", mdp.Ledger(1).charge("1/100"))
    assert pickle.dumps(balls) == before
    total = np.zeros(81, np.int64)
    add_sums(balls, total, np.arange(5), np.ones(5, np.int64))
    assert pickle.dumps(balls) == before
    assert Fraction(int(total.sum()), 5) > 1


SQUARE = mdp.EuclideanSpace([-4.0, -4.0], [4.0, 4.0])


@given(
    arrays(float, st.tuples(st.integers(1, 8), st.just(2)), elements=st.floats(-4, 4)),
    st.floats(1e-3, 20),
    st.integers(1, 20),
)
def test_no_record_moves_a_clipped_sum_by_more_than_the_sensitivities(points, radius, bits):
    centers = np.array([[-1.0, 0.0], [2.0, 3.0]])
    query = SumsQuery(HistogramQuery(Grid(SQUARE, 2)), bits, centers, [radius, 2 * radius])
    rows = np.array([query.exact(point[None]) for point in points])
    assert (rows**2).sum(axis=1).max() <= query.squared_sensitivity("add-remove", 1)
    assert np.abs(rows).sum(axis=1).max() <= query.sensitivity("add-remove", 1)
    gaps = rows[:, None] - rows
    assert (gaps**2).sum(axis=2).max() <= query.squared_sensitivity("replace-one", 1)
    assert np.abs(gaps).sum(axis=2).max() <= query.sensitivity("replace-one", 1)
    assert (query.exact(points) == rows.sum(axis=0)).all()


@cases(
    ("centers", "radii"),
    ([[0, 0]] * 3, 1),
    ([0, 0, 0], 1),
    ([[np.nan, 0]] * 2, 1),
    ([[np.inf, 0], [0, 0]], 1),
    (None, 0),
    (None, -1),
    (None, [1, np.inf]),
    (None, [1, 1, 1]),
    (None, 1e-6),
    (None, 0.75 * SQUARE.diameter_bound() / 2**20),
    ("a", 1),
    (None, None.__class__),
)
def test_bad_centers_and_radii_are_refused(centers, radii):
    refuses("", lambda: SumsQuery(HistogramQuery(Grid(SQUARE, 2)), 10, centers, radii))


def test_centers_of_sums_are_kept_in_the_box_and_cannot_be_changed_from_outside():
    centers, radii = np.array([[9.0, 0.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    query = SumsQuery(HistogramQuery(Grid(SQUARE, 2)), 4, centers, radii)
    before = query.exact(np.array([[1.0, 2.0], [-3.0, 0.0]])).tolist()
    centers[:], radii[:] = 0.0, 1e-9
    assert query.centers.tolist() == [[4.0, 0.0], [1.0, 1.0]]
    assert query.steps.tolist() == [1 / 16, 2 / 16]
    assert query.exact(np.array([[1.0, 2.0], [-3.0, 0.0]])).tolist() == before


PARTS = HistogramQuery(Grid(mdp.EuclideanSpace([0.0, 0.0], [8.0, 2.0]), (4, 1)))


def test_sums_are_from_the_middle_of_the_box_unless_reported():
    space = PARTS.universe
    query = SumsQuery(PARTS, 4)
    assert query.centers.tolist() == [[4.0, 1.0]] * 4
    assert query.radii.tolist() == [space.diameter_bound() / 2] * 4
    least = space.diameter_bound() / 2**20
    assert SumsQuery(PARTS, 4, None, least).radii.tolist() == [least] * 4


def test_folded_sums_are_of_even_parts_less_those_of_odd_ones():
    points = np.array([[0.5, 0.0], [2.5, 1.5], [4.5, 2.0], [5.0, 0.5], [7.9, 0.5]])
    plain, folded = SumsQuery(PARTS, 6), SumsQuery(PARTS, 6, folded=True)
    zero, one, two, three = plain.exact(points).reshape(4, 2).tolist()
    expected = [a - b + c - d for a, b, c, d in zip(zero, one, two, three)]
    assert folded.exact(points).tolist() == expected
    assert (plain.n_values, folded.n_values) == (8, 2)
    wanted = "sums of records in 4 parts", "differences of sums of records in 4 parts"
    assert (str(plain), str(folded)) == wanted


@pytest.mark.parametrize("folded", [False, True])
def test_the_bounds_of_sums_in_numbers(folded):
    """B = 16, d = 2, floor(16 sqrt(2)) = 22: what is stated, and what so many records may have."""
    query = SumsQuery(PARTS, 4, folded=folded)
    cases = product(("add-remove", "replace-one"), (1, 3))
    stated = [(query.sensitivity(*case), query.squared_sensitivity(*case)) for case in cases]
    assert stated == [(22, 16**2), (67, 48**2), (45, 32**2), (135, 96**2)]
    none = np.zeros(query.n_values, np.int64)
    for sign in (1, -1):
        most = none.copy()
        most[-1], most[0] = 40 * sign, 26 * sign
        assert query.fits(most, 3) and not query.fits(most, 2)
        most[0] += sign
        assert not query.fits(most, 3)
    assert not query.fits(np.zeros(10 - query.n_values, np.int64), 3)


def test_levels_answer_side_by_side_and_are_held_to_it_one_by_one():
    two = HistogramQuery(Grid(PARTS.universe, (2, 1)))
    given = [PARTS, two]
    levels = LevelsQuery(given)
    given.clear()
    assert levels.levels == (PARTS, two) and str(levels) == "2 histograms of 6 parts in all"
    assert str(LevelsQuery([SumsQuery(PARTS)] * 2)) == "2 times sums of records in 4 parts"
    for answer, fits in (
        ([2, 0, 1, 0, 2, 1], True),
        ([2, 0, 1, 0, 2, 2], False),
        ([2, 0, 2, 0, 2, 1], False),
        ([2, 0, 1, 0, 2, 1, 0], False),
        ([2, 0, 1, 0, 3], False),
    ):
        assert levels.fits(np.array(answer), 3) == fits


@pytest.mark.parametrize("levels", [(), (PARTS, "histogram"), (PARTS, CountQuery()), ("a", "b")])
def test_levels_of_anything_else_are_refused(levels):
    refuses("levels must be one or more", LevelsQuery, levels)


@pytest.mark.parametrize(
    ("histogram", "bits"),
    [(PARTS, 0), (PARTS, 21), (PARTS, None), (PARTS, 1.5), ("a", 4), (LevelsQuery((PARTS,)), 4)],
)
def test_sums_are_of_a_histogram_and_of_few_bits(histogram, bits):
    refuses("1 to 20 bits", SumsQuery, histogram, bits)
    assert [SumsQuery(PARTS, bits).bits for bits in (1, 20)] == [1, 20]
