"""What the runner puts to the gate: images of the demand, and a budget spent in shares."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.grid import Grid
from metricdp.accounting import Cost
from metricdp.accounting.cost import ZCDP
from metricdp.methods.asking import Account, Ask, Image, Parts, count_records
from metricdp.methods.box.descent import shells_together
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.privacy import CountQuery, HistogramQuery, Ledger, PrivateDemand
from metricdp.running.runner import Run, terms_of
from tests import cases, refuses
from tests.methods.box.test_default import deep_scene

BOX = mdp.EuclideanSpace([0.0], [4.0])
WIDE = mdp.EuclideanSpace([0.0], [8.0])
DEMAND = mdp.PrivateDemand(BOX, np.array([[0.5], [1.5], [1.6], [3.5]]))
ALL = Image(BOX)


class Doubled:
    """A map of a box into another."""

    universe = BOX

    def encode(self, records):
        return records * 2


def counts(universe):
    return HistogramQuery(Grid(universe, 4))


NET = BOX.net(4)


class Points:
    """Each point of the net for itself."""

    universe, n_parts = NET, 4

    def encode(self, records):
        return records


@cases(
    ("image", "query", "expected"),
    (None, counts(BOX), [1, 2, 0, 1]),
    (ALL, counts(BOX), [1, 2, 0, 1]),
    (ALL.mapped(Doubled(), WIDE), counts(WIDE), [1, 2, 0, 1]),
    (ALL.mapped(Doubled(), WIDE), HistogramQuery(Grid(WIDE, 8)), [0, 1, 0, 2, 0, 0, 0, 1]),
    (ALL.moved(Grid(BOX, 4), NET), HistogramQuery(Points()), [1, 2, 0, 1]),
    (ALL.preaggregated(ShiftedQuadtree(BOX, 3, seed=1)), counts(BOX), [1, 2, 0, 1]),
    (ALL.subsampled(1.0), counts(BOX), [1, 2, 0, 1]),
    (ALL.mapped(Doubled(), WIDE).subsampled(1.0), counts(WIDE), [1, 2, 0, 1]),
)
def test_questions_are_about_what_public_maps_make_of_the_demand(image, query, expected):
    # the noise of epsilon 100 is other than 0 once in e^100
    run = Run(DEMAND, mdp.Ledger(100).charge(100))
    assert run.put(Ask(query, Fraction(1), image)).values.tolist() == expected
    assert run._seen(image) is run._seen(image)
    assert (run._seen(image) is DEMAND) == (image is None or image is ALL)


@pytest.mark.parametrize("in_rho", [False, True])
def test_what_was_spent_so_far_is_stated_at_its_own_price(in_rho):
    cost = Cost.zcdp(1, "1e-6") if in_rho else Cost.of(1)
    run = Run(DEMAND, mdp.Ledger(1, "1e-6").charge(cost))
    assert terms_of(DEMAND, "add-remove").price == Cost.of(0)
    assert run.terms.price == cost and run.terms.in_rho is in_rho
    for share, left in (("1/4", "3/4"), ("3/4", "0")):
        run.put(Ask(CountQuery(), Fraction(share)))
        stated = run.put(Account())
        reported = stated.receipt
        assert abs(stated.left - Fraction(left)) < Fraction(1, 10**6)
        assert reported.mechanisms == sum((one.mechanisms for one in stated.receipts), ())
        assert (reported.bound == ZCDP) is in_rho
        if not in_rho:
            assert reported.epsilon == 1 - Fraction(left) and reported.delta == 0
        elif stated.left > Fraction(1, 10**6):
            assert reported.epsilon == run.budget.spent < 1 and reported.delta == Fraction(1, 10**6)


def test_parts_after_a_count_state_their_own_price():
    def counted(terms):
        return (yield Ask(CountQuery(), Fraction(1)))

    run = Run(DEMAND, mdp.Ledger(1).charge(1))
    run.put(Ask(CountQuery(), Fraction(1, 2)))
    shares = [Fraction(1, 8), Fraction(1, 4)]
    run.put(Parts(Grid(BOX, 2), shares, [counted, counted], "halves"))
    assert [receipt.epsilon for receipt in run.receipts] == [Fraction(1, 2), Fraction(1, 4)]


DELTA = Fraction(1, 10**6)


def test_shares_of_a_zcdp_accountant_and_of_an_epsilon_get_the_noise_that_was_reported():
    space, points = deep_scene(d=4, n=10)
    query = HistogramQuery(shells_together(space, points[:1]))
    for cost, relation in ((Cost.zcdp(1, DELTA), "replace-one"), (Cost.of(1), "add-remove")):
        ledger = Ledger(1, DELTA, neighboring=relation)
        run = Run(PrivateDemand(space, points), ledger.charge(cost))
        ask = Ask(query, Fraction(1, 2))
        scale = run.put(ask).receipt.mechanisms[0].scale
        assert run.terms.scale_of(ask) == scale
        found = run.terms.deviation_of_counts(Fraction(1, 2))
        assert found == pytest.approx(scale * (1 if cost.delta else 2**0.5))
        assert run.put(Account()).left == Fraction(1, 2)
        assert run.put(ask).receipt.mechanisms[0].scale == scale
        assert run.put(Account()).left == 0
        assert run.receipt.epsilon == 1 and run.receipt.delta == cost.delta
        refuses("", run.put, ask, error=mdp.BudgetError)


def test_an_exact_number_is_not_paid_for_and_nothing_else_put_to_the_gate():
    demand = PrivateDemand(deep_scene(d=4, n=10)[0], np.zeros((10, 4)))
    run = Run(demand, Ledger(1, neighboring="replace-one").charge(1))
    count = run.drive(count_records(run.terms, Fraction(1, 20), None))
    assert (count.number, run.put(Account()).left) == (10, 1)
    refuses("cannot ask for a PrivateDemand", run.put, demand, error=TypeError)
