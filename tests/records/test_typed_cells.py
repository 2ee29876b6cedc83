"""Readers that type what they read: two users stay two, or are refused; files and columns of which
one library makes less than they hold.
"""

import sqlite3
from decimal import Decimal

import numpy as np
import pytest

from metricdp.errors import InputError
from metricdp.metrics import PrecomputedMetric
from metricdp.privacy import HistogramQuery, gate
from metricdp.privacy.contributing import Doublings, contributors
from metricdp.privacy.demand import PrivateDemand

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
pq, duckdb = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("duckdb")

UNIVERSE = PrecomputedMetric(1.0 - np.eye(3), ids=["7", "007", "7.0"])


def n_users(source, engine="embedded"):
    """Users of one record each: nobody else is there."""
    found = gate._noisy(contributors(source, "u", engine), HistogramQuery(Doublings()), None)
    assert found[0] == found.sum()
    return int(found.sum())


def folder_of(path, *columns):
    for i, cells in enumerate(columns):
        pq.write_table(pa.table({"v": ["7"] * len(cells), "u": cells}), path / f"{i}.parquet")
    return str(path)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pa.array([7, 8]), pa.array(["007", "7.0"])),
        (pa.array([7, 8]), pa.array([1.5, 1.25])),
        (pa.array([True, False]), pa.array([2, 3])),
        (pa.array([0.5], pa.float32()), pa.array([0.1, 0.1 + 1e-12])),
        (pa.array([0], pa.date32()), pa.array([1, 2], pa.timestamp("s"))),
        (pa.array(["a"]).dictionary_encode(), pa.array([2**60, 2**60 + 1])),
    ],
    ids=lambda cells: str(cells.type),
)
def test_files_of_one_folder_have_the_types_that_they_declare(tmp_path, first, second):
    """Of the first file's types, cells of the second were one user."""
    assert n_users(folder_of(tmp_path, first, second)) == len(first) + len(second)
    assert n_users(str(tmp_path / "?.parquet")) == len(first) + len(second)


def test_ids_of_one_folder_are_those_of_each_file(tmp_path):
    for i, cells in enumerate(([7, 7], ["007"], ["7.0"])):
        pq.write_table(pa.table({"vertex": cells}), tmp_path / f"{i}.parquet")
    demand = PrivateDemand.from_frame(UNIVERSE, str(tmp_path))
    query = HistogramQuery(
        type("Each", (), {"encode": lambda s, r: r, "n_parts": 3, "universe": UNIVERSE})()
    )
    assert gate._noisy(demand, query, None).tolist() == [2, 1, 1]


def test_a_file_that_lacks_a_column_is_named(tmp_path):
    pq.write_table(pa.table({"v": [1]}), tmp_path / "2.parquet")
    with pytest.raises(InputError, match="some of the files have not all columns"):
        n_users(folder_of(tmp_path, pa.array(["a"])))


def test_folders_that_name_a_column_are_text(tmp_path):
    for user in ("007", "7"):
        (tmp_path / f"u={user}").mkdir()
        pq.write_table(pa.table({"v": [0]}), tmp_path / f"u={user}" / "rows.parquet")
    assert n_users(str(tmp_path / "*" / "rows.parquet")) == 2
    pytest.importorskip("dask")
    with pytest.raises(InputError, match="no column"):
        n_users(str(tmp_path / "*" / "rows.parquet"), "dask")


def test_long_decimals_are_not_rounded(tmp_path):
    cells = [Decimal(f"1.{0:040d}{i}") for i in (1, 2)]
    path = folder_of(tmp_path, pa.array(cells, pa.decimal256(60, 41)))
    assert n_users(str(tmp_path / "0.parquet")) == 2  # small: Arrow reads it
    with pytest.raises(InputError, match="more than 38 digits"):
        n_users(path)


def test_times_keep_their_nanoseconds(tmp_path):
    times = pa.array([0, 1, 2, 86_399_999_999_999, 86_399_999_999_998], pa.time64("ns"))
    table = pa.table({"v": ["7"] * 5, "u": times})
    arrow = pd.DataFrame({"v": ["7"] * 5, "u": pd.array(times, dtype=pd.ArrowDtype(times.type))})
    for source in (table, pl.from_arrow(table), arrow, folder_of(tmp_path, times)):
        assert n_users(source) == 5


def test_types_of_which_arrow_has_a_part_are_refused():
    table = duckdb.connect().sql("SELECT 1 AS v, '00:00:00+01'::TIMETZ AS u")
    with pytest.raises(InputError, match="cast it to text"):
        n_users(table)


@pytest.mark.parametrize(
    ("declared", "cells", "sound"),
    [
        ("MEDIUMINT", [2**33 + 5, 5], False),
        ("SMALLINT", [70_000, 4464], False),
        ("INTEGER", ["abc", "abd"], False),
        ("INTEGER", [1.5, 1], False),
        ("BOOLEAN", [2, 3], False),
        ("REAL", ["abc", "abd"], False),
        ("DATE", ["foo", "bar"], False),
        ("DATETIME", ["2020-01-01T00:00:00.000001Z", "2020-01-01T00:00:00.000002Z"], False),
        ("INTEGER", [2**62, 2**62 + 1], True),
        ("MEDIUMINT", [None, 5], None),
        ("TEXT", ["007", "7"], True),
        ("DATE", ["2020-01-01", "2020-01-02"], True),
    ],
)
def test_cells_of_a_geopackage_are_of_their_columns_type(tmp_path, declared, cells, sound):
    """GDAL makes 0 of a text in a column of numbers: two users would be one."""
    frames, shapely = pytest.importorskip("geopandas"), pytest.importorskip("shapely")
    path = tmp_path / "homes.gpkg"
    points = [shapely.Point(i, 0) for i in range(len(cells))]
    frames.GeoDataFrame({"u": [1] * len(cells)}, geometry=points, crs=4326).to_file(path)
    file = sqlite3.connect(path)
    for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        file.execute(f'DROP TRIGGER "{name}"')
    file.execute('ALTER TABLE homes DROP COLUMN "u"')
    file.execute(f'ALTER TABLE homes ADD COLUMN "u" {declared}')
    for i, cell in enumerate(cells):
        file.execute("UPDATE homes SET u = ? WHERE fid = ?", (cell, i + 1))
    file.commit()
    file.close()
    if sound:
        assert n_users(str(path)) == 2
        return
    with pytest.raises(InputError) as refused:
        n_users(str(path))
    assert not any(str(cell) in str(refused.value) for cell in cells if cell is not None)
