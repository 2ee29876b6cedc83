"""Every door by which private cells come in, and every type of storage that it knows: pairs of
cells that a careless reader makes one of.

``python -m tests.records.doors`` writes `docs/doors.csv` and the table of `docs/doors.md`; of doors
that are named, their rows alone.
"""

import csv
import datetime
import json
import sqlite3
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from metricdp.errors import InputError
from metricdp.records.engines import embedded
from metricdp.running.contributions import contributors
from metricdp.testing.engines import counted
from tests import spark

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "doors.md"
ROWS = PAGE.with_suffix(".csv")
APART, NO_USER, NO_COLUMN = "distinguished", "each cell is refused", "the column is refused"
FIRST, LAST = "<!-- made by tests/records/doors.py -->\n", "<!-- end -->\n"


def read(source: Any, engine: str = "embedded") -> list[int]:
    """How many users have one record, two, up to four, …"""
    return counted(contributors(source, "u", engine))


class Door(NamedTuple):
    """How cells of users come in.

    Attributes
    ----------
    name : str
        As the page says it.
    covers : tuple of str
        The engine's module, or endings of files.
    make : callable
        From a folder and cells to a table or a path.
    pairs : dict
        Of each type of storage two cells.
    engine : str
    raw : bool
        Whether text may be bytes that are none.
    large : bool
        Whether a file counts as large.
    """

    name: str
    covers: tuple[str, ...]
    make: Callable[[Path, Any], Any]
    pairs: dict[str, Any]
    engine: str = "embedded"
    raw: bool = False
    large: bool = False

    def users(self, folder: Path, cells: Any) -> list[int] | InputError:
        """What is read of some cells, or how they are refused."""
        source = self.make(folder, cells)
        with pytest.MonkeyPatch.context() as patch:
            if self.large:
                patch.setattr(embedded, "AT_ONCE", -1)
            try:
                return read(source, self.engine)
            except InputError as error:
                return error

    def verdict(self, folder: Path, kind: str) -> str | None:
        """What it does with two cells of a type of storage; None if it cannot hold them."""
        try:
            self.make(folder, self.pairs[kind])
        except Exception:  # whatever a library's own writer says
            return None
        except BaseException as error:  # and what Polars says
            if type(error).__name__ != "PanicException":
                raise
            return None
        found = self.users(folder, self.pairs[kind])
        if isinstance(found, InputError):
            return NO_USER if "one entry per record" in str(found) else NO_COLUMN
        assert found == [2, *[0] * 20], f"{self.name}: two cells of {kind} are one user"
        return APART


# Pairs


class Numeral(str):
    """Digits of a number of JSON."""


def _text(*cells: bytes) -> Any:
    return pa.array(cells, pa.binary()).view(pa.string())


DAY = datetime.date(2026, 1, 31)
BIG = 2**53
ARROW: dict[str, Any] = {
    **{f"int{n}": pa.array([-1, 1], f"int{n}") for n in (8, 16, 32)},
    "int64": pa.array([BIG, BIG + 1]),
    **{f"uint{n}": pa.array([2**n - 1, 2**n - 2], f"uint{n}") for n in (8, 16, 32, 64)},
    "float16": pa.array(np.array([1.0, 1.001], np.float16)),
    "float32": pa.array([1.0, 1 + 2**-23], pa.float32()),
    "float64": pa.array([0.1, 0.1 + 2**-56]),
    "float64 from 2^53 on": pa.array([2.0**53, 2.0**53 + 2]),
    "decimal128": pa.array([Decimal(f"1.{0:030d}{i}") for i in (1, 2)], pa.decimal128(38, 31)),
    "decimal256": pa.array([Decimal(f"1.{0:040d}{i}") for i in (1, 2)], pa.decimal256(60, 41)),
    "bool": pa.array([True, False]),
    "string": pa.array(["é", "e\u0301"]),
    "large string": pa.array(["007", "7"], pa.large_string()),
    "string view": pa.array(["007", "7"], pa.string_view()),
    "string with NUL": _text(b"a\0x", b"a\0y"),
    "dictionary": pa.array(["a", "b"]).dictionary_encode(),
    "binary": pa.array([b"a", b"b"]),
    "binary, no text": pa.array([b"\xff", b"\xfe"]),
    "date32": pa.array([DAY, DAY.replace(day=1)]),
    "date64": pa.array([DAY, DAY.replace(day=1)], pa.date64()),
    **{f"timestamp[{u}]": pa.array([1, 2], pa.timestamp(u)) for u in ("s", "ms", "us", "ns")},
    "timestamp[us, UTC]": pa.array([1, 2], pa.timestamp("us", "UTC")),
    "time32[ms]": pa.array([1, 2], pa.time32("ms")),
    **{f"time64[{u}]": pa.array([1, 2], pa.time64(u)) for u in ("us", "ns")},
    "duration[us]": pa.array([1, 2], pa.duration("us")),
    "list": pa.array([[1], [2]]),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
}
NOT_UTF8 = {"string that is not UTF-8": _text(b"a\xff", b"a\xfe")}
SQL = {
    "HUGEINT": (f"{2**127 - 1}", f"{2**127 - 2}"),
    "UHUGEINT": (f"{2**128 - 1}", "1"),
    "BIGNUM": ("1" * 60, "1" * 59 + "2"),
    "BIT": ("101", "100"),
    "TIMETZ": ("00:00:00+01", "00:00:00+02"),
    "TIMESTAMP_NS": ("2020-01-01 00:00:00.000000001", "2020-01-01 00:00:00.000000002"),
    "TIMESTAMPTZ": ("2020-01-01 00:00:01+00", "2020-01-01 00:00:02+00"),
    "UUID": tuple(f"00000000-0000-0000-0000-00000000000{i}" for i in (1, 2)),
    "DATE": ("infinity", "-infinity"),
    "INTERVAL": ("1 day", "2 days"),
    "JSON": ('{"a": 1}', '{"a": 2}'),
    "ENUM('a', 'b')": ("a", "b"),
}
SQLITE = {
    "INTEGER": [2**62, 2**62 + 1],
    "MEDIUMINT": [2**33 + 5, 5],
    "BOOLEAN": [0, 1],
    "FLOAT": [16777216, 16777217],
    "REAL": [0.1, 0.1 + 2**-56],
    "TEXT": ["007", "7"],
    "TEXT with NUL": ["a\0x", "a\0y"],
    "TEXT that is not UTF-8": [b"\xff", b"\xfe"],
    "text in INTEGER": ["12", "12x"],
    "DATE": ["2020-01-01", "2020-01-02"],
    "DATETIME": ["2020-01-01T00:00:00.000001Z", "2020-01-01T00:00:00.000002Z"],
    "BLOB": [memoryview(b"a"), memoryview(b"b")],
    "BLOB, no text": [memoryview(b"\xff"), memoryview(b"\xfe")],
}
DBASE = {
    "C": ("C", [b"007", b"7"]),
    "C with NUL": ("C", [b"a\0x", b"a\0y"]),
    "C that is not of its code page": ("C", [b"\xff", b"\xfe"]),
    "N": ("N", [b"9007199254740992", b"9007199254740993"]),
    "N of more digits than a double": ("N", [b"0.1", b"0.10000000000000000001"]),
    "N that is none": ("N", [b"12x", b"12y"]),
    "F": ("F", [b"1.5", b"1.25"]),
    "D": ("D", [b"20200101", b"20200102"]),
    "D that is none": ("D", [b"20200231", b"20200230"]),
    "L": ("L", [b"T", b"Y"]),
    "M": ("M", [b"1", b"2"]),
}
JSON = {
    "string": ["007", "7"],
    "string with NUL": ["a\0x", "a\0y"],
    "integer": [BIG, BIG + 1],
    "number of more digits than a double": [*map(Numeral, ("0.1", "0.10000000000000000001"))],
    "true, false": [True, False],
    "null": [None, None],
    "array": [[1], [2]],
    "object": [{"a": 1}, {"a": 2}],
}
LINES = {
    "text": [b"007", b"7"],
    "text in quotes": [b'"a,b"', b'"a""b"'],
    "text with NUL": [b"a\0x", b"a\0y"],
    "text that is not UTF-8": [b"\xff", b"\xfe"],
    "quote out of place": [b'"a"b', b'"a'],
    "nothing": [b"", b""],
}


# Doors


def table(cells: Any) -> Any:
    return pa.table({"v": ["7"] * len(cells), "u": cells})


def parquet(folder: Path, cells: Any) -> str:
    pq.write_table(table(cells), folder / "rows.parquet")
    return str(folder / "rows.parquet")


def geoparquet(folder: Path, cells: Any) -> str:
    place = {"encoding": "WKB", "geometry_types": ["Point"]}
    geo = {"version": "1.0.0", "primary_column": "place", "columns": {"place": place}}
    rows = table(cells).append_column("place", pa.array([None] * len(cells), pa.binary()))
    said = {**(rows.schema.metadata or {}), b"geo": json.dumps(geo).encode()}
    pq.write_table(rows.replace_schema_metadata(said), folder / "places.parquet")
    return str(folder / "places.parquet")


def library(name: str) -> Any:
    return pytest.importorskip(name)


def of_duckdb(cells: Any) -> Any:
    if not isinstance(cells, tuple):
        return library("duckdb").connect().from_arrow(table(cells))
    kind, texts = cells
    values = ", ".join(f"('{text}')" for text in texts)
    sql = f"SELECT '7' AS v, CAST(c AS {kind}) AS u FROM (VALUES {values}) AS rows(c)"
    return library("duckdb").connect().sql(sql)


def of_spark(cells: Any) -> Any:
    return spark.session().createDataFrame(table(cells))


def of_dask(cells: Any) -> Any:
    return library("dask.dataframe").from_pandas(table(cells).to_pandas(), npartitions=2)


def of_geopandas(folder: Path, cells: Any) -> Any:
    frame = table(cells).to_pandas()
    return library("geopandas").GeoDataFrame(frame, geometry=[None] * len(cells), crs=4326)


def flatgeobuf(folder: Path, cells: Any) -> str:
    frame = of_geopandas(folder, cells)
    frame["geometry"] = library("shapely").Point(0, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what GDAL would cut, it cannot hold
        library("pyogrio").write_dataframe(frame, folder / "rows.fgb")
    if any(b"\0" in str(cell).encode("utf-8", "replace") for cell in cells.to_pylist()):
        raise ValueError("GDAL writes texts up to their first NUL")
    return str(folder / "rows.fgb")


def geopackage(folder: Path, cells: Any) -> str:
    """As GeoPackage has it, of a column that declares nothing or what stands first in its name."""
    path = folder / "rows.gpkg"
    path.unlink(missing_ok=True)
    declared, cells = cells if isinstance(cells, tuple) else ("", cells)
    with closing(sqlite3.connect(path)) as file:
        file.executescript(
            "CREATE TABLE gpkg_contents (table_name TEXT, data_type TEXT);"
            "CREATE TABLE gpkg_spatial_ref_sys (srs_id INTEGER, organization TEXT,"
            " organization_coordsys_id INTEGER, definition TEXT);"
            "CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT,"
            " geometry_type_name TEXT, srs_id INTEGER);"
            "INSERT INTO gpkg_contents VALUES ('rows', 'features');"
            "INSERT INTO gpkg_spatial_ref_sys VALUES (4326, 'EPSG', 4326, '');"
            "INSERT INTO gpkg_geometry_columns VALUES ('rows', 'geom', 'POINT', 4326);"
            f"CREATE TABLE rows (fid INTEGER PRIMARY KEY, geom POINT, v INTEGER, u {declared});"
        )
        for cell in cells:
            value = "CAST(? AS TEXT)" if isinstance(cell, bytes) else "?"
            file.execute(f"INSERT INTO rows (v, u) VALUES (7, {value})", (cell,))
        file.commit()
    return str(path)


def shapefile(folder: Path, cells: Any, page: str | None = "UTF-8", mark: int = 0) -> str:
    """Of null shapes, and a column of fields of 254 bytes; its code page in a file or as a mark."""
    kind, fields = cells
    n = len(fields)
    path = folder / "rows.shp"
    head = (9994).to_bytes(4, "big") + bytes(20), (1000).to_bytes(4, "little"), bytes(68)
    size = [(50 + words * n).to_bytes(4, "big") for words in (6, 4)]
    ends = ((i + 1).to_bytes(4, "big") for i in range(n))
    shapes = b"".join(end + (2).to_bytes(4, "big") + bytes(4) for end in ends)
    index = b"".join((50 + 6 * i).to_bytes(4, "big") + (2).to_bytes(4, "big") for i in range(n))
    path.write_bytes(head[0] + size[0] + head[1] + head[2] + shapes)
    path.with_suffix(".shx").write_bytes(head[0] + size[1] + head[1] + head[2] + index)
    field = b"u".ljust(11, b"\0") + kind.encode() + bytes(4) + bytes([254, 0]) + bytes(14)
    start = bytes([3, 126, 1, 1]) + n.to_bytes(4, "little") + (65).to_bytes(2, "little")
    start += (255).to_bytes(2, "little") + bytes(17) + bytes([mark]) + bytes(2) + field + b"\r"
    rows = b"".join(b" " + cell.ljust(254) for cell in fields)
    path.with_suffix(".dbf").write_bytes(start + rows + b"\x1a")
    path.with_suffix(".cpg").unlink(missing_ok=True)
    if page is not None:
        path.with_suffix(".cpg").write_text(page)
    return str(path)


def geojson(folder: Path, cells: Any) -> str:
    def feature(cell: Any) -> str:
        held = cell if isinstance(cell, Numeral) else json.dumps(cell)
        return f'{{"type": "Feature", "geometry": null, "properties": {{"v": 7, "u": {held}}}}}'

    features = ", ".join(map(feature, cells))
    path = folder / "rows.geojson"
    path.write_text(f'{{"type": "FeatureCollection", "features": [{features}]}}')
    return str(path)


def lines(folder: Path, cells: Iterable[bytes]) -> str:
    path = folder / "rows.csv"
    path.write_bytes(b"\n".join([b"v,u", *(b"7," + cell for cell in cells)]) + b"\n")
    return str(path)


def several(folder: Path, cells: Any) -> str:
    """Files of Parquet, the first of other users."""
    (folder / "parts").mkdir(exist_ok=True)
    pq.write_table(table(cells), folder / "parts" / "b.parquet")
    return str(folder / "parts" / "?.parquet")


def ibis_in_polars(cells: Any) -> Any:
    rows = library("polars").from_arrow(table(cells))
    return library("ibis").polars.connect({"rows": rows}).table("rows")


_IN_DUCKDB = {k: c for k, c in ARROW.items() if k not in ("float16", "decimal256")}
"""What a table that Ibis gives to DuckDB can hold."""
_IN_SPARK = {k: c for k, c in ARROW.items() if k != "timestamp[ns]"}
"""What a table that Spark is given holds: it cuts nanoseconds itself."""
_IN_FLATGEOBUF = {
    k: c
    for k, c in ARROW.items()
    if k in ("string", "bool", "date32") or k.startswith(("int", "uint", "float", "timestamp"))
}
"""What GDAL writes as it is, and not as text of its own."""
_POLARS, _DUCK = ("PolarsFrame", "TableInMemory"), {**ARROW, **{k: (k, v) for k, v in SQL.items()}}
_DECLARED = {
    kind: (kind.partition(" ")[0].strip(",") if kind != "text in INTEGER" else "INTEGER", cells)
    for kind, cells in SQLITE.items()
}
DOORS = [
    Door("pandas", ("TableInMemory",), lambda f, c: table(c).to_pandas(), ARROW),
    Door(
        "pandas, types of Arrow",
        ("TableInMemory",),
        lambda f, c: table(c).to_pandas(types_mapper=library("pandas").ArrowDtype),
        ARROW,
    ),
    Door("Polars", _POLARS, lambda f, c: library("polars").from_arrow(table(c)), ARROW),
    Door(
        "Polars, lazy", _POLARS, lambda f, c: library("polars").from_arrow(table(c)).lazy(), ARROW
    ),
    Door("PyArrow table", ("TableInMemory",), lambda f, c: table(c), ARROW | NOT_UTF8, raw=True),
    Door(
        "PyArrow data set",
        ("ArrowData",),
        lambda f, c: library("pyarrow.dataset").dataset(table(c)),
        ARROW,
    ),
    Door("DuckDB", ("Relation",), lambda f, c: of_duckdb(c), _DUCK),
    Door(
        "Ibis in DuckDB",
        ("IbisFrame",),
        lambda f, c: library("ibis").memtable(table(c)),
        _IN_DUCKDB,
    ),
    Door("Ibis in Polars", ("IbisFrame",), lambda f, c: ibis_in_polars(c), ARROW),
    Door("Dask", ("DaskFrame",), lambda f, c: of_dask(c), ARROW),
    Door("GeoPandas", ("Places",), of_geopandas, ARROW),
    Door("Parquet, small", ("embedded", ".parquet", ".pq"), parquet, ARROW | NOT_UTF8, raw=True),
    Door(
        "Parquet, large or several", ("embedded",), several, ARROW | NOT_UTF8, raw=True, large=True
    ),
    Door("Parquet by Dask", ("dask",), parquet, ARROW, "dask"),
    Door("GeoParquet", (".geoparquet",), geoparquet, ARROW | NOT_UTF8, raw=True),
    Door("GeoPackage", (".gpkg",), geopackage, _DECLARED, raw=True),
    Door("Shapefile", (".shp",), shapefile, DBASE, raw=True),
    Door("FlatGeobuf", (".fgb",), flatgeobuf, _IN_FLATGEOBUF),
    Door("GeoJSON", (".geojson", ".geo.json"), geojson, JSON),
    Door(
        "CSV, TSV, TXT",
        ("embedded", ".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"),
        lines,
        LINES,
        raw=True,
    ),
    Door("CSV, TSV, TXT, large", ("embedded",), lines, LINES, raw=True, large=True),
    Door("CSV, TSV, TXT by Dask", ("dask",), lines, LINES, "dask", raw=True),
]
BY_SPARK = [
    Door("Spark", ("SparkFrame",), lambda f, c: of_spark(c), _IN_SPARK),
    Door("Parquet by Spark", ("spark",), parquet, ARROW, "spark"),
    Door("CSV, TSV, TXT by Spark", ("spark",), lines, LINES, "spark", raw=True),
]
POINTS_ONLY = ("ArrayFile", ".npy")
"""Doors of numbers alone, which have no column of users."""


REFUSED: tuple[str, ...] = ("float64 from 2^53 on", "string with NUL", "string that is not UTF-8")
REFUSED += ("binary, no text", "duration[us]", "list", "struct")
"""Types of Arrow of which cells are refused; of the others they are distinguished."""
USUAL = {kind: NO_USER if kind in REFUSED else APART for kind in ARROW | NOT_UTF8}


def row(door: Door) -> dict[str, str]:
    """What a door does with each type of storage that it can hold."""
    with tempfile.TemporaryDirectory() as folder:
        found = {kind: door.verdict(Path(folder), kind) for kind in door.pairs}
    return {kind: verdict for kind, verdict in found.items() if verdict is not None}


def known_rows() -> dict[str, dict[str, str]]:
    """What the file beside the page says, by door."""
    known: dict[str, dict[str, str]] = {}
    with ROWS.open(encoding="utf-8", newline="") as file:
        for name, kind, verdict in [*csv.reader(file)][1:]:
            known.setdefault(name, {})[kind] = verdict
    return known


def shown(rows: dict[str, dict[str, str]]) -> str:
    """The usual verdicts, and a table of what departs from them, doors that do alike together."""
    alike: dict[str, list[str]] = {}
    for name, verdicts in rows.items():
        other = {kind: v for kind, v in verdicts.items() if USUAL.get(kind) != v}
        columns = [
            "; ".join(kind for kind, v in other.items() if v == column)
            for column in (APART, NO_USER, NO_COLUMN)
        ]
        alike.setdefault(" | ".join(columns), []).append(name)
    usual = [
        f"- *{column}*: {'; '.join(k for k, v in USUAL.items() if v == column)}"
        for column in (APART, NO_USER)
    ]
    usual.append(f"- *no exceptions*: {'; '.join(alike.pop(' |  | '))}")
    wide: dict[str, Any] = {"width": 140, "subsequent_indent": "  ", "break_on_hyphens": False}
    head = f"| entry point | {APART} | {NO_USER} | {NO_COLUMN} |\n| --- | --- | --- | --- |"
    table = [f"| {'; '.join(names)} | {columns} |" for columns, names in alike.items()]
    return "\n".join([*(textwrap.fill(line, **wide) for line in usual), "", head, *table, ""])


def shown_on_page() -> str:
    """What stands between the page's two marks."""
    return PAGE.read_text("utf-8").partition(FIRST)[2].partition(LAST)[0]


def main(names: Sequence[str]) -> None:
    """Write file and page; of some doors alone if they are named."""
    known = known_rows() if names else {}
    doors = [*DOORS, *BY_SPARK]
    rows = {d.name: row(d) if not names or d.name in names else known[d.name] for d in doors}
    with ROWS.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["entry point", "type", "verdict"])
        lines.writerows([name, *one] for name, verdicts in rows.items() for one in verdicts.items())
    before, _, rest = PAGE.read_text("utf-8").partition(FIRST)
    PAGE.write_text(before + FIRST + shown(rows) + LAST + rest.partition(LAST)[2], "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
