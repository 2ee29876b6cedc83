"""At most m records of a user: the definition beside the fast ways, and the law of what is kept."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from json import dumps

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from metricdp.errors import InputError
from metricdp.records.engines import RowEncoder, opening
from metricdp.records.engines.bounding import Bounding, bounded, sample
from metricdp.records.engines.by_user import numbered
from metricdp.records.engines.local import DUCKDB
from metricdp.records.ingestion.encoders import Reading

pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
NAMES = ["_0", "_1", "_user"]
ROWS = st.lists(st.tuples(*[st.integers(0, 2)] * 2, st.sampled_from("abc")), max_size=30)


def naive(rows, m, key):
    """From the module's text: equal rows numbered, a user's rows in the order of their hashes."""
    kept = Counter()
    for user in {row[-1] for row in rows}:
        own = Counter(row for row in rows if row[-1] == user)
        ranked = [
            (sha256(f"{key}{dumps([*row, j])}".encode()).hexdigest(), row)
            for row, n in own.items()
            for j in range(n)
        ]
        kept.update(row for _, row in sorted(ranked)[:m])
    return kept


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(1, 4))
def test_what_is_kept_is_that_of_the_definition(rows, m):
    block = pd.DataFrame(rows, columns=NAMES, index=[7] * len(rows))  # as of Dask: any labels
    block["more"] = 1
    found = Bounding(m, "5a").rows(block, NAMES)
    assert found.columns.tolist() == NAMES and found.index.is_monotonic_increasing
    assert Counter(found.itertuples(index=False, name=None)) == naive(rows, m, "5a")


@settings(max_examples=25, deadline=None)
@given(ROWS, st.integers(1, 4))
def test_the_statement_keeps_m_rows_of_each_user_whatever_their_order(rows, m):
    connection = pytest.importorskip("duckdb").connect()
    kept = []
    for some in (rows, rows[::-1]):
        block = pd.DataFrame(some, columns=NAMES).astype(dict.fromkeys(NAMES[:2], "int64"))
        connection.register("_rows", block.astype({"_user": "string"}))
        text = Bounding(m, "5a").statement("_rows", NAMES, DUCKDB)
        kept.append(Counter(connection.sql(text).fetchall()))
    assert kept[0] == kept[1] <= Counter(rows)
    each = Counter(user for _, _, user in rows)
    assert Counter(user for _, _, user in kept[0].elements()) == {
        u: min(n, m) for u, n in each.items()
    }


def test_rows_that_say_what_went_wrong_are_all_kept():
    block = pd.DataFrame({"_0": [1, 5, 2, 2, 2], "_user": pd.array([None, None, "a", "a", "a"])})
    found = bounded(block, ["_0", "_user"], 1, "00")
    assert found["_0"].tolist() == [1, 5, 2]


def test_users_are_numbered_as_they_come_one_for_each_record():
    assert numbered(["b", "a", "b", 7], 4).tolist() == [0, 1, 0, 2]
    assert sample(["b", "a", "b"], 3, 2).tolist() == [0, 1, 2]
    for users in (["a"], ["a", "b", "c"], ["a", None], ["a", float("nan")]):
        with pytest.raises(InputError, match="one user per record"):
            numbered(users, 2)


def test_rows_are_kept_uniformly_whatever_their_order_and_equals():
    # 3,000 users with four rows, two of them equal, and two kept; p < 1e-7 by chance once in 10^7
    # runs
    rows = pd.DataFrame(
        {
            "c": np.tile([0, 0, 1, 2], 3000),
            "w": np.repeat(np.arange(3000), 4),
            "z": np.tile([0.0, -0.0, 1, 2], 3000) + 0.0,
        }
    )
    shuffled = rows.sample(frac=1, random_state=1)
    kept = {name: [] for name in ("pandas", "duckdb")}
    for some in (rows, shuffled):
        kept["pandas"].append(bounded(some, ["c", "z", "w"], 2, "key"))
        duckdb = pytest.importorskip("duckdb")
        relation = opening.opened(
            duckdb.connect().from_arrow(pa.Table.from_pandas(some, preserve_index=False))
        )
        reading = Reading(RowEncoder(("c", "z"), np.asarray), "w")
        blocks = relation.by_user(reading, Bounding(2, "key")).batches(reading.names)
        drawn = pa.Table.from_batches(list(blocks)).to_pandas()
        drawn["w"] = drawn["_user"].astype(int)
        kept["duckdb"].append(drawn.rename(columns={"_0": "c"}))
    for first, second in kept.values():
        pairs = [
            some.sort_values(["w", "c"])["c"].to_numpy().reshape(3000, 2)
            for some in (first, second)
        ]
        assert (pairs[0] == pairs[1]).all()
        counts = [
            int(((pairs[0] == pair).all(axis=1)).sum()) for pair in ((0, 0), (0, 1), (0, 2), (1, 2))
        ]
        assert sum(counts) == 3000
        assert chisquare(counts, 3000 * np.array([1, 2, 2, 1]) / 6).pvalue > 1e-7
    other = bounded(rows, ["c", "z", "w"], 2, "another")
    assert len(other) == 6000
    assert not other.index.equals(kept["pandas"][0].index)


def test_what_one_user_keeps_does_not_depend_on_others_on_engines():
    rows = pd.DataFrame({"c": np.arange(600), "w": np.arange(600) % 40})
    for some in (rows[rows["w"] != 7], rows):
        kept = bounded(some, ["c", "w"], 3, "key")
        yours = set(kept["c"][kept["w"] == 8])
        assert yours == set(bounded(rows[rows["w"] == 8], ["c", "w"], 3, "key")["c"])
