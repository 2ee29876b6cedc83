"""Private evaluation: what it charges, refuses and tells, also by public areas: labels and
polygons, what one record can add, and intervals.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import metricdp as mdp
from metricdp.partitions.areas import ELSEWHERE, Areas
from metricdp.partitions.service import (
    BITS,
    AreaDistances,
    ClippedDistances,
    DistanceBands,
    DistanceDifferences,
    Service,
)
from metricdp.privacy.queries import TotalsQuery, answered
from metricdp.running.evaluation import ByArea
from metricdp.solvers.estimate import intervals
from metricdp.solvers.estimate.intervals import Interval, Noisy
from tests import grid_metric, refuses

TOWN = grid_metric(12, 9)


def skewed(metric, n, seed=3):
    coins = np.random.default_rng(seed)
    shares = coins.pareto(1.5, len(metric))
    return [metric.ids[i] for i in coins.choice(len(metric), n, p=shares / shares.sum())]


def truth(metric, records, centers, limits, clip):
    distance = metric.nearest(centers)[1][metric.positions(records)]
    label = metric.nearest(centers)[0][metric.positions(records)]
    return {
        "mean": distance.mean(),
        "mean_capped": np.minimum(distance, clip).mean(),
        "share": [(distance <= limit).mean() for limit in limits],
        "median": np.quantile(distance, 0.5, method="inverted_cdf"),
        "p90": np.quantile(distance, 0.9, method="inverted_cdf"),
        "loads": np.bincount(label, minlength=len(centers)),
        "records": len(records),
        "clipped": (distance > clip).mean(),
    }


def holds(interval, value):
    low, high = np.asarray(interval.low), np.asarray(interval.high)
    return (low <= np.asarray(value) + 1e-9) & (np.asarray(value) - 1e-9 <= high)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_every_interval_covers_through_the_gate(relation, monkeypatch):
    """Of 80 intervals fewer than 60 cover once in 10^9 if each does with 95 %."""
    monkeypatch.setattr(intervals, "_DRAWS", 1 << 12)  # for speed: a little wider
    records, centers, limits = skewed(TOWN, 700), [(2, 2), (9, 6), (5, 0)], [1, 3]
    demand = mdp.PrivateDemand(TOWN, records)
    runs, hits = 80, []
    for _ in range(runs):
        ledger = mdp.Ledger(1, neighboring=relation)
        asked = {"ledger": ledger, "within": limits, "against": [(0, 0)]}
        report = mdp.evaluate(TOWN, demand, centers, epsilon=1, **asked)
        exact = truth(TOWN, records, centers, limits, report.clip)
        hits.append(np.concatenate([np.ravel(holds(getattr(report, n), exact[n])) for n in exact]))
        other = TOWN.nearest([(0, 0)])[1][TOWN.positions(records)].mean()
        mine = TOWN.nearest(centers)[1][TOWN.positions(records)].mean()
        assert holds(report.against.difference, mine - other) or report.against.verdict
    assert binom.cdf(59, runs, 0.95) < 1e-6
    assert (np.array(hits).sum(axis=0) >= 60).all()


@pytest.mark.extended
def test_the_mean_is_of_distances_however_far(monkeypatch):
    """A tenth of the records lies beyond a clip that was asked for: the mean covers them. Of 60
    intervals fewer than 40 hold the truth once in 10^8 if each does with 95 %.
    """
    monkeypatch.setattr(intervals, "_DRAWS", 1 << 12)
    line = mdp.EuclideanMetric(np.arange(200.0)[:, None])
    demand = mdp.PrivateDemand(line, [3] * 9000 + [150] * 1000)
    runs = [mdp.evaluate(line, demand, [0], epsilon=2, clip=20) for _ in range(60)]
    exact = 0.9 * 3 + 0.1 * 150
    assert binom.cdf(39, 60, 0.95) < 1e-8
    assert sum(holds(report.mean, exact) for report in runs) >= 40
    assert not any(holds(report.mean_capped, exact) for report in runs)
    assert sum(holds(report.mean_capped, 0.9 * 3 + 0.1 * 20) for report in runs) >= 40
    said = str(runs[0])
    assert "mean distance " in said and "mean up to 20 " in said


def test_it_charges_exactly_its_price_and_says_so():
    ledger = mdp.Ledger("0.3")
    demand = mdp.PrivateDemand(TOWN, skewed(TOWN, 50))
    report = mdp.evaluate(TOWN, demand, [(0, 0)], epsilon="0.1", ledger=ledger, against=[(1, 1)])
    assert (ledger.spent, report.receipt.epsilon) == (Fraction(1, 10), Fraction(1, 10))
    assert len(report.receipt.mechanisms) == 5
    assert "serves better than the others" in str(report)
    assert set(report.to_dict()) >= {"mean", "share", "loads", "clip", "receipt", "against"}
    with pytest.raises(mdp.BudgetError):
        mdp.evaluate(TOWN, demand, [(0, 0)], epsilon=1, ledger=ledger)
    report = mdp.evaluate(TOWN, demand, [(0, 0)], epsilon=1, delta=1e-6)
    assert {m.name for m in report.receipt.mechanisms} == {"discrete Gaussian"}
    assert report.receipt.delta == Fraction(1, 10**6)


def test_nobody_is_a_demand():
    report = mdp.evaluate(TOWN, mdp.PrivateDemand(TOWN, []), [(0, 0)], epsilon=1, within=2)
    capped = report.mean_capped
    assert 0 <= capped.low <= capped.high <= report.clip  # whatever noise looks like
    assert 0 <= report.mean.low <= report.mean.high
    assert report.records.low < 60


def test_users_and_boxes():
    space = mdp.EuclideanSpace([0, 0], [4, 4])
    points = np.random.default_rng(2).normal(1, 0.2, (4000, 2))
    demand = mdp.PrivateDemand(space, points, user=range(4000), max_contributions=2)
    release = mdp.release(space, demand, epsilon=2)
    report = mdp.evaluate(space, demand, [[1.0, 1.0]], epsilon=2, within=[0.25], release=release)
    distance = np.linalg.norm(space.clip(points) - 1, axis=1)
    assert abs(report.mean_capped.estimate - np.minimum(distance, report.clip).mean()) < 0.05
    assert abs(report.share.estimate[0] - (distance <= 0.25).mean()) < 0.1
    assert report.receipt.unit == "user"


def test_a_plan_predicts_the_widths():
    demand = mdp.PrivateDemand(TOWN, skewed(TOWN, 3000))
    centers = [(2, 2), (9, 6)]
    report = mdp.evaluate(TOWN, demand, centers, epsilon=1, within=[2])
    plan = mdp.plan_evaluation(TOWN, centers, records=3000, epsilon=1, within=[2])
    assert 0.6 < plan.mean.half_width / report.mean.half_width < 1.7
    assert 0.6 < plan.share.half_width[0] / report.share.half_width[0] < 1.7
    assert plan.receipt is None


class OneByOne:
    n_values = 2

    def __init__(self, universe, table):
        self.universe, self.table = universe, np.array(table)

    def amounts(self, records):
        return self.table[records]


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("shift", [0, 1, 2])
def test_sensitivity_of_totals_on_all_small_demands(relation, shift):
    metric = mdp.PrecomputedMetric(1 - np.eye(4))
    query = TotalsQuery(OneByOne(metric, [[8, 0], [1, 7], [-3, -5], [0, -8]]), 3, shift)
    m = 2
    units = [u for k in (1, 2) for u in itertools.combinations_with_replacement(range(4), k)]
    worst = 0
    for rest in itertools.product(range(4), repeat=2):
        reported = {u: answered(query, np.array([*rest, *u], np.int64)) for u in units}
        others = (
            reported.values() if relation == "replace-one" else [answered(query, np.array(rest))]
        )
        for a in reported.values():
            worst = max(worst, *(int(np.abs(a - b).sum()) for b in others))
    claim = query.sensitivity(relation, m)
    assert claim - query.n_values < worst <= claim
    assert claim <= (8 * m * (1 if relation == "add-remove" else 2) >> shift) + query.n_values
    if not shift:
        assert worst == claim


PAIR = mdp.PrecomputedMetric(1 - np.eye(2))
BOXED = mdp.EuclideanSpace([0.0], [2.0])


@pytest.mark.parametrize("bits", [0, 31, None, 1.5])
def test_bad_totals_are_refused(bits):
    refuses("1 to 30 bits", lambda: TotalsQuery(OneByOne(PAIR, [[1, 0], [1, 0]]), bits))
    for shift in (-1, 31, 0.5, "2", None):
        refuses("shift", TotalsQuery, OneByOne(PAIR, [[1, 0], [1, 0]]), 3, shift)
    none = OneByOne(PAIR, [[1, 0], [1, 0]])
    for none.n_values in (0, None):
        refuses("n_values >= 1", TotalsQuery, none, 3)
    for wrong in ([[1], [1]], [[1.0, 2.0]] * 2, np.ones((2, 2), np.uint64), [1, 2]):
        refuses("n_values integers", TotalsQuery, OneByOne(PAIR, wrong), 3)
    for good in (1, 30):
        assert TotalsQuery(OneByOne(PAIR, [[1, 0], [1, 0]]), good, 30).bits == good


def test_what_totals_count_state_and_are_held_to():
    table = [[8, 0], [-8, 0], [-3, -5], [9, 0], [0, -9], [5, 4], [2**63 - 1, 0], [-(2**63), 0]]
    metric = mdp.PrecomputedMetric(1 - np.eye(len(table)))
    query = TotalsQuery(OneByOne(metric, table), 3)
    assert query.table.tolist() == [[8, 0], [-8, 0], [-3, -5], *[[0, 0]] * 5]
    assert str(query) == "totals of 2 amounts"
    query.check(metric)
    refuses("different universes", query.check, PAIR)
    assert [query.squared_sensitivity("replace-one", m) for m in (1, 3)] == [16**2, 48**2]
    for answer, n, fits in (
        ([8, -8], 2, True),
        ([8, -9], 2, False),
        ([8], 2, False),
        ([[8, 8]], 2, False),
        ([0, 0], 0, True),
        ([1, 0], 0, False),
    ):
        assert query.fits(np.array(answer), n) == fits


def test_totals_of_a_box_are_computed_record_by_record_and_see_few_at_a_time(monkeypatch):
    """Else `by=` in a box would take memory for all records times all areas."""
    seen, places = [], OneByOne(BOXED, [[8, 0], [-3, -5], [9, 0]])

    def amounts(records):
        seen.append(len(records))
        return places.table[records[:, 0].astype(int)]

    places.amounts = amounts
    monkeypatch.setattr("metricdp.arguments.ENTRIES", 6)
    query = TotalsQuery(places, 3)
    assert query.table is None
    found = query.exact(np.array([[0.5], [1.5], [0.0], [2.0]] * 5)).tolist()
    assert found == [65, -25]
    assert sum(seen) == 20 and max(seen) == 3


def test_amounts_of_few_bits_are_bounded_as_all_are():
    """The absolute value of -128 in 8 bits is -128, below any bound."""
    amounts = OneByOne(mdp.PrecomputedMetric(1 - np.eye(2)), [[-128, 100], [-128, 0]])
    amounts.amounts = lambda records, of=amounts.amounts: of(records).astype(np.int8)
    assert TotalsQuery(amounts, 7).exact(np.array([0, 1])).tolist() == [-128, 0]


def test_amounts_are_those_of_the_definition():
    service = Service(TOWN, [(0, 0), (11, 8)])
    everyone = np.arange(len(TOWN))
    distance = naive_distances(TOWN, [(0, 0), (11, 8)])
    assert service.farthest == distance.max()
    amounts = ClippedDistances(service, 4.0).amounts(everyone)
    assert (amounts.sum(axis=1) == 2**BITS).all()
    assert np.allclose(amounts[:, 1] / 2**BITS * 4, np.minimum(distance, 4), atol=1e-5)
    found = DistanceBands(service, [1.0, 3.0]).encode(everyone)
    assert (found == np.digitize(distance, [1, 3], True)).all()
    other = DistanceDifferences(service, Service(TOWN, [(5, 5)]))
    expected = distance - naive_distances(TOWN, [(5, 5)])
    assert np.allclose(other.amounts(everyone)[:, 0] * other.reach / 2**BITS, expected, atol=1e-4)


def naive_distances(metric, centers):
    away = [min(abs(x - a) + abs(y - b) for a, b in centers) for x, y in metric.ids]
    return np.array(away, np.float64)


def test_noise_in_parts_of_a_share_is_not_rounded_to_whole_users():
    """Noise is drawn in weight units: below one user its distribution was taken for that of whole
    users."""
    places, users = [(0, 0)] * 20 + [(11, 8)] * 20, list(range(40))
    demand = mdp.PrivateDemand(TOWN, places, user=users, weighting="share")
    report = mdp.evaluate(TOWN, demand, [(0, 0), (11, 8)], epsilon=1000)
    scale = report.receipt.mechanisms[-1].scale / report.receipt.grains  # of loads
    assert scale < 0.02 and (report.loads.half_width > 2 * scale).all()


@pytest.fixture(scope="module")
def town():
    return grid_metric(8, 6, step=1.0)


def quarter(at):
    return ("west", "east")[at[0] > 3] + ("", " side")[at[1] > 2]


def test_labels_come_by_id_by_order_and_by_series(town):
    by_id = {at: quarter(at) for at in town.ids if at != (0, 0)}
    reported = Areas.of(town, by_id)
    assert reported.names == ("east", "east side", "west", "west side", ELSEWHERE)
    every = reported.label(np.arange(len(town)))
    named = [reported.names[i] for i in every.tolist()]
    assert named == [by_id.get(at, ELSEWHERE) for at in town.ids]
    listed = Areas.of(town, [by_id.get(at) for at in town.ids])
    assert listed.names == reported.names
    np.testing.assert_array_equal(listed.label(np.arange(len(town))), every)
    pandas = pytest.importorskip("pandas")
    index = pandas.Index(town.ids, tupleize_cols=False)
    series = pandas.Series([by_id.get(at) for at in town.ids], index)
    np.testing.assert_array_equal(Areas.of(town, series).label(np.arange(len(town))), every)


def test_elsewhere_is_one_area(town):
    """Points that are called so and points without a label were two areas of one name."""
    first, *_, last = town.ids
    reported = Areas.of(town, {first: "north", last: ELSEWHERE})
    assert reported.names == ("north", ELSEWHERE)
    assert reported.label(np.arange(len(town))).sum() == len(town) - 1


@pytest.mark.parametrize("by", [{}, {(0, 0): None}, ["a"] * 3, 7, {(99, 99): "a"}, [["a"]] * 48])
def test_labels_that_say_nothing_are_refused_before_a_charge(town, by):
    ledger, demand = mdp.Ledger(1), mdp.PrivateDemand(town, [(0, 0)])
    refuses("", mdp.evaluate, town, demand, [(0, 0)], epsilon="1/2", by=by, ledger=ledger)
    assert ledger.left == 1


def test_labels_of_points_are_refused_in_a_box_and_where_names_agree(town):
    refuses("polygons", lambda: Areas.of(mdp.EuclideanSpace([0, 0], [1, 1]), ["a"]))
    refuses("different labels of one name", Areas.of, town, {town.ids[0]: 1, town.ids[1]: "1"})
    three = dict(zip(town.ids, (1, "1", True)))  # 1 is True, and of another name
    refuses("different labels of one name", Areas.of, town, three)


def test_polygons_hold_points_of_graphs_and_of_boxes(town):
    shapely = pytest.importorskip("shapely")
    geopandas = pytest.importorskip("geopandas")
    pytest.importorskip("pyogrio")
    boxes = {"a": shapely.box(-1, -1, 3, 9), "b": shapely.box(3, -1, 5, 9)}
    series = geopandas.GeoSeries(boxes)
    for by in (boxes, series, geopandas.GeoDataFrame(geometry=series)):
        reported = Areas.of(town, by)
        named = [reported.names[i] for i in reported.label(np.arange(len(town))).tolist()]
        assert named == ["a" if x <= 3 else "b" if x <= 5 else ELSEWHERE for x, y in town.ids]
    space = mdp.EuclideanSpace([0, 0], [8, 8])
    reported = Areas.of(space, boxes)
    found = reported.label(np.array([[1.0, 1.0], [4.5, 2.0], [7.0, 7.0], [3.0, 3.0]]))
    assert [reported.names[i] for i in found.tolist()] == ["a", "b", ELSEWHERE, "a"]
    demand = mdp.PrivateDemand(space, [[1.0, 1.0]] * 4000 + [[4.5, 1.0]] * 2000)
    report = mdp.evaluate(space, demand, [[1.0, 2.0]], epsilon=50, by=boxes)
    assert np.allclose(report.areas.records.estimate, [4000, 2000, 0], atol=20)
    assert np.allclose(report.areas.mean.estimate[:2], [1.0, np.hypot(3.5, 1)], atol=0.05)
    cases = {"a": shapely.Point(0, 0)}, {ELSEWHERE: boxes["a"]}, {1: boxes["a"], "1": boxes["b"]}
    for bad in cases:
        refuses("", Areas.of, town, bad)
    refuses("no area with a point", lambda: Areas.of(town, {"far": shapely.box(70, 70, 80, 80)}))


def test_a_record_adds_to_its_own_area_alone_and_as_much_as_a_count(town):
    service = Service(town, [(1, 1), (6, 4)])
    areas = Areas.of(town, [quarter(at) for at in town.ids])
    measured = AreaDistances(service, areas)
    amounts = measured.amounts(np.arange(len(town)))
    distance = town.nearest([(1, 1), (6, 4)])[1]
    for i, at in enumerate(town.ids):
        area = areas.names.index(quarter(at))
        mine = amounts[i, 2 * area : 2 * area + 2]
        assert mine.sum() == amounts[i].sum() == 2**BITS and (amounts[i] >= 0).all()
        there = [j for j, other in enumerate(town.ids) if quarter(other) == quarter(at)]
        assert measured.reach[area] == distance[there].max()
        assert mine[1] == int(distance[i] / measured.reach[area] * 2**BITS)
    query = TotalsQuery(measured, BITS)
    assert query.sensitivity("add-remove", 1) == 2**BITS
    expected = amounts[[3, 3, 40]].sum(axis=0)
    np.testing.assert_array_equal(query.exact(np.array([3, 3, 40])), expected)


def test_figures_are_those_of_the_records(town):
    coins = np.random.default_rng(5)
    records = [town.ids[i] for i in coins.integers(0, len(town), 20_000).tolist()]
    demand, by = mdp.PrivateDemand(town, records), {at: quarter(at) for at in town.ids}
    mine, others = [(1, 1), (6, 4)], [(0, 0)]
    report = mdp.evaluate(town, demand, mine, epsilon=40, by=by, against=others)
    away, theirs = (town.nearest(c)[1][town.positions(records)] for c in (mine, others))
    label = np.array([quarter(at) for at in records])
    worst = {}
    for i, name in enumerate(report.areas.names):
        here = label == name
        assert report.areas.records.estimate[i] == pytest.approx(here.sum(), abs=20)
        assert report.areas.mean.estimate[i] == pytest.approx(away[here].mean(), rel=0.01)
        worst[name] = away[here].sum() / theirs[here].sum()
        assert report.areas.relative.estimate[i] == pytest.approx(worst[name], rel=0.01)
    # two areas are within four deviations of each other: either may be named, and no third
    assert worst[report.areas.worst] == pytest.approx(max(worst.values()), rel=0.01)
    assert f"worst served: {report.areas.worst}" in str(report)
    reported = report.to_dict()["by_area"]
    assert reported["worst"] == report.areas.worst
    assert [row["area"] for row in reported["areas"]] == list(report.areas.names)
    assert report.receipt.epsilon == 40
    planned = mdp.plan_evaluation(town, mine, records=20_000, epsilon=40, by=by)
    assert planned.areas.names == report.areas.names
    assert "by_area" not in mdp.evaluate(town, demand, mine, epsilon=1).to_dict()


def read(town, weights, noise, scale_told):
    """Figures of given numbers of records a point, with this noise."""
    areas = Areas.of(town, [quarter(at) for at in town.ids])
    pair = [AreaDistances(Service(town, c), areas) for c in ([(1, 1), (6, 4)], [(0, 0)])]
    exact = [weights @ one.amounts(np.arange(len(town))) for one in pair]
    n = len(exact[0])
    reported = (np.concatenate(exact) + noise(2 * n)).astype(float)
    distributions, unit = ["discrete Laplace"] * (2 * n), np.full(2 * n, 2.0**-BITS)
    answers = Noisy(reported, np.full(2 * n, scale_told), distributions, unit)
    number, far = exact[0].reshape(-1, 2).sum(axis=1) / 2**BITS, exact[0][1::2] * pair[0].reach
    with np.errstate(invalid="ignore"):
        mean, relative = far / number / 2**BITS, far / (exact[1][1::2] * pair[1].reach)
    truth = {"records": number, "mean": mean, "relative": relative}
    return ByArea.read(answers, [slice(0, n), slice(n, 2 * n)], pair), truth


def test_nothing_is_claimed_of_an_area_without_records(town):
    weights = np.zeros(len(town), np.int64)
    weights[town.positions([(1, 0)])[0]] = 5000
    figures, _ = read(town, weights, lambda n: np.zeros(n, np.int64), 2.0**BITS)
    empty = figures.names.index("east side")
    assert figures.records.low[empty] == 0 and figures.relative.high[empty] == np.inf
    assert np.isnan(figures.relative.estimate[empty]) and figures.worst == "west"
    assert figures.to_dict()["areas"][empty]["relative"]["high"] is None
    unknown, _ = read(town, 0 * weights, lambda n: np.zeros(n, np.int64), 2.0**BITS)
    assert unknown.worst is None and unknown.to_dict()["worst"] is None


def covered(town, scale_told, runs=50):
    """How many of 200 intervals of each figure hold it, where the noise has scale 2^BITS."""
    weights = np.random.default_rng(2).integers(0, 60, len(town))
    coins, p = np.random.default_rng(3), -np.expm1(-(2.0**-BITS))
    held = dict.fromkeys(("records", "mean", "relative"), 0)
    for _ in range(runs):
        noise = lambda n: coins.geometric(p, n) - coins.geometric(p, n)  # noqa: E731
        figures, truth = read(town, weights, noise, scale_told)
        for name, value in truth.items():
            interval: Interval = getattr(figures, name)
            held[name] += int(((interval.low <= value) & (value <= interval.high)).sum())
    return held


@pytest.mark.extended
def test_intervals_cover_at_their_level_and_narrower_ones_do_not(town, monkeypatch):
    """Of 200 intervals fewer than 173 cover once in 10^6 if each does with 95 %."""
    monkeypatch.setattr(intervals, "_DRAWS", 1 << 12)  # for speed: a little wider
    assert binom.cdf(172, 200, 0.95) < 1e-6
    assert min(covered(town, 2.0**BITS).values()) >= 173
    assert max(covered(town, 2.0**BITS / 2).values()) < 173
