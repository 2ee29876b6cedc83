"""What one cell means, at the edges of the rules, and whose record it is: one name a user, whatever
holds the column.
"""

from datetime import timedelta
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from metricdp.records.ingestion.cells import canonical, number_of, text_of
from metricdp.records.ingestion.columns import names_of
from tests import cases, refuses


def test_text_keeps_its_characters():
    expected = ["é", "e\u0301", "\ue000", "\U0001f600"]
    assert [text_of(c) for c in ("é", " e\u0301\u3000", "\ue000", "\U0001f600")] == expected
    lost = ("a\ufffd", "\ud800", "a\ud800", "\udfff", "é\udfff", "a\0", "é\0", "\u2003", "\ufffdé")
    assert [text_of(c) for c in lost] == [None] * len(lost)


def test_integers_of_any_length_that_is_not_absurd():
    assert text_of(2**1199 - 1) == str(2**1199 - 1)
    assert text_of(-(2**1199) + 1) == str(1 - 2**1199)
    assert text_of(2**1199) is None
    assert text_of(-(2**1199)) is None


@cases(
    ("numeral", "text"),
    ("1e400", "1" + 400 * "0"),
    ("1e-400", "0." + 399 * "0" + "1"),
    ("1e401", None),
    ("1e-401", None),
    ("1." + 799 * "0", "1"),
    ("1." + 800 * "0", None),
    (401 * "1" + "." + 400 * "1", None),
    (400 * "1" + "." + 400 * "1", 400 * "1" + "." + 400 * "1"),
    ("1e-1", "0.1"),
    ("12e-2", "0.12"),
    ("-0.50", "-0.5"),
    ("-0e5", "0"),
    ("0.0012e2", "0.12"),
    ("120e-1", "12"),
)
def test_a_number_has_one_way_to_be_written(numeral, text):
    assert canonical(numeral) == text


def test_numbers_of_every_kind():
    cells = (np.float32(1.5), np.int8(-3), 7, "1e2", b" 2 ", Decimal("0.25"), ".5", "+3.")
    assert [number_of(c) for c in cells] == [1.5, -3, 7, 100, 2, 0.25, 0.5, 3]


@cases(
    "cell",
    np.datetime64(5, "ns"),
    np.timedelta64(5, "ns"),
    np.datetime64("2026-11-23"),
    True,
    np.bool_(True),
    None,
    "",
    "nan",
    "1_0",
    "\u0661",
    "1e999",
    float("inf"),
    float("nan"),
    10**400,
    Decimal("sNaN"),
    [1],
    ids=str,
)
def test_what_is_no_number(cell):
    refuses("no finite number", number_of, cell)


class Same:
    """As itself, and as no text."""

    def __init__(self, key):
        self.key = key

    def __hash__(self):
        return hash(self.key)

    def __eq__(self, other):
        return isinstance(other, Same) and other.key == self.key


class Odd(Same):
    """Not even equal to itself."""

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return False


class Private(Same):
    """Quotes a record when it is compared."""

    def __hash__(self):
        raise ValueError("a record")


class Pair(NamedTuple):
    """A tuple of a class of its own."""

    first: object
    second: object = "a"


def test_objects_are_their_own_names():
    names = names_of([(1, "a"), (1, "a"), (1, "b"), Same(1), Same(1), Same(2), frozenset([1])])
    assert len(set(names)) == 5 and names[0] == names[1] != names[2]
    assert names[3] == names[4] != names[5]
    assert names_of([(1,)]) != names_of([frozenset([1])])
    assert names_of(["('tuple', (1,))"]) != names_of([(1,)])


def test_tuples_are_reported_by_their_parts():
    """Python counts ``(1, "a")``, ``(True, "a")`` as one, and no NaN as another."""
    names = names_of([(1, "a"), (True, "a"), (1.0, "a"), ("1", "a"), ((1, True), "a"), ()])
    assert len(set(names)) == 4 and names[0] == names[2] == names[3] != names[1]
    for lost in ((float("nan"), "a"), (None,), ("", 1), ((np.datetime64("NaT"),), 1)):
        refuses("missing", names_of, [lost])


@pytest.mark.parametrize("made", [Pair, lambda x: frozenset([x]), lambda x: (frozenset([x]), 1)])
def test_sets_and_named_tuples_are_reported_by_their_parts(made):
    """Python counts ``{1}`` and ``{True}`` as one, too."""
    names = names_of([made(1), made(True), made(1.0), made("1"), made(2)])
    assert len(set(names)) == 3 and names[0] == names[2] == names[3] != names[1]
    for lost in (float("nan"), None, ""):
        refuses("missing", names_of, [made(lost)])


@pytest.mark.parametrize("x", [1e-5, 5e-324, 1.5, 0.1 + 2**-56, -2e-7])
def test_a_number_has_one_name_in_every_type(x):
    """A float was ``1e-05`` where a decimal was ``0.00001``, so that doors disagreed."""
    assert names_of([x]) == names_of(np.array([x])) == names_of([Decimal(repr(x))])


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns", "ps"])
def test_times_of_arrays_are_times(unit):
    """Not the integers that NumPy makes of nanoseconds."""
    times = np.array([5, 7], f"M8[{unit}]")
    assert names_of(times) == names_of(list(times)) != ["5", "7"]
    refuses("missing", names_of, times - times)


@cases(
    ("cell", "text"),
    (np.datetime64("2026-11-23T10:00:00.000000001"), "2026-11-23 10:00:00.000000001"),
    (np.datetime64("2026-11-23T10:00:00.000001000"), "2026-11-23 10:00:00.000001"),
    (np.datetime64(10**6, "ps"), "1970-01-01 00:00:00.000001"),
    (np.datetime64("2026-11-23T10:00:00"), "2026-11-23 10:00:00"),
    (np.datetime64("2026-11-23"), "2026-11-23"),
    (np.datetime64("30000-01-01"), None),
    (np.datetime64(2**60, "us"), None),
    (np.datetime64("NaT", "ns"), None),
    (np.datetime64("NaT", "D"), None),
)
def test_times_of_numpy_keep_their_digits(cell, text):
    """Cut to microseconds, two were one."""
    assert text_of(cell) == text


@pytest.mark.parametrize("make", [list, np.array], ids=["list", "array"])
@pytest.mark.parametrize(
    ("cells", "names"),
    [([3, -1, 3], ["3", "-1", "3"]), ([1.0, 1.5, -0.0], ["1", "1.5", "0"]), ([], [])],
)
def test_numbers_are_text(make, cells, names):
    assert names_of(make(cells)) == names


def test_columns_of_arrow():
    assert names_of(pa.array([" a", "b "])) == ["a", "b"]
    assert names_of(pa.array([5, 6])) == ["5", "6"]
    for missing in (pa.array(["a", None]), pa.array([None, "a"]), pa.array(["a", " "])):
        refuses("a user is missing", names_of, missing)


UNREAD = (None, "", "\t", float("nan"), 2.0**53, 2**1200, b"\xff", "a\0", "\ud800", [1], Odd(1))
UNREAD += ({}, timedelta(1), np.timedelta64(1, "us"))


@cases("cell", *UNREAD, ids=range(len(UNREAD)))
@pytest.mark.parametrize("others", [["a"], []], ids=["one of two", "alone"])
def test_what_cannot_be_distinguished_is_missing(cell, others):
    refuses("a user is missing", names_of, [*others, cell])


def test_what_an_object_says_is_not_reported():
    refused = refuses("", lambda: names_of([Private(1)]))
    assert refused.__context__ is None
    assert "record" not in str(refused)
