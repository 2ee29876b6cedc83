"""The quadtree of Cohen-Addad et al. as printed."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.printed_quadtree import PrintedQuadtree
from tests.methods.box.test_quadtree import (
    BOX,
    blobs,
    check_all_is_spent,
    check_many_centers,
    check_what_is_asked,
)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("n", [0, 30, 3000])
def test_all_that_is_charged_is_spent_and_no_more(relation, n):
    check_all_is_spent(relation, PrintedQuadtree(), n)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_three_passes_spend_the_whole_budget(relation):
    ledger = mdp.Ledger("7/3", neighboring=relation)
    demand, method = mdp.PrivateDemand(BOX, blobs(2000)[0]), PrintedQuadtree(passes=3)
    result = mdp.k_means(BOX, demand, 4, epsilon="7/3", ledger=ledger, method=method)
    paid = sum(m.epsilon for m in result.receipt.mechanisms)
    assert result.receipt.epsilon == ledger.spent == paid == Fraction(7, 3)
    assert len(np.unique(result.centers, axis=0)) == 4


def test_what_is_asked_depends_on_released_values_alone():
    check_what_is_asked(PrintedQuadtree(depth=6, threshold=0.5, steps=0))


def test_more_centers_than_cells():
    check_many_centers(PrintedQuadtree())


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
        BOX,
        mdp.PrivateDemand(BOX, []),
        1,
        epsilon=1,
        method=PrintedQuadtree(threshold=50, steps=0),
    )
    assert [m.epsilon for m in result.receipt.mechanisms] == [Fraction(1, 20), Fraction(19, 20)]


def test_steps_cost_a_fifth_each():
    result = mdp.k_median(
        BOX, mdp.PrivateDemand(BOX, blobs(3000)[0]), 3, epsilon=1, method=PrintedQuadtree()
    )
    assert result.release.receipt.epsilon == Fraction(1, 5)
    assert sum(
        m.epsilon for m in result.receipt.mechanisms if m.query.startswith("sums")
    ) == 4 * Fraction(1, 5) * Fraction(4, 5)
