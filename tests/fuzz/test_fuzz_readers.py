"""Damaged files of every format: a valid graph or one clear line of metricdp's own, in bounded time
and memory, and nothing private.
"""

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.universe import read_graph_file, read_nodes
from tests import beside
from tests.fuzzing import assert_graph, damaged_files, everything_said, fuzz, parquet, tried

FILES = beside(__file__, "files.toml")
GRAPHS, NODES = (
    {name: text.encode() for name, text in FILES[kind].items()} for kind in ("graphs", "nodes")
)
GRAPHS |= {
    "a.parquet": parquet({"source": [1, 2, 3], "target": [2, 3, 1], "length": [1.0, 2.5, 4.0]}),
    "b.parquet": parquet({"u": ["a", "b"], "v": ["b", "c"], "weight": [1, 2]}),
}
NODES["n.parquet"] = parquet({"osmid": [1, 2, 3], "x": [0.0, 1.0, 2.0], "y": [0.0, 1.0, 2.0]})
OPTIONS: list[dict[str, Any]] = [{}] * 30
FORMATS = ("pmed", "dimacs", "metis", "graphml", "edgelist", "tntp")
OPTIONS += [{"format": name} for name in FORMATS]
OPTIONS += [{"weight": weight} for weight in ("unit", "length", "cost", "x", "")]
COLUMNS = (("source", "target"), ("1", "3"), ("length", "length"), ("u", None))
OPTIONS += [{"source": u, "target": v} for u, v in COLUMNS]


def written(name: str, content: bytes, folder: str) -> Path:
    path = Path(folder) / name
    path.write_bytes(content)
    return path


FAILED_ONCE = [
    ("a.gr", b"p sp 1000000000000 2\na 1 2 4\na 2 1 4\n"),  # promises that memory was made for
    ("a.pmed", b"1000000000000 1 1\n1 2 5\n"),
    ("a.pmed", b"9" * 5000 + b" 1 1\n1 2 5\n"),
    ("a.txt", b"9" * 30 + b" 1 1\n1 2 5\n"),
    ("a.graph", b"1000000000 1\n2\n1\n"),
    ("a.mtx", b"%%MatrixMarket matrix coordinate real symmetric\n4 4 2147483647\n2 1 5\n"),
    ("a.mtx", b"%%MatrixMarket matrix coordinate real symmetric\n1000000000 1000000000 1\n2 1 5\n"),
    ("a.csv", b"a" * 70_000 + b",target,length\n10,20,5\n"),  # quoted whole
    ("m.csv", "\u202e,x,y\na,0,0\n".encode()),
    (
        "b.parquet",
        GRAPHS["b.parquet"].replace(b"\x01\x00\x00\x00a", b"\x01\x00\x00\x00\x80"),
    ),  # text that is not UTF-8
]


@fuzz(
    500,
    [{"file": file, "options": {}, "loose": True} for file in FAILED_ONCE],
    file=damaged_files(GRAPHS),
    options=st.sampled_from(OPTIONS),
    loose=st.booleans(),
)
def test_graph_files(file: tuple[str, bytes], options: dict[str, Any], loose: bool) -> None:
    anything = {"symmetrize": True, "largest_component": True}
    with tempfile.TemporaryDirectory() as folder:
        path = written(*file, folder)
        asked = {**options, **(anything if loose else {})}
        graph, error = tried(lambda: read_graph_file(path, **asked))
        if error is None:
            again = read_graph_file(path, **options, **anything)
    if error is not None:
        assert str(path) in str(error) or "directed" in str(error) or "disconnected" in str(error)
        return
    assert_graph(graph)
    if not loose:  # what is accepted strictly is the whole graph, and none that options change
        assert again.ids == graph.ids and np.array_equal(again.indices, graph.indices)
        assert np.array_equal(again.lengths, graph.lengths)
    metric, error = tried(lambda: mdp.GraphMetric(graph))
    if error is None:
        row = metric.distances(metric.ids[:1])
        grid, n = metric.grid_rows(np.zeros(1, np.int64)), len(metric)
        assert np.isfinite(row).all() and (row >= 0).all()
        assert (grid >= 0).all() and int(metric.diameter_bound() / metric.unit) * n < 2**63


# of no number at all: once a warning of NumPy
SPARSE_ARCS = ("n.co", b"c places\np aux sp co 3\nv ")


@fuzz(350, [{"file": SPARSE_ARCS, "alone": True}], file=damaged_files(NODES), alone=st.booleans())
def test_nodes_files(file: tuple[str, bytes], alone: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = written(*file, folder)
        if alone:
            found, _ = tried(lambda: read_nodes(path))
            if found is not None:
                ids, points, system = found
                assert points.shape == (len(ids), 2) and not np.isinf(points).any()
                assert system == "xy" or not (np.abs(points) > (180, 90)).any()
                assert not any(isinstance(i, float) and i != i for i in ids)
        else:
            roads = written("r.csv", b"u,v\n1,2\n2,3\n", folder)
            graph, _ = tried(lambda: read_graph_file(roads, nodes=path))
            if graph is not None:
                assert_graph(graph)


PEOPLE = [f"{700_001 + i % 5},canary-{i % 9},{7.654321 + i:.6f},{3.456789:.6f}" for i in range(12)]
LINES = "\n".join(["vertex,person,px,py", *PEOPLE]) + "\n"
MARKS = {"d.csv": ",", "d.tsv": "\t", "d.txt": " "}
DEMANDS = {name: LINES.replace(",", mark).encode() for name, mark in MARKS.items()}
VERTICES, PERSONS, XS, YS = zip(*(line.split(",") for line in PEOPLE))
COLUMNS_OF = {"vertex": list(map(int, VERTICES)), "person": PERSONS}
COLUMNS_OF |= {"px": list(map(float, XS)), "py": list(map(float, YS))}
DEMANDS["d.parquet"] = parquet(COLUMNS_OF)
TOWN = mdp.EuclideanMetric(
    [[7.0, 3], [8, 3], [9, 3], [10, 3], [11, 3]], ids=range(700_001, 700_006)
)
STREETS = mdp.EuclideanMetric(TOWN.points, ids=[str(i) for i in TOWN.ids])
BOX = mdp.EuclideanSpace([0, 0], [20, 20])
CANARIES = re.compile(r"70000\d|canary|\d\.65432|3\.45678|\b(row|line) \d")


def telling(content: bytes) -> set[str]:
    """Words that no message holds by chance: of four characters and more, with a digit."""
    words = set(re.findall(r"[\w.]+", content.decode("utf-8", "replace")))
    return {word for word in words if len(word) > 3 and any(map(str.isdigit, word))}


QUOTED = ("d.parquet", DEMANDS["d.parquet"].replace(b"canary-0", b"\x80anary-0"))
"""Text that is not UTF-8: Arrow says so when it is read, and quotes it."""


@fuzz(
    225,
    [{"file": QUOTED, "universe": TOWN, "places": False, "user": "person"}],
    file=damaged_files(DEMANDS),
    universe=st.sampled_from([TOWN, STREETS, BOX]),
    places=st.booleans(),
    user=st.sampled_from([None, "person"]),
)
def test_demand_files(
    file: tuple[str, bytes], universe: Any, places: bool, user: str | None
) -> None:
    """No message, and nothing that hangs on it, holds a cell, a line number or a number of
    records.
    """
    columns = {"x": "px", "y": "py"} if places or universe is BOX else {}
    with tempfile.TemporaryDirectory() as folder:
        path = written(*file, folder)
        demand, error = tried(
            lambda: mdp.PrivateDemand.from_frame(universe, path, user=user, **columns)
        )
    if error is not None:
        said = everything_said(error).replace(str(path), "")
        assert not CANARIES.search(said), said
        assert not [word for word in telling(file[1]) if word in said], said
        n = len(PEOPLE)
        assert not re.search(rf"\b({n}|{n + 1}|{n - 1})\b", said), said
    else:
        centers = list(universe.ids)[:2] if universe is not BOX else [[1.0, 1.0]]
        with pytest.warns(mdp.PrivateDataWarning):
            assert 0 <= mdp.exact_cost(demand, centers) < 1e6
