"""Levels of a 2-HST as partitions, and where methods take a tree."""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.partitions.finite.hst_levels import kept_hst
from tests import grid_metric, path_metric, refuses


def test_levels_are_partitions():
    tree = mdp.build_hst(path_metric(20), 2)
    for level in range(tree.n_levels):
        cells = tree.parts_at(level)
        np.testing.assert_array_equal(cells.encode(np.arange(20)), tree.labels_at(level))
        assert cells.n_parts == len(tree.nodes_at(level)) and cells.universe is tree.universe


def test_the_tree_of_a_universe_is_kept_with_it():
    import gc
    import weakref

    metric = path_metric(9)
    assert kept_hst(metric, 3).order is kept_hst(metric, 3).order
    assert kept_hst(metric, 3).universe is metric
    gone = weakref.ref(metric)
    del metric
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("kind", [mdp.methods.DPHST, mdp.methods.LocalSearch])
def test_methods_take_a_tree_of_the_very_universe_only(kind):
    metric, twin = (grid_metric(4, 5) for _ in range(2))
    demand, ledger = mdp.PrivateDemand(metric, [(0, 0)] * 40 + [(3, 4)] * 40), mdp.Ledger(2)
    tree = mdp.build_hst(metric, 5)
    result = mdp.k_median(metric, demand, 2, epsilon=2, ledger=ledger, method=kind(tree=tree))
    assert len(set(result.centers)) == 2 and ledger.left == 0
    fresh = mdp.Ledger(2)
    with pytest.raises(InputError, match="another universe"):
        method = kind(tree=mdp.build_hst(twin))
        mdp.k_median(metric, demand, 2, epsilon=2, ledger=fresh, method=method)
    assert fresh.left == 2
    refuses("2-HST", kind, tree="tree.npz")
    box = mdp.EuclideanSpace([0], [1])
    with pytest.raises(InputError):
        method = kind(tree=mdp.build_hst(metric))
        mdp.k_median(box, mdp.PrivateDemand(box, [[0.5]]), 1, epsilon=1, method=method)
