"""Cuts of one hierarchy that follow different densities, joined; and how fast balls grow."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.partitions.finite.ward import Hierarchy, hierarchy
from tests import cases, grid_metric


def plane(n: int = 400, d: int = 2) -> mdp.EuclideanMetric:
    return mdp.EuclideanMetric(np.random.default_rng(d).random((n, d)))


HIERARCHIES = {
    "Ward": lambda: hierarchy(plane()),
    "one place": lambda: hierarchy(mdp.EuclideanMetric(np.zeros((60, 2)))),
}


@pytest.mark.parametrize("name", HIERARCHIES)
@pytest.mark.parametrize("sizes", [(1, 1), (5, 40), (40, 5), (30, 30, 400)])
def test_every_part_of_every_cut_is_a_union_of_parts_of_their_join(name, sizes):
    whole, rng = HIERARCHIES[name](), np.random.default_rng(0)
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
