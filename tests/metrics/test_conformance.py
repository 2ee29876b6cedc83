"""Every metric of ours, and some of others, keeps the contract of a metric."""

from dataclasses import dataclass

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.metrics import METRICS
from metricdp.testing import MetricTestCase
from tests import cases, path_metric, refuses
from tests.metrics.test_directed import one_way_town, universe
from tests.test_readme import ROOT, blocks

RNG = np.random.default_rng(17)
PLANE = np.vstack([RNG.random((60, 2)) * 10, [[1.5, 2.5], [1.5, 2.5]]])


def roads(x="x", y="y"):
    G = nx.grid_2d_graph(7, 8)
    for at, (_, _, edge) in enumerate(G.edges(data=True)):
        edge["length"] = 1 + at % 5 / 8
    for node, data in G.nodes(data=True):
        data[x], data[y] = map(float, node)
    return mdp.GraphMetric(G)


def earth():
    """Poles, the date line, opposite points, and points on one meridian."""
    rng = np.random.default_rng(4)
    some = np.column_stack([rng.uniform(-180, 180, 40), rng.uniform(-90, 90, 40)])
    line = np.column_stack([np.full(12, 30.0), np.linspace(-90, 90, 12)])
    named = [[180, 10], [-180, 10], [0, 90], [77, 90], [0, -90], [0, 0], [180, 0], [-180, 0]]
    return mdp.HaversineMetric(np.vstack([some, line, named]))


def matrix():
    steps = np.abs(PLANE[:, None] - PLANE).sum(axis=2)
    return mdp.PrecomputedMetric(np.sqrt((steps + steps.T) / 2))


def edits(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


PAGE = {"edits": edits}
exec(blocks((ROOT / "docs" / "your-own-metric.md").read_text("utf-8"), "python")[0], PAGE)


class EditDistance(PAGE["EditDistance"]):
    """The one of the page, with a grid and a bound of its own."""

    unit = 1.0
    on_grid = True

    def diameter_bound(self):
        return float(max(map(len, self.ids)))


WORDS = ["flour", "floor", "flower", "tower", "towel", "trowel", "bread", "broad", "road", "roads"]


@dataclass(frozen=True)
class Frozen(mdp.RowMetric):
    """Hashed and compared by its fields, one of them an array."""

    at: np.ndarray
    ids: tuple

    def distance_rows(self, sources, targets=None):
        there = self.at if targets is None else self.at[targets]
        return np.abs(self.at[sources][:, None] - there)


MADE = {
    "graph": roads,
    "graph on the earth": lambda: roads("lon", "lat"),
    "Euclidean": lambda: mdp.EuclideanMetric(PLANE),
    "Euclidean on the grid": lambda: mdp.EuclideanMetric(
        np.rint(PLANE * 3), ids=[f"p{i}" for i in range(len(PLANE))]
    ),
    "Manhattan": lambda: mdp.ManhattanMetric(PLANE),
    "Chebyshev": lambda: mdp.ChebyshevMetric(PLANE),
    "Chebyshev of many dimensions": lambda: mdp.ChebyshevMetric(
        np.random.default_rng(2).normal(size=(45, 14))
    ),
    "a city": lambda: mdp.HaversineMetric([13.4, 52.5] + (PLANE - 5) / 50),
    "the whole earth": earth,
    "matrix": matrix,
    "ground set": lambda: mdp.GroundSet("abcdefgh"),
    "one point": lambda: mdp.HaversineMetric([[7.0, 50.0]]),
    "the one of docs/your-own-metric.md": lambda: PAGE["EditDistance"](WORDS),
    "and with a grid of its own": lambda: EditDistance(WORDS),
    "round trips": lambda: universe(one_way_town(seed=6), "round-trip"),
    "a frozen dataclass": lambda: Frozen(np.array([0.0, 1, 1, 4, 9, 16]), tuple("abcdef")),
}


class TestMetrics(MetricTestCase):
    """Each in turn."""

    @pytest.fixture(autouse=True, params=MADE)
    def named(self, request):
        self.name = request.param
        if self.name in ("Chebyshev", "a city"):
            self.engines = (*MetricTestCase.engines, "dask")

    def metric(self):
        return MADE[self.name]()


def test_every_metric_has_its_tests():
    assert set(METRICS) <= {type(make()).__name__ for make in MADE.values()}


ROWS = {
    "symmetric": lambda rows, at: np.where(at == 2, 1.5 * rows, rows),
    "0 from": lambda rows, at: rows + 1,
    "negative": lambda rows, at: -rows,
    "numbers": lambda rows, at: np.where(at == 3, np.nan, rows),
    "what else is asked": lambda rows, at: rows * len(rows),
}


@dataclass
class Broken(mdp.RowMetric):
    how: str
    ids: tuple = tuple("abcdef")
    at = np.array([0.0, 1, 2, 4, 9, 16])

    def distance_rows(self, sources, targets=None):
        rows = np.abs(self.at[sources][:, None] - self.at)
        rows = ROWS[self.how](rows, np.arange(6)) if self.how in ROWS else rows
        rows = rows if targets is None else rows[:, targets]
        return rows[:, 1:] if self.how == "shape" and targets is not None else rows

    def diameter_bound(self):
        return {"diameter_bound": 3.0, "finite": np.inf}.get(self.how, 100.0)

    @property
    def grid_rows(self):
        if self.how == "int64":
            return lambda *asked: self.distance_rows(*asked)
        if self.how == "rounded up":
            return lambda *asked: super(Broken, self).grid_rows(*asked) // 2
        return super().grid_rows


@cases("how", *ROWS, "shape", "diameter_bound", "finite", "int64", "rounded up")
def test_a_broken_promise_is_reported_before_anything_is_charged(how):
    ledger = mdp.Ledger(epsilon=1)
    with np.errstate(invalid="ignore"), pytest.raises(mdp.InputError, match=how) as reported:
        metric = Broken(how)
        mdp.k_median(metric, mdp.PrivateDemand(metric, ["a", "b"]), k=2, epsilon=1, ledger=ledger)
    assert str(reported.value).startswith("Broken: ")
    assert ledger.spent == 0


@pytest.mark.parametrize("ids", [("a", "b", "a", "c", "d", "e"), (["x"],) * 6])
def test_ids_must_be_distinct_and_hashable(ids):
    refuses("ids", lambda: mdp.PrivateDemand(Broken("well", ids), []))


def test_text_that_no_file_can_hold_is_no_id():
    half = ["a", "\ud800"]
    for make in (
        lambda: mdp.EuclideanMetric(np.eye(2), ids=half),
        lambda: path_metric(half),
        lambda: mdp.CostTable(np.eye(2), sites=half),
    ):
        refuses("half a surrogate pair", make)


@pytest.mark.parametrize("method", ["partition", "hst", "local-search", "max-coverage", "uniform"])
@cases("name", "and with a grid of its own", "a frozen dataclass", "a city", "Chebyshev")
def test_every_method_takes_every_metric(name, method):
    metric = MADE[name]()
    demand = mdp.PrivateDemand(metric, list(metric.ids) * 50)
    ledger = mdp.Ledger(epsilon=8)
    result = mdp.k_median(metric, demand, k=3, epsilon=8, ledger=ledger, method=method)
    assert len(set(result.centers)) == 3 and set(result.centers) <= set(metric.ids)


def test_places_on_earth():
    places = mdp.HaversineMetric([[-0.1276, 51.5072], [2.3522, 48.8566], [179.9, 0], [-179.9, 0]])
    (lat, lon), (other_lat, other_lon) = np.radians([[51.5072, -0.1276], [48.8566, 2.3522]])
    square = np.sin((other_lat - lat) / 2) ** 2
    square += np.cos(other_lat) * np.cos(lat) * np.sin((other_lon - lon) / 2) ** 2
    haversine = 2 * 6_371_008.8 * np.arcsin(np.sqrt(square))
    assert places.distances([0], [1])[0, 0] == pytest.approx(haversine, rel=1e-12)
    assert places.distances([2], [3])[0, 0] == pytest.approx(6_371_008.8 * np.radians(0.2))
    assert places.snap([[-179.99, 0.0]]).tolist() == [3]
    assert places.snap([[179.999, 0.0], [-179.999, 0.0]]).tolist() == [2, 3]
    assert "91" not in str(refuses("", mdp.PrivateDemand.from_coordinates, places, [[10.0, 91.5]]))
