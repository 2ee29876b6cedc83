"""2-HSTs against their definition, on all metrics; domination and stretch; on disk and on the
command line: round trips, foreign and damaged files, bad input.
"""

import io
import json
import math
import zipfile

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import metricdp as mdp
from metricdp.errors import InputError, UnknownIdError
from metricdp.partitions.finite import storage
from metricdp.partitions.finite.hst import grown
from metricdp.universe import build_graph
from tests import cases, grid_metric, metric_of, naive, refuses, tries
from tests.cli_world import SIDE, run
from tests.metrics.test_vectors import numbers

SEEDS = st.integers(0, 2**20)
LENGTHS = st.sampled_from([0, 1, 2, 3, 1000, 10**5, 10**9, 2**31])
coins = st.tuples(st.integers(0, 2**32), st.floats(1.0, 2.0, exclude_max=True))
KINDS = (mdp.EuclideanMetric, mdp.ManhattanMetric)
point_sets = st.tuples(st.integers(1, 7), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=numbers)
)


def whole(metric) -> np.ndarray:
    return metric.grid_rows(np.arange(len(metric)))


def tree_matrix(tree) -> np.ndarray:
    everyone = np.arange(tree.n_points)
    return tree.position_distances(everyone[:, None], everyone)


def clusters_at(tree, level: int) -> list[list[int]]:
    return sorted(sorted(tree.points(node).tolist()) for node in tree.nodes_at(level))


def check_structure(tree) -> None:
    """The flat arrays are a tree of runs, without one-child nodes, and say the same in every way
    they can be asked.
    """
    assert sorted(tree.order.tolist()) == list(range(tree.n_points))
    children = {v: np.flatnonzero(tree.parent == v) for v in range(tree.n_nodes)}
    assert (tree.parent[0], tree.level[0], tree.start[0], tree.stop[0]) == (-1, 0, 0, tree.n_points)
    for v, below in children.items():
        assert len(below) != 1 and (below > v).all()
        runs = sorted((tree.start[c], tree.stop[c]) for c in below)
        if runs:
            assert [runs[0][0], *(b for _, b in runs)] == [*(a for a, _ in runs), tree.stop[v]]
            assert runs[0][0] == tree.start[v]
            assert set(tree.level[below]) == {tree.last_level[v] + 1}
        else:
            assert tree.last_level[v] == tree.n_levels - 1
            assert (tree.leaf[tree.points(v)] == v).all() and tree.node_height[v] == 0
    assert (np.diff(tree.heights) <= 0).all() and tree.heights[-1] == 0
    assert (tree.node_height[tree.parent[1:]] >= tree.node_height[1:]).all()
    for level in range(tree.n_levels):
        nodes, labels = tree.nodes_at(level), tree.labels_at(level)
        assert all((labels[tree.points(node)] == i).all() for i, node in enumerate(nodes))
        assert sum(tree.sizes[nodes]) == tree.n_points
        cells = tree.parts_at(level)
        np.testing.assert_array_equal(cells.encode(np.arange(tree.n_points)), labels)
        assert cells.n_parts == len(nodes) and cells.universe is tree.universe


def check_against_reference(metric, seed: int, beta: float) -> None:
    permutation = np.random.default_rng(seed).permutation(len(metric))
    tree = grown(metric, permutation, beta)
    levels = naive.hst_clusters(whole(metric), permutation.tolist(), beta)
    slack = metric.grid_error
    check_structure(tree)
    assert tree.n_levels - len(levels) in ((0, 1) if slack else (0,))
    for level, (radius, clusters) in enumerate(levels):
        assert clusters_at(tree, level) == clusters
        if level < tree.n_levels - 1:
            assert tree.heights[level] == radius * metric.unit + slack / 2
    expected = naive.hst_distances(levels) * metric.unit
    atol = 1e-12 * expected.max()
    found = np.where(expected > 0, tree_matrix(tree) - slack, 0)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=atol)


def check_domination(metric, tree) -> None:
    true, ours = metric.distance_rows(np.arange(len(metric))), tree_matrix(tree)
    assert (ours >= true).all()
    assert (ours == ours.T).all() and (np.diagonal(ours) == 0).all()
    if not isinstance(metric, KINDS):
        assert (ours[true == 0] == 0).all()


# The definition
@tries(
    60, naive.graphs(most_points=12), st.lists(LENGTHS, min_size=20, max_size=20), coins, fixed=True
)
def test_reference_implementation_on_lengths_of_all_sizes(graph, lengths, coins):
    n, edges = graph
    edges = [(u, v, w) for (u, v, _), w in zip(edges, lengths)]
    check_against_reference(metric_of(n, edges), *coins)


@pytest.mark.parametrize("kind", KINDS)
@tries(60, points=point_sets, coins=coins, fixed=True)
def test_reference_implementation_on_points(kind, points, coins):
    check_against_reference(kind(points), *coins)


@tries(
    60, naive.graphs(most_points=7, longest=4), coins, st.sampled_from([1.0, 0.3, 1e-9]), fixed=True
)
def test_reference_implementation_on_matrices(graph, coins, scale):
    check_against_reference(mdp.PrecomputedMetric(naive.all_pairs(*graph) * scale), *coins)


def test_a_distance_hardly_above_a_whole_number_is_beyond_that_radius():
    """66,000,001² + 49,500,002² is 82,500,002² + 1: its root is rounded to the whole number."""
    metric = mdp.EuclideanMetric([[0.0, 0.0], [66_000_001.0, 49_500_002.0]])
    check_against_reference(metric, 0, 2 - 2**-27)


@pytest.mark.parametrize("seed", range(2))
def test_larger_universes_against_the_matrix(seed):
    """Searches and boxes find the same tree as whole rows do."""
    rng = np.random.default_rng(seed)
    graph = metric_of(*naive.random_graph(700, seed, extra=0.4))
    edges = [(u, v, int(10 ** rng.uniform(0, 6))) for u, v, _ in naive.random_graph(600, seed)[1]]
    skewed = metric_of(600, edges)
    shapes = [(kind, d) for kind in KINDS for d in (1, 2, 5, 70)]
    vectors = [kind(rng.integers(0, 50, (600, d)).astype(float)) for kind, d in shapes]
    for metric in (graph, skewed, *vectors):
        assert metric.unit == 1
        matrix = mdp.PrecomputedMetric(whole(metric))
        matrix.unit = 1.0  # the same grid
        permutation, beta = rng.permutation(len(metric)), 1 + rng.random()
        one, other = grown(metric, permutation, beta), grown(matrix, permutation, beta)
        assert one.n_nodes == other.n_nodes and one.n_levels == other.n_levels
        np.testing.assert_array_equal(tree_matrix(one), tree_matrix(other))


# Domination and stretch
@tries(60, naive.graphs(), SEEDS, st.sampled_from([1.0, 0.1, 1 / 3, 1e7 / 3]), fixed=True)
def test_domination_on_graphs(graph, seed, scale):
    n, edges = graph
    metric = metric_of(n, [(u, v, w * scale) for u, v, w in edges])
    check_domination(metric, mdp.build_hst(metric, seed))
    matrix = mdp.PrecomputedMetric(naive.all_pairs(n, edges) * scale)
    check_domination(matrix, mdp.build_hst(matrix, seed))


@pytest.mark.parametrize("kind", KINDS)
@tries(60, points=point_sets, seed=SEEDS, shift=st.sampled_from([0.0, 1e6, 1 / 3]), fixed=True)
def test_domination_on_points(kind, points, seed, shift):
    metric = kind(np.r_[points, points[:1]] + shift)  # one point twice
    tree = mdp.build_hst(metric, seed)
    check_domination(metric, tree)
    assert tree.distance(0, len(points)) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_points_that_the_grid_holds_to_be_one(kind):
    metric = kind([[0.0, 0.0], [1e-12, 0.0], [0.0, 1e-12], [1e-12, 0.0], [-0.0, 0.0], [1 / 3, 1.0]])
    for seed in range(10):
        tree = mdp.build_hst(metric, seed)
        check_structure(tree)
        check_domination(metric, tree)
        assert [tree.sizes[tree.leaf[v]] for v in range(6)] == [2, 2, 1, 2, 2, 1]


def test_stretch_over_the_coins():
    """The mean over trees, of every pair: each pair is an expectation, so the bound holds for the
    worst one.
    """
    # a cycle: every spanning tree stretches an edge by n - 1
    metric = metric_of(16, [(v, v + 1, 1) for v in range(15)] + [(15, 0, 1)])
    true = metric.distance_rows(np.arange(16)) + np.eye(16)
    mean = np.mean([tree_matrix(mdp.build_hst(metric, seed)) / true for seed in range(300)], axis=0)
    assert mean.max() <= 8 * math.log2(16)
    orders = [np.random.default_rng(seed).permutation(16) for seed in range(50)]
    assert {tree.heights[0] for tree in [grown(metric, order, 1.0) for order in orders]} == {8.0}


def test_coins():
    metric = metric_of(30, [(v, v + 1, 3) for v in range(29)])
    betas = [mdp.build_hst(metric, seed).beta for seed in range(400)]
    assert all(1 <= beta < 2 for beta in betas)
    # log2 of beta is uniform on [0, 1); its mean's deviation is 0.0144
    assert abs(np.mean(np.log2(betas)) - 0.5) < 0.06
    first, again, other = (mdp.build_hst(metric, seed) for seed in (5, np.int64(5), 6))
    assert (tree_matrix(first) == tree_matrix(again)).all() and first.seed == again.seed == 5
    assert (tree_matrix(first) != tree_matrix(other)).any()


# Asking
def test_asking():
    tree = mdp.build_hst(mdp.EuclideanMetric([[0.0], [1.0], [8.0]], ids=["a", "b", "c"]), seed=1)
    assert tree.distance("a", "c") == tree.distance("c", "a") == tree.position_distances(0, 2) >= 8
    assert tree.position_distances([[0], [1]], [0, 1, 2]).shape == (2, 3)
    assert tree.position_distances([], []).tolist() == []
    assert "3 points" in repr(tree)
    refuses("'d'", tree.distance, "a", "d", error=UnknownIdError)
    refuses("level must be an integer from 0", tree.nodes_at, tree.n_levels)


# Real graphs
@pytest.mark.parametrize("kind", [mdp.methods.DPHST, mdp.methods.LocalSearch])
def test_methods_take_a_tree(kind):
    metric = grid_metric(4, 5)
    demand, ledger = mdp.PrivateDemand(metric, [(0, 0)] * 40 + [(3, 4)] * 40), mdp.Ledger(2)
    tree = mdp.build_hst(metric, 5)
    result = mdp.k_median(metric, demand, 2, epsilon=2, ledger=ledger, method=kind(tree=tree))
    assert len(set(result.centers)) == 2 and ledger.left == 0


POINTS = np.random.default_rng(0).random((40, 2))
ARRAYS = ("heights", "order", "parent", "level", "start", "stop")


def cycle(n=12, ids=None, length=1.0, chord=None):
    edges = [(v, (v + 1) % n, length if v else 1.5) for v in range(n)] + ([chord] if chord else [])
    t, h, w = zip(*edges)
    return mdp.GraphMetric(build_graph(t, h, w, ids=ids or range(n), directed=False))


def same(one, other) -> bool:
    names = (*ARRAYS, "node_height", "leaf")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


@cases(
    "metric",
    cycle(),
    cycle(ids=["a", 1, (2, "b"), *range(10, 19)]),
    mdp.EuclideanMetric(POINTS),
    mdp.ManhattanMetric(POINTS, ids=[f"p{i}" for i in range(40)]),
    mdp.PrecomputedMetric(mdp.EuclideanMetric(POINTS).distance_rows(np.arange(40))),
    mdp.EuclideanMetric([[1.0]]),
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
    negative_zero = mdp.EuclideanMetric([[-0.0], [1.0]])
    mdp.build_hst(mdp.EuclideanMetric([[0.0], [1.0]])).save(tmp_path / "t")
    mdp.HST.load(tmp_path / "t", negative_zero)


def test_other_universes_are_refused(tmp_path):
    ids = [str(v) for v in range(12)]
    graphs = [cycle(), cycle(13), cycle(length=1.25), cycle(chord=(0, 6, 3.0))]
    graphs += [cycle(ids=ids), cycle(ids=list(range(1, 13)))]
    graphs.append(mdp.GraphMetric(cycle().graph, resolution=0.5))
    matrix = mdp.EuclideanMetric(POINTS).distance_rows(np.arange(40))
    moved, longer = POINTS.copy(), matrix.copy()
    moved[3, 1] += 1e-9
    longer[0, 1] = longer[1, 0] = longer[0, 1] * (1 + 1e-12)
    others = [mdp.EuclideanMetric(points) for points in (POINTS, moved, POINTS[::-1])]
    others.append(mdp.ManhattanMetric(POINTS))
    universes = [*graphs, *others, mdp.PrecomputedMetric(matrix), mdp.PrecomputedMetric(longer)]
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

    headers = ("format", "2"), ("beta", "nan"), ("beta", "4.0"), ("seed", "")
    spoiled = {
        "order": [(0, -1), (0, 20), (0, good["order"][1])],
        "heights": [(0, np.nan), (0, 0.0), (-1, 1.0), (1, np.inf)],
        "parent": [(0, 0), (1, 1), (1, -1), (2, tree.n_nodes), (leaf, leaf - 2)],
        "level": [(0, 1), (leaf, 0), (leaf, tree.n_levels), (leaf, -1), (leaf, 127)],
        "start": [(0, 1), (leaf, good["stop"][leaf]), (leaf, -1)],
        "stop": [(0, 19), (leaf, 0), (leaf, 21)],
    }
    cases = [
        *({"header": np.array(json.dumps(header | {k: v}))} for k, v in headers),
        *(changed(name, at, value) for name, some in spoiled.items() for at, value in some),
        {"header": np.array("[]")},
        {"header": np.array("{")},
        {"header": np.array([1, 2])},
        {"order": good["order"][:-1]},
        {"order": good["order"].astype(np.int64)},
        {"parent": good["parent"][None]},
        {"level": np.array(["a"] * tree.n_nodes, object)},  # would be a pickle
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
        rest = {name: array for name, array in good.items() if name != missing}
        np.savez(path.with_suffix(".npz"), **rest)
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
    refuses("", tree.save, tmp_path / "no" / "t", error=FileNotFoundError)
    refuses("", lambda: mdp.HST.load(tmp_path / "t", cycle()), error=FileNotFoundError)
    refuses("", lambda: mdp.HST.load(tmp_path, cycle()), error=OSError)


# The command line
def test_command(world, capsys):
    ran = run(capsys, "tree", "roads.csv", "--output", "t.npz", "--seed", "7")
    assert ran.status == 0 and any("wrote t.npz" in line for line in ran.lines)
    reported, metric = ran.json, mdp.read_graph("roads.csv")
    tree = mdp.HST.load("t.npz", metric)
    assert same(tree, mdp.build_hst(metric, 7))
    sizes = {"points": SIDE**2, "nodes": tree.n_nodes, "levels": tree.n_levels}
    assert reported == reported | sizes | {"output": "t.npz", "seed": 7, "beta": tree.beta}
    assert reported["diameter_bound"] >= metric.diameter_bound()
    assert reported["universe"] == metric.checksum()
    quiet = run(capsys, "tree", "roads.csv.gz", "--output", "t.npz", "--quiet", "--weight", "unit")
    assert (quiet.status, quiet.err, quiet.json["seed"]) == (0, "", 0)
    refuses("another universe", mdp.HST.load, "t.npz", metric)
