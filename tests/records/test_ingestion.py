"""Each private cell is read by itself: what it means, the same by every loader, and what one more
cell changes; of readers that type what they read, two users stay two, or are refused.

The cells below are those that a column's type used to be recognized by, or that readers differ on.
Tests of them add one record, or one user's, to rows that hold the others, and look into the vault.
"""

import gzip
import itertools
import sqlite3
from contextlib import closing
from decimal import Decimal
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import metricdp as mdp
from metricdp.errors import InputError, ReadingError
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import CountQuery, HistogramQuery, _vault, gate, measure
from metricdp.records.engines import embedded
from metricdp.records.engines.sources import Source
from metricdp.records.ingestion import cells
from metricdp.records.ingestion.columns import names_of, simplified
from metricdp.running.contributions import NUMBERS, contributors
from tests import cases, refuses
from tests.records import doors

pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
BIG = 1234567890123456789
TEXTS = [
    *("1.5", "2e3", "007", "5.0", "-0.0", "+5", "1_000", "1e400", "1e-400", str(BIG), str(BIG + 1)),
    *("nan", "inf", "null", "NULL", "None", "NA", "<NA>", "true", "True", "x", "é", "e\u0301"),
    *("\u0661\u0662", " 5 ", "\u00a05", "1,5", 'a"b', "#5", "%", "0x10", "1-2", "-5", "--", "a b"),
    *("9" * 40, "-" + str(BIG), "2020-01-01", "12:30", "1e5", "1E5", "\u0661", "\uff15", "+", "."),
]
"""Users that a text column may hold."""
OTHERS = [str(BIG + i) for i in range(2, 40)] + ["5", "7", "12", "2000", "ann", "Ann"]
IDS = ["a", "b", "c"]


def universe(ids):
    return mdp.PrecomputedMetric(1.0 - np.eye(len(ids)), ids=list(ids))


def counts(demand):
    held = _vault._open(demand)
    n = len(demand.universe)
    if isinstance(held, Source):
        return held.total(lambda block: np.bincount(block, minlength=n))
    return np.bincount(held, minlength=n)


# Loaders: all of texts, so that each can hold each cell
def quoted(cell):
    """As writers of CSV do: an empty line would be no record."""
    return '"' + cell.replace('"', '""') + '"' if not cell or set(cell) & set(',\t"') else cell


def text_file(folder, columns, name, delimiter):
    rows = [delimiter.join(columns)]
    rows += [delimiter.join(map(quoted, row)) for row in zip(*columns.values())]
    data = ("\n".join(rows) + "\n").encode()
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def parquet_file(folder, columns, name="rows.parquet"):
    pq.write_table(pa.table(columns), folder / name)
    return folder / name


def in_parts(folder, columns):
    for i, half in enumerate([{n: c[i::2] for n, c in columns.items()} for i in (0, 1)]):
        parquet_file(folder, half, f"part-{i}.parquet")
    return str(folder / "part-*.parquet")


LOADERS = {
    "lists": None,
    "pandas": lambda folder, c: pd.DataFrame(c),
    "pandas objects": lambda folder, c: pd.DataFrame(c, dtype=object),
    "pandas categories": lambda folder, c: pd.DataFrame(c, dtype="category"),
    "polars": lambda folder, c: pl.DataFrame(c),
    "polars lazy": lambda folder, c: pl.LazyFrame(c),
    "arrow": lambda folder, c: pa.table(c),
    "arrow dataset": lambda folder, c: pads.dataset(pa.table(c)),
    "duckdb": lambda folder, c: duckdb.connect().from_arrow(pa.table(c)),
    "csv": lambda folder, c: text_file(folder, c, "rows.csv", ","),
    "csv.gz": lambda folder, c: text_file(folder, c, "rows.csv.gz", ","),
    "tsv": lambda folder, c: text_file(folder, c, "rows.tsv", "\t"),
    "csv, large": lambda folder, c: text_file(folder, c, "rows.csv", ","),
    "parquet": parquet_file,
    "parquet, large": in_parts,
}
LARGE = ("csv, large", "parquet, large")
SLOW = (*LARGE, "polars lazy", "arrow dataset", "duckdb")
"""Loaders whose users DuckDB bounds: a second for each table on a busy machine."""


@pytest.fixture(params=LOADERS)
def load(request, tmp_path, monkeypatch):
    """From columns to a demand, by one loader."""
    if request.param in LARGE:
        monkeypatch.setattr(embedded, "AT_ONCE", -1)
    make, number = LOADERS[request.param], itertools.count()

    def loaded(metric, columns, **options):
        if make is None:
            users = columns.get("user")
            bound = {**options, "user": users} if users is not None else {}
            return mdp.PrivateDemand(metric, columns["vertex"], **bound)
        folder = tmp_path / str(next(number))
        folder.mkdir()
        named = {"user": "user"} if "user" in columns else {}
        return mdp.PrivateDemand.from_frame(metric, make(folder, columns), **named, **options)

    loaded.some = 9 if request.param in SLOW else 1
    return loaded


def rows_of(users):
    return {"vertex": [IDS[i % 3] for i in range(len(users))], "user": list(users)}


def test_one_user_more_adds_that_user_alone(load):
    """A hundred records of each adversarial user, one kept: all others keep theirs."""
    metric = universe(IDS)
    before = counts(load(metric, rows_of(OTHERS)))
    assert before.sum() == len(set(OTHERS))
    for user in TEXTS[:: load.some]:
        mine = {n: c + 3 * [{"vertex": "b", "user": user}[n]] for n, c in rows_of(OTHERS).items()}
        after = counts(load(metric, mine))
        expected = 0 if user.strip() in OTHERS else 1
        moved = abs(after - before).sum()
        assert (after.sum() - before.sum(), moved <= 2) == (expected, True), user


BIG_IDS = {"integers": [2**53, 2**53 + 1, -5, 7], "texts": ["007", "7", "1e3", str(BIG)]}
CELLS = [str(2**53), str(2**53 + 1), "-5", "7", "007", "7.0", "1e3", "1000", str(BIG), "", " 7 "]
CELLS += ["+7", "７", "7_0", "nan", "1e400", "x", "-0.0", str(2**53) + ".0", "9007199254740992.5"]


@pytest.mark.parametrize("kind", BIG_IDS)
def test_an_id_is_matched_by_itself_or_refused(load, kind):
    """What a cell means beside others, of every kind, is what it means alone."""
    metric = universe(BIG_IDS[kind])
    meaning = {}
    for cell in CELLS:  # no users, so no engine has to sort
        try:
            meaning[cell] = counts(load(metric, {"vertex": [cell]}))
        except InputError:
            meaning[cell] = None
    assert [meaning[str(i)] is not None for i in BIG_IDS[kind]] == [True] * 4
    good = [cell for cell in CELLS if meaning[cell] is not None]
    together = counts(load(metric, {"vertex": good}))
    assert together.tolist() == sum(meaning[cell] for cell in good).tolist()
    for cell in [cell for cell in CELLS if meaning[cell] is None][::4]:
        refuses("at least one is not", load, metric, {"vertex": [*good, cell]})
    wanted = {
        "integers": [str(2**53), str(2**53 + 1), "-5", "7", "7.0", " 7 ", "+7", str(2**53) + ".0"],
        "texts": ["7", "007", "1e3", str(BIG), " 7 "],
    }
    assert sorted(good) == sorted(wanted[kind])


@pytest.mark.parametrize("cell", ["1.5", "1e400", "nan", "", "x", "１", "1_0", "0x1", "inf", "--1"])
def test_a_coordinate_is_read_by_itself(tmp_path, cell):
    box = mdp.EuclideanSpace([0, 0], [10, 10])
    for delimiter, name in ((",", "rows.csv"), ("\t", "rows.tsv")):
        cells = {"x": ["1", "007", cell], "y": ["1", "-2e0", "3"]}
        path = text_file(tmp_path, cells, name, delimiter)
        read = lambda: mdp.PrivateDemand.from_frame(box, path, x="x", y="y")  # noqa: E731,B023
        if cell == "1.5":
            assert _vault._open(read()).tolist() == [[1, 1], [7, 0], [1.5, 3]]
        else:
            refuses("at least one is not", read)


# Typed columns, of libraries that typed them
def test_numbers_of_all_kinds_are_one_user():
    """5, 5.0 and "5" are the same user, in any column; floats beyond 2^53 are nobody."""
    metric = universe(IDS)
    same = [5, 5.0, "5", " 5 ", np.int8(5), np.float32(5), Decimal("5.00"), b"5", np.str_("5")]
    assert counts(mdp.PrivateDemand(metric, ["a"] * len(same), user=same)).sum() == 1
    typed = [pd.Series([5]), pd.Series([5.0]), pd.Series(["5"]), pd.Series([5], dtype="Int64")]
    for column in typed:
        mixed = pd.Series([*column, "5"], dtype=object)
        frame = pd.DataFrame({"vertex": ["a", "b"], "user": mixed})
        assert counts(mdp.PrivateDemand.from_frame(metric, frame, user="user")).sum() == 1
    for lost in (2.0**53, 1e300, float("nan"), None, pd.NA, pd.NaT, float("inf"), "", "  "):
        refuses("", mdp.PrivateDemand, metric, ["a"], user=[lost])


def test_a_column_that_its_library_made_floats_does_not_merge_users(tmp_path):
    """`read_csv` of pandas turns ids of 19 digits into floats for one 1.5 among them."""
    path = text_file(tmp_path, rows_of([*OTHERS[:38], "1.5"]), "rows.csv", ",")
    frame = pd.read_csv(path)
    assert frame["user"].dtype.kind == "f"
    refuses("at least one is not", mdp.PrivateDemand.from_frame, universe(IDS), frame, user="user")
    assert counts(mdp.PrivateDemand.from_frame(universe(IDS), path, user="user")).sum() == 39


def test_ids_of_every_type_in_one_column():
    metric = universe([1, "b", 2.5, True and "yes", ("t", 1)])
    records = ["1", 1.0, "b", b"b", "2.5", 2.5, Decimal("2.50"), "2.50", "yes", ("t", 1), 1]
    assert counts(mdp.PrivateDemand(metric, records)).tolist() == [3, 2, 4, 1, 1]
    for bad in ("01", True, "B", 2.25, ("t", 2), None):
        refuses("", mdp.PrivateDemand, metric, [bad])
    assert counts(mdp.PrivateDemand(universe([1, "1"]), [1, "1", 1.0, " 1"])).tolist() == [2, 2]


# Lines
@cases("row", 'b,"x', "b", "b,x,y", 'b,x"y"', "b,\0", b"b,\xff", '"b,x\ny"', 'b,"x"y', ids=repr)
def test_a_bad_line_is_refused_and_swallows_no_other(tmp_path, row):
    row = row if isinstance(row, bytes) else row.encode()
    path = tmp_path / "rows.csv"
    for data in (b"vertex,user\na,1\n" + row + b"\nc,2\n", b"vertex,user\n" + row + b"\n"):
        path.write_bytes(data)
        if row == b'b,x"y"':  # a quote within a cell that is not quoted is a letter
            assert counts(mdp.PrivateDemand.from_frame(universe(IDS), path)).sum() in (1, 3)
        else:
            with pytest.raises(InputError, match="at least one is not"):
                mdp.PrivateDemand.from_frame(universe(IDS), path, user="user")


def test_two_open_quotes_do_not_swallow_what_lies_between(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('vertex,user\na,"1\nb,2\nc,3\nb",4\n')
    refuses("at least one is not", mdp.PrivateDemand.from_frame, universe(IDS), path, user="user")


def test_a_file_without_names_is_read_by_place(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("2,a\n1,b\n1.5,b\n")
    demand = mdp.PrivateDemand.from_frame(universe(IDS), path, node="2", user="1")
    assert counts(demand).tolist() == [1, 2, 0]


def test_what_is_stripped_is_what_python_strips():
    assert set(cells.BLANKS) == {c for c in map(chr, range(0x110000)) if c.isspace()}


def test_a_table_that_changes_between_readings_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "AT_ONCE", -1)
    box = mdp.EuclideanSpace([0], [9])
    path = tmp_path / "rows.csv"
    for later in ("x\n1\n2\n3\n", "x\n1\n4\n"):
        path.write_text("x\n1\n2\n")
        demand = mdp.PrivateDemand.from_frame(box, path, columns=["x"])
        assert measure(demand, CountQuery(), 1, mdp.Ledger(1).charge(1))
        path.write_text(later)
        with pytest.raises(ReadingError, match="changed between two readings"):
            measure(demand, CountQuery(), 1, mdp.Ledger(1).charge(1))


UNIVERSE = mdp.PrecomputedMetric(1.0 - np.eye(3), ids=["7", "007", "7.0"])


def n_users(source, engine="embedded"):
    """Users of one record each: nobody else is there."""
    query = HistogramQuery(LabelParts.of(NUMBERS))
    found = gate._noisy(contributors(source, "u", engine), query, None)
    assert found[0] == found.sum()
    return int(found.sum())


def folder_of(path, *columns):
    for i, column in enumerate(columns):
        pq.write_table(pa.table({"v": ["7"] * len(column), "u": column}), path / f"{i}.parquet")
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
    data = pads.dataset(folder_of(tmp_path, first, second))
    for source in (data, data.filter(pads.field("v") == "7"), pads.dataset([data])):
        refuses("another type in one of its files", n_users, source)
    assert n_users(pads.dataset(folder_of(tmp_path, second, second[:0]))) == 2


def test_data_sets_of_text_files_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("v,u\n7,007\n7,7\n")
    refuses("inferred", n_users, pads.dataset(tmp_path / "a.csv", format="csv"))


def test_ids_of_one_folder_are_those_of_each_file(tmp_path):
    for i, held in enumerate(([7, 7], ["007"], ["7.0"])):
        pq.write_table(pa.table({"vertex": held}), tmp_path / f"{i}.parquet")
    demand = mdp.PrivateDemand.from_frame(UNIVERSE, str(tmp_path))
    each = {"encode": lambda s, r: r, "n_parts": 3, "universe": UNIVERSE}
    assert gate._noisy(demand, HistogramQuery(type("Each", (), each)()), None).tolist() == [2, 1, 1]


def test_a_file_that_lacks_a_column_is_named(tmp_path):
    pq.write_table(pa.table({"v": [1]}), tmp_path / "2.parquet")
    refuses("is not in all of the files", lambda: n_users(folder_of(tmp_path, pa.array(["a"]))))


def test_tables_in_memory_with_two_columns_of_one_name_are_refused():
    for names in (["v", "u", "u"], ["v", "w", "w", "u"]):
        cells = [[7]] * len(names)
        for table in (pd.DataFrame([[7] * len(names)], columns=names), pa.table(cells, names)):
            refuses("two columns of the table have the same name", n_users, table)


def test_folders_that_name_a_column_are_text(tmp_path):
    for user in ("007", "7"):
        (tmp_path / f"u={user}").mkdir()
        pq.write_table(pa.table({"v": [0]}), tmp_path / f"u={user}" / "rows.parquet")
    assert n_users(str(tmp_path / "*" / "rows.parquet")) == 2
    pytest.importorskip("dask")
    refuses("no column", lambda: n_users(str(tmp_path / "*" / "rows.parquet"), "dask"))


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
