"""Regions with privacy levels of their own: what each gets, what is charged, what is joined."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.methods import Regional
from tests import cases, grid_metric, tries

GRID = grid_metric(8, 8)
WARD = dict.fromkeys(GRID.ids[:16], "ward")
TWO = {"ward": "1/4", "elsewhere": 1}


def everywhere(times, **options):
    records = [point for point in GRID.ids for _ in range(times)]
    users = {"user": list(range(len(records))), **options} if options else {}
    return mdp.PrivateDemand(GRID, records, **users)


@cases(
    ("relation", "m", "ward", "elsewhere"),
    ("add-remove", None, Fraction(1, 2), Fraction(2)),
    ("replace-one", None, Fraction(1, 4), Fraction(1)),
    ("add-remove", 2, Fraction(2, 5), Fraction(8, 5)),
    ("replace-one", 2, Fraction(1, 5), Fraction(4, 5)),
)
def test_each_region_is_paid_with_its_own_epsilon_and_the_total_is_charged(
    relation, m, ward, elsewhere
):
    ledger = mdp.Ledger(3, neighboring=relation)
    demand = everywhere(20) if m is None else everywhere(20, max_contributions=m)
    method = Regional(regions=TWO, labels=WARD, records_hint=1280)
    result = mdp.k_median(GRID, demand, 2, epsilon=2, ledger=ledger, method=method)
    release = result.release
    assert ledger.spent == result.receipt.epsilon == 2
    assert "regions" in str(result.receipt)
    assert release.regions == {"ward": ward, "elsewhere": elsewhere}
    each = [mechanism.epsilon for mechanism in result.receipt.mechanisms]
    cuts = [i for i in range(len(each) + 1) if sum(each[:i], Fraction(0)) == ward]
    assert any(sum(each[i:], Fraction(0)) == elsewhere for i in cuts)


SHARES = st.lists(st.fractions("1/50", 50), min_size=1, max_size=6)


@tries(50, SHARES, st.sampled_from(["add-remove", "replace-one"]), st.integers(1, 8))
def test_shares_are_kept_and_what_a_unit_can_touch_costs_the_total(shares, relation, m):
    regions = {str(i): share for i, share in enumerate(shares)}
    each = Regional(regions=regions).epsilons(Fraction(7, 3), relation, m)
    assert all(a * shares[0] == each[0] * b for a, b in zip(each, shares))
    sides = 1 if relation == "add-remove" else 2
    assert sides * sum(sorted(each)[-m:]) == Fraction(7, 3)


def test_a_region_is_reported_from_its_own_records():
    """Noise of scale about 1 and 4 in 64 parts: a sum wrong by 1,000 has a chance below 1e-20."""
    records = [GRID.ids[0]] * 9000 + [GRID.ids[-1]] * 5000
    method = Regional(regions=TWO, labels=WARD)
    result = mdp.k_median(GRID, mdp.PrivateDemand(GRID, records), 2, epsilon=4, method=method)
    weights = result.release.weights
    assert abs(weights[:16].sum() - 9000) < 1000 and abs(weights[16:].sum() - 5000) < 1000
    assert set(result.centers) == {GRID.ids[0], GRID.ids[-1]}
    assert not weights.flags.writeable


def test_labels_may_be_a_sequence_or_a_mapping():
    named = ["ward"] * 16 + ["elsewhere"] * 48
    one, other = Regional(regions=TWO, labels=named), Regional(regions=TWO, labels=WARD)
    assert (one.cut(GRID).labels == other.cut(GRID).labels).all()
    assert (one.cut(GRID).encode(np.array([3, 40, 3])) == [0, 1, 0]).all()
    assert (Regional().cut(GRID).labels == 0).all()


def test_explore_tells_the_epsilon_of_every_region():
    method = Regional(regions=TWO, labels=WARD)
    ledger = mdp.Ledger(2)
    asked = {"ledger": ledger, "method": method, "repeats": 0}
    levels = mdp.explore(GRID, everywhere(30), ["1/2", 1], 2, **asked)
    assert ledger.spent == Fraction(3, 2)
    reported = [level["regions"] for level in levels.to_dict()["levels"]]
    assert reported == [{"ward": 0.25, "elsewhere": 1.0}, {"ward": 0.125, "elsewhere": 0.5}]
