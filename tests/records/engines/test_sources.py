"""Records of which only sums are asked: counted ones, parts and samples of them; and their sums at
the edges of 64 bits on every path.
"""

import numpy as np
import pandas as pd
import pytest

import metricdp as mdp
from metricdp.kernels.scores import CAP
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.partitions.service import ClippedDistances, DistanceDifferences, Service
from metricdp.privacy import CountQuery, HistogramQuery, PrivateDemand, _vault
from metricdp.privacy.queries import TotalsQuery, answered
from metricdp.records import exact
from metricdp.records.engines import sources
from metricdp.records.engines.bounding import WHOLE, SharesOfOne
from metricdp.records.engines.dask_frames import all_added, packed, unpacked
from metricdp.records.engines.frames import GroupWork, Seal, Work, checked, digest
from metricdp.records.engines.sources import ByDigits, Grouped, Source, Tally, Weighted, sums
from metricdp.records.exact import Sums, exactly
from metricdp.records.ingestion.encoders import RowEncoder
from metricdp.records.paths import Paths, Segment
from metricdp.records.trouble import Trouble
from tests import path_metric, raising, refuses
from tests.privacy_worlds import BOX, UnitCells
from tests.records.engines.test_conformance import STREAMING, table_of
from tests.records.test_exact import clipped

AT = np.array([4, 1, 4, 0, 4, 1])
COUNTED = sources.Tally(AT, np.ones(6, np.int64))


def parts_of(points):
    return points % 3


@pytest.mark.parametrize("records", [AT, COUNTED], ids=["listed", "counted"])
def test_records_of_parts(records):
    held = sources.placed(records, parts_of, 4)
    found = np.bincount(held, minlength=4) if records is AT else sources.total(held, counts_of(4))
    assert found.tolist() == [1, 5, 0, 0]
    each = sources.divided(records, parts_of, 4)
    reported = [sources.total(one, counts_of(5)).tolist() for one in each]
    assert reported == [[1, 0, 0, 0, 0], [0, 2, 0, 0, 3], [0] * 5, [0] * 5]
    assert sources.size(records) == 6 and sources.size(each[1]) == 5
    later = sources.mapped(records, lambda at: at[at > 0], lambda at: at[at < 4])
    assert sources.total(later, counts_of(5)).tolist() == [0, 2, 0, 0, 0]


def counts_of(n):
    return sources.Tallied(lambda at: at, n)


class Elsewhere(sources.Source):
    """Of which nothing is known here."""

    def sums(self, answer):
        return sources.sums(AT, answer)

    mapped = subsampled = sums


def test_what_is_known_of_counted_records():
    assert sources.size(Elsewhere()) is None and sources.size(AT[:0]) == 0
    points, counts = np.unique(COUNTED, return_counts=True)
    assert (points.tolist(), counts.tolist()) == ([0, 1, 4], [1, 2, 3])
    for asked in ({}, {"return_counts": True, "axis": 0}, {"return_index": True}):
        refuses("", np.unique, COUNTED, error=TypeError, **asked)
    refuses("", np.concatenate, [COUNTED], error=TypeError)
    keys, counts = Elsewhere().grouped(lambda at: at[at != 1].astype(np.uint64))
    assert (keys.tolist(), counts.tolist()) == ([0, 4], [1, 3])


def test_a_record_stays_if_32_fresh_bits_are_below_its_share(monkeypatch):
    words = np.array([0, 2**31 - 1, 2**31, 2**32 - 1], np.uint32)
    asked = []
    monkeypatch.setattr(sources.os, "urandom", lambda n: asked.append(n) or words.tobytes()[:n])
    for share, kept in ((0.0, []), (0.5, [0, 1]), (2**-32, [0]), (1.0, [0, 1, 2, 3])):
        assert sources.subsampled(np.arange(4), share).tolist() == kept
    assert asked == [16] * 4 and sources.subsampled(np.zeros((2, 3)), 0.5).shape == (2, 3)


def test_counts_are_subsampled_by_256_fresh_bits(monkeypatch):
    for share, kept in ((0.0, [0, 0, 0]), (1.0, [1, 2, 3])):
        assert sources.subsampled(COUNTED, share).counts.tolist() == kept
    asked = []
    monkeypatch.setattr(sources.os, "urandom", lambda n: asked.append(n) or bytes(n))
    first, second = (Tally(AT, np.full(6, 10**6)).subsampled(0.5).counts for _ in range(2))
    assert asked == [32, 32] and (first == second).all()


# Records by key, on every engine: the same as NumPy's count, one reading each, and nothing said
# of a bad row
FIELD, N = mdp.EuclideanSpace([0, 0], [10, 4]), 3000
TREE = ShiftedQuadtree(FIELD, seed=2)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return pd.DataFrame({"x": rng.normal(5, 2, N), "y": np.round(rng.normal(2, 1, N), 2)})


@pytest.mark.parametrize("engine", STREAMING)
def test_cells_of_all_levels_are_counted_as_in_memory(engine, rows):
    demand = PrivateDemand.from_frame(FIELD, table_of(engine, rows), x="x", y="y")
    paths = Paths(_vault._open(demand), TREE)
    points, cells = FIELD.clip(rows.to_numpy()), TREE.root_cell()
    for _ in range(12):
        expected = HistogramQuery(cells).exact(points)
        assert paths.counted(cells).tolist() == expected.tolist()
        cells = cells.split(cells.leaves[expected > 20])
    assert len(paths._segments) == 1


@pytest.mark.parametrize("engine", STREAMING)
def test_a_bad_row_is_no_key_and_is_not_reported(engine, rows):
    bad = rows.copy()
    bad.loc[1234, "y"] = float("inf")
    with pytest.raises(mdp.InputError) as refused:
        demand = PrivateDemand.from_frame(FIELD, table_of(engine, bad), x="x", y="y")
        Paths(_vault._open(demand), TREE).counted(None)
    assert "1234" not in str(refused.value)
    assert "inf" not in str(refused.value)


ONE = mdp.PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]])
PATH = path_metric(5)
EDGES = (2**25, 2**27, 2**31, 2**53, 2**61, 2**63)


class Often(Source):
    """An array whose every record is there 2^bits times, and so many more times once."""

    def __init__(self, records, bits, once=0):
        self.records, self.bits, self.once = records, bits, once

    def sums(self, answer):
        total = exactly(answer(self.records)) << self.bits
        for _ in range(self.once):
            total = total + exactly(answer(self.records))
        return total

    def mapped(self, step):
        return Often(step(self.records), self.bits, self.once)

    def subsampled(self, share):
        raise NotImplementedError


@pytest.mark.parametrize("n_users", EDGES)
@pytest.mark.parametrize("shift", [0, 16])
def test_one_user_more_moves_amounts_of_both_signs_by_one_unit_of_weight(n_users, shift):
    """2^27 users summed to -2^63, and one more to +2^63 (weighting="share", against=)."""
    near, far = (Service(BOX, [[at]]) for at in (0.0, 3.0))
    bits = n_users.bit_length() - 1
    for place, sign in ((0.0, -1), (3.0, 1)):
        rows = np.array([[place, WHOLE]])
        query = TotalsQuery(DistanceDifferences(near, far), 20, shift)
        held = (Often(rows, bits, once) for once in range(3))
        reported = [answered(query, Weighted(one)).tolist() for one in held]
        step = 2 ** (20 + 16 - shift)
        assert reported == [[clipped(sign * step * (n_users + once))] for once in range(3)]
        moved = abs(reported[1][0] - reported[0][0])
        assert moved <= query.sensitivity("add-remove", WHOLE) == step


@pytest.mark.parametrize("n_users", EDGES)
def test_counted_users_have_the_same_sums(n_users):
    service = Service(ONE, [0])
    for more in (-1, 0, 1):
        counts = np.array([min((n_users + more) * WHOLE, 2**63 - 1)])
        held_there = min(int(counts[0]), CAP)
        tally = Tally(np.array([1]), counts)
        assert tally.counts.tolist() == [held_there]
        for shift in (0, 16):
            query = TotalsQuery(ClippedDistances(service, 1.0), 20, shift)
            expected = [0, clipped(held_there * 2**20 >> shift)]
            assert answered(query, tally).tolist() == expected
        assert answered(CountQuery(), tally).tolist() == [held_there]
        assert Tally(np.array([0, 1]), np.array([1, 2])).counts.dtype == np.int64


def test_weight_units_of_users_in_a_box_are_counted_by_every_digit():
    """A user of exactly 65,536 weight units at one place is one whole, not two."""
    for records in (1, 2, 3, 70_000):
        points = np.linspace(0.1, 2.9, records)[:, None]
        shared = SharesOfOne().kept(["u"] * records, points)
        at, rows = shared[:, 1], Weighted(shared)
        expected = np.bincount(UnitCells(BOX).encode(points), at, 3).astype(int).tolist()
        assert answered(HistogramQuery(UnitCells(BOX)), rows).tolist() == expected
        assert answered(CountQuery(), rows).tolist() == [WHOLE]
    key = lambda block: np.zeros(len(block), np.uint64)  # noqa: E731
    assert sources.grouped_parts([np.array([[5, CAP - 1], [5, 2]])])[1].tolist() == [CAP]
    few = Weighted(Groupable(np.array([[0.5, WHOLE], [0.5, 3.0]]), 4))
    assert few.grouped(key)[1].tolist() == [16 * (WHOLE + 3)]


class Groupable(Often):
    """The same, grouped."""

    def groups(self, of):
        return sources.grouped_parts([of(self.records)] * 2**self.bits)


def test_arrays_are_read_in_blocks_whose_sums_are_in_64_bits(monkeypatch):
    assert exact.ROWS * 2**30 < 2**63
    query = TotalsQuery(ClippedDistances(Service(BOX, [[0.0]]), 3.0))
    points = np.linspace(0, 3, 101)[:, None]
    whole = answered(query, points).tolist()
    seen = []
    monkeypatch.setattr(sources, "ROWS", 7)
    monkeypatch.setattr("metricdp.privacy.queries.ROWS", 7)
    each = lambda block: seen.append(len(block)) or np.zeros(1, np.int64)  # noqa: E731
    sums(points, each)
    assert seen == [7] * 14 + [3]
    assert answered(query, points).tolist() == whole
    monkeypatch.setattr(sources, "ROWS", 8)
    refuses("a block has more rows", answered, query, points, error=AssertionError)


def test_an_interval_that_holds_for_every_demand_does_so_for_very_many_users():
    """Of 40 million users all at distance 1, the interval of the mean was [0.950787, 0.950788]. A
    false alarm needs noise 20 times as wide as its interval: less than 1e-20.
    """
    metric = mdp.PrecomputedMetric([[0.0, 1, 3], [1, 0.0, 2], [3, 2, 0.0]])
    one = PrivateDemand(metric, [1], user=["u"], weighting="share")
    for n_users in (900, 40_000_000, 2**27, 2**33, 2**41 - 2**20):
        demand = one._restricted(Tally(np.array([1]), np.array([n_users * WHOLE])), metric)
        report = mdp.evaluate(metric, demand, [0], epsilon=9, against=[2], clip=2, within=[1])
        figures = {1.0: report.mean_capped, -1.0: report.against.difference}
        figures[float(n_users)] = report.records
        for truth, figure in figures.items():
            wide = 20 * max(figure.high - figure.low, 1e-7 * abs(truth))
            assert figure.low - wide <= truth <= figure.high + wide
            assert figure.high - figure.low < 0.5 * abs(truth)
    for n_users in (2**43, 2**44, 2**45):  # sums saturate: nothing but public bounds is reported
        demand = one._restricted(Tally(np.array([1]), np.array([n_users * WHOLE])), metric)
        report = mdp.evaluate(metric, demand, [0], epsilon=9, against=[2], clip=2, within=[1])
        assert (report.mean_capped.low, report.mean_capped.high) == (0, 2)
        assert (report.mean.low, report.mean.high) == (0, 3)
        assert report.against.difference.low == -3 and report.against.difference.high >= 3
        assert report.records.high == np.inf


def test_vectors_of_workers_do_not_wrap_when_they_are_added():
    """In a box on an engine, 2^27 - 1 users came to 9.22e18 and 2^27 to -9.22e18."""
    work = Work(RowEncoder((0,), np.asarray), lambda block: np.array([-(2**46), 2**62, -(2**63)]))
    one = work(np.ones((1, 1)))
    assert isinstance(one, Sums) and len(one) == 5
    total, n = one, 1
    for _ in range(40):
        total = work.added(total, total)
        n *= 2
        assert total[:3].tolist() == [-n * 2**46, n * 2**62, -n * 2**63]
        assert unpacked(packed(total)).tolist() == total.tolist()
    some = Sums(np.array([0, 0, 0, 0, 2**62])) << 30
    assert isinstance(packed(some), tuple)
    assert unpacked(all_added(work, [packed(some)] * 5)).tolist() == [0] * 4 + [5 * 2**92]
    assert Work(RowEncoder((0,), np.asarray), lambda block: np.array([0.5])).start().dtype == float
    Seal(3, 5).compare(Seal(3, 5 + 2**64))


def test_trouble_of_one_block_is_that_of_all_and_floats_are_sealed_by_their_rows():
    encode = RowEncoder((0,), np.asarray)
    halves = Work(encode, lambda block: np.array([len(block) / 2]))(np.ones((3, 1)))
    assert halves.tolist() == [1.5, 3, 0]
    rows, bad, key = np.ones((3, 1)), np.full((1, 1), np.nan), lambda block: block[:, 0]
    for work in (Work(encode, key), GroupWork(encode, Grouped(key))):
        good, wrong, add = work(rows), work(bad), work.added
        assert wrong is Trouble.BAD and work.names == [0]
        assert add(good, wrong) is add(wrong, good) is add(wrong, wrong) is Trouble.BAD
        assert add(Trouble.FAULT, wrong) is add(wrong, Trouble.FAULT) is Trouble.FAULT
        assert checked(good) is good
        refuses("", checked, wrong)
    groups = GroupWork(encode, Grouped(key))(rows)
    assert groups.tolist() == [[3, digest(rows)], [1, 3]]
    assert work.added(groups, groups).tolist() == [[6, 2 * digest(rows)], [1, 6]]
    assert digest(np.array([[0.25]])) != digest(np.array([[0.5]]))
    assert digest(np.array([3, -1], np.int32)) == digest(np.array([[3], [-1]]))


def test_groups_of_very_many_records_saturate_and_their_digests_do_not_end_anything():
    joined = GroupWork(RowEncoder((0,), np.asarray), np.asarray).added
    half = np.array([[2**40, 2**62], [7, 2**60], [9, -(2**63)]])
    both = joined(half, half)
    assert both[1:].tolist() == [[9, -CAP], [7, CAP]] or both[1:].tolist() == [[7, CAP], [9, -CAP]]
    more = joined(both, half)
    assert (3 * 2**62 - int(more[0, 1])) % 2**64 == 0
    Seal(*more[0].tolist()).compare(Seal(3 * 2**40, 3 * 2**62))


class Large:
    """About a block: it is one block, and large numbers."""

    def __call__(self, block):
        return (Sums(np.array([0, 1, 2**62, -(2**62) - 1])) << 40).joined(Sums(np.array([1])))


@pytest.mark.parametrize("engine", STREAMING)
def test_engines_carry_and_add_numbers_beyond_64_bits(engine):
    rows = pd.DataFrame({"x": np.linspace(0, 9, 900), "y": np.linspace(0, 4, 900)})
    box = mdp.EuclideanSpace([0, 0], [10, 4])
    demand = PrivateDemand.from_frame(box, table_of(engine, rows), x="x", y="y")
    zero, *large, blocks = sums(_vault._open(demand), Large()).tolist()
    assert blocks > 0 == zero
    assert large == [n * 2**40 * blocks for n in (1, 2**62, -(2**62) - 1)]


def test_cells_of_a_tree_are_differences_that_do_not_wrap():
    class Grown(Source):
        def groups(self, of):
            return np.arange(8, dtype=np.uint64), np.array([CAP] * 7 + [5])

        sums = mapped = subsampled = raising(NotImplementedError)

    class Keys:
        start, stop = 0, 3

    segment = Segment(Grown(), Keys(), {0: 0})
    expected = [CAP, CAP, 5, CAP, CAP]
    assert segment.counts([(0, 0), (1, 1), (3, 7), (3, 0), (2, 3)]).tolist() == expected


def test_weights_travel_beside_their_records_and_stay_behind():
    rows = np.array([[0.5, 2.5, 1.0], [0.25, 1.5, 2.0]])
    met = []
    answer = lambda block: met.append(block.tolist()) or np.array([len(block)])  # noqa: E731
    assert ByDigits(answer, ())(rows).tolist() == [3]
    assert ByDigits(answer, (lambda block: block[:, :1] * 2,))(rows).tolist() == [3]
    assert list(filter(None, met)) == [[[0.5, 2.5]], [[0.25, 1.5]], [[1.0]], [[0.5]]]
