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
    result = mdp.k_median(
        BOX, mdp.PrivateDemand(BOX, points), 2, epsilon=1, ledger=ledger, method=everything
    )
    levels = result.receipt.mechanisms
    assert len(levels) == depth > 2 * np.log2(2000)
    assert {m.epsilon for m in levels} == {Fraction(1, depth)}
    assert result.release.cells.level.max() == depth


def test_a_search_stops_where_no_cell_stands_out_and_counts_once_more():
    result = mdp.k_median(
        BOX, mdp.PrivateDemand(BOX, []), 1, epsilon=1, method=PrintedQuadtree(threshold=50, steps=0)
    )
    assert [m.epsilon for m in result.receipt.mechanisms] == [Fraction(1, 20), Fraction(19, 20)]


def test_steps_cost_a_fifth_each():
    result = mdp.k_median(
        BOX, mdp.PrivateDemand(BOX, blobs(3000)[0]), 3, epsilon=1, method=PrintedQuadtree()
    )
    assert result.release.receipt.epsilon == Fraction(1, 5)
    found = sum(m.epsilon for m in result.receipt.mechanisms if m.query.startswith("sums"))
    assert found == 4 * Fraction(1, 5) * Fraction(4, 5)
