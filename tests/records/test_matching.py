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
    known = [cell for cell in cells if position(ids, cell) is not None]
    columns = [cells, known, *([cell] for cell in cells)]
    for kind, make in ((str, pa.array), (int, np.array), (float, np.array), (int, list)):
        of_kind = [cell for cell in cells if type(cell) is kind]
        some = [cell for cell in known if type(cell) is kind]
        columns += [make(part) for part in (of_kind, some, some[:1]) if part]
        columns += [make([cell, *some]) for cell in of_kind]
    for column in columns:
        wanted = [position(ids, cell) for cell in listed(column)]
        assert together(find, column) == (None if None in wanted else wanted)


EDGES = [n + d for n in (0, 5, 2**53, -(2**53), 2**60, 2**63, -(2**63)) for d in (-1, 0, 1)]
WHOLE = st.sampled_from(EDGES) | st.integers(-9, 9)
MIXED = [1, 5, True, "True", "1", "5", "5 ", "1.0", "01", "a", " a", b"a", b"5", "2020-01-01", ""]
MIXED += [0.5, "0.5", ".5", "5e-1", Decimal("0.1"), 0.1, "0.1", "1e1", 10, 2.0**60, 2**60, 1e300]
MIXED += [date(2020, 1, 1), ("a", 1), ("a", 2), frozenset("a"), None, float("inf"), 10**500]
CELLS = st.lists(
    st.sampled_from([*MIXED, *map(str, EDGES), *map(float, EDGES[:12]), [1], False, "+5", -0.0])
    | WHOLE,
    max_size=6,
)
few = st.lists(WHOLE.filter(lambda n: -(2**63) <= n < 2**63), min_size=1, max_size=6, unique=True)


@tries(400, few, CELLS)
def test_whole_numbers_are_matched_by_the_rule(ids, cells):
    agree(ids, cells)


@tries(100, st.integers(-5, 5), st.integers(1, 9), st.sampled_from([1, 3]), CELLS)
def test_ranges_are_matched_by_the_rule(start, length, step, cells):
    agree(range(start, start + length * step, step), cells)


@tries(400, st.lists(st.sampled_from(MIXED), min_size=1, max_size=7, unique=True), CELLS)
def test_ids_of_any_kind_are_matched_by_the_rule(ids, cells):
    agree(ids, cells)


@pytest.mark.parametrize("kind", ["i1", "u8", "f2", "f4", "f8"])
def test_columns_of_every_width(kind):
    cells = np.array([-2, 0, 1, 3, 100], "i8").astype(kind)
    for ids in ([0, 1, 3], range(4), [0, 3, 2**40, 1], ["0", 3]):
        agree(ids, cells.tolist())
        for cell in cells:
            wanted = position(ids, cell.item())
            assert together(matching.matcher(ids), np.array([cell])) == (
                None if wanted is None else [wanted]
            )


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
