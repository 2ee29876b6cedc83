"""Levels of a 2-HST as partitions, and where methods take a tree."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.partitions.finite.hst_levels import kept_hst
from tests import refuses


def test_levels_are_partitions():
    tree = mdp.build_hst(mdp.GraphMetric(nx.path_graph(20), weight=None), 2)
    for level in range(tree.n_levels):
        cells = tree.parts_at(level)
        np.testing.assert_array_equal(cells.encode(np.arange(20)), tree.labels_at(level))
        assert cells.n_parts == len(tree.nodes_at(level)) and cells.universe is tree.universe


def test_the_tree_of_a_universe_is_kept_with_it():
    import gc
    import weakref

    metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    assert kept_hst(metric, 3).order is kept_hst(metric, 3).order
    assert kept_hst(metric, 3).universe is metric
    gone = weakref.ref(metric)
    del metric
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("kind", [mdp.methods.DPHST, mdp.methods.LocalSearch])
def test_methods_take_a_tree_of_the_very_universe_only(kind):
    metric, twin = (mdp.GraphMetric(nx.grid_2d_graph(4, 5), weight=None) for _ in range(2))
    demand, ledger = mdp.PrivateDemand(metric, [(0, 0)] * 40 + [(3, 4)] * 40), mdp.Ledger(2)
    result = mdp.k_median(
        metric, demand, 2, epsilon=2, ledger=ledger, method=kind(tree=mdp.build_hst(metric, 5))
    )
    assert len(set(result.centers)) == 2 and ledger.left == 0
    fresh = mdp.Ledger(2)
    with pytest.raises(InputError, match="another universe"):
        mdp.k_median(
            metric, demand, 2, epsilon=2, ledger=fresh, method=kind(tree=mdp.build_hst(twin))
        )
    assert fresh.left == 2
    refuses("2-HST", kind, tree="tree.npz")
    box = mdp.EuclideanSpace([0], [1])
    with pytest.raises(InputError):
        method = kind(tree=mdp.build_hst(metric))
        mdp.k_median(box, mdp.PrivateDemand(box, [[0.5]]), 1, epsilon=1, method=method)
