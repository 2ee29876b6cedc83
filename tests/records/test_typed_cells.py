"""Readers that type what they read: two users stay two, or are refused; files and columns of which
one library makes less than they hold.
"""

import sqlite3
from contextlib import closing
from decimal import Decimal
from functools import partial

import numpy as np
import pytest

from metricdp.errors import InputError
from metricdp.metrics import PrecomputedMetric
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import HistogramQuery, gate
from metricdp.privacy.demand import PrivateDemand
from metricdp.records.ingestion.columns import names_of, simplified
from metricdp.running.contributions import NUMBERS, contributors
from tests import cases, refuses
from tests.records import doors

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
pq, duckdb = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("duckdb")

UNIVERSE = PrecomputedMetric(1.0 - np.eye(3), ids=["7", "007", "7.0"])


def n_users(source, engine="embedded"):
    """Users of one record each: nobody else is there."""
    query = HistogramQuery(LabelParts.of(NUMBERS))
    found = gate._noisy(contributors(source, "u", engine), query, None)
    assert found[0] == found.sum()
    return int(found.sum())


def folder_of(path, *columns):
    for i, cells in enumerate(columns):
        pq.write_table(pa.table({"v": ["7"] * len(cells), "u": cells}), path / f"{i}.parquet")
    return str(path)


@cases(
    ("first", "second"),
    (pa.array([7, 8]), pa.array(["007", "7.0"])),
    (pa.array([7, 8]), pa.array([1.5, 1.25])),
    (pa.array([True, False]), pa.array([2, 3])),
    (pa.array([0.5], pa.float32()), pa.array([0.1, 0.1 + 1e-12])),
    (pa.array([0], pa.date32()), pa.array([1, 2], pa.timestamp("s"))),
    (pa.array(["a"]).dictionary_encode(), pa.array([2**60, 2**60 + 1])),
    ids=lambda cells: str(cells.type),
)
def test_files_of_one_folder_have_the_types_that_they_declare(tmp_path, first, second):
    """Of the first file's types, cells of the second were one user."""
    assert n_users(folder_of(tmp_path, first, second)) == len(first) + len(second)
    assert n_users(str(tmp_path / "?.parquet")) == len(first) + len(second)


@cases(
    ("first", "second"),
    (pa.array([7, 8]), pa.array(["007", "7"])),
    (pa.array([True]), pa.array([2, 3])),
    (pa.array([0.5], pa.float32()), pa.array([0.1, 0.1 + 1e-12])),
    ids=lambda cells: str(cells.type),
)
def test_data_sets_that_cast_a_file_are_refused(tmp_path, first, second):
    """Of the data set's type, two cells of the second file were one user."""
    pads = pytest.importorskip("pyarrow.dataset")
    data = pads.dataset(folder_of(tmp_path, first, second))
    for source in (data, data.filter(pads.field("v") == "7"), pads.dataset([data])):
        refuses("another type in one of its files", n_users, source)
    assert n_users(pads.dataset(folder_of(tmp_path, second, second[:0]))) == 2


def test_data_sets_of_text_files_are_refused(tmp_path):
    pads = pytest.importorskip("pyarrow.dataset")
    (tmp_path / "a.csv").write_text("v,u\n7,007\n7,7\n")
    refuses("inferred", n_users, pads.dataset(tmp_path / "a.csv", format="csv"))


def test_ids_of_one_folder_are_those_of_each_file(tmp_path):
    for i, cells in enumerate(([7, 7], ["007"], ["7.0"])):
        pq.write_table(pa.table({"vertex": cells}), tmp_path / f"{i}.parquet")
    demand = PrivateDemand.from_frame(UNIVERSE, str(tmp_path))
    each = {"encode": lambda s, r: r, "n_parts": 3, "universe": UNIVERSE}
    assert gate._noisy(demand, HistogramQuery(type("Each", (), each)()), None).tolist() == [2, 1, 1]


def test_a_file_that_lacks_a_column_is_named(tmp_path):
    pq.write_table(pa.table({"v": [1]}), tmp_path / "2.parquet")
    refuses("is not in all of the files", lambda: n_users(folder_of(tmp_path, pa.array(["a"]))))


def test_folders_that_name_a_column_are_text(tmp_path):
    for user in ("007", "7"):
        (tmp_path / f"u={user}").mkdir()
        pq.write_table(pa.table({"v": [0]}), tmp_path / f"u={user}" / "rows.parquet")
    assert n_users(str(tmp_path / "*" / "rows.parquet")) == 2
    pytest.importorskip("dask")
    refuses("no column", lambda: n_users(str(tmp_path / "*" / "rows.parquet"), "dask"))


def test_long_decimals_are_not_rounded(tmp_path):
    cells = [Decimal(f"1.{0:040d}{i}") for i in (1, 2)]
    path = folder_of(tmp_path, pa.array(cells, pa.decimal256(60, 41)))
    assert n_users(str(tmp_path / "0.parquet")) == n_users(path) == 2


def test_times_keep_their_nanoseconds(tmp_path):
    times = pa.array([0, 1, 2, 86_399_999_999_999, 86_399_999_999_998], pa.time64("ns"))
    table = pa.table({"v": ["7"] * 5, "u": times})
    arrow = pd.DataFrame({"v": ["7"] * 5, "u": pd.array(times, dtype=pd.ArrowDtype(times.type))})
    for source in (table, pl.from_arrow(table), arrow, folder_of(tmp_path, times)):
        assert n_users(source) == 5


DAY = 86_400 * 10**6


@cases(
    "cells",
    pa.array([0, DAY]).view(pa.time64("us")),
    pa.array([5, 5 - DAY]).view(pa.time64("us")),
    pa.array([5, 5 + DAY // 1000], pa.int32()).view(pa.time32("ms")),
    pa.array([7, 1000 * DAY + 7]).view(pa.time64("ns")),
    ids=lambda cells: str(cells.type),
)
def test_times_beyond_a_day_are_no_users(tmp_path, cells):
    """Python's times begin again at midnight: 24:00 and 00:00 were one user."""
    path = folder_of(tmp_path, cells)
    arrow = pd.DataFrame({"u": pd.array(cells, dtype=pd.ArrowDtype(cells.type))})
    relation = duckdb.connect().sql("SELECT unnest([TIME '24:00:00', TIME '00:00:00']) AS u")
    for source in (pa.table({"u": cells}), arrow, path, relation):
        refuses("one entry per record", n_users, source)
    assert simplified(cells) == [simplified(cells[:1])[0], None]


def test_dates_that_are_no_whole_days_are_no_users():
    refuses("one entry per record", n_users, pa.table({"u": pa.array([0, 1]).view(pa.date64())}))


@pytest.mark.parametrize("unit", ["Y", "W", "D", "h", "us"])
def test_dates_beyond_the_years_of_python_are_no_users(unit):
    """They were counted in microseconds, which begin again after 2^64 of them."""
    one = np.datetime64(3_000_000, "D").astype(f"M8[{unit}]")
    far = [one, one + np.timedelta64(2**51, unit)]
    for users in (np.array(far), far):
        refuses("a user is missing", names_of, users)


def test_types_of_which_arrow_has_a_part_are_refused():
    table = duckdb.connect().sql("SELECT 1 AS v, '00:00:00+01'::TIMETZ AS u")
    refuses("cast it to text", n_users, table)


@pytest.mark.parametrize("kind", ["Int128", "UInt128"])
def test_integers_of_128_bits_in_polars_are_read_as_all_others_are(kind):
    """Arrow has none, and the call ended as a fault of the engine."""
    users = pl.Series("u", [5, 2**64, 2**100, 2**100 + 1], getattr(pl, kind))
    table = pl.DataFrame([users, pl.Series("v", ["7"] * 4)])
    assert names_of(users) == list(map(str, users.to_list()))
    assert n_users(table) == n_users(table.lazy()) == 4


def test_backends_of_ibis_that_type_a_column_by_all_its_cells_are_refused():
    """Without the fraction they were two users, and with it one."""
    ibis = pytest.importorskip("ibis")
    sqlite = ibis.sqlite.connect()
    sqlite.raw_sql("CREATE TABLE t (u INTEGER)")
    sqlite.raw_sql(f"INSERT INTO t VALUES ({2**53}), ({2**53 + 1}), (1.5)")
    refuses("duckdb and polars, not sqlite", n_users, sqlite.table("t"))
    users = pl.DataFrame({"u": [2**53, 2**53 + 1]})
    assert n_users(ibis.polars.connect({"t": users}).table("t")) == 2


def geopackage(folder, declared, cells):
    """A layer with a column `u` of cells as SQLite takes them."""
    pytest.importorskip("geopandas")
    return doors.geopackage(folder, (declared, cells))


def refused(source, *quoted):
    """It is reported as bad input, and no cell is."""
    error = refuses("one entry per record", n_users, source)
    assert not any(str(text) in str(error) for text in quoted)


@cases(
    ("declared", "cells"),
    ("SMALLINT", [70_000, 4464]),
    ("INTEGER", ["abc", "abd"]),
    ("INTEGER", [1.5, 1]),
    ("BOOLEAN", [2, 3]),
    ("REAL", ["abc", "abd"]),
    ("DATE", ["foo", "bar"]),
    ("TEXT(1)", ["ab", "ac"]),
)
def test_cells_of_a_geopackage_are_what_it_stores(tmp_path, declared, cells):
    """GDAL makes 0 of a text in a column of numbers, and reads FLOAT as 32 bits: two users were
    one, or the whole file was refused for a cell.
    """
    assert n_users(geopackage(tmp_path, declared, cells)) == 2


@pytest.mark.parametrize("cells", [[None, 5], ["a\0x", "a\0y"], [b"\xff", "a"], [b"\xe9", b"\xe8"]])
def test_text_that_is_none_is_reported_as_bad_input(tmp_path, cells):
    """GDAL cut a text at its first NUL; bytes that are no UTF-8 were a fault of the engine."""
    refused(geopackage(tmp_path, "TEXT", cells), "xff")


def test_geopackages_in_other_encodings_and_views_are_refused(tmp_path):
    """A view may make rows of several records; SQLite changes what is half a pair in UTF-16."""
    path = geopackage(tmp_path, "TEXT", ["a", "b"])
    with closing(sqlite3.connect(path)) as file:
        file.execute("ALTER TABLE rows RENAME TO hidden")
        file.execute("CREATE VIEW rows AS SELECT fid, geom, max(u) OVER () AS u FROM hidden")
        file.commit()
    refuses("no layer with geometries", n_users, path)
    wide = tmp_path / "wide.gpkg"
    with closing(sqlite3.connect(wide)) as file:
        file.execute("PRAGMA encoding = 'UTF-16'")
        file.execute("CREATE TABLE gpkg_contents (table_name, data_type)")
        names = "table_name, column_name, geometry_type_name, srs_id"
        file.execute(f"CREATE TABLE gpkg_geometry_columns ({names})")
        file.commit()
    refuses("UTF-16", lambda: n_users(str(wide)))


def shapefile(folder, cells, kind="C", **page):
    """A Shapefile with a column `u` of fields."""
    pytest.importorskip("geopandas")
    return doors.shapefile(folder, (kind, cells), **page)


@cases(
    ("kind", "cells"),
    ("N", [b"12", b"13"]),
    ("F", [b"1.0e+25", b"10000000000000000000000001"]),
    ("C", [b"12", b"12x"]),
    ("C", ["é".encode(), b"e"]),
)
def test_fields_of_a_shapefile_are_read_as_they_stand(tmp_path, kind, cells):
    """GDAL makes doubles of fields of digits."""
    assert n_users(shapefile(tmp_path, cells, kind)) == 2


@cases(
    ("kind", "cells"),
    ("N", [b"12", b"12x"]),
    ("N", [b"x", b"y"]),
    ("N", [b"*****", b"1"]),
    ("D", [b"20200101", b"20200231"]),
)
def test_fields_of_a_shapefile_that_are_none_are_refused(tmp_path, kind, cells):
    refused(shapefile(tmp_path, cells, kind), "12x")


def test_code_pages_of_a_shapefile(tmp_path):
    cells = [b"\xe9", b"\xe8"]
    for page, mark in (("ISO-8859-1", 0), ("1252", 0), ("Big5", 0), ("no such", 0), (None, 0x57)):
        assert n_users(shapefile(tmp_path, cells, page=page, mark=mark)) == 2
    refused(shapefile(tmp_path, cells, page=None))
    for kind in "LM":
        with pytest.raises(InputError, match="neither text nor number nor date"):
            n_users(shapefile(tmp_path, [b"T", b"Y"], kind))


def test_deleted_rows_and_damaged_shapefiles(tmp_path):
    path = shapefile(tmp_path, [b"a", b"b", b"c"])
    table = tmp_path / "rows.dbf"
    whole = table.read_bytes()
    table.write_bytes(whole[:65] + b"*" + whole[66:])
    assert n_users(path) == 2
    for damaged in (whole[:100], b"", whole[:4] + bytes(4) + whole[8:]):
        table.write_bytes(damaged)
        refuses("three files", n_users, path)


def test_text_of_every_reader_that_is_none_is_reported_as_bad_input(tmp_path):
    """Readers of Arrow do not ask whether text is UTF-8: some function later failed."""
    frames, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    points = [shapely.Point(i, 0) for i in range(2)]
    frame = frames.GeoDataFrame({"v": [1, 2], "u": ["aXx", "aXy"]}, geometry=points, crs=4326)
    for name in ("homes.fgb", "homes.parquet"):
        path = tmp_path / name
        parquet = partial(frame.to_parquet, compression=None)
        write = frame.to_file if name.endswith("fgb") else parquet
        write(path)
        whole = path.read_bytes()
        for odd in (b"\xff", b"\0"):
            torn = whole.replace(b"aXx", b"a" + odd + b"x").replace(b"aXy", b"a" + odd + b"y")
            path.write_bytes(torn)
            refused(str(path))
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        text = {"binary": pa.string(), "large_binary": pa.large_string()}
        cells = pa.array([b"a\xff", b"a\xfe"]).cast(kind)
        refused(pa.table({"v": ["7"] * 2, "u": cells.view(text.get(str(kind), pa.string_view()))}))
    refused(pd.DataFrame({"v": ["7"] * 2, "u": pd.Series(["\ud800", "\ud801"], dtype=object)}))


def test_dates_that_python_does_not_have_are_reported_as_bad_input():
    for cell in ("DATE 'infinity'", "TIMESTAMP 'infinity'", "TIMESTAMP '290000-01-01'"):
        refused(duckdb.connect().sql(f"SELECT 1 AS v, {cell} AS u UNION ALL SELECT 1, NULL"))


def test_durations_are_no_users_at_any_door(tmp_path):
    """Dask and Spark know no durations in Parquet, and took them for integers."""
    cells = pa.array([1, 2], pa.duration("us"))
    table = pa.table({"v": ["7"] * 2, "u": cells})
    folder_of(tmp_path, cells, cells)
    one = str(tmp_path / "0.parquet")
    several = str(tmp_path / "?.parquet")
    for source in (table, pl.from_arrow(table), table.to_pandas(), one, several):
        refused(source)
    refuses("missing", lambda: names_of(cells.to_pylist()))
    refuses("missing", lambda: names_of(np.array([1, 2], "timedelta64[us]")))
