"""What is kept of each user's records, of so many or shares of one: the definition beside the fast
way, and the distribution of it.
"""

from collections import Counter
from fractions import Fraction
from hashlib import sha256

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import metricdp as mdp
from metricdp.accounting.binding import Protection
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import CountQuery, HistogramQuery
from metricdp.records.engines import opening
from metricdp.records.engines.bounding import (
    WHOLE,
    Bounding,
    SharesOfOne,
    numbered,
    ranks,
    whole_users,
)
from metricdp.records.engines.sources import WeightAt, Weighted
from metricdp.records.ingestion.encoders import AsRead, Reading, RowEncoder
from metricdp.testing.engines import exact
from tests import path_metric, refuses, tries
from tests.cli_world import build_road, fails, works

PLACES = Reading(RowEncoder(("c", "z"), np.asarray), "w")
POINTS = Reading(RowEncoder(("c",), lambda block: block[:, 0].astype(np.int64)), "w")
AREAS = np.array([0, 0, 1, 2, 2, 3], np.int64)
ROWS = st.lists(st.tuples(*[st.integers(0, 2)] * 2, st.sampled_from("abc")), max_size=30)
RECORDS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=40)
MASK = 2**64 - 1


def mixed(seed, words):
    """splitmix64's finalizer, word by word, in Python's integers."""
    for word in words:
        state = ((seed ^ word) + 0x9E3779B97F4A7C15) & MASK
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
        state = (state ^ state >> 27) * 0x94D049BB133111EB & MASK
        seed = state ^ state >> 31
    return seed


def ranked(key, user, own):
    """A user's records in the random order of the class's text, equal ones numbered."""
    seed = int.from_bytes(sha256(f"{key}|{user}".encode()).digest()[:8], "big")
    found = []
    for row, n in Counter(own).items():
        words = np.atleast_1d(np.array(row) + 0).view(np.uint64).tolist()
        found += [(mixed(seed, [*words, j]), words, j, row) for j in range(n)]
    return [row for *_, row in sorted(found)]


def naive(records, parts, each, key):
    """User by user, record by record: how many are kept at each point."""
    held = Counter()
    for user in {user for user, _ in records}:
        met = Counter()
        for place in ranked(key, f"u{user}", [place for u, place in records if u == user]):
            area = AREAS[place]
            if (area in met or len(met) < parts) and met[area] < each:
                met[area] += 1
                held[user, place] += 1
    return held


def naive_sample(rows, m, key):
    """The same of rows (x, y, user) where all parts are one."""
    kept = Counter()
    for user in {user for *_, user in rows}:
        own = [(float(x), float(y)) for x, y, u in rows if u == user]
        kept.update((*row, user) for row in ranked(key, user, own)[:m])
    return kept


@tries(60, ROWS, st.integers(1, 4))
def test_what_is_kept_of_points_is_that_of_the_definition(rows, m):
    users = [user for *_, user in rows]
    points = np.array([row[:2] for row in rows], np.float64).reshape(-1, 2)
    expected = naive_sample(rows, m, "5a")
    kept = Bounding(1, m, "5a").kept(users, points)
    assert Counter(map(tuple, kept.tolist())) == without_users(expected)
    block = pd.DataFrame({"_0": points[:, 0], "_1": points[:, 1], "_user": users})
    found = Bounding(1, m, "5a").rows(block.set_index(np.full(len(rows), 7)), PLACES)
    assert list(found) == PLACES.names and set(found["_user"]) <= {"kept"}
    assert Counter(zip(*(found[name].tolist() for name in ("_0", "_1")))) == without_users(expected)


def without_users(counts):
    found = Counter()
    for (*row, _), n in counts.items():
        found[tuple(row)] += n
    return found


@given(RECORDS, st.integers(1, 3), st.integers(1, 3))
def test_what_is_kept_in_areas_is_that_of_the_definition(records, parts, each):
    users = [f"u{user}" for user, _ in records]
    at = np.array([place for _, place in records], np.int64)
    rule = Bounding(parts, each, "5a", AREAS)
    places = Counter(place for _, place in naive(records, parts, each, "5a").elements())
    assert Counter(rule.kept(users, at).tolist()) == places
    block = pa.table({"_0": at, "_user": pa.array(users, pa.string())})
    assert sorted(rule.rows(block, POINTS)["_0"].tolist()) == sorted(rule.kept(users, at).tolist())


def test_records_come_in_a_random_order():
    # 4,000 users with two records in one part and one in another; one part is kept, whole: the
    # first with 2/3; by chance p < 1e-7 once in 10^7 runs
    users = np.repeat([f"u{i}" for i in range(4000)], 3).tolist()
    at = np.tile([0, 1, 2], 4000)
    kept = Bounding(1, 2, "beef", AREAS).kept(users, at)
    twos = int((kept == 0).sum())
    assert len(kept) == 4000 + twos
    assert chisquare([twos, 4000 - twos], [8000 / 3, 4000 / 3]).pvalue > 1e-7
    assert not np.array_equal(kept, Bounding(1, 2, "cafe", AREAS).kept(users, at))


def test_rows_that_say_what_went_wrong_are_all_that_is_reported():
    block = pd.DataFrame({"_0": [1, 5, 2, 2, 2], "_user": pd.array([None, None, "a", "a", "a"])})
    assert Bounding(1, 1, "00").rows(block, POINTS)["_0"].tolist() == [1, 5]
    found = SharesOfOne().rows(block, POINTS)
    assert found["_0"].tolist() == [1, 5] and found["_user"] == [None, None]
    assert list(found) == ["_0", "_1", "_user"]


def test_users_are_numbered_as_they_come_one_for_each_record():
    codes, users = numbered(["b", "a", "b", 7], 4)
    assert codes.tolist() == [0, 1, 0, 2] and users == ["b", "a", 7]
    assert Bounding(1, 2, "00").kept(["b", "a", "b"], np.array([0, 1, 2])).tolist() == [0, 1, 2]
    for wrong in (["a"], ["a", "b", "c"], ["a", None], ["a", float("nan")]):
        refuses("one user per record", numbered, wrong, 2)
        for rule in (Bounding(1, 1, "00", AREAS), SharesOfOne()):
            refuses("one user per record", rule.kept, wrong, np.array([0, 1]))


def test_ranks_are_places_among_equals():
    groups, order = np.array([1, 0, 1, 1, 0]), np.array([5, 2, 4, 9, 1])
    assert ranks([groups], [order]).tolist() == [1, 1, 0, 2, 0]
    assert ranks([groups[:0]], []).tolist() == []


@tries(60, st.lists(st.integers(0, 6), max_size=30), st.integers(1, 6))
def test_batches_in_the_order_of_users_are_cut_where_users_change(owners, size):
    users = [None if user == 6 else f"u{user}" for user in sorted(owners)]
    table = pa.table({"_0": range(len(users)), "_user": pa.array(users, pa.string())})
    blocks = [block.to_pydict() for block in whole_users(table.to_batches(max_chunksize=size))]
    assert [at for block in blocks for at in block["_0"]] == list(range(len(users)))
    met = [user for block in blocks for user in set(block["_user"])]
    assert len(met) == len(set(met))


def test_rows_are_kept_uniformly_whatever_their_order_and_equals():
    # 3,000 users with four rows, two of them equal, and two kept; p < 1e-7 by chance once in 10^7
    # runs
    at = {"c": np.tile([0, 0, 1, 2], 3000), "w": np.repeat(np.arange(3000), 4)}
    rows = pd.DataFrame(at | {"z": np.tile([0.0, -0.0, 1, 2], 3000)})
    duckdb, rule = pytest.importorskip("duckdb"), Bounding(1, 2, "key")
    pairs = []
    for some in (rows, rows.sample(frac=1, random_state=1)):
        users = [str(user) for user in some["w"]]
        ordered = Counter(map(tuple, rule.kept(users, some[["c", "z"]].to_numpy()).tolist()))
        relation = duckdb.connect().from_arrow(pa.Table.from_pandas(some, preserve_index=False))
        frame = opening.opened(relation).by_user(PLACES, rule)
        blocks = [np.column_stack([b["_0"], b["_1"]]) for b in frame.batches(PLACES.names)]
        assert Counter(map(tuple, (np.concatenate(blocks) + 0).tolist())) == ordered
        kept = rule.kept(users, some[["c", "w"]].to_numpy(np.float64))
        pairs.append(kept[np.lexsort(kept.T)][:, 0].reshape(3000, 2))
    assert (pairs[0] == pairs[1]).all()
    kinds = ((0, 0), (0, 1), (0, 2), (1, 2))
    counts = [int((pairs[0] == pair).all(axis=1).sum()) for pair in kinds]
    assert sum(counts) == 3000
    assert chisquare(counts, 3000 * np.array([1, 2, 2, 1]) / 6).pvalue > 1e-7


PATH = path_metric(5)
PLANE = Reading(RowEncoder(("x", "y"), np.asarray), "w")
OF_USERS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), max_size=40)


def naive_shares(records):
    """From the definition: floors of exact fractions, user by user."""
    held = {}
    for user in {user for user, _ in records}:
        places = sorted(place for u, place in records if u == user)
        before = 0
        for i, place in enumerate(places, start=1):
            share = Fraction(WHOLE * i, len(places)).__floor__()
            held[place] = held.get(place, 0) + share - before
            before = share
        assert before == WHOLE
    return held


def weight_units(users, records):
    return SharesOfOne().kept(users, records)[:, -1].astype(np.int64)


@tries(80, OF_USERS)
def test_weight_units_are_those_of_the_definition(records):
    users = [f"u{user}" for user, _ in records]
    at = np.array([place for _, place in records], np.int64)
    found = np.bincount(at, weight_units(users, at), minlength=5)
    expected = naive_shares(records)
    assert {i: int(n) for i, n in enumerate(found) if n} == expected
    block = pd.DataFrame(records, columns=["_user", "_0"])[["_0", "_user"]].astype({"_user": str})
    of_block = pd.DataFrame(SharesOfOne().rows(block, POINTS)).groupby("_0")["_1"].sum()
    assert {int(i): int(n) for i, n in of_block.items() if n} == expected
    demand = mdp.PrivateDemand(PATH, at.tolist(), user=users, weighting="share")
    assert exact(demand, HistogramQuery(LabelParts.of(PATH))) == found.tolist()
    assert exact(demand, CountQuery()) == [WHOLE * len(set(users))]


@tries(20, st.lists(st.tuples(st.integers(0, 3), *[st.integers(0, 2)] * 2), max_size=30))
def test_a_block_of_two_columns_has_the_weight_units_of_its_places_in_order(records):
    names = ["_0", "_1", "_user"]
    block = pd.DataFrame(records, columns=["_user", "_0", "_1"]).astype({"_user": str})
    rows = pd.DataFrame(SharesOfOne().rows(block[names], PLANE))
    assert list(rows.columns) == ["_0", "_1", "_2", "_user"]
    want = naive_shares([(user, (a, b)) for user, a, b in records])
    assert {at: int(n) for at, n in rows.groupby(["_0", "_1"])["_2"].sum().items() if n} == want


def test_one_user_more_adds_one_unit_of_weight_and_changes_nothing_else():
    some = [("a", 0), ("a", 3), ("b", 3), ("b", 3), ("b", 1)]
    for more in ([("c", 4)], [("c", 4)] * 70_000, [("c", i % 5) for i in range(999)]):
        counts = []
        for records in (some, some + more):
            users, places = zip(*records)
            demand = mdp.PrivateDemand(PATH, list(places), user=list(users), weighting="share")
            counts.append(exact(demand, HistogramQuery(LabelParts.of(PATH))))
        change = np.subtract(*counts[::-1])
        assert (change >= 0).all() and change.sum() == WHOLE


def test_a_box_counts_groups_and_subsamples_by_weight_units():
    coins = np.random.default_rng(2)
    points = coins.random((300, 2)).round(1)
    # one of 65,536 weight units, two of half that
    held = weight_units(np.r_[coins.integers(0, 40, 297), 41, 42, 42].tolist(), points)
    rows = Weighted(np.column_stack([points, held]))
    key = lambda block: (block @ [10, 110]).round().astype(np.uint64)  # noqa: E731
    keys, counts = rows.grouped(key)
    expected = np.bincount(key(points).astype(np.int64), held)
    assert counts.tolist() == expected[expected > 0].tolist()
    assert keys.tolist() == np.flatnonzero(expected).tolist()
    left = rows.mapped(lambda block: block[block[:, 0] > 0.45])
    count = lambda block: np.array([len(block)])  # noqa: E731
    assert left.total(count)[0] == held[points[:, 0] > 0.45].sum()
    thin = rows.subsampled(0.25).total(count)[0]
    assert abs(thin / held.sum() - 0.25) < 0.01  # 6 standard deviations are 0.0016


def test_rows_that_an_engine_read_have_their_weight_units_last():
    rows = np.array([[3.0, 0.0, 5.0], [1.0, 2.0, 7.0], [3.0, 1.0, 9.0]])
    points = PLANE.encoder(True)
    assert points.columns == ("_0", "_1", "_2") and points.place(rows).tolist() == rows.tolist()
    positions = POINTS.encoder(True).place(rows[:, [0, 2]])
    assert positions.dtype == np.int64 and positions.tolist() == [[3, 5], [1, 7], [3, 9]]
    assert WeightAt(5)(positions).tolist() == [0, 7, 0, 14, 0]
    assert POINTS.encoder().place == AsRead(np.int64, True)
    assert POINTS.encoder().place(rows[:, :1]).tolist() == [3, 1, 3]


def test_the_receipt_and_the_ledger_say_whose_mean_it_is(tmp_path):
    demand = mdp.PrivateDemand(PATH, [1] * 900, user=range(900), weighting="share")
    ledger = mdp.Ledger(3, journal=tmp_path / "a.ledger")
    release = mdp.release(PATH, demand, epsilon=1, ledger=ledger)
    assert 700 < release.weights.sum() < 1100
    reported = release.receipt.to_dict()
    expected = "share", WHOLE, "mean over people"
    assert (reported["weighting"], reported["grains"], reported["objective"]) == expected
    assert "mean over people" in str(release.receipt)
    assert mdp.Ledger.open(tmp_path / "a.ledger").protects == Protection("user", 1, "share")
    counted = mdp.PrivateDemand(PATH, [1], user=[1])
    refuses("one unit of weight", mdp.release, PATH, counted, epsilon=1, ledger=ledger)
    release.save(tmp_path / "a.release")
    again = mdp.Release.load(tmp_path / "a.release", PATH)
    assert (again.weights == release.weights).all() and again.receipt == release.receipt
    report = mdp.evaluate(PATH, demand, [1, 4], epsilon=1, ledger=ledger)
    assert abs(report.records.estimate - 900) < 300 and abs(report.loads.estimate[0] - 900) < 300


@pytest.mark.parametrize("method", ["hst", "max-coverage", "partition"])
def test_weights_are_people(method):
    users = np.repeat(np.arange(3000), 3)
    demand = mdp.PrivateDemand(PATH, users % 5, user=users, weighting="share")
    release = mdp.k_median(PATH, demand, 2, epsilon=1, method=method).release
    assert 2600 < release.weights.sum() < 3400
    assert 2600 < mdp.release(PATH, demand, epsilon=1, records_hint=3000).weights.sum() < 3400


def test_the_command_line(here, capsys):
    build_road(here, 30, [f"7,u{i}" for i in range(2000)] + ["20,busy"] * 9000, "vertex,who")
    ask = ("cluster", "roads.csv", "--demand", "homes.csv", "-k", "1", "--epsilon", "1")
    reported = works(capsys, *ask, "--user", "who", "--weighting", "share").json
    assert reported["centers"] == [7] and reported["receipt"]["weighting"] == "share"
    fails(capsys, "--user", *ask, "--weighting", "share")
