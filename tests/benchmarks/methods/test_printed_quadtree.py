"""The quadtree of Cohen-Addad et al. as printed."""

from fractions import Fraction

import numpy as np

import metricdp as mdp
from benchmarks.methods.printed_quadtree import PrintedQuadtree
from tests.methods.spending import BOX, blobs


def test_levels_share_the_budget_by_the_true_depth():
    points, _ = blobs(2000)
    depth, ledger = 24, mdp.Ledger(1)
    everything = PrintedQuadtree(depth=depth, threshold=1e-9, records_hint=2000, steps=0)
    demand = mdp.PrivateDemand(BOX, points)
    result = mdp.k_median(BOX, demand, 2, epsilon=1, ledger=ledger, method=everything)
    levels = result.receipt.mechanisms
    assert len(levels) == depth > 2 * np.log2(2000)
    assert {m.epsilon for m in levels} == {Fraction(1, depth)}
    assert result.release.cells.level.max() == depth
