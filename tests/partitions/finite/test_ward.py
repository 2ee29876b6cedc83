"""The public hierarchy and its cuts: partitions of every size of every kind of universe, and cuts
that follow different densities, joined.
"""

import gc
import pickle
import weakref

import networkx as nx
import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage

import metricdp as mdp
from metricdp.metrics import landmarks as landmark_module
from metricdp.partitions.finite import ward
from metricdp.partitions.finite.hst import kept_hst
from metricdp.partitions.finite.ward import Hierarchy, hierarchy
from tests import cases, everything, grid_metric, metric_of, naive, road_like, tries


@pytest.fixture
def small(monkeypatch):
    """Few landmarks, so that little universes are refined too: twice, with 40 points and more."""
    monkeypatch.setattr(landmark_module.landmarks, "__defaults__", (6, 0))
    monkeypatch.setattr(ward, "_INNER_LANDMARKS", 5)


def check(partition, metric, n_parts):
    """All that a partition promises."""
    m = partition.n_parts
    assert partition.universe is metric
    assert m == min(n_parts, len(metric))
    np.testing.assert_array_equal(np.bincount(partition.labels, minlength=m), partition.sizes[:m])
    assert partition.labels.shape == (len(metric),) and partition.sizes.shape == (2 * m - 1,)
    assert (partition.sizes[:m] > 0).all() and partition.sizes[-1] == len(metric)
    assert partition.children.shape == (m - 1, 2)
    # a binary tree whose root is last
    assert sorted(partition.children.ravel()) == list(range(2 * m - 2))
    for i, (left, right) in enumerate(partition.children):
        assert max(left, right) < m + i
        assert partition.sizes[left] + partition.sizes[right] == partition.sizes[m + i]
    amounts = np.random.default_rng(m).random(m)
    spread = partition.spread(amounts)
    np.testing.assert_allclose(np.bincount(partition.labels, spread, m), amounts)
    assert all(np.ptp(spread[partition.labels == part]) == 0 for part in range(m))
    records = np.array([0, len(metric) - 1, 0])
    np.testing.assert_array_equal(partition.encode(records), partition.labels[records])
    assert partition.encode(records).dtype == np.int64
    assert partition.encode(records[:0]).shape == (0,)


def clusters(partition):
    """Points below every node, as a set of sets."""
    sets = naive.leaf_sets(partition.children)
    return {
        frozenset(np.flatnonzero(np.isin(partition.labels, leaves)).tolist()) for leaves in sets
    }


UNIVERSES = {
    "roads": lambda: road_like(9),
    "tree": lambda: metric_of(*naive.random_graph(60, 1, extra=0, integers=False)),
    "social": lambda: mdp.GraphMetric(nx.barabasi_albert_graph(70, 2, seed=0), weight=None),
    "zeros": lambda: metric_of(50, [(i, i + 1, i % 7 == 0) for i in range(49)]),
    "all zero": lambda: metric_of(50, [(i, i + 1, 0) for i in range(49)]),
    "points": lambda: mdp.EuclideanMetric(np.random.default_rng(0).random((60, 2))),
    "duplicates": lambda: mdp.ManhattanMetric(
        np.random.default_rng(0).integers(0, 3, (60, 2)).astype(float)
    ),
    "one place": lambda: mdp.EuclideanMetric(np.zeros((40, 2))),
    "far and near": lambda: mdp.EuclideanMetric(
        np.r_[np.random.default_rng(0).normal(size=(40, 2)), [[1e6, 0]]]
    ),
    "star": lambda: mdp.GraphMetric(nx.star_graph(45), weight=None),
}


@pytest.mark.parametrize("name", UNIVERSES)
@pytest.mark.parametrize("seed", [0, 3])
def test_cuts_of_every_size(name, seed, small):
    metric = UNIVERSES[name]()
    known = hierarchy(metric, seed)
    finer = None
    for n_parts in (10**9, len(metric), len(metric) - 1, 35, 17, 7, 6, 5, 2, 1):
        partition = known.cut(n_parts)
        check(partition, metric, n_parts)
        assert finer is None or clusters(partition) <= clusters(finer)  # cuts of one tree
        finer = partition
    assert sorted(known.cut(len(metric)).labels) == list(range(len(metric)))


@tries(60, naive.graphs(), st.integers(1, 12), st.integers(0, 3), fixed=True)
def test_cuts_of_any_graph(graph, n_parts, seed):
    metric = metric_of(*graph)
    check(hierarchy(metric, seed).cut(n_parts), metric, n_parts)


def test_cuts_at_the_real_sizes_of_landmarks():
    metric = road_like(75)
    assert len(metric) > 4 * landmark_module.LANDMARKS
    for n_parts in (10, 1500, len(metric)):
        check(hierarchy(metric).cut(n_parts), metric, n_parts)


def test_a_large_graph_by_its_cells(small, monkeypatch):
    monkeypatch.setattr(landmark_module, "_ROW_ENTRIES", 0)
    metric = road_like(12)
    for n_parts in (3, 40, len(metric)):
        check(hierarchy(metric).cut(n_parts), metric, n_parts)


def test_a_small_universe_is_cut_as_scipy_cuts_it():
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=(n, 2)) + at for n, at in ((20, 0), (15, 30), (25, -30))]
    points = np.concatenate(groups)
    metric = mdp.EuclideanMetric(points)
    theirs = fcluster(linkage(points, method="ward"), 3, criterion="maxclust")
    assert len(set(zip(theirs, hierarchy(metric).cut(3).labels))) == 3
    merged = linkage(points, method="ward")[:, :2].astype(int)
    merges = {frozenset(s) for s in naive.leaf_sets(merged)}
    assert clusters(hierarchy(metric).cut(60)) == merges


def test_the_dearest_node_is_split_first():
    metric = mdp.EuclideanMetric(np.random.default_rng(5).random((30, 2)))
    true, whole = everything(metric), hierarchy(metric).cut(30)
    members = naive.leaf_sets(whole.children)
    order = np.argsort(whole.labels)
    cost = [true[np.ix_(order[s], order[s])].sum(axis=1).min() for s in members]
    parts = [len(members) - 1]
    for n_parts in range(1, 30):
        expected = {frozenset(np.argsort(whole.labels)[members[v]].tolist()) for v in parts}
        labels = hierarchy(metric).cut(n_parts).labels
        assert {frozenset(np.flatnonzero(labels == p).tolist()) for p in range(n_parts)} == expected
        dearest = max(parts, key=lambda v: cost[v])
        parts.remove(dearest)
        parts += whole.children[dearest - 30].tolist()


def test_where_nothing_costs_anything_the_largest_node_is_split_first(small):
    known = hierarchy(mdp.EuclideanMetric(np.repeat(np.arange(4.0), [3, 20, 7, 11])[:, None]))
    assert sorted(known.cut(4).sizes[:4]) == [3, 7, 11, 20]
    for n_parts in range(4, 40):
        coarse, fine = known.cut(n_parts), known.cut(n_parts + 1)
        (split,) = {tuple(np.flatnonzero(coarse.labels == p)) for p in range(n_parts)} - {
            tuple(np.flatnonzero(fine.labels == p)) for p in range(n_parts + 1)
        }
        assert len(split) == coarse.sizes[:n_parts].max()


def test_a_function_of_universe_and_seed(small):
    def labels(seed, sizes):
        metric = road_like(9)
        return [hierarchy(metric, seed).cut(n).labels.tolist() for n in sizes][-1]

    assert labels(1, [33]) == labels(1, [2, 60, 7, 33])  # whatever was cut before
    assert labels(1, [33]) != labels(2, [33])


def test_what_is_computed_of_a_universe_is_kept_and_leaves_with_it():
    metric = road_like(6)
    assert hierarchy(metric).points is hierarchy(metric).points
    assert hierarchy(metric, 1).points is not hierarchy(metric).points
    assert kept_hst(metric, 3).order is kept_hst(metric, 3).order
    assert kept_hst(metric, 3).universe is metric
    kept = [weakref.ref(metric), weakref.ref(landmark_module.landmarks(metric))]
    del metric
    gc.collect()
    assert [one() for one in kept] == [None, None]


def test_a_cut_outlives_its_hierarchy():
    partition = hierarchy(road_like(6)).cut(5)
    gc.collect()
    check(partition, partition.universe, 5)
    metric = mdp.EuclideanMetric([[0.0], [1.0], [5.0]])
    assert Hierarchy(metric).cut(2).labels.tolist() in ([0, 0, 1], [1, 1, 0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(partition)).labels, partition.labels)


def test_a_cut_is_finer_where_the_density_is_high():
    metric = mdp.EuclideanMetric(np.random.default_rng(3).random((600, 2)))
    density = np.where(metric.points[:, 0] < 0.25, 20.0, 0.1)
    plain, dense = hierarchy(metric).cut(40), hierarchy(metric).cut(40, density)
    here = metric.points[:, 0] < 0.25
    assert len(np.unique(dense.labels[here])) > 2 * len(np.unique(plain.labels[here]))
    assert dense.n_parts == plain.n_parts == 40
    assert (np.bincount(dense.labels) == dense.sizes[:40]).all()
    assert (hierarchy(metric).cut(40, np.ones(600)).labels == plain.labels).all()


@pytest.mark.parametrize("graph", [nx.star_graph(700), nx.complete_graph(700)])
def test_parts_of_a_universe_without_near_and_far_are_alike(graph):
    sizes = Hierarchy(mdp.GraphMetric(graph, weight=None)).cut(50).sizes[:50]
    assert sizes.max() <= len(graph) / 7  # not 50 single points and one giant


def plane(n: int = 400, d: int = 2) -> mdp.EuclideanMetric:
    return mdp.EuclideanMetric(np.random.default_rng(d).random((n, d)))


@cases("metric", plane(), mdp.EuclideanMetric(np.zeros((60, 2))), ids=["Ward", "one place"])
@pytest.mark.parametrize("sizes", [(1, 1), (5, 40), (40, 5), (30, 30, 400)])
def test_every_part_of_every_cut_is_a_union_of_parts_of_their_join(metric, sizes):
    whole, rng = hierarchy(metric), np.random.default_rng(0)
    n = len(whole.universe)
    densities = [None, rng.random(n) ** 8, rng.random(n) ** 20]
    cuts = [whole.cut(m, density) for m, density in zip(sizes, densities)]
    joined = whole.joined(cuts)
    expected = {tuple(row) for row in np.stack([cut.labels for cut in cuts], axis=1)}
    assert joined.n_parts == len(expected)  # and no finer than that
    below = [{part} for part in range(joined.n_parts)]
    for left, right in joined.children:
        below.append(below[left] | below[right])
    for cut in cuts:
        at = cut.parts_in(joined)
        assert len(set(at.tolist())) == cut.n_parts
        np.testing.assert_array_equal(joined.sizes[at], cut.sizes[: cut.n_parts])
        for part, node in enumerate(at):
            assert set(joined.labels[cut.labels == part].tolist()) == below[node]


def test_refining_one_leaf_does_not_change_how_another_is_refined():
    points = np.random.default_rng(1).random((9000, 2))
    here = np.where(points[:, 0] < 0.5, 1.0, 1e-9)
    one, two = (Hierarchy(mdp.EuclideanMetric(points), 3) for _ in range(2))
    two.cut(4000, 1.0 - here)  # the other half first
    labels = [whole.cut(4000, here).labels for whole in (one, two)]
    assert len({*zip(*(found.tolist() for found in labels))}) == 4000


@cases(
    ("universe", "low", "high"),
    (lambda: plane(2000, 1), 0.8, 1.3),
    (lambda: plane(2000, 2), 1.6, 2.5),
    (lambda: plane(2000, 6), 3.5, 9.0),
    (lambda: grid_metric(40, 40), 1.6, 2.7),
    (lambda: mdp.GraphMetric(nx.barabasi_albert_graph(3000, 3, seed=1), weight=None), 4, 99),
    (lambda: plane(200, 6), 1.0, 1.0),
    (lambda: mdp.EuclideanMetric(np.zeros((500, 2))), 1.0, 1.0),
)
def test_growth_is_about_the_dimension(universe, low, high):
    assert low <= hierarchy(universe()).growth() <= high
