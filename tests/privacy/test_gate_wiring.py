"""What the gate hands on: the exponent of a selection, whom a budget slice is bound to; and what it
asks apart: partitions and maps of a caller's own.
"""

import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.grid import Grid
from metricdp import protocols
from metricdp.accounting import Cost
from metricdp.accounting.covering import exponent
from metricdp.audit.worlds import Coded
from metricdp.metrics.set_systems import Balls
from metricdp.partitions.box.cells import NetCells
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import (
    CostQuery,
    CountQuery,
    CoverQuery,
    HistogramQuery,
    SumsQuery,
    cover,
    gate,
    mapped,
    measure,
    select,
)
from metricdp.unique import IsolatedEncoder
from tests import cases, path_metric, refuses
from tests.privacy_worlds import Labels

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
    with pytest.raises(mdp.InputError, match="epsilon is too small for a selection"):
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
        with pytest.raises(mdp.InputError, match="epsilon is too small for a cover"):
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


def sides(universe):
    """The path cut in two."""
    return Labels(universe, (0, 0, 0, 1, 1), 2)


def first(universe):
    """The first coordinate."""
    return Coded(universe, lambda records: records[:, :1])


TWO = path_metric(2)


def test_demand_is_moved_to_one_point_a_part_and_nowhere_else():
    assert gate.moved(ONE, sides(METRIC), TWO).universe is TWO
    wrong = [
        ([0, 4], sides(METRIC), TWO),
        (ONE, sides(METRIC), mdp.EuclideanSpace([0], [1])),
        (ONE, sides(METRIC), METRIC),
    ]
    for demand, parts, universe in wrong:
        refuses("one point for each part", gate.moved, demand, parts, universe)
    twin = path_metric(5)
    refuses("", lambda: gate.moved(ONE, sides(twin), TWO))


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
            with pytest.raises(mdp.InputError, match="max_snap leaves records out"):
                measure(change(snapped), CountQuery(), "1/4", budget)


def test_records_are_left_out_or_all_of_a_user_count():
    """Shares and caps are of all records of a user: neither goes with `max_snap`."""
    plane = mdp.EuclideanMetric([[0.0, 0.0], [9.0, 0.0]], ids=["a", "b"])
    for all_of_them in ({"weighting": "share"}, {"caps": mdp.Caps(1, 1)}):
        ((name, _),) = all_of_them.items()
        error = rf"max_snap leaves out records, and {name}=\S* is about all records of a user"
        users = {"user": [1, 1], **all_of_them}
        mdp.PrivateDemand.from_coordinates(plane, [[0, 1], [9, 9]], **users)
        with pytest.raises(mdp.InputError, match=error):
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


def test_a_receipt_names_the_proofs_of_parts_and_of_users():
    def proofs(demand, budget):
        return set(measure(demand, CountQuery(), "1/4", budget).receipt.mechanisms[0].proofs)

    whole, users = (proofs(demand, mdp.Ledger(1).charge(1)) for demand in (ONE, MANY))
    part, budget = gate.split(ONE, sides(METRIC), 1, mdp.Ledger(1))[0]
    assert proofs(part, budget) - whole == {gate.PARTS} and whole <= proofs(part, budget)
    assert users - whole == {gate.USERS} and whole <= users


BOX, LINE = mdp.EuclideanSpace([0, 0], [1, 1]), mdp.EuclideanSpace([0], [1])


def test_demand_of_a_box_is_mapped_and_preaggregated_in_its_own_box_alone():
    placed = mdp.PrivateDemand(BOX, [[0.2, 0.7]])
    twin = mdp.EuclideanSpace([0, 0], [1, 1])
    assert gate.mapped(placed, first(BOX), LINE).universe is LINE
    for wrong in (
        ([[0.2, 0.7]], first(BOX), LINE),
        (placed, first(BOX), METRIC),
        (placed, first(twin), LINE),
    ):
        refuses("by a map of its own universe", gate.mapped, *wrong)
    assert gate.preaggregated(placed, ShiftedQuadtree(BOX)).universe is BOX
    for wrong in (
        ([[0.2, 0.7]], ShiftedQuadtree(BOX)),
        (placed, first(BOX)),
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


SLAB = mdp.EuclideanSpace([0.0], [4.0])
POINTS = np.array([[0.5], [1.5], [1.6], [3.5]])


class Cuts:
    """A box cut at some places."""

    def __init__(self, cuts, universe=SLAB):
        self.universe = universe
        self.cuts = np.array(cuts, float)
        self.n_parts = len(cuts) + 1
        self.kept = []

    def encode(self, records):
        self.kept.append(records.copy())
        return np.searchsorted(self.cuts, records[:, 0])


class Doubled:
    """A map of a box into another."""

    def __init__(self):
        self.universe = SLAB
        self.by = 2.0
        self.kept = []

    def encode(self, records):
        self.kept.append(records)
        return records * self.by


def counts(demand, query, budget):
    return measure(demand, query, 100, budget).values.tolist()


def test_changes_after_the_query_was_made_come_too_late():
    cuts = Cuts([1, 2])
    query = HistogramQuery(cuts)
    cuts.cuts[:] = 0.1
    cuts.cuts = np.arange(0.0, 4.0, 0.1)
    cuts.n_parts = 99
    demand = mdp.PrivateDemand(SLAB, POINTS)
    ledger = mdp.Ledger(1000)
    assert counts(demand, query, ledger.charge(100)) == [1, 2, 1]
    assert counts(demand, query, ledger.charge(100)) == [1, 2, 1]


def test_nothing_is_left_in_the_callers_objects():
    cuts, rule = Cuts([1, 2]), Doubled()
    demand, ledger = mdp.PrivateDemand(SLAB, POINTS), mdp.Ledger(1000)
    before = pickle.dumps(cuts), pickle.dumps(rule)
    query = HistogramQuery(cuts)
    counts(demand, query, ledger.charge(100))
    wide = mdp.EuclideanSpace([0.0], [8.0])
    image = mapped(demand, rule, wide)
    assert counts(image, HistogramQuery(Grid(wide, 4)), ledger.charge(100)) == [1, 2, 0, 1]
    assert (pickle.dumps(cuts), pickle.dumps(rule)) == before
    assert not query.encode._rule.kept and query.partition is cuts


def test_the_universe_of_a_query_is_that_of_its_making():
    cuts = Cuts([0.5], mdp.EuclideanSpace([0.0, 0.0], [1.0, 1.0]))
    sums = SumsQuery(HistogramQuery(cuts), bits=3)
    stated = sums.sensitivity("add-remove", 1)
    cuts.universe = SLAB
    assert sums.sensitivity("add-remove", 1) == stated and sums.n_values == 4
    refuses("different universes", sums.check, SLAB)


def test_what_cannot_be_copied_is_refused_before_it_costs():
    cuts = Cuts([1, 2])
    cuts.lock = threading.Lock()
    refuses("Cuts cannot be copied", HistogramQuery, cuts)
    rule = Doubled()
    rule.lock = threading.Lock()
    refuses("Doubled cannot be copied", lambda: mapped(mdp.PrivateDemand(SLAB, POINTS), rule, SLAB))


def test_the_packages_own_partitions_are_not_copied(monkeypatch):
    differing = IsolatedEncoder(Grid(SLAB, 4), SLAB)
    monkeypatch.setattr(IsolatedEncoder, "_copied", lambda self: pytest.fail("it was copied"))
    assert differing(POINTS).tolist() == [0, 1, 1, 3]


def test_the_universe_is_shared_by_all_copies():
    cuts = Cuts([1, 2])
    differing = IsolatedEncoder(cuts, SLAB)
    assert differing._rule is not cuts and differing._rule.universe is SLAB
    again = pickle.loads(pickle.dumps(differing))
    assert again(POINTS).tolist() == differing(POINTS).tolist() == [0, 1, 1, 2]


def test_trust_is_of_a_class_and_not_of_where_it_says_it_is_from():
    """A class named as one of the package's modules, or derived from a trusted one, is copied."""

    class Named(Grid):
        pass

    Named.__module__ = "benchmarks.methods.grid"
    assert protocols.is_trusted(Grid(SLAB, (2, 2)))
    assert not protocols.is_trusted(Named(SLAB, (2, 2)))


class Watching:
    """Parts of a finite universe, and all that was ever asked of them."""

    n_parts = 2

    def __init__(self, universe):
        self.universe = universe
        self.asked = []

    def encode(self, records):
        self.asked.append(np.asarray(records).tolist())
        return np.asarray(records) % 2


def test_a_finite_partition_is_asked_for_public_points_alone():
    net = Watching(SLAB.net(3))
    cells = HistogramQuery(NetCells(SLAB, net))
    counts(mdp.PrivateDemand(SLAB, POINTS), cells, mdp.Ledger(1000).charge(100))
    assert net.asked == [[0, 1, 2]]


# What the core holds a space to
@cases(
    ("records", "near", "limited"),
    ([0, 2], True, True),
    ([], True, True),
    ([-1, 2], False, True),
    ([-2, 2], False, False),
    ([0, 3], False, False),
    ([[0, 2]], False, False),
    (np.array([0, 2], np.int32), False, False),
    (np.array([0.0, 2.0]), False, False),
)
def test_positions_that_a_space_finds_are_some_of_it(records, near, limited):
    line = mdp.EuclideanMetric([[0.0], [1.0], [4.0]])
    records = np.array(records, None if len(records) else np.int64)
    for least, fits in ((False, near), (True, limited)):
        if fits:
            assert line.within(records, least) is records
        else:
            refuses("positions out of range", line.within, records, least)


class Rows:
    """A metric that answers what a test wants."""

    def __init__(self, rows):
        self.rows = rows

    def grid_rows(self, sources, targets=None):
        return self.rows


@cases(
    ("rows", "sound"),
    (np.array([[0, 7, 2**61]]), [[0, 7, 2**61]]),
    (np.array([[-5, 7]]), [[0, 7]]),
    (np.array([[-5]]), [[0]]),
    (np.array([[7, 2**61 + 1]]), [[7, 2**61]]),
    (np.array([[2**61 + 1, 2**61 + 1]]), [[2**61, 2**61]]),
    (np.array([[-5, -5]]), [[0, 0]]),
    (np.zeros((1, 0), np.int64), [[]]),
    (np.array([[3, 2**63]], np.uint64), [[3, 2**61]]),
    (np.array([[0.5, 2.0, np.nan, np.inf, -np.inf, -0.5]]), [[1, 2, 2**61, 2**61, 0, 0]]),
    ([[True, False]], [[1, 0]]),
)
def test_rows_are_mended_entry_by_entry(rows, sound):
    found = protocols.sound_rows(Rows(rows), np.zeros(1, np.int64))
    assert found.dtype == np.int64 and found.tolist() == sound


UNKNOWN = ["served_by", "positions", "inner", "outer", "two_nearest", "grid_nearest", "searches"]
UNKNOWN += ["balls"]


def test_what_a_space_does_not_have_it_does_not_answer():
    class Bare(protocols.Finite):
        ids = (0, 1)

        def diameter_bound(self):
            return 1.0

        def check(self):
            pass

        def grid_rows(self, sources, targets=None):
            return np.abs(np.subtract.outer(sources, np.arange(2)))

    bare, tree = Bare(), protocols.CellTree()
    for ask in (
        bare.placing,
        bare.placer,
        *(lambda name=name: getattr(bare, name)([0]) for name in UNKNOWN),
        lambda: tree.grid([0]),
        tree.root_cell,
    ):
        refuses("", ask, error=NotImplementedError)
    assert protocols.Space.tabulated(bare, len) is None
    assert bare.tabulated(np.negative).tolist() == [0, -1]
    assert not protocols.is_trusted(bare)
    protocols.trusted(Bare)
    assert protocols.is_trusted(bare)


def test_kinds_of_spaces_are_distinguished():
    line = mdp.EuclideanMetric([[0.0], [1.0]])
    assert protocols.finite(line, "it") is protocols.space_of(line) is line
    assert protocols.box(SLAB, "it") is protocols.space_of(SLAB) is SLAB
    for call, words in (
        (lambda: protocols.finite(SLAB, "it"), "it needs a finite universe .* got EuclideanSpace"),
        (lambda: protocols.finite(SLAB, "it", "a rule"), "^a rule$"),
        (lambda: protocols.box(line, "it"), "it needs a box .* got EuclideanMetric"),
        (lambda: protocols.box(line, "it", "a rule"), "^a rule$"),
        (lambda: protocols.space_of("a graph"), "must be a metric or an EuclideanSpace, got str"),
    ):
        refuses(words, call)
