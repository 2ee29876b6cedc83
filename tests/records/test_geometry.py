"""Places of geometries, and of Shapefiles byte by byte, beside their definitions."""

import struct
from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import strategies as st

from metricdp.errors import GraphFileError
from metricdp.records.ingestion import geometry, shapefile
from tests import cases, refuses, tries


def feature(kind, coordinates, **properties):
    return {"geometry": {"type": kind, "coordinates": coordinates}, "properties": properties}


@cases(
    ("read", "place"),
    (feature("Point", [1, 2.5]), [1, 2.5]),
    (feature("Point", [Decimal("0.5"), 2, 3]), [0.5, 2]),
    (feature("MultiPoint", [[1, 2]]), [1, 2]),
    (feature("MultiPoint", [[1, 2], [3, 4]]), None),
    (feature("MultiPoint", []), None),
    (feature("MultiPoint", {"0": [1, 2]}), None),
    (feature("LineString", [1, 2]), None),
    (feature("Point", [1]), None),
    (feature("Point", {0: 1, 1: 2}), None),
    (feature("Point", ["5", 1]), [np.nan, 1]),
    (feature("Point", [True, 1]), [np.nan, 1]),
    (feature("Point", [1, 10**400]), [1, np.nan]),
    (feature("Point", [1, Decimal("sNaN")]), [1, np.nan]),
    ({"geometry": [1, 2]}, None),
    ({"geometry": None}, None),
    ([1, 2], None),
    ids=lambda value: str(value)[:60],
)
def test_places_of_features(read, place):
    for before in ([], [feature("Point", [7, 8])]):
        found = geometry.of_geojson([*before, read])
        wanted = [place or [np.nan, np.nan]]
        np.testing.assert_array_equal(np.column_stack([*found.values()])[len(before) :], wanted)


def test_no_features_and_what_features_lack():
    assert [len(places) for places in geometry.of_geojson([]).values()] == [0, 0]
    rows = [feature("Point", [1, 2], a=1), {"properties": [1]}, None, {"properties": {"b": 2}}]
    assert geometry.properties(rows, ["a", "b"]) == {
        "a": [1, None, None, None],
        "b": [None, None, None, 2],
    }


def test_places_of_shapes():
    shapely = pytest.importorskip("shapely")
    texts = ["POINT (1 2)", "POINT Z (1 2 3)", "MULTIPOINT (1 2)", "MULTIPOINT (1 2, 3 4)"]
    texts += ["POINT EMPTY", "LINESTRING (1 2, 3 4)", "GEOMETRYCOLLECTION (POINT (1 2))"]
    shapes = [*map(shapely.from_wkt, texts), None]
    bad = [*map(shapely.to_wkb, shapes[:-1]), None, b"\x01", b""]
    for found, n in ((geometry.of_shapes(shapes), 5), (geometry.of_wkb(bad), 7)):
        wanted = [[1, 2]] * 3 + [[np.nan, np.nan]] * n
        np.testing.assert_array_equal(np.column_stack([*found.values()]), wanted)
    for read in (geometry.of_shapes, geometry.of_wkb):
        assert [len(places) for places in read([]).values()] == [0, 0]


def place(data, at, length):
    """Where a record is a point, by the format's description."""
    start = at + 8
    if start < 100 or length < 4 or start + length > len(data):
        return [np.nan, np.nan]
    (kind,) = struct.unpack_from("<i", data, start)
    if kind in (1, 11, 21) and length >= 20:
        return list(struct.unpack_from("<dd", data, start + 4))
    if kind in (8, 18, 28) and length >= 56 and struct.unpack_from("<i", data, start + 36)[0] == 1:
        return list(struct.unpack_from("<dd", data, start + 40))
    return [np.nan, np.nan]


KINDS = st.sampled_from([0, 1, 8, 11, 18, 21, 28, 31, 38, -9, -2, 12])
LENGTHS = st.sampled_from([3, 19, 20, 55, 56, 57])
PLACES = st.lists(st.tuples(KINDS, st.sampled_from([1, 1, 2]), LENGTHS), max_size=6)
WILD = st.lists(st.integers(-9, 60).map(lambda n: 4 * n), max_size=3)


@tries(300, PLACES, WILD, st.integers(0, 12))
def test_places_of_records_are_those_of_the_format(records, wild, cut):
    data, at = struct.pack("<i", 1) * 23, []  # as if points were in the head
    for kind, parts, length in records:
        head = struct.pack("<i", kind) + bytes(range(32)) + struct.pack("<i", parts)
        at.append((len(data), length))
        data += bytes(8) + head + struct.pack("<dd", len(at), -len(at))
    data = data[: len(data) - cut]
    at += [(offset, 20) for offset in wild] + [(len(data) - 28, 20), (len(data) - 27, 20)]
    found = shapefile._points(np.frombuffer(data, np.uint8), np.array(at, np.int64))
    np.testing.assert_array_equal(found, [place(data, *one) for one in at])


def write(folder, fields, rows, name="rows", deleted=(), end=b""):
    """A Shapefile of points (i, -i), of fields (name, kind, width) and rows of bytes."""
    n, width = len(rows), 1 + sum(wide for *_, wide in fields)
    shapes = (struct.pack(">ii", i + 1, 10) + struct.pack("<idd", 1, i, -i) for i in range(n))
    index = (struct.pack(">ii", 50 + 14 * i, 10) for i in range(n))
    table = struct.pack("<4xIHH20x", n, 33 + 32 * len(fields), width)
    for field, kind, wide in fields:
        table += field.ljust(11, b"\0") + kind + bytes(4) + bytes([wide]) + bytes(15)
    table += b"\r"
    for i, row in enumerate(rows):
        table += b"*" if i in deleted else b" "
        table += b"".join(cell.ljust(wide) for cell, (*_, wide) in zip(row, fields))
    path = folder / f"{name}.shp"
    path.write_bytes(bytes(100) + b"".join(shapes))
    path.with_suffix(".shx").write_bytes(bytes(100) + b"".join(index))
    path.with_suffix(".dbf").write_bytes(table + end)
    return path


FIELDS = [(b"a_long_name", b"N", 13), (b" b ", b"C", 3), (b"day", b"D", 8)]
ROWS = [(b"%d" % i, b"x%d" % i, b"2026112%d" % i) for i in range(7)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 99])
@pytest.mark.parametrize("end", [b"", b"\x1a"])
def test_rows_come_in_blocks_without_those_deleted(tmp_path, size, end):
    held = shapefile.shapefile(write(tmp_path, FIELDS, ROWS, deleted=(2, 3), end=end))
    names = {"a_long_name": "N", "b": "C", "day": "D"}
    assert {field.name: field.kind for field in held.fields} == names
    found, places = {name: [] for name in ("b", "a_long_name", "day")}, []
    for cells, where in held.rows([*found], size):
        places += where.tolist()
        for name, column in cells.items():
            found[name] += column
    left = [0, 1, 4, 5, 6]
    days = [date(2026, 11, 20 + i) for i in left]
    assert found == {"b": [f"x{i}" for i in left], "a_long_name": left, "day": days}
    assert places == [[i, -i] for i in left]


def test_the_files_beside_one_in_capital_letters(tmp_path):
    path = write(tmp_path, FIELDS, ROWS)
    write(tmp_path, FIELDS[:1], ROWS[:2], name="other")
    for ending in (".dbf", ".shx"):
        (tmp_path / f"other{ending}").rename(tmp_path / f"rows{ending.upper()}")
    assert len(shapefile.shapefile(path).fields) == 3
    large = path.rename(tmp_path / "rows.SHP")
    assert len(shapefile.shapefile(large).fields) == 1
    for ending in (".DBF", ".SHX"):
        (tmp_path / f"rows{ending}").unlink()
    assert len(shapefile.shapefile(large).fields) == 3


@cases(
    ("damage", "ending"),
    (lambda data: data[:-1], ".dbf"),
    (lambda data: data[:40], ".dbf"),
    (lambda data: data[:10] + b"\1\0" + data[12:], ".dbf"),
    (lambda data: data[:-1], ".shx"),
    (lambda data: data[:-8], ".shx"),
    ids=["short", "head", "width", "index", "fewer"],
)
def test_damaged_tables_are_refused(tmp_path, damage, ending):
    path = write(tmp_path, FIELDS, ROWS)
    other = path.with_suffix(ending)
    other.write_bytes(damage(other.read_bytes()))
    refuses("three files", shapefile.shapefile, path, error=GraphFileError)


@cases(
    ("raw", "read"),
    (b"20261123", date(2026, 11, 23)),
    (b"\0 20261123 ", date(2026, 11, 23)),
    (b"20260231", None),
    (b"2026112", None),
    (b"", None),
)
def test_days(raw, read):
    assert shapefile.day(raw) == read
