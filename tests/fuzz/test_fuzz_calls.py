"""Absurd arguments to every public call, to ledgers and to the gate: a valid answer, or one clear
error of metricdp's own and nothing charged.
"""

import contextlib
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

import metricdp as mdp
from metricdp import privacy
from metricdp.methods import question
from tests import path_metric
from tests.fuzzing import PRINTABLE, Case, assert_graph, fuzz, spoiled, tried

CORNERS = [[0.0, 0], [0, 1], [3, 0], [3, 4], [8, 8]]
TOWN = path_metric(6)
NAMED = mdp.EuclideanMetric(CORNERS, ids=["a", "Peña", "e\u0301", "\ue000", ""])
TABLE = mdp.PrecomputedMetric([[0, 1, 2], [1, 0, 2.5], [2, 2.5, 0]], ids=[(0, 0), 10**30, None])
BOX = mdp.EuclideanSpace([0, 0], [9, 9])
WORLDS: list[Any] = [TOWN, NAMED, mdp.ManhattanMetric(CORNERS), TABLE, BOX]


def records(world: Any) -> Any:
    return CORNERS if world is BOX else [*list(world.ids)[:3]] * 5


def demands(world: Any) -> list[mdp.PrivateDemand]:
    """Some records, none, and those of a user who may have two thousand million."""
    some = records(world)
    return [
        mdp.PrivateDemand(world, some),
        mdp.PrivateDemand(world, []),
        mdp.PrivateDemand(world, some, user=[1] * len(some), max_contributions=2**31 - 1),
    ]


DEMANDS = {id(world): demands(world) for world in WORLDS}
NET = 64
"""Points of the public net of a box: fewer than usual, since every seed makes another."""


@pytest.fixture(autouse=True, scope="module")
def small_nets() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(question, "NET_POINTS", NET)
        yield


@cache
def release_of(place: int) -> Any:
    return mdp.release(WORLDS[place], DEMANDS[id(WORLDS[place])][0], epsilon=1)


class Books:
    """A ledger and what stands on it: in memory, or with its journal."""

    def __init__(self, folder: str, kept: bool) -> None:
        self.path = Path(folder) / "study.ledger" if kept else None
        self.ledger = mdp.Ledger(2, Fraction(1, 10**5), journal=self.path)
        self.ledger.charge("1/7", purpose="before")
        self.before = self.state()

    def state(self) -> tuple[Any, ...]:
        ledger = self.ledger
        spent = (ledger.spent, ledger.spent_delta, ledger.left, ledger.left_delta, ledger.entries)
        return *spent, None if self.path is None else self.path.read_bytes()


SEARCH = {"k": 2, "candidates": None, "opened": None, "seed": 0, "time_limit": None}
PUBLIC = {"universe": None, "weights": None, "method": "partition", "certificate": False, **SEARCH}
PRIVATE = {"universe": None, "demand": None, "ledger": None, "epsilon": "1/3", "records_hint": None}
CLUSTERINGS = {name: {**PRIVATE, **PUBLIC} for name in ("k_median", "k_means")}
CLUSTERINGS["release"] = {**PRIVATE, "seed": 0}
SMALL = Case("release", {"epsilon": 1e-9})  # noise of more than 64 bits


@fuzz(
    250,
    [{"case": SMALL, "world": TOWN, "which": 2, "kept": 0}],
    case=spoiled(CLUSTERINGS),
    world=st.sampled_from(WORLDS),
    which=st.integers(0, 2),
    kept=st.integers(0, 3),
)
def test_private_calls(case: Case, world: Any, which: int, kept: int) -> None:
    name, spoils = case
    with tempfile.TemporaryDirectory() as folder:
        books = Books(folder, kept == 0)
        whose = {"universe": world, "demand": DEMANDS[id(world)][which], "ledger": books.ledger}
        arguments = {**CLUSTERINGS[name], **whose, **spoils}
        answer, error = tried(lambda: getattr(mdp, name)(**arguments))
        if error is not None:
            assert books.state() == books.before
            return
        if arguments["ledger"] is books.ledger and arguments["demand"] is not None:
            assert books.ledger.spent == Fraction(1, 7) + answer.receipt.epsilon
    if name == "release":
        assert np.isfinite(answer.weights).all() and (answer.weights >= 0).all()
    else:
        assert_result(answer, arguments["universe"], arguments["k"])


@fuzz(
    125,
    case=spoiled({"k_median": PUBLIC, "k_means": PUBLIC}),
    world=st.sampled_from(WORLDS),
    certificate=st.booleans(),
)
def test_public_calls(case: Case, world: Any, certificate: bool) -> None:
    own = {"universe": world, "certificate": certificate and world is not BOX}
    arguments = {**PUBLIC, **own, **case.spoils}
    answer, error = tried(lambda: getattr(mdp, case.name)(**arguments))
    if error is None:
        assert_result(answer, arguments["universe"], arguments["k"])


def assert_result(result: mdp.Result, world: Any, k: Any) -> None:
    text = json.dumps(result.to_dict(), allow_nan=False)
    assert json.loads(text)["k"] == k == len(result.centers)
    if world is BOX:
        assert result.centers.shape == (k, 2) and np.isfinite(result.centers).all()
    else:
        assert len(set(result.centers)) == k and set(result.centers) <= set(world.ids)


@fuzz(
    125,
    case=spoiled({"k_median": SEARCH, "k_means": SEARCH}, 3),
    place=st.integers(0, len(WORLDS) - 1),
)
def test_questions_to_a_release(case: Case, place: int) -> None:
    name, spoils = case
    arguments = {"k": 1, **spoils}
    answer, error = tried(lambda: getattr(release_of(place), name)(**arguments))
    if error is None:
        assert_result(answer, WORLDS[place], arguments["k"])


ROADS = {"weight": None, "symmetrize": False, "largest_component": False, "resolution": None}
FILE = dict.fromkeys(("format", "weight", "nodes", "source", "target", "resolution"))
UNIVERSES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "EuclideanMetric": (mdp.EuclideanMetric, {"points": CORNERS, "ids": None}),
    "ManhattanMetric": (mdp.ManhattanMetric, {"points": CORNERS, "ids": list("abcde")}),
    "PrecomputedMetric": (mdp.PrecomputedMetric, {"matrix": TABLE.matrix, "ids": None}),
    "EuclideanSpace": (mdp.EuclideanSpace, {"lower": [0, 0], "upper": [1, 1]}),
    "GraphMetric": (mdp.GraphMetric, {"graph": nx.path_graph(4), **ROADS}),
    "read_graph": (mdp.read_graph, {"path": "nowhere", **FILE}),
}
CASES = [
    Case("GraphMetric", {"resolution": 1e308}),  # all distances were infinite
    Case("PrecomputedMetric", {"matrix": np.array([[0, 1], [2, 0]])}),
    Case("EuclideanMetric", {"points": np.array([[0, np.nan], [1, 2]])}),
    Case("ManhattanMetric", {"points": np.array([[0, np.inf], [1, 2]])}),
]


@fuzz(
    225,
    [{"case": case} for case in CASES],
    case=spoiled({name: arguments for name, (_, arguments) in UNIVERSES.items()}),
)
def test_universes(case: Case) -> None:
    name, spoils = case
    call, arguments = UNIVERSES[name]
    universe, error = tried(lambda: call(**{**arguments, **spoils}))
    if error is None:
        assert_universe(universe)


def assert_universe(universe: Any) -> None:
    bound = universe.diameter_bound()
    assert 0 <= bound < np.inf
    if isinstance(universe, mdp.EuclideanSpace):
        assert len(universe.clip(np.zeros((1, universe.dimension)))) == 1
        return
    ids = list(universe.ids)
    rows, grid = universe.distances(ids), universe.grid_rows(np.arange(len(ids)))
    assert np.isfinite(rows).all() and (rows >= 0).all() and rows.max() <= bound * (1 + 1e-9)
    assert grid.dtype == np.int64 and (grid >= 0).all() and int(grid.max()) * len(ids) < 2**63
    assert (np.diagonal(grid) == 0).all() and np.array_equal(grid, grid.T)
    if isinstance(universe, mdp.GraphMetric):
        assert_graph(universe.graph)
    answer, error = tried(lambda: mdp.k_median(universe, k=1))
    assert error is None and answer.centers[0] in ids


values = st.sampled_from(PRINTABLE)


@fuzz(
    225,
    lengths=st.lists(values, min_size=3, max_size=3),
    ids=st.lists(values, min_size=2, max_size=2),
    places=st.lists(values, min_size=2, max_size=2),
    kind=st.sampled_from(["nx", "digraph", "igraph", "sparse"]),
)
def test_graphs_in_memory(lengths: list[Any], ids: list[Any], places: list[Any], kind: str) -> None:
    """Absurd lengths, ids and coordinates of the graphs of other libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            graph = made(kind, lengths, ids, places)
        except Exception:  # the other library refuses it
            return
    asked = {"symmetrize": kind == "digraph", "largest_component": True}
    metric, error = tried(lambda: mdp.GraphMetric(graph, **asked))
    if error is None:
        assert_universe(metric)


def made(kind: str, lengths: list[Any], ids: list[Any], places: list[Any]) -> Any:
    if kind == "sparse":
        a, b, c = lengths
        return sp.coo_array(np.array([[0, a, c], [a, 0, b], [c, b, 0]]))
    if kind == "igraph":
        graph = pytest.importorskip("igraph").Graph(edges=[(0, 1), (1, 2), (2, 0)])
        graph.es["length"], graph.vs["name"] = lengths, [*ids, "c"]
        graph.vs["x"], graph.vs["y"] = [*places, 1.0], [0.0, 0.0, 1.0]
        return graph
    graph = (nx.Graph if kind == "nx" else nx.MultiDiGraph)()
    arcs = [(ids[0], ids[1], lengths[0]), (ids[1], "c", lengths[1]), ("c", ids[0], lengths[2])]
    graph.add_weighted_edges_from(arcs, weight="length")
    graph.add_node("c", x=places[0], y=places[1])
    return graph


DEMAND = {"records": None, "user": None, "max_contributions": None}
FRAMES = {"frame_or_path": None, "node": "vertex", "x": None, "y": None}
FRAMES |= {"user": "who", "max_contributions": 2}
MAKERS = {"PrivateDemand": DEMAND, "from_frame": FRAMES}
MAKERS["from_coordinates"] = {"points": None, **DEMAND}
del MAKERS["from_coordinates"]["records"]
SPANS = {
    "case": Case("PrivateDemand", {"max_contributions": np.timedelta64(5, "s")}),
    "world": TOWN,
    "users": True,
}  # NumPy counts spans of time among the integers


@fuzz(175, [SPANS], case=spoiled(MAKERS), world=st.sampled_from(WORLDS), users=st.booleans())
def test_demands(case: Case, world: Any, users: bool) -> None:
    name, spoils = case
    rows = records(world)
    places = [[1.0, 2.0]] * len(rows)
    frame = {
        "vertex": list(range(len(rows))) if world is BOX else rows,
        "px": [1.0] * len(rows),
        "who": [i // 2 for i in range(len(rows))],
    }
    valid = {
        "PrivateDemand": {"records": rows, "user": frame["who"] if users else None},
        "from_coordinates": {"points": places, "user": frame["who"] if users else None},
        "from_frame": {
            "frame_or_path": framed(frame),
            "x": "px" if world is BOX else None,
            "y": "px" if world is BOX else None,
        },
    }[name]
    arguments = {**MAKERS[name], **valid, **spoils}
    make = mdp.PrivateDemand if name == "PrivateDemand" else getattr(mdp.PrivateDemand, name)
    demand, error = tried(lambda: make(world, **arguments))
    if error is None:
        assert demand.universe is world
        with pytest.warns(mdp.PrivateDataWarning):
            centers = [CORNERS[0]] if world is BOX else list(world.ids)[:1]
            assert 0 <= mdp.exact_cost(demand, centers) < 1e9


def framed(columns: dict[str, list[Any]]) -> Any:
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


BUDGETS = {
    "Ledger": {"epsilon": 1, "delta": 0, "neighboring": "add-remove", "journal": None},
    "charge": {"epsilon": 1, "delta": 0, "purpose": ""},
    "quote": {"epsilon": 1, "delta": 0},
}


@fuzz(175, case=spoiled(BUDGETS, 3), kept=st.integers(0, 3))
def test_budgets(case: Case, kept: int) -> None:
    name, spoils = case
    arguments = {**BUDGETS[name], **spoils}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        books = Books(folder, kept == 0)
        call = mdp.Ledger if name == "Ledger" else getattr(books.ledger, name)
        answer, error = tried(lambda: call(**arguments))
        if error is not None or name == "quote":
            assert books.state() == books.before
        elif name == "charge":
            assert books.ledger.spent == Fraction(1, 7) + answer.epsilon
            if books.path is not None:
                found = mdp.Ledger(2, Fraction(1, 10**5), journal=books.path).entries
                assert found == books.ledger.entries


class Halves:
    """The town cut in two."""

    universe, n_parts = TOWN, 2

    def encode(self, records: Any) -> Any:
        return (np.asarray(records) >= 3).astype(int)


QUERIES = [
    privacy.CountQuery(),
    privacy.HistogramQuery(Halves()),
    privacy.CostQuery(TOWN, [0]),
    privacy.CoverageQuery(TOWN, 1.5),
]
GATE = {
    "measure": ("demand", "query", "epsilon", "budget", "delta"),
    "select": ("demand", "query", "epsilon", "budget"),
    "split": ("demand", "partition", "epsilon", "ledger", "purpose"),
}
OF_A_SLICE = {"draw": ("epsilon", "delta"), "charge": ("epsilon", "delta", "purpose")}


@fuzz(
    250,
    case=spoiled(GATE | OF_A_SLICE, 3),
    query=st.sampled_from(QUERIES),
    which=st.integers(0, 2),
    in_rho=st.booleans(),
)
def test_the_gate(case: Case, query: Any, which: int, in_rho: bool) -> None:
    demand = DEMANDS[id(TOWN)][which]
    with tempfile.TemporaryDirectory() as folder:
        books = Books(folder, False)
        budget = books.ledger.charge(privacy.Cost.zcdp(1, "1/1000000") if in_rho else 1)
        books.before = books.state()
        before = budget.spent, budget.spent_delta, budget.left
        valid = {"demand": demand, "query": query, "partition": Halves(), "epsilon": "1/9"}
        valid |= {"budget": budget, "ledger": books.ledger}
        names = (GATE | OF_A_SLICE)[case.name]
        arguments = {name: valid[name] for name in names if name in valid} | case.spoils
        call = getattr(privacy if case.name in GATE else budget, case.name)
        answer, error = tried(lambda: call(**arguments))
        if error is not None:
            assert (budget.spent, budget.spent_delta, budget.left) == before
            assert books.state() == books.before
        elif case.name == "split":
            assert len(answer) == 2 and books.ledger.spent > books.before[0]
        elif case.name == "select":
            assert 0 <= answer[0] < len(TOWN)
        elif case.name == "measure":
            assert answer.values.dtype == np.int64


MADE = {
    "CostQuery": {"universe": TOWN, "centers": (), "power": 1, "cap": None},
    "CoverageQuery": {"universe": TOWN, "radius": 1},
    "HistogramQuery": {"partition": Halves()},
    "LevelsQuery": {"levels": [privacy.HistogramQuery(Halves())]},
    "selections": {"epsilon": "1/10", "times": 3, "delta": "1e-6"},
    "exact": {"value": "1/3"},
}
PRICES = {
    "of": {"epsilon": "1/9", "delta": 0},
    "zcdp": {"epsilon": "1/9", "delta": "1e-6"},
    "selection": {"epsilon": "1/9"},
}


@fuzz(225, case=spoiled(MADE | PRICES))
def test_queries_and_prices(case: Case) -> None:
    call = getattr(privacy.Cost if case.name in PRICES else privacy, case.name)
    answer, error = tried(lambda: call(**{**(MADE | PRICES)[case.name], **case.spoils}))
    if error is None and isinstance(answer, privacy.SelectionQuery):
        for relation in ("add-remove", "replace-one"):
            assert answer.range(relation, 3) >= answer.sensitivity(relation, 3) >= 1
        budget = mdp.Ledger(1).charge(1)
        if answer.universe is TOWN:
            assert 0 <= privacy.select(DEMANDS[id(TOWN)][0], answer, 1, budget)[0] < len(TOWN)
