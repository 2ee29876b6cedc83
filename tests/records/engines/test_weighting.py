"""Shares: one whole a user, exactly, by the definition in fractions; what comes of them."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.accounting.binding import Protection
from metricdp.errors import InputError
from metricdp.privacy import CountQuery, HistogramQuery, gate
from metricdp.privacy.demand import PrivateDemand
from metricdp.records.engines import RowEncoder
from metricdp.records.engines.bounding import WHOLE, SharesOfOne
from metricdp.records.engines.sources import WeightAt, Weighted
from metricdp.records.ingestion.encoders import AsRead, Reading
from tests import path_metric, tries
from tests.cli_world import build_road, fails, works

PATH = path_metric(5)
POINTS = Reading(RowEncoder(("c",), lambda block: block[:, 0].astype(np.int64)), "w")
PLACES = Reading(RowEncoder(("x", "y"), np.asarray), "w")
RECORDS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), max_size=40)


def naive(records):
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


def exact(demand, query):
    return gate._noisy(demand, query, None)


class Points:
    universe = PATH
    n_parts = 5

    def encode(self, records):
        return records


@tries(80, RECORDS)
def test_weight_units_are_those_of_the_definition(records):
    users = [f"u{user}" for user, _ in records]
    at = np.array([place for _, place in records], np.int64)
    found = np.bincount(at, weight_units(users, at), minlength=5)
    assert {i: int(n) for i, n in enumerate(found) if n} == naive(records)
    demand = PrivateDemand(PATH, at.tolist(), user=users, weighting="share")
    assert exact(demand, HistogramQuery(Points())).tolist() == found.tolist()
    assert exact(demand, CountQuery()).tolist() == [WHOLE * len(set(users))]


@tries(40, RECORDS)
def test_what_an_engine_does_with_a_block_is_the_same(records):
    block = pd.DataFrame(records, columns=["_user", "_0"])[["_0", "_user"]].astype({"_user": str})
    found = pd.DataFrame(SharesOfOne().rows(block, POINTS)).groupby("_0")["_1"].sum()
    assert {int(i): int(n) for i, n in found.items() if n} == naive(records)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)), max_size=30))
def test_a_block_of_two_columns_has_the_weight_units_of_its_places_in_order(records):
    names = ["_0", "_1", "_user"]
    block = pd.DataFrame(records, columns=["_user", "_0", "_1"]).astype({"_user": str})
    rows = pd.DataFrame(SharesOfOne().rows(block[names], PLACES))
    assert list(rows.columns) == ["_0", "_1", "_2", "_user"]
    want = naive([(user, (a, b)) for user, a, b in records])
    assert {at: int(n) for at, n in rows.groupby(["_0", "_1"])["_2"].sum().items() if n} == want


def test_one_user_more_adds_one_unit_of_weight_and_changes_nothing_else():
    some = [("a", 0), ("a", 3), ("b", 3), ("b", 3), ("b", 1)]
    for more in ([("c", 4)], [("c", 4)] * 70_000, [("c", i % 5) for i in range(999)]):
        counts = []
        for records in (some, some + more):
            users, places = zip(*records)
            demand = PrivateDemand(PATH, list(places), user=list(users), weighting="share")
            counts.append(exact(demand, HistogramQuery(Points())))
        change = counts[1] - counts[0]
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
    points = PLACES.encoder(True)
    assert points.columns == ("_0", "_1", "_2") and points.place(rows).tolist() == rows.tolist()
    positions = POINTS.encoder(True).place(rows[:, [0, 2]])
    assert positions.dtype == np.int64 and positions.tolist() == [[3, 5], [1, 7], [3, 9]]
    assert WeightAt(5)(positions).tolist() == [0, 7, 0, 14, 0]
    assert POINTS.encoder().place == AsRead(np.int64, True)
    assert POINTS.encoder().place(rows[:, :1]).tolist() == [3, 1, 3]


def test_the_receipt_and_the_ledger_say_whose_mean_it_is(tmp_path):
    demand = PrivateDemand(PATH, [1] * 900, user=range(900), weighting="share")
    ledger = mdp.Ledger(3, journal=tmp_path / "a.ledger")
    release = mdp.release(PATH, demand, epsilon=1, ledger=ledger)
    assert 700 < release.weights.sum() < 1100
    reported = release.receipt.to_dict()
    expected = "share", WHOLE, "mean over people"
    assert (reported["weighting"], reported["grains"], reported["objective"]) == expected
    assert "mean over people" in str(release.receipt)
    assert mdp.Ledger.open(tmp_path / "a.ledger").protects == Protection("user", 1, "share")
    with pytest.raises(InputError, match="one unit of weight"):
        mdp.release(PATH, PrivateDemand(PATH, [1], user=[1]), epsilon=1, ledger=ledger)
    release.save(tmp_path / "a.release")
    again = mdp.Release.load(tmp_path / "a.release", PATH)
    assert (again.weights == release.weights).all() and again.receipt == release.receipt
    report = mdp.evaluate(PATH, demand, [1, 4], epsilon=1, ledger=ledger)
    assert abs(report.records.estimate - 900) < 300 and abs(report.loads.estimate[0] - 900) < 300


@pytest.mark.parametrize("method", ["hst", "max-coverage", "partition"])
def test_weights_are_people(method):
    users = np.repeat(np.arange(3000), 3)
    demand = PrivateDemand(PATH, users % 5, user=users, weighting="share")
    release = mdp.k_median(PATH, demand, 2, epsilon=1, method=method).release
    assert 2600 < release.weights.sum() < 3400
    assert 2600 < mdp.release(PATH, demand, epsilon=1, records_hint=3000).weights.sum() < 3400


def test_the_command_line(here, capsys):
    build_road(here, 30, [f"7,u{i}" for i in range(2000)] + ["20,busy"] * 9000, "vertex,who")
    ask = ("cluster", "roads.csv", "--demand", "homes.csv", "-k", "1", "--epsilon", "1")
    reported = works(capsys, *ask, "--user", "who", "--weighting", "share").json
    assert reported["centers"] == [7] and reported["receipt"]["weighting"] == "share"
    fails(capsys, "--user", *ask, "--weighting", "share")
