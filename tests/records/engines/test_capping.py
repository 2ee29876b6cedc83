"""Caps: the definition beside the fast ways, and the law of what is kept."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from metricdp.errors import InputError
from metricdp.records.engines.capping import Capping, capped
from metricdp.records.engines.local import DUCKDB

AREAS = np.array([0, 0, 1, 2, 2, 3], np.int64)
RECORDS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=40)


def naive(records, parts, each, key):
    """User by user, record by record, from the module's text: how many are kept at each point."""
    held = {}
    for user in {user for user, _ in records}:
        own = [place for u, place in records if u == user]
        ranked = []
        for place in set(own):
            for j in range(1, own.count(place) + 1):
                text = f"{key}|{place}|{j}|u{user}"
                ranked.append((sha256(text.encode()).hexdigest(), place))
        met = {}
        for _, place in sorted(ranked):
            area = AREAS[place]
            if area not in met and len(met) == parts:
                continue
            met.setdefault(area, 0)
            if met[area] < each:
                met[area] += 1
                held[user, place] = held.get((user, place), 0) + 1
    return held


def counted(pairs):
    found = {}
    for user, place in pairs:
        found[user, place] = found.get((user, place), 0) + 1
    return found


@settings(max_examples=100, deadline=None)
@given(RECORDS, st.integers(1, 3), st.integers(1, 3))
def test_what_is_kept_is_that_of_the_definition(records, parts, each):
    users = [f"u{user}" for user, _ in records]
    at = np.array([place for _, place in records], np.int64)
    kept = capped(users, at, AREAS[at], (parts, each), "5a")
    assert (np.diff(kept) > 0).all()
    assert counted(records[i] for i in kept) == naive(records, parts, each, "5a")


@settings(max_examples=25, deadline=None)
@given(RECORDS, st.integers(1, 3), st.integers(1, 3))
def test_the_statement_and_what_dask_does_are_the_same(records, parts, each):
    pd = pytest.importorskip("pandas")
    duckdb = pytest.importorskip("duckdb")
    block = pd.DataFrame(
        [(place, AREAS[place], f"u{user}") for user, place in records],
        columns=["_0", "_1", "_user"],
    ).astype({"_0": "int64", "_1": "int64", "_user": "string"})
    rule = Capping(AREAS, parts, each, "5a")
    expected = naive(records, parts, each, "5a")
    found = rule.rows(block.set_index(np.full(len(block), 7)), list(block.columns))
    assert found.columns.tolist() == list(block.columns)
    assert counted((int(u[1:]), p) for p, u in zip(found["_0"], found["_user"])) == expected
    connection = duckdb.connect()
    connection.register("_rows", block)
    told = connection.sql(rule.statement("_rows", list(block.columns), DUCKDB)).fetchall()
    assert counted((int(user[1:]), place) for place, _, user in told) == expected


def test_records_come_in_a_random_order():
    # 4,000 users with two records in one part and one in another; one part is kept, whole: the
    # first with 2/3; by chance p < 1e-7 once in 10^7 runs
    users = np.repeat([f"u{i}" for i in range(4000)], 3).tolist()
    at = np.tile([0, 1, 2], 4000)
    kept = capped(users, at, AREAS[at], (1, 2), "beef")
    twos = int((at[kept] == 0).sum())
    assert len(kept) == 4000 + twos
    assert chisquare([twos, 4000 - twos], [8000 / 3, 4000 / 3]).pvalue > 1e-7
    other = capped(users, at, AREAS[at], (1, 2), "cafe")
    assert not np.array_equal(kept, other)


def test_what_one_user_keeps_does_not_depend_on_others():
    rng = np.random.default_rng(4)
    users = [f"u{i}" for i in rng.integers(0, 30, 900)]
    at = rng.integers(0, 6, 900)
    whole = capped(users, at, AREAS[at], (2, 3), "01")
    some = np.array([i for i, user in enumerate(users) if user != "u7"])
    rest = capped([users[i] for i in some], at[some], AREAS[at[some]], (2, 3), "01")
    assert some[rest].tolist() == [i for i in whole if users[i] != "u7"]


def test_users_must_be_one_for_each_record():
    with pytest.raises(InputError):
        capped(["a"], np.array([0, 1]), np.array([0, 1]), (1, 1), "00")
    with pytest.raises(InputError):
        capped(["a", None], np.array([0, 1]), np.array([0, 1]), (1, 1), "00")
