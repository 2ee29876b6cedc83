"""Evaluation by public areas: labels and polygons, what one record can add, and intervals."""

import networkx as nx
import numpy as np
import pytest
from scipy.stats import binom

import metricdp as mdp
from metricdp.partitions.areas import ELSEWHERE, Areas
from metricdp.partitions.service import BITS, AreaDistances, Service
from metricdp.privacy.queries import TotalsQuery
from metricdp.running.evaluation import ByArea
from metricdp.solvers.estimate import intervals
from metricdp.solvers.estimate.intervals import Interval, Noisy
from tests import refuses


@pytest.fixture(scope="module")
def town():
    graph = nx.grid_2d_graph(8, 6)
    for at in graph:
        graph.nodes[at].update(x=float(at[0]), y=float(at[1]))
    return mdp.GraphMetric(graph, weight=None)


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
