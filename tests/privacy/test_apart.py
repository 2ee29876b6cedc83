"""Partitions and maps of a caller's own are asked apart: what changes or keeps them is without
effect on what was priced, and nothing of the records is left in them.
"""

import pickle
import threading

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.grid import Grid
from metricdp import protocols
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import NetCells
from metricdp.privacy import HistogramQuery, SumsQuery, mapped, measure
from metricdp.unique import IsolatedEncoder
from tests import cases, refuses

BOX = EuclideanSpace([0.0], [4.0])
POINTS = np.array([[0.5], [1.5], [1.6], [3.5]])


class Cuts:
    """A box cut at some places."""

    def __init__(self, cuts, universe=BOX):
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
        self.universe = BOX
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
    demand = mdp.PrivateDemand(BOX, POINTS)
    ledger = mdp.Ledger(1000)
    assert counts(demand, query, ledger.charge(100)) == [1, 2, 1]
    assert counts(demand, query, ledger.charge(100)) == [1, 2, 1]


def test_nothing_is_left_in_the_callers_objects():
    cuts, rule = Cuts([1, 2]), Doubled()
    demand, ledger = mdp.PrivateDemand(BOX, POINTS), mdp.Ledger(1000)
    before = pickle.dumps(cuts), pickle.dumps(rule)
    query = HistogramQuery(cuts)
    counts(demand, query, ledger.charge(100))
    wide = EuclideanSpace([0.0], [8.0])
    image = mapped(demand, rule, wide)
    assert counts(image, HistogramQuery(Grid(wide, 4)), ledger.charge(100)) == [1, 2, 0, 1]
    assert (pickle.dumps(cuts), pickle.dumps(rule)) == before
    assert not query.encode._rule.kept and query.partition is cuts


def test_the_universe_of_a_query_is_that_of_its_making():
    cuts = Cuts([0.5], EuclideanSpace([0.0, 0.0], [1.0, 1.0]))
    sums = SumsQuery(HistogramQuery(cuts), bits=3)
    stated = sums.sensitivity("add-remove", 1)
    cuts.universe = BOX
    assert sums.sensitivity("add-remove", 1) == stated and sums.n_values == 4
    refuses("different universes", sums.check, BOX)


def test_what_cannot_be_copied_is_refused_before_it_costs():
    cuts = Cuts([1, 2])
    cuts.lock = threading.Lock()
    refuses("Cuts cannot be copied", HistogramQuery, cuts)
    rule = Doubled()
    rule.lock = threading.Lock()
    refuses("Doubled cannot be copied", lambda: mapped(mdp.PrivateDemand(BOX, POINTS), rule, BOX))


def test_the_packages_own_partitions_are_not_copied(monkeypatch):
    differing = IsolatedEncoder(Grid(BOX, 4), BOX)
    monkeypatch.setattr(IsolatedEncoder, "_copied", lambda self: pytest.fail("it was copied"))
    assert differing(POINTS).tolist() == [0, 1, 1, 3]


def test_the_universe_is_shared_by_all_copies():
    cuts = Cuts([1, 2])
    differing = IsolatedEncoder(cuts, BOX)
    assert differing._rule is not cuts and differing._rule.universe is BOX
    again = pickle.loads(pickle.dumps(differing))
    assert again(POINTS).tolist() == differing(POINTS).tolist() == [0, 1, 1, 2]


def test_trust_is_of_a_class_and_not_of_where_it_says_it_is_from():
    """A class named as one of the package's modules, or derived from a trusted one, is copied."""

    class Named(Grid):
        pass

    Named.__module__ = "benchmarks.methods.grid"
    assert protocols.is_trusted(Grid(BOX, (2, 2)))
    assert not protocols.is_trusted(Named(BOX, (2, 2)))


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
    line = mdp.EuclideanMetric([[0.0], [1.0], [4.0]])
    every = [[0, 1, 2]]
    parts = Watching(line)
    demand = mdp.PrivateDemand(line, [1, 1, 2])
    assert counts(demand, HistogramQuery(parts), mdp.Ledger(1000).charge(100)) == [1, 2]
    assert parts.asked == every

    net = Watching(BOX.net(3))
    cells = HistogramQuery(NetCells(BOX, net))
    counts(mdp.PrivateDemand(BOX, POINTS), cells, mdp.Ledger(1000).charge(100))
    assert net.asked == every


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
    assert protocols.box(BOX, "it") is protocols.space_of(BOX) is BOX
    for call, words in (
        (lambda: protocols.finite(BOX, "it"), "it needs a finite universe .* got EuclideanSpace"),
        (lambda: protocols.finite(BOX, "it", "a rule"), "^a rule$"),
        (lambda: protocols.box(line, "it"), "it needs a box .* got EuclideanMetric"),
        (lambda: protocols.box(line, "it", "a rule"), "^a rule$"),
        (lambda: protocols.space_of("a graph"), "must be a metric or an EuclideanSpace, got str"),
    ):
        refuses(words, call)
