"""What the gate hands on: the exponent of a selection, and whom a grant is bound to."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.errors import InputError
from metricdp.privacy import CostQuery, CountQuery, gate, measure, select

METRIC = mdp.GraphMetric(nx.path_graph(5), weight=None)
ONE = mdp.PrivateDemand(METRIC, [0, 4])
MANY = mdp.PrivateDemand(METRIC, [0, 4], user=[1, 2], max_contributions=3)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("demand", [ONE, MANY])
def test_the_exponent_of_a_selection_is_epsilon_over_the_range(monkeypatch, demand, relation):
    seen = []

    def noted(demand, query, eta, law, grant):
        seen.append((eta, law))
        return 0

    monkeypatch.setattr(gate, "_selected", noted)
    query = CostQuery(METRIC)
    spread = query.range(relation, demand.max_contributions)
    assert spread > 1
    grant = mdp.Ledger(1, neighboring=relation).charge(1)
    _, receipt = select(demand, query, "1/2", grant)
    assert seen == [(Fraction(1, 2) / spread, "permute-and-flip")]
    assert receipt.mechanisms[0].scale == pytest.approx(2 * spread)
    pool = mdp.Ledger(1, "1e-6", neighboring=relation).charge(Cost.zcdp(1, "1e-6"))
    select(demand, query, "1/20", pool)
    assert seen[1] == (Fraction(1, 20) / spread, "exponential mechanism")


def _measured(grant):
    measure(ONE, CountQuery(), "1/4", grant)


def _selected(grant):
    select(ONE, CostQuery(METRIC), "1/4", grant)


@pytest.mark.parametrize("ask", [_measured, _selected])
def test_who_was_asked_about_binds_the_grant_and_its_ledger(ask):
    ledger = mdp.Ledger(1)
    grant = ledger.charge(1)
    ask(grant)
    for held in (grant, ledger):
        with pytest.raises(InputError):
            held.check(MANY.protects)
