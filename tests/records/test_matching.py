"""Cells are matched to ids by one rule: fast ways, for columns and for whole numbers, give what the
rule says of each cell by itself.
"""

from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.privacy import _vault
from metricdp.records.ingestion import matching
from metricdp.records.ingestion.cells import canonical, text_of
from metricdp.records.ingestion.columns import listed, simplified
from tests import cases, refuses, tries
from tests.records.test_cells import Private


def kind_of(cell):
    if isinstance(cell, str | bytes):
        return "text"
    if isinstance(cell, bool):
        return "truth"
    return "number" if isinstance(cell, int | float | Decimal) and text_of(cell) else "other"


def position(ids, cell):
    """The only id that a cell is by the rule, else None: by definition."""
    kind, text = kind_of(cell), text_of(cell)
    found = [i for i, one in enumerate(ids) if kind_of(one) == kind and one == cell]
    if not found and text is not None:
        found = [i for i, one in enumerate(ids) if text_of(one) == text]
        kinds = {kind_of(ids[i]) for i in found}
        if len(kinds) > 1:
            found = [i for i in found if kind_of(ids[i]) == kind]
        if not kinds and kind in ("text", "number"):
            numbers = [i for i, one in enumerate(ids) if kind_of(one) == "number"]
            found = [i for i in numbers if text_of(ids[i]) == canonical(text)]
    return found[0] if len(found) == 1 else None


def alone(find, cell):
    try:
        return find.position(cell)
    except InputError:
        return None


def together(find, column):
    """Positions of a column, or None if it is refused."""
    try:
        return find(simplified(column)).tolist()
    except InputError:
        return None


def agree(ids, cells):
    """The matcher of some ids gives what the rule says, of each cell and of columns of any type."""
    find = matching.matcher(ids)
    assert [alone(find, cell) for cell in cells] == [position(ids, cell) for cell in cells]
    columns = [cells]
    for kind, make in ((str, pa.array), (int, np.array), (float, np.array), (int, list)):
        some = [cell for cell in cells if type(cell) is kind]
        known = [cell for cell in some if position(ids, cell) is not None]
        odd = [cell for cell in some if cell not in known]
        columns += [make(part) for part in (known, [*known, *odd[:1]], odd[1:]) if part]
    for column in columns:
        wanted = [position(ids, cell) for cell in listed(column)]
        assert together(find, column) == (None if None in wanted else wanted)


EDGES = [n + d for n in (0, 5, 2**53, -(2**53), 2**60, 2**63, -(2**63)) for d in (-1, 0, 1)]
IN_64_BITS = [n for n in EDGES if -(2**63) <= n < 2**63]
WHOLE = [
    *EDGES,
    *map(str, EDGES),
    *map(float, EDGES),
    "5.0",
    "+5",
    "05",
    "5e0",
    4.5,
    True,
    [5],
    None,
]
ALIKE = (
    [1, "1", "1.0", "01", b"1", " 1", "1 ", "1e0", True, "True", b"True", False, 1.5],
    [0.1, "0.1", ".1", "1e-1", Decimal("0.1"), b"0.1", "0.10", Decimal("0.10"), 0.2],
    [2**60, 2.0**60, str(2**60), f"{2**60}.0", 1e300, 10**300, 10**500, float("inf")],
    ["a", " a", "a ", b"a", b" a", "A", ("a", 1), ("a", 2), frozenset("a"), None, "", " "],
    [date(2020, 1, 1), "2020-01-01", b"2020-01-01", " 2020-01-01", date(2020, 1, 2), 2020],
)
few = st.lists(st.sampled_from(IN_64_BITS), min_size=1, max_size=6, unique=True)
some = st.lists(st.sampled_from(WHOLE), max_size=5)


@tries(150, few, some)
def test_whole_numbers_are_matched_by_the_rule(ids, cells):
    agree(ids, cells)


@tries(100, st.integers(-5, 5), st.integers(1, 9), st.sampled_from([1, 2]), some)
def test_ranges_are_matched_by_the_rule(start, length, step, cells):
    agree(range(start, start + length * step, step), cells)


@pytest.mark.parametrize("alike", ALIKE, ids=range(len(ALIKE)))
@tries(60, st.data())
def test_ids_of_any_kind_are_matched_by_the_rule(alike, data):
    one = st.sampled_from(alike)
    agree(data.draw(st.lists(one, min_size=1, unique=True)), data.draw(st.lists(one, max_size=5)))


@pytest.mark.parametrize("kind", ["i1", "u8", "f2", "f4", "f8"])
def test_columns_of_every_width(kind):
    cells = np.array([-2, 0, 1, 3, 100], "i8").astype(kind)
    for ids in ([0, 1, 3], range(4), range(0, 8, 2), [0, 3, 2**40, 1], ["0", 3]):
        agree(ids, cells.tolist())
        for cell in cells:
            wanted = position(ids, cell.item())
            assert together(matching.matcher(ids), np.array([cell])) == (
                None if wanted is None else [wanted]
            )


def test_a_number_that_stands_for_several_is_none_of_them():
    for ids in ([2**53], range(2**53, 2**53 + 2), [2**53, 5, 0]):
        agree(ids, [2**53, 2.0**53, 2**53 - 1, 2.0**53 - 1, str(2**53)])


def test_columns_with_missing_cells_are_refused():
    for ids in (["a", "b"], [1, 2]):
        for column in (pa.array([str(ids[0]), None]), pa.array([None, None], pa.string())):
            refuses("no id", matching.matcher(ids), column)


def test_what_an_object_says_in_a_comparison_is_not_reported():
    assert alone(matching.matcher(["a", ("b", 1)]), Private(1)) is None


@cases("records", "abc", b"abc", {"a": 1}, np.zeros((2, 2)), pa.table({"a": ["a"]}), ids=repr)
def test_what_is_no_sequence_of_ids_is_refused(records):
    metric = mdp.PrecomputedMetric([[0.0]], ids=["a"])
    refuses("must be a sequence of ids", mdp.PrivateDemand, metric, records)
    assert _vault._open(mdp.PrivateDemand(metric, ["a", "a"])).tolist() == [0, 0]
    refuses(r"the id \(str\)", mdp.PrivateDemand, metric, ["b"])
