"""What the gate hands on: the exponent of a selection, and whom a grant is bound to."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.errors import InputError
from metricdp.partitions.finite.labels import Labels
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


@pytest.mark.parametrize("epsilon", [0, -1])
def test_a_selection_for_nothing_is_refused(epsilon):
    grant = mdp.Ledger(1).charge(1)
    with pytest.raises(InputError, match="epsilon must be positive"):
        select(ONE, CostQuery(METRIC), epsilon, grant)
    assert grant.spent == 0


def test_an_epsilon_that_no_receipt_could_state_is_refused():
    """Down to range / 2^900 there is a scale; below it there is none."""
    query = CostQuery(METRIC)
    least = Fraction(query.range("add-remove", 1), gate.MOST_SPREAD)
    grant = mdp.Ledger(1).charge(1)
    with pytest.raises(InputError, match="epsilon is too small for a selection"):
        select(ONE, query, least * Fraction(999, 1000), grant)
    assert grant.spent == 0
    assert select(ONE, query, least, grant)[1].mechanisms[0].scale == 2.0**900


def test_the_receipt_of_a_selection_tells_rho_where_rho_was_paid():
    query = CostQuery(METRIC)
    _, plain = select(ONE, query, "1/10", mdp.Ledger(1).charge(1))
    assert plain.mechanisms[0].rho is None
    pool = mdp.Ledger(1, "1e-6").charge(Cost.zcdp(1, "1e-6"))
    _, pooled = select(ONE, query, "1/10", pool)
    assert pooled.mechanisms[0].rho == Fraction(1, 800)
    assert pool.spent_rho == Fraction(1, 800)


class Sides:
    """The path cut in two."""

    n_parts = 2

    def __init__(self, universe):
        self.universe = universe

    def encode(self, records):
        return (np.asarray(records) > 2).astype(np.int64)


TWO = mdp.GraphMetric(nx.path_graph(2), weight=None)


def test_demand_is_moved_to_one_point_a_part_and_nowhere_else():
    assert gate.moved(ONE, Sides(METRIC), TWO).universe is TWO
    wrong = [
        ([0, 4], Sides(METRIC), TWO),
        (ONE, Sides(METRIC), mdp.EuclideanSpace([0], [1])),
        (ONE, Sides(METRIC), METRIC),
    ]
    for demand, parts, universe in wrong:
        with pytest.raises(InputError, match="one point for each part"):
            gate.moved(demand, parts, universe)
    twin = mdp.GraphMetric(nx.path_graph(5), weight=None)
    with pytest.raises(InputError):
        gate.moved(ONE, Sides(twin), TWO)


def test_records_that_may_be_left_out_have_no_proof_for_neighbors_by_exchange_wherever_they_go():
    """Of one who is left out and one who is not: the number of records is no public fact."""
    plane = mdp.EuclideanMetric([[0.0, 0.0], [9.0, 0.0]], ids=["a", "b"])
    snapped = mdp.PrivateDemand.from_coordinates(plane, [[0, 1], [9, 99]], max_snap=5)
    whole = mdp.PrivateDemand.from_coordinates(plane, [[0, 1], [9, 99]])
    for change in (
        lambda demand: demand,
        lambda demand: gate.moved(demand, Labels(plane, np.array([0, 1]), 2), TWO),
        lambda demand: gate.thinned(demand, 0.5),
        lambda demand: gate.thinned(gate.thinned(demand, 0.5), 0.5),
    ):
        for relation in ("replace-one", "add-remove"):
            grant = mdp.Ledger(1, neighboring=relation).charge(1)
            measure(change(whole), CountQuery(), "1/4", grant)
            if relation == "add-remove":
                measure(change(snapped), CountQuery(), "1/4", grant)
                continue
            with pytest.raises(InputError, match="max_snap leaves records out"):
                measure(change(snapped), CountQuery(), "1/4", grant)


def test_records_are_left_out_or_all_of_a_user_count():
    """Shares and caps are of all records of a user: neither goes with `max_snap`."""
    plane = mdp.EuclideanMetric([[0.0, 0.0], [9.0, 0.0]], ids=["a", "b"])
    for all_of_them in ({"weighting": "share"}, {"caps": mdp.Caps(1, 1)}):
        users = {"user": [1, 1], **all_of_them}
        mdp.PrivateDemand.from_coordinates(plane, [[0, 1], [9, 9]], **users)
        with pytest.raises(InputError, match="max_snap leaves out records"):
            mdp.PrivateDemand.from_coordinates(plane, [[0, 1], [9, 9]], max_snap=5, **users)
        frame = {"x": [0.0, 9.0], "y": [1.0, 9.0], "who": ["1", "1"]}
        users = {"x": "x", "y": "y", "user": "who", **all_of_them}
        with pytest.raises(InputError, match="max_snap leaves out records"):
            mdp.PrivateDemand.from_frame(plane, frame, max_snap=5, **users)


def test_scores_beyond_their_range_are_never_raced():
    blocks = [np.array([0, 5]), np.array([3])]
    assert [b.tolist() for b in gate._within(iter(blocks), 0, 5)] == [[0, 5], [3]]
    for wrong in (np.array([0, 6]), np.array([-1, 5]), np.array([0, 5], np.int32)):
        with pytest.raises(AssertionError, match="beyond its stated range"):
            list(gate._within(iter([blocks[0], wrong]), 0, 5))


@pytest.mark.parametrize("ask", [_measured, _selected])
def test_others_than_a_grant_protects_are_refused_before_it_pays(ask):
    grant = mdp.Ledger(1).charge(1, protects=MANY.protects)
    with pytest.raises(InputError):
        ask(grant)
    assert grant.spent == 0
