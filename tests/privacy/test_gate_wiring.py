"""What the gate hands on: the exponent of a selection, and whom a budget slice is bound to."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.accounting.covering import exponent
from metricdp.errors import InputError
from metricdp.metrics.set_systems import Balls
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import (
    CostQuery,
    CountQuery,
    CoverQuery,
    HistogramQuery,
    cover,
    gate,
    measure,
    select,
)
from tests import path_metric, refuses

METRIC = path_metric(5)
ONE = mdp.PrivateDemand(METRIC, [0, 4])
MANY = mdp.PrivateDemand(METRIC, [0, 4], user=[1, 2], max_contributions=3)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("demand", [ONE, MANY])
def test_the_exponent_of_a_selection_is_epsilon_over_the_range(monkeypatch, demand, relation):
    seen = []

    def noted(demand, query, eta, distribution, budget):
        seen.append((eta, distribution))
        return 0

    monkeypatch.setattr(gate, "_selected", noted)
    query = CostQuery(METRIC)
    spread = query.range(relation, demand.max_contributions)
    assert spread > 1
    _, receipt = select(demand, query, "1/2", mdp.Ledger(1, neighboring=relation).charge(1))
    assert seen == [(Fraction(1, 2) / spread, "permute-and-flip")]
    assert receipt.mechanisms[0].scale == pytest.approx(2 * spread)
    accountant = mdp.Ledger(1, "1e-6", neighboring=relation).charge(Cost.zcdp(1, "1e-6"))
    select(demand, query, "1/20", accountant)
    assert seen[1] == (Fraction(1, 20) / spread, "exponential mechanism")


def _measured(budget):
    measure(ONE, CountQuery(), "1/4", budget)


def _selected(budget):
    select(ONE, CostQuery(METRIC), "1/4", budget)


@pytest.mark.parametrize("ask", [_measured, _selected])
def test_who_was_asked_about_binds_the_budget_slice_and_its_ledger(ask):
    ledger = mdp.Ledger(1)
    budget = ledger.charge(1)
    ask(budget)
    for held in (budget, ledger):
        refuses("", held.check, MANY.protects)


@pytest.mark.parametrize("epsilon", [0, -1])
def test_a_selection_for_nothing_is_refused(epsilon):
    budget = mdp.Ledger(1).charge(1)
    refuses("epsilon must be positive", lambda: select(ONE, CostQuery(METRIC), epsilon, budget))
    assert budget.spent == 0


def test_an_epsilon_that_no_receipt_could_state_is_refused():
    """Down to range / 2^900 there is a scale; below it there is none."""
    query = CostQuery(METRIC)
    least = Fraction(query.range("add-remove", 1), gate.MOST_SPREAD)
    budget = mdp.Ledger(1).charge(1)
    with pytest.raises(InputError, match="epsilon is too small for a selection"):
        select(ONE, query, least * Fraction(999, 1000), budget)
    assert budget.spent == 0
    assert select(ONE, query, least, budget)[1].mechanisms[0].scale == 2.0**900


def test_the_receipt_of_a_selection_tells_rho_where_rho_was_paid():
    query = CostQuery(METRIC)
    _, plain = select(ONE, query, "1/10", mdp.Ledger(1).charge(1))
    assert plain.mechanisms[0].rho is None
    accountant = mdp.Ledger(1, "1e-6").charge(Cost.zcdp(1, "1e-6"))
    _, in_rho = select(ONE, query, "1/10", accountant)
    assert in_rho.mechanisms[0].rho == accountant.spent_rho == Cost.selection("1/10").rho


QUARTERS = HistogramQuery(LabelParts.of(METRIC))


def test_the_receipt_of_a_count_tells_rho_where_rho_was_paid():
    accountant = mdp.Ledger(1, "1e-6").charge(Cost.zcdp(1, "1e-6"))
    gaussian = measure(MANY, QUARTERS, "1/4", accountant, "1e-6").receipt
    assert gaussian.mechanisms[0].rho == accountant.spent_rho > 0
    plain = measure(ONE, CountQuery(), "1/4", mdp.Ledger(1).charge(1)).receipt
    assert plain.mechanisms[0].rho is None


COVER = CoverQuery(
    LabelParts.of(METRIC), [(Balls(METRIC, radius=1), 2), (Balls(METRIC, radius=0), 1)]
)


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("demand", [ONE, MANY])
def test_a_cover_is_paid_for_in_full_and_drawn_with_the_factor_of_its_proof(
    monkeypatch, demand, relation
):
    seen = []
    monkeypatch.setattr(gate, "_covered", lambda demand, query, eta: seen.append(eta) or [])
    m = demand.max_contributions
    ledger = mdp.Ledger(1, "1e-6", neighboring=relation)
    budget = ledger.charge("3/4", "1e-6")
    price = Cost(Fraction(1, 2), Fraction(1, 10**7))
    _, receipt = cover(demand, COVER, price, budget)
    eta, bound = exponent(price, 3, relation, m)
    assert seen == [eta] and (budget.spent, budget.spent_delta) == (price.epsilon, price.delta)
    (reported,) = receipt.mechanisms
    expected = (price.epsilon, price.delta, float(1 / eta))
    assert (reported.epsilon, reported.delta, reported.scale) == expected
    assert reported.sensitivity == m * (1 if relation == "add-remove" else 2)
    assert bound in reported.query
    for held in (budget, ledger):
        held.check(demand.protects)
        refuses("", held.check, (MANY if demand is ONE else ONE).protects)


def test_a_cover_that_is_refused_costs_nothing():
    budget = mdp.Ledger(1).charge(1)
    for epsilon in (0, -1):
        refuses("epsilon must be positive", cover, ONE, COVER, Cost(Fraction(epsilon)), budget)
    for demand in (ONE, MANY):
        least = Fraction(3 * 2 * demand.max_contributions, gate.MOST_SPREAD)
        with pytest.raises(InputError, match="epsilon is too small for a cover"):
            cover(demand, COVER, least * Fraction(999, 1000), budget)
    refuses("query must be one of CoverQuery", lambda: cover(ONE, CountQuery(), 1, budget))
    other = path_metric(5)
    refuses("", lambda: cover(mdp.PrivateDemand(other, [0]), COVER, 1, budget))
    assert budget.spent == 0
    cover(MANY, COVER, least, budget)
    assert budget.spent == least
    accountant = mdp.Ledger(1, "1e-6").charge(Cost.zcdp(1, "1e-6"))
    refuses("counts rho", cover, ONE, COVER, "1/100", accountant)
    assert not accountant.spent_rho


class Sides:
    """The path cut in two."""

    n_parts = 2

    def __init__(self, universe):
        self.universe = universe

    def encode(self, records):
        return (np.asarray(records) > 2).astype(np.int64)


TWO = path_metric(2)


def test_demand_is_moved_to_one_point_a_part_and_nowhere_else():
    assert gate.moved(ONE, Sides(METRIC), TWO).universe is TWO
    wrong = [
        ([0, 4], Sides(METRIC), TWO),
        (ONE, Sides(METRIC), mdp.EuclideanSpace([0], [1])),
        (ONE, Sides(METRIC), METRIC),
    ]
    for demand, parts, universe in wrong:
        refuses("one point for each part", gate.moved, demand, parts, universe)
    twin = path_metric(5)
    refuses("", lambda: gate.moved(ONE, Sides(twin), TWO))


def test_records_that_may_be_left_out_have_no_proof_for_neighbors_by_exchange_wherever_they_go():
    """Of one who is left out and one who is not: the number of records is no public fact."""
    plane = mdp.EuclideanMetric([[0.0, 0.0], [9.0, 0.0]], ids=["a", "b"])
    snapped = mdp.PrivateDemand.from_coordinates(plane, [[0, 1], [9, 99]], max_snap=5)
    whole = mdp.PrivateDemand.from_coordinates(plane, [[0, 1], [9, 99]])
    for change in (
        lambda demand: demand,
        lambda demand: gate.moved(demand, LabelParts(plane, np.array([0, 1]), 2), TWO),
        lambda demand: gate.subsampled(demand, 0.5),
        lambda demand: gate.subsampled(gate.subsampled(demand, 0.5), 0.5),
    ):
        for relation in ("replace-one", "add-remove"):
            budget = mdp.Ledger(1, neighboring=relation).charge(1)
            measure(change(whole), CountQuery(), "1/4", budget)
            if relation == "add-remove":
                measure(change(snapped), CountQuery(), "1/4", budget)
                continue
            with pytest.raises(InputError, match="max_snap leaves records out"):
                measure(change(snapped), CountQuery(), "1/4", budget)


def test_records_are_left_out_or_all_of_a_user_count():
    """Shares and caps are of all records of a user: neither goes with `max_snap`."""
    plane = mdp.EuclideanMetric([[0.0, 0.0], [9.0, 0.0]], ids=["a", "b"])
    for all_of_them in ({"weighting": "share"}, {"caps": mdp.Caps(1, 1)}):
        ((name, _),) = all_of_them.items()
        error = rf"max_snap leaves out records, and {name}=\S* is about all records of a user"
        users = {"user": [1, 1], **all_of_them}
        mdp.PrivateDemand.from_coordinates(plane, [[0, 1], [9, 9]], **users)
        with pytest.raises(InputError, match=error):
            mdp.PrivateDemand.from_coordinates(plane, [[0, 1], [9, 9]], max_snap=5, **users)
        frame = {"x": [0.0, 9.0], "y": [1.0, 9.0], "who": ["1", "1"]}
        users = {"x": "x", "y": "y", "user": "who", **all_of_them}
        refuses(error, mdp.PrivateDemand.from_frame, plane, frame, max_snap=5, **users)


def test_scores_beyond_their_range_are_never_raced():
    blocks = [np.array([0, 5]), np.array([3])]
    assert [b.tolist() for b in gate._within(iter(blocks), 0, 5)] == [[0, 5], [3]]
    for wrong in (np.array([0, 6]), np.array([-1, 5]), np.array([0, 5], np.int32)):
        with pytest.raises(AssertionError, match="beyond its stated range"):
            list(gate._within(iter([blocks[0], wrong]), 0, 5))


def test_parts_are_paid_from_their_own_budget_slices_and_these_pay_for_nothing_else():
    (west, its), (east, other) = gate.split(ONE, Sides(METRIC), 1, mdp.Ledger(1))
    for demand, budget in ((west, other), (west, mdp.Ledger(1).charge(1)), (ONE, its)):
        with pytest.raises(InputError, match="paid from the budget slices that split returned"):
            measure(demand, CountQuery(), "1/4", budget)
        assert budget.spent == 0
    measure(east, CountQuery(), "1/4", other)


def test_a_receipt_names_the_proofs_of_parts_and_of_users():
    def proofs(demand, budget):
        return set(measure(demand, CountQuery(), "1/4", budget).receipt.mechanisms[0].proofs)

    whole, users = (proofs(demand, mdp.Ledger(1).charge(1)) for demand in (ONE, MANY))
    part, budget = gate.split(ONE, Sides(METRIC), 1, mdp.Ledger(1))[0]
    assert proofs(part, budget) - whole == {gate.PARTS} and whole <= proofs(part, budget)
    assert users - whole == {gate.USERS} and whole <= users


BOX, LINE = mdp.EuclideanSpace([0, 0], [1, 1]), mdp.EuclideanSpace([0], [1])


class First:
    """The first coordinate."""

    def __init__(self, universe):
        self.universe = universe

    def encode(self, records):
        return records[:, :1]


def test_demand_of_a_box_is_mapped_and_preaggregated_in_its_own_box_alone():
    placed = mdp.PrivateDemand(BOX, [[0.2, 0.7]])
    twin = mdp.EuclideanSpace([0, 0], [1, 1])
    assert gate.mapped(placed, First(BOX), LINE).universe is LINE
    for wrong in (
        ([[0.2, 0.7]], First(BOX), LINE),
        (placed, First(BOX), METRIC),
        (placed, First(twin), LINE),
    ):
        refuses("by a map of its own universe", gate.mapped, *wrong)
    assert gate.preaggregated(placed, ShiftedQuadtree(BOX)).universe is BOX
    for wrong in (
        ([[0.2, 0.7]], ShiftedQuadtree(BOX)),
        (placed, First(BOX)),
        (placed, ShiftedQuadtree(twin)),
    ):
        refuses("a quadtree of it", gate.preaggregated, *wrong)


def test_demand_is_subsampled_to_a_share_of_it():
    for share in (1, 0.5, 1e-9):
        assert gate.subsampled(ONE, share).universe is METRIC
    for wrong in (1.01, 2):
        refuses("above 0, up to 1", gate.subsampled, ONE, wrong)
    refuses("", gate.subsampled, ONE, 0)
    refuses("a PrivateDemand is subsampled", gate.subsampled, [0, 4], 0.5)


@pytest.mark.parametrize("ask", [_measured, _selected])
def test_others_than_a_budget_slice_protects_are_refused_before_it_pays(ask):
    budget = mdp.Ledger(1).charge(1, protects=MANY.protects)
    refuses("", ask, budget)
    assert budget.spent == 0
