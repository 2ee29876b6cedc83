"""All doors on the same cells, and the rows that say what each does with each type of storage."""

import datetime
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import strategies as st

from metricdp.errors import InputError
from metricdp.records.engines.opening import ENGINES, READERS
from metricdp.records.ingestion.lines import TEXT
from metricdp.universe.geo import GEOJSON, LAYERED, PARQUET
from tests import spark
from tests.fuzzing import fuzz

for name in ("duckdb", "polars", "geopandas", "dask.dataframe", "ibis"):
    pytest.importorskip(name)
from tests.records import doors  # noqa: E402 - needs them

pa = pytest.importorskip("pyarrow")


def test_every_door_has_a_row():
    """Engines, readers of paths and endings, as the package lists them itself."""
    covered = {c for door in [*doors.DOORS, *doors.BY_SPARK] for c in door.covers}
    covered |= set(doors.POINTS_ONLY)
    engines = {engine.__name__ for engine in ENGINES}
    assert covered == {*engines, *READERS, *TEXT, *LAYERED, *GEOJSON, *PARQUET, ".npy"}
    names = [door.name for door in [*doors.DOORS, *doors.BY_SPARK]]
    assert list(doors.known_rows()) == names


def test_the_page_shows_the_rows():
    assert doors.shown_on_page() == doors.shown(doors.known_rows())


@pytest.mark.parametrize("door", doors.DOORS, ids=lambda door: door.name)
def test_the_rows_say_what_each_door_does(door):
    """`python -m tests.records.doors` writes it."""
    assert doors.row(door) == doors.known_rows()[door.name]


@pytest.mark.extended
@pytest.mark.parametrize("door", doors.BY_SPARK, ids=lambda door: door.name)
def test_the_rows_say_what_spark_does(door):
    spark.session()
    assert doors.row(door) == doors.known_rows()[door.name]


# The same cells through all doors

ODD = ["007", "7", "7.0", "1e3", "1000", "-0.0", "nan", "NULL", "true", "True", "", " 7 "]
ODD += ["é", "e\u0301"]
ODD += ["\u00a07", "a\0", "a\0b", "\ufffd", "\ufeff7", "\u2028", "a,b", 'a"b', "'", "#5", "\x1c7"]
ODD += ["2020-01-01", "9" * 40, str(2**53), str(2**53 + 1), "\x85", "a\tb", ";", "|", "%", "=1"]
RAW = [b"\xff", b"\xfe", b"a\xe9", b"\xc3", b"\xed\xa0\x80"]
TEXTS = st.one_of(
    st.sampled_from([*(text.encode() for text in ODD), *RAW]),
    st.text(max_size=4).map(lambda text: text.encode("utf-8", "surrogatepass")),
)
SOME = {"min_size": 1, "max_size": 9}
WHOLE = [0, 7, 2**53, 2**53 + 1, 2**31, 2**63 - 1, None]
FRACTIONS = [0.0, -0.0, 0.1, 0.1 + 2**-56, 7.0, 5e-324, float("nan"), None]
CELLS = {
    "text": st.lists(st.sampled_from(ODD).map(str.encode), **SOME),
    "raw": st.lists(TEXTS, **SOME),
    "integer": st.lists(st.integers(-(2**63), 2**63 - 1) | st.sampled_from(WHOLE), **SOME),
    "number": st.lists(st.floats(-1e15, 1e15) | st.sampled_from(FRACTIONS), **SOME),
    "date": st.lists(st.dates() | st.sampled_from([datetime.date(2020, 2, 29), None]), **SOME),
}


def user_of(cell):
    """Whose a cell is, from the rule's words: nothing here is the package's."""
    if isinstance(cell, bytes):
        try:
            text = cell.decode().strip()
        except UnicodeDecodeError:
            return None
        return None if not text or "\0" in text or "\ufffd" in text else text
    if isinstance(cell, float):
        return None if cell != cell else int(cell) if cell == int(cell) else cell
    return cell


def expected(cells):
    """How many users have one record, two, up to four, …; None if some cell is no user."""
    users = [user_of(cell) for cell in cells]
    if None in users:
        return None
    sizes = [0] * 21
    for n in Counter(users).values():
        sizes[(n - 1).bit_length()] += 1
    return sizes


def arrow(kind, cells):
    """The cells as Arrow holds them."""
    if kind in ("text", "raw"):
        return pa.array(cells, pa.binary()).view(pa.string())
    types = {"integer": pa.int64(), "number": pa.float64(), "date": pa.date32()}
    return pa.array(cells, types[kind])


def held(door, kind, cells):
    """The cells as a door's storage holds them; None if it cannot hold some."""
    text = kind in ("text", "raw")
    if text and not door.raw and any(map(_is_no_text, cells)):
        return None
    own = {doors.geopackage: _in_sqlite, doors.shapefile: _in_fields}
    own |= {doors.lines: _in_lines, doors.geojson: _in_json}
    if door.make in own:
        return own[door.make](kind, cells)
    if door.make is doors.flatgeobuf and text and any(b"\0" in c for c in cells):
        return None
    return arrow(kind, cells)


def _in_sqlite(kind, cells):
    declared = {"integer": "INTEGER", "number": "REAL", "date": "DATE"}.get(kind, "TEXT")
    return declared, [c.isoformat() if isinstance(c, datetime.date) else c for c in cells]


def _in_fields(kind, cells):
    if kind in ("text", "raw"):
        ends = any(c.endswith(b"\0") or len(c) > 254 for c in cells)
        return None if ends else ("C", cells)
    if kind == "date":
        return "D", [b"" if c is None else f"{c:%Y%m%d}".rjust(8, "0").encode() for c in cells]
    return "N", [b"" if user_of(c) is None else repr(c).encode() for c in cells]


def _in_lines(kind, cells):
    if kind not in ("text", "raw") or any(b"\n" in c or b"\r" in c for c in cells):
        return None
    return [b'"' + c.replace(b'"', b'""') + b'"' for c in cells]


def _in_json(kind, cells):
    if kind == "date" or any(c != c for c in cells):
        return None
    if kind == "number":  # as numerals, with all their digits
        return [None if c is None else doors.Numeral(repr(c)) for c in cells]
    return [c.decode() for c in cells] if kind in ("text", "raw") else cells


def _is_no_text(cell):
    try:
        return cell.decode() is None
    except UnicodeDecodeError:
        return True


def compared(kind, cells, some):
    """All doors that can hold the cells say the same; how many there were."""
    wanted = expected(cells)
    n = 0
    for door in some:
        stored = held(door, kind, cells)
        if stored is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = door.users(Path(folder), stored)
        if isinstance(found, InputError):
            assert "one entry per record" in str(found), (door.name, str(found))
            found = None
        assert found == wanted, (door.name, cells)
        n += 1
    return n


def _check(kind):
    def check(cells):
        """Every door reads the same users of the same cells, or refuses them."""
        assert compared(kind, cells, doors.DOORS) >= 6

    return check


test_texts_are_the_same_users_at_every_door = fuzz(3, cells=CELLS["text"])(_check("text"))
test_bytes_are_the_same_users_at_every_door = fuzz(3, cells=CELLS["raw"])(_check("raw"))
test_integers_are_the_same_users_at_every_door = fuzz(3, cells=CELLS["integer"])(_check("integer"))
test_numbers_are_the_same_users_at_every_door = fuzz(3, cells=CELLS["number"])(_check("number"))
test_dates_are_the_same_users_at_every_door = fuzz(2, cells=CELLS["date"])(_check("date"))


@pytest.mark.extended
def test_spark_reads_the_same_users():
    spark.session()
    n = compared("text", [b"7", b"007", b"7", b" 7 "], doors.BY_SPARK)
    n += compared("text", [b"7", b""], doors.BY_SPARK)
    n += compared("integer", [3, 3, 2**53, 2**53 + 1], doors.BY_SPARK)
    assert n == 8
