"""Columns of every library hold the cells that they were made of, and are read as each cell is."""

from datetime import date, time
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

from metricdp.errors import InputError
from metricdp.records.ingestion.cells import number_of, text_of
from metricdp.records.ingestion.columns import listed, names_of, numbers, points, simplified, texts
from tests import cases, raising, refuses, tries

BIG = 2**53 + 1


@cases(
    ("made", "kind", "held"),
    (np.array([1, BIG]), np.ndarray, [1, BIG]),
    (np.array([1.5, np.nan]), np.ndarray, None),
    (np.array([True, False]), list, [True, False]),
    (np.array(["a", "b"]), list, ["a", "b"]),
    (np.array(["2026-11-23"], "M8[D]"), list, [np.datetime64("2026-11-23")]),
    (np.ma.array([1, 2], mask=[0, 1]), list, [1, None]),
    ((1, "a"), list, [1, "a"]),
    (pd.Series([1, BIG]), np.ndarray, [1, BIG]),
    (pd.Series([1, "a", None]), list, [1, "a", None]),
    (pd.Series(["a", None], dtype="string"), pa.StringArray | pa.LargeStringArray, ["a", None]),
    (pd.Series([1, None], dtype="Int64"), list, [1, pd.NA]),
    (pa.array([1, BIG]), np.ndarray, [1, BIG]),
    (pa.array([1, None, BIG]), list, [1, None, BIG]),
    (pa.array([0.5, None]), list, [0.5, None]),
    (pa.array([0.5, 2.0]), np.ndarray, [0.5, 2.0]),
    (pa.array(["a", None]), pa.StringArray, ["a", None]),
    (pa.array(["a", None], pa.large_string()), pa.LargeStringArray, ["a", None]),
    (pa.array(["a", None], pa.string_view()), pa.LargeStringArray, ["a", None]),
    (pa.array(["a", "b", "a"]).dictionary_encode(), pa.StringArray, ["a", "b", "a"]),
    (pa.chunked_array([["a"], ["b"]]), pa.StringArray, ["a", "b"]),
    (pa.array([True, None]), list, [True, None]),
    (pa.array([b"a", None]), list, [b"a", None]),
    (pa.array([Decimal("1.50")]), list, [Decimal("1.50")]),
    (pa.array([None, 1000, 1, 10**9 + 1, 0], pa.time64("ns")), list, None),
    ids=lambda value: (
        getattr(value, "dtype", getattr(value, "type", ""))
        if not isinstance(value, type | list)
        else ""
    ),
)
def test_columns_of_every_library(made, kind, held):
    column = simplified(made)
    assert isinstance(column, kind)
    if isinstance(made, pa.Array) and made.type == pa.time64("ns"):
        second = ["00:00:00.000000001", "00:00:01.000000001"]
        assert column == [None, time(0, 0, 0, 1), *second, time(0)]
    elif held is not None:
        assert listed(column) == held and list(map(type, listed(column))) == list(map(type, held))


def test_dates_that_python_does_not_have_are_missing_and_no_others():
    days = pa.array([5, 2**30, -(2**30), 7], pa.int32()).view(pa.date32())
    assert simplified(days) == [date(1970, 1, 6), None, None, date(1970, 1, 8)]


TEXT = st.sampled_from(
    ["1", " 2.5 ", "-3", "+.5", "1e3", "", "x", "1 2", "nan", "0x1", "1_0", "\t7"]
)
CELL = TEXT | st.sampled_from([5, 2.5, -0.0, True, None, Decimal("0.1"), 2**60, "1e400", b"7"])


def number(cell):
    try:
        return number_of(cell)
    except InputError:
        return None


@tries(200, st.lists(CELL, max_size=4) | st.lists(TEXT, max_size=4))
def test_numbers_of_a_column_are_those_of_its_cells(cells):
    wanted = [number(cell) for cell in cells]
    columns = [cells]
    if all(isinstance(cell, str) for cell in cells):
        columns.append(simplified(pa.array(cells, pa.string())))
    for column in columns:
        assert texts(column) == [text_of(cell) for cell in cells]
        rows = [[cell] for cell in cells]
        if None in wanted:
            refuses("no finite number", points, rows, 1)
        else:
            assert numbers(column).tolist() == points(rows, 1).ravel().tolist() == wanted


@cases(
    "made",
    np.array([[1, 2], [3, 4]]),
    np.array([[1, 2], [3, 4]], "f2"),
    np.ma.array([[1, 2], [3, 4]], mask=False),
    [[1, "2"], (3, 4.0)],
    [np.array([1, 2]), [3, b"4"]],
    np.array([["1", 2], [3, Decimal(4)]], object),
    pd.DataFrame({"x": [1, 3], "y": [2, 4]}),
    pd.DataFrame({"x": [1, 3], "y": ["2", "4"]}),
    ids=type,
)
def test_points_of_every_kind(made):
    found = points(made, 2)
    assert found.dtype == np.float64 and found.tolist() == [[1, 2], [3, 4]]
    refuses("shape", points, made, 3)


@cases(
    ("made", "rule"),
    (np.ma.array([[1, 2]], mask=[[0, 1]]), "no finite number"),
    ([[1, float("nan")]], "no finite number"),
    (np.array([[1, np.inf]]), "no finite number"),
    (np.array([[True, False]]), "no finite number"),
    ([[True, 1]], "no finite number"),
    ([[1, 2], [3]], "shape"),
    ([[1, 2], "34"], "shape"),
    ([1, 2], "shape"),
    ([[[1], [2]]], "no finite number"),
    (np.zeros((1, 2, 1)), "shape"),
    (np.zeros(2), "shape"),
    (5, "gone through"),
    ids=str,
)
def test_what_are_no_points(made, rule):
    refuses(rule, points, made, 2)


def test_no_points_have_any_dimension():
    for none in ([], (), np.empty(0), np.empty((0, 3)), pd.DataFrame({"x": [], "y": [], "z": []})):
        assert points(none, 3).shape == (0, 3)


class Untold:
    """A sequence whose reading fails."""

    def __init__(self, error):
        self.__iter__ = self.tolist = raising(error)


def test_what_cannot_be_gone_through_says_nothing_of_it():
    refused = refuses("cannot be gone through", listed, Untold(ValueError("a record")))
    assert refused.__context__ is None
    refuses("", listed, Untold(MemoryError()), error=MemoryError)


def test_the_order_in_a_tuple_counts_and_that_in_a_set_does_not():
    assert names_of([(1, 2)]) != names_of([(2, 1)])
    assert names_of([frozenset([1, 2])]) == names_of([frozenset([2, 1])])
