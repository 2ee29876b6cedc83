"""Trees on disk and on the command line: round trips, foreign and damaged files, bad input."""

import io
import json
import zipfile

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.metrics import EuclideanMetric, GraphMetric, ManhattanMetric, PrecomputedMetric
from metricdp.partitions.finite import storage
from metricdp.universe import build_graph
from tests import cases, refuses
from tests.cli_world import SIDE, fails, run

POINTS = np.random.default_rng(0).random((40, 2))
ARRAYS = ("heights", "order", "parent", "level", "start", "stop")


def cycle(n=12, ids=None, length=1.0, chord=None):
    edges = [(v, (v + 1) % n, length if v else 1.5) for v in range(n)] + ([chord] if chord else [])
    t, h, w = zip(*edges)
    return GraphMetric(build_graph(t, h, w, ids=ids or range(n), directed=False))


def same(one, other) -> bool:
    names = (*ARRAYS, "edge_length", "leaf")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


@cases(
    "metric",
    cycle(),
    cycle(ids=["a", 1, (2, "b"), *range(10, 19)]),
    EuclideanMetric(POINTS),
    ManhattanMetric(POINTS, ids=[f"p{i}" for i in range(40)]),
    PrecomputedMetric(EuclideanMetric(POINTS).distance_rows(np.arange(40))),
    EuclideanMetric([[1.0]]),
)
def test_round_trip(metric, tmp_path):
    tree = mdp.build_hst(metric, seed=11)
    path = tmp_path / "tree"  # no ending is added
    assert tree.save(path) == path and [p.name for p in tmp_path.iterdir()] == ["tree"]
    read = mdp.HST.load(path, metric)
    assert same(tree, read) and read.universe is metric
    assert (read.seed, read.beta) == (11, tree.beta)
    found = read.distance(metric.ids[0], metric.ids[-1])
    assert found == tree.distance(metric.ids[0], metric.ids[-1])
    before = path.read_bytes()
    read.save(str(path))
    assert path.read_bytes() == before  # no time, no place in it


def test_the_same_universe_read_anew(tmp_path):
    mdp.build_hst(mdp.GraphMetric(nx.cycle_graph(9), weight=None)).save(tmp_path / "t")
    mdp.HST.load(tmp_path / "t", mdp.GraphMetric(nx.cycle_graph(9), weight=None))
    negative_zero = EuclideanMetric([[-0.0], [1.0]])
    mdp.build_hst(EuclideanMetric([[0.0], [1.0]])).save(tmp_path / "t")
    mdp.HST.load(tmp_path / "t", negative_zero)


def test_other_universes_are_refused(tmp_path):
    ids = [str(v) for v in range(12)]
    graphs = [cycle(), cycle(13), cycle(length=1.25), cycle(chord=(0, 6, 3.0))]
    graphs += [cycle(ids=ids), cycle(ids=list(range(1, 13)))]
    graphs.append(GraphMetric(cycle().graph, resolution=0.5))
    matrix = EuclideanMetric(POINTS).distance_rows(np.arange(40))
    moved, longer = POINTS.copy(), matrix.copy()
    moved[3, 1] += 1e-9
    longer[0, 1] = longer[1, 0] = longer[0, 1] * (1 + 1e-12)
    others = [EuclideanMetric(points) for points in (POINTS, moved, POINTS[::-1])]
    others.append(ManhattanMetric(POINTS))
    universes = [*graphs, *others, PrecomputedMetric(matrix), PrecomputedMetric(longer)]
    assert len({u.checksum() for u in universes}) == len(universes)
    for i, universe in enumerate(universes):
        mdp.build_hst(universe).save(tmp_path / "t")
        refuses("is the tree of another universe, ", mdp.HST.load, tmp_path / "t", universes[i - 1])


def test_damaged_files_are_refused(tmp_path):
    metric, path = cycle(200), tmp_path / "t"
    tree = mdp.build_hst(metric)
    tree.save(path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    wrong = [b"", b"PK", b"hello\n", b"\x93NUMPY\x01\x00" + whole]
    wrong += [whole[:end] for end in (-1, 100, len(whole) // 2)]
    for at in rng.integers(0, len(whole), 300):
        wrong.append(whole[:at] + bytes([whole[at] ^ (1 << rng.integers(8))]) + whole[at + 1 :])
    harmless = 0
    for data in wrong:
        path.write_bytes(data)
        try:
            # a flag or a date of the archive, which says nothing
            assert same(mdp.HST.load(path, metric), tree)
            harmless += 1
        except InputError as error:
            assert str(path) in str(error) and "build it again" in str(error)
            assert "\n" not in str(error)
    assert harmless < 0.3 * len(wrong)


def test_archives_that_are_no_trees(tmp_path):
    metric, path = cycle(20), tmp_path / "t"
    tree = mdp.build_hst(metric)
    tree.save(path)
    with np.load(path) as archive:
        good = {name: archive[name] for name in archive.files}
    header = json.loads(str(good["header"]))
    leaf = int(np.flatnonzero(tree.last_level == tree.n_levels - 1)[0])

    def changed(name, at, value):
        array = good[name].copy()
        array[at] = value
        return {name: array}

    cases = [
        *(
            {"header": np.array(json.dumps(header | {k: v}))}
            for k, v in [("format", "2"), ("beta", "nan"), ("beta", "4.0"), ("seed", "")]
        ),
        {"header": np.array("[]")},
        {"header": np.array("{")},
        {"header": np.array([1, 2])},
        {"order": good["order"][:-1]},
        {"order": good["order"].astype(np.int64)},
        {"parent": good["parent"][None]},
        {"level": np.array(["a"] * tree.n_nodes, object)},  # would be a pickle
        *(changed("order", 0, value) for value in (-1, 20, good["order"][1])),
        *(
            changed("heights", at, value)
            for at, value in ((0, np.nan), (0, 0.0), (-1, 1.0), (1, np.inf))
        ),
        *(
            changed("parent", at, value)
            for at, value in ((0, 0), (1, 1), (1, -1), (2, tree.n_nodes), (leaf, leaf - 2))
        ),
        *(
            changed("level", at, value)
            for at, value in ((0, 1), (leaf, 0), (leaf, tree.n_levels), (leaf, -1), (leaf, 127))
        ),
        *(
            changed("start", at, value)
            for at, value in ((0, 1), (leaf, good["stop"][leaf]), (leaf, -1))
        ),
        *(changed("stop", at, value) for at, value in ((0, 19), (leaf, 0), (leaf, 21))),
        {name: good[name][:1] for name in ("parent", "level", "start")},
        {name: good[name][:0] for name in ("parent", "level", "start", "stop")},
    ]
    for case in cases:
        file = io.BytesIO()
        np.savez(file, **good | case)
        path.write_bytes(file.getvalue())
        with pytest.raises(InputError, match="build it again"):
            mdp.HST.load(path, metric)
            pytest.fail(f"accepted: {case}")
    for missing in good:
        np.savez(
            path.with_suffix(".npz"),
            **{name: array for name, array in good.items() if name != missing},
        )
        refuses("build it again", lambda: mdp.HST.load(path.with_suffix(".npz"), metric))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", b"not numpy")
    refuses("build it again", mdp.HST.load, path, metric)


def test_files_are_written_wholly_or_not_at_all(tmp_path, monkeypatch):
    metric, path = cycle(), tmp_path / "t"
    mdp.build_hst(metric, 1).save(path)
    before = path.read_bytes()

    def half(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.np, "savez", half)
    refuses("No space", lambda: mdp.build_hst(metric, 2).save(path), error=OSError)
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["t"]


def test_paths(tmp_path):
    tree = mdp.build_hst(cycle())
    for wrong in (None, 3, "a\0b"):
        refuses("path must be the path of a file", tree.save, wrong)
        refuses("path must be the path of a file", mdp.HST.load, wrong, cycle())
    refuses("", tree.save, tmp_path / "no" / "t", error=FileNotFoundError)
    refuses("", lambda: mdp.HST.load(tmp_path / "t", cycle()), error=FileNotFoundError)
    refuses("", lambda: mdp.HST.load(tmp_path, cycle()), error=OSError)
    tree.save(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    mdp.build_hst(cycle(), 5).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and mdp.HST.load(tmp_path / "real", cycle()).seed == 5


# The command line


def test_command(world, capsys):
    ran = run(capsys, "tree", "roads.csv", "--output", "t.npz", "--seed", "7")
    assert ran.status == 0 and any("wrote t.npz" in line for line in ran.lines)
    reported, metric = ran.json, mdp.read_graph("roads.csv")
    tree = mdp.HST.load("t.npz", metric)
    assert same(tree, mdp.build_hst(metric, 7))
    figures = {
        "output": "t.npz",
        "points": SIDE**2,
        "nodes": tree.n_nodes,
        "levels": tree.n_levels,
        "seed": 7,
        "beta": tree.beta,
    }
    assert {key: reported[key] for key in figures} == figures
    assert reported["diameter_bound"] >= metric.diameter_bound()
    assert reported["universe"] == metric.checksum()
    quiet = run(capsys, "tree", "roads.csv.gz", "--output", "t.npz", "--quiet", "--weight", "unit")
    assert (quiet.status, quiet.err, quiet.json["seed"]) == (0, "", 0)
    refuses("another universe", mdp.HST.load, "t.npz", metric)


@cases(
    ("line", "expected"),
    ("tree", "GRAPH"),
    ("tree roads.csv", "--output"),
    ("tree roads.csv --output t --seed -1", "at least 0"),
    ("tree roads.csv --output t --seed x", "whole number"),
    ("tree nowhere.csv --output t", "nowhere.csv: no such file"),
    ("tree roads.csv --output nowhere/t", "cannot be written"),
    ("tree roads.csv --output .", "is a directory"),
    ("tree roads.csv --output roads.csv", "same file"),
    ("tree roads.csv --output nodes.csv --nodes nodes.csv", "same file"),
    ("tree roads.csv --output t --demand homes.csv", "unrecognized arguments"),
    ("tree roads.csv --output t --epsilon 1", "unrecognized arguments"),
    ("tree homes.csv --output t", "homes.csv"),
    ("tree roads.csv --output t --weight minutes", "no column 'minutes'"),
)
def test_bad_input(line, expected, world, capsys):
    fails(capsys, expected, line)
