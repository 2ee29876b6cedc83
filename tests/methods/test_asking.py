"""A budget spent in shares, by a runner."""

from fractions import Fraction

import numpy as np
import pytest

from metricdp.accounting import Cost
from metricdp.errors import BudgetError
from metricdp.methods.asking import Account, Ask, count_records
from metricdp.methods.box.descent import shells_together
from metricdp.privacy import HistogramQuery, Ledger, PrivateDemand
from metricdp.running.runner import Run
from tests import refuses
from tests.methods.box.test_default import deep_scene

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
        refuses("", run.put, ask, error=BudgetError)


def test_an_exact_number_is_not_paid_for():
    demand = PrivateDemand(deep_scene(d=4, n=10)[0], np.zeros((10, 4)))
    run = Run(demand, Ledger(1, neighboring="replace-one").charge(1))
    count = run.drive(count_records(run.terms, Fraction(1, 20), None))
    assert (count.number, run.put(Account()).left) == (10, 1)


def test_a_run_puts_nothing_else_to_the_gate():
    demand = PrivateDemand(deep_scene(d=4, n=10)[0], np.zeros((10, 4)))
    with pytest.raises(TypeError, match="cannot ask for a PrivateDemand"):
        Run(demand, Ledger(1).charge(1)).put(demand)
