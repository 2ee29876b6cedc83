"""Parallel composition: what disjoint parts cost together, and that no part is read with any other
budget.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import BudgetError, InputError
from metricdp.privacy import CountQuery, HistogramQuery, Ledger, PrivateDemand, measure, split
from metricdp.privacy._vault import _open
from tests import cases, refuses
from tests.privacy_worlds import (
    BOX,
    THREE,
    TWO,
    Labels,
    UnitCells,
    all_demands,
    finest,
    line,
    neighbors,
)

THIRDS = Labels(THREE, (0, 1, 2), 3)


@cases(
    ("m", "neighboring", "cost"),
    (1, "add-remove", Fraction(1, 2)),
    (1, "replace-one", Fraction(1)),
    (2, "add-remove", Fraction(3, 4)),
    (2, "replace-one", Fraction(3, 2)),
    (9, "add-remove", Fraction(7, 8)),
)
def test_the_largest_epsilons_that_one_unit_can_touch_are_paid(m, neighboring, cost):
    ledger = Ledger(2, neighboring=neighboring)
    user = None if m == 1 else ["u", "u", "v"]
    bound = None if m == 1 else m
    demand = PrivateDemand(THREE, ["a", "b", "c"], user=user, max_contributions=bound)
    parts = split(demand, THIRDS, ["1/8", "1/2", "1/4"], ledger, purpose="districts")
    assert ledger.spent == cost
    expected = [Fraction(1, 8), Fraction(1, 2), Fraction(1, 4)]
    assert [budget.epsilon for _, budget in parts] == expected
    assert {budget.neighboring for _, budget in parts} == {"add-remove"}
    assert all(part.max_contributions == m and part.unit == demand.unit for part, _ in parts)


@pytest.mark.parametrize(
    ("m", "neighboring"), list(itertools.product([1, 2], ["add-remove", "replace-one"]))
)
def test_exact_distribution_of_all_parts_together(m, neighboring):
    """Worst log ratio of noisy counts of all parts, over all neighbors: at most what was charged,
    and reached.
    """
    shares = [Fraction(1, 2), Fraction(1, 4), Fraction(1, 8)]
    ledger = Ledger(4, neighboring=neighboring)
    demand = PrivateDemand(THREE, ["a"], user=["u"], max_contributions=m)
    scales = []
    for part, budget in split(demand, THIRDS, shares, ledger):
        scales.append(measure(part, CountQuery(), budget.left, budget).receipt.mechanisms[0].scale)
    outputs = np.array(list(itertools.product((-9, 9), repeat=3)))
    worst = 0.0
    for one, other in itertools.permutations(all_demands(3, 2, m), 2):
        if neighbors(one, other, neighboring):
            a, b = (np.bincount([r for u in d for r in u], minlength=3) for d in (one, other))
            loss = (np.abs(outputs - b) - np.abs(outputs - a)) @ (1 / np.array(scales))
            worst = max(worst, float(loss.max()))
    assert worst <= float(ledger.spent) * (1 + 1e-12)
    if neighboring == "add-remove" and m == 1:
        assert math.isclose(worst, float(ledger.spent))


def test_parts_hold_their_records_and_only_theirs():
    demand = PrivateDemand(THREE, ["a", "c", "c", "b", "c"])
    parts = split(demand, Labels(THREE, (0, 0, 2), 3), 900, Ledger(1000))
    assert [sorted(_open(part).tolist()) for part, _ in parts] == [[0, 1], [], [2, 2, 2]]
    query = HistogramQuery(finest(THREE))
    counts = [measure(part, query, 900, budget).values.tolist() for part, budget in parts]
    assert counts == [[1, 1, 0], [0, 0, 0], [0, 0, 3]]
    in_box = split(PrivateDemand(BOX, [[0.5], [2.5], [2.7]]), UnitCells(BOX), 1, Ledger(1))
    assert [len(_open(part)) for part, _ in in_box] == [1, 0, 2]


def test_only_its_own_budget_slice_reads_a_part():
    demand, ledger = PrivateDemand(THREE, ["a", "b", "c"]), Ledger(3)
    (one, budget), (other, _), _ = split(demand, THIRDS, 1, ledger)
    outside = ledger.charge(1)
    for part, account in ((one, outside), (other, budget), (demand, budget)):
        with pytest.raises(InputError, match="paid from the budget slices that split returned"):
            measure(part, CountQuery(), "1/2", account)
    with pytest.raises(InputError, match="paid from the budget slice that split returned"):
        mdp.k_median(THREE, one, k=1, epsilon=0.5, ledger=ledger)
    with pytest.raises(InputError, match="paid from the budget slice that split returned"):
        mdp.k_median(THREE, one, k=1, epsilon=0.5)
    assert (ledger.spent, budget.spent, outside.spent) == (2, 0, 0)
    found = mdp.k_median(THREE, one, k=1, epsilon=0.5, ledger=budget).receipt.epsilon
    assert found == Fraction(1, 2)
    refuses("", mdp.k_median, THREE, one, error=BudgetError, k=1, epsilon=0.6, ledger=budget)
    inner = split(one, THIRDS, 0.5, budget)
    assert measure(*inner[0][:1], CountQuery(), 0.5, inner[0][1]).receipt.epsilon == Fraction(1, 2)


@cases(
    ("epsilon", "partition", "error"),
    (0, THIRDS, "positive"),
    ([1, 1], THIRDS, "each of the 3 parts"),
    ([1, 1, -1], THIRDS, "positive"),
    ("x", THIRDS, "finite number"),
    (1, finest(TWO), "different universes"),
)
def test_refusals_spend_nothing(epsilon, partition, error, sealed):
    ledger, demand = Ledger(3), PrivateDemand(THREE, ["a"])
    refuses(error, split, demand, partition, epsilon, ledger)
    refuses("", split, demand, THIRDS, 4, ledger, error=BudgetError)
    assert ledger.spent == 0


def test_one_ledger_pays_for_many_districts():
    universe = line(40)
    demand = PrivateDemand(universe, list(range(40)) * 50)
    ledger = Ledger(1)
    halves = Labels(universe, tuple([0] * 20 + [1] * 20), 2)
    centers = [
        mdp.k_median(universe, part, k=1, epsilon=1, ledger=budget).centers
        for part, budget in split(demand, halves, 1, ledger)
    ]
    assert centers[0][0] < 20 <= centers[1][0]
    assert ledger.left == 0
