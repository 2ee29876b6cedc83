"""Checks of public arguments, with the warnings of libraries as they are for users."""

import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from metricdp.arguments import count, file_path, floats, integer, listed, positive, shown
from metricdp.errors import InputError, one_line
from metricdp.options import flag, hashable
from tests import cases, named, refuses


@cases(
    "values",
    1j,
    [1.0, 2j],
    np.array([1j]),
    np.array(["2020-01-01"], "M8[D]"),
    np.array([3], "m8[s]"),
    np.ma.masked_array([1.0, 2.0], [True, False]),
    [10**400],
    [[1], [1, 2]],
    "a",
    [object()],
    np.array([(1, 2.0)], "i4,f8"),
    ids=lambda value: named(shown(value)),
)
def test_floats_refuses_what_would_lose_something_without_quoting_it(values):
    with warnings.catch_warnings(), pytest.raises(InputError) as caught:
        warnings.simplefilter("ignore")
        floats(values, "the rule")
    assert str(caught.value) == "the rule"


def test_floats_takes_numbers():
    taken = floats([1, 2.5, True, Fraction(1, 4), Decimal("0.5"), np.float32(3)], "")
    assert taken.dtype == np.float64 and taken.tolist() == [1, 2.5, 1, 0.25, 0.5, 3]
    assert floats(np.ma.masked_array([1.0], [False]), "").tolist() == [1.0]


def test_one_number():
    assert [integer(v) for v in (3, np.int8(3), np.uint64(3))] == [3, 3, 3]
    wrong = (True, np.True_, 3.0, "3", None, np.timedelta64(3), [3], np.array(3))
    assert all(integer(v) is None for v in wrong)
    assert positive(Fraction(1, 2), "x") == 0.5 and positive(0, "x", or_zero=True) == 0
    for bad in (0, -1, True, 10**400, float("nan"), float("inf"), "1", None, 1j, np.array([1.0])):
        refuses("x must be positive and finite, got", positive, bad, "x")


def test_counts_are_integers_within_bounds():
    assert count(np.int8(3), "k") == 3
    assert count(0, "steps", 0, 5) == 0
    for value in (0, 6, 1.0, "1", True, None):
        refuses(r"k must be an integer from 1 to 5, got ", count, value, "k", 1, 5)
    refuses(r"k must be an integer of at least 1, got 0$", count, 0, "k")
    with pytest.raises(InputError, match=r"from 1 to 1,000, the number of points; got 1001$"):
        count(1001, "k", 1, 1000, "the number of points")


def test_flags_paths_and_lists():
    assert flag(np.True_, "x") is True and flag(0, "x") is False
    for bad in ("no", None, 2, [], np.array([True, False])):
        refuses("True or False", flag, bad, "x")
    assert file_path("a", "x") == Path("a")
    for bad in (0, None, b"a", "\0", "\ud800", ["a"]):
        refuses("path of a file", file_path, bad, "x")
    assert listed(np.array([1, 2]), "x") == [1, 2] and listed("ab", "x") == ["a", "b"]
    for bad in (0, None, np.array(0), range(10**30)):
        refuses("must be a sequence", listed, bad, "x")
    assert not hashable(Decimal("sNaN")) and not hashable(([],))


def test_messages_are_one_readable_line():
    assert one_line("a\nb\x1b\u202e\udcff é") == r"a\nb\x1b\u202e\udcff é"
    message = str(InputError("start " + "x" * 10**6 + " end\n"))
    assert message.startswith("start ") and message.endswith(r" end\n") and len(message) < 1000
    assert str(InputError(message)) == message


def test_messages_quote_numbers_of_numpy_as_numbers():
    assert [shown(one) for one in (np.int64(7), np.float64(0.5), "7")] == ["7", "0.5", "'7'"]
