"""Folders of Parquet files as Spark and Dask write them: no file is read twice, none is lost, and
users that folders name stay apart.
"""

import uuid

import pytest

from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import HistogramQuery, gate
from metricdp.records.engines import embedded
from metricdp.records.engines.embedded import parquet_files
from metricdp.records.engines.opening import opened
from metricdp.running.contributions import NUMBERS, contributors
from tests import refuses, spark

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb")
JOB = uuid.UUID(int=7)
USERS = ["7", "007", "7.0"], ["a", "7"]
HIDDEN = ("_temporary/0/task_3/part-00001.snappy.parquet", "_part.parquet", ".part-0.parquet")
ENGINES = ("embedded", "dask")


def write(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, compression="snappy")


def by_spark(folder, parts=USERS, column="u"):
    """As Spark 4 lays a folder out, one part empty, and what a killed attempt left."""
    for i, users in enumerate((*parts, pa.array([], pa.string()))):
        name = f"part-{i:05d}-{JOB}-c000.snappy.parquet"
        write(folder / name, **{"v": [1] * len(users), column: users})
        (folder / f".{name}.crc").write_bytes(b"crc\0\0\0\2\0")
    (folder / "_SUCCESS").touch()
    (folder / "._SUCCESS.crc").write_bytes(b"crc\0\0\0\2\0")
    for name in HIDDEN:
        write(folder / name, **{"v": [1, 1], column: ["7", "b"]})


def by_dask(folder):
    """As Dask does, with a summary that knows the first file alone."""
    kept = []
    for i, users in enumerate(USERS):
        name = f"part.{i}.parquet"
        folder.mkdir(exist_ok=True)
        table = pa.table({"v": [1] * len(users), "u": users})
        pq.write_table(table, folder / name, metadata_collector=kept)
        kept[-1].set_file_path(name)
    schema = pq.read_schema(folder / name)
    pq.write_metadata(schema, folder / "_common_metadata")
    pq.write_metadata(schema, folder / "_metadata", metadata_collector=kept[:1])


def records_of(source, engine="embedded"):
    """Users of one record, of two, …"""
    if engine == "dask":
        pytest.importorskip("dask.dataframe")
    query = HistogramQuery(LabelParts.of(NUMBERS))
    return [int(n) for n in gate._noisy(contributors(str(source), "u", engine), query, None)[:3]]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("write", [by_spark, by_dask], ids=["spark", "dask"])
def test_what_is_no_data_is_skipped(tmp_path, write, engine):
    """Dask read what a killed attempt had written, and a stale summary in place of the files."""
    write(tmp_path / "homes")
    assert records_of(tmp_path / "homes", engine) == [3, 1, 0]
    assert records_of(tmp_path / "homes" / "*.parquet", engine) == [3, 1, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_folders_named_by_day_are_gone_into(tmp_path, engine):
    for day, users in enumerate(USERS):
        by_spark(tmp_path / f"day=2026-01-0{day + 1}", [users])
    write(tmp_path / "old" / "part-0.parquet", v=[1], u=["7"])
    (tmp_path / "_SUCCESS").touch()
    assert records_of(tmp_path, engine) == [3, 1, 0]


def test_users_that_folders_name_stay_apart(tmp_path):
    for user in ("7", "007", "7.0", "a%2Fb", "a"):
        write(tmp_path / "whole" / f"u={user}" / "part-0.parquet", v=[1])
    assert records_of(tmp_path / "whole") == [5, 0, 0]
    write(tmp_path / "whole" / "u=__HIVE_DEFAULT_PARTITION__" / "part-0.parquet", v=[1])
    refuses("none of them missing", records_of, tmp_path / "whole")


@pytest.mark.parametrize("folder", ["u=7", "U=7"])
def test_a_column_named_twice_is_refused(tmp_path, folder, monkeypatch):
    """The folder's name would be the user of all: Windows does not know ``U`` from ``u``."""
    write(tmp_path / folder / "part-0.parquet", v=[1, 1], u=["a", "b"])
    refuses("in files and in the names of their folders", records_of, tmp_path)
    assert records_of(tmp_path / folder / "part-0.parquet") == [2, 0, 0]  # the file itself
    monkeypatch.setattr(embedded, "AT_ONCE", -1)
    assert records_of(tmp_path / folder / "part-0.parquet") == [2, 0, 0]


def test_a_column_named_twice_is_refused_by_spark(tmp_path):
    spark.session()
    write(tmp_path / "u=7" / "part-0.parquet", v=[1, 1], u=["a", "b"])
    refuses("in files and in the names of their folders", records_of, tmp_path, "spark")
    assert records_of(tmp_path / "u=7" / "part-0.parquet", "spark") == [2, 0, 0]  # the file itself
    write(tmp_path / "day=7" / "b.parquet", v=[1, 1], u=["a", "b"])
    assert records_of(tmp_path / "day=7", "spark") == [2, 0, 0]


def test_folders_named_after_different_columns(tmp_path):
    for name in ("day=1", "month=1"):
        write(tmp_path / name / "part-0.parquet", v=[1], u=[name])
    assert records_of(tmp_path) == [2, 0, 0]


@pytest.mark.parametrize("log", ["_delta_log", "_spark_metadata"])
def test_a_folder_with_a_log_is_refused(tmp_path, log):
    """Files that were deleted from the table are still in it."""
    by_dask(tmp_path / "homes")
    (tmp_path / "homes" / log).mkdir()
    for engine in ENGINES:
        refuses("which of its files count", records_of, tmp_path / "homes", engine)


def test_folders_without_files(tmp_path):
    (tmp_path / "homes").mkdir()
    for name in HIDDEN:
        write(tmp_path / "homes" / name, v=[1], u=["7"])
    assert parquet_files(str(tmp_path / "homes")) == []
    refuses("is a directory", opened, tmp_path / "homes")
    refuses("none of its files can be read", opened, f"{tmp_path}/homes/_*.parquet")


def test_which_files(tmp_path):
    seen = ["b.parquet", "A.PARQUET", "c.pq", "read me.txt", "sub/d.parquet", "sub/sub/e.pq"]
    for name in seen + list(HIDDEN):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = [name.removeprefix(f"{tmp_path}/") for name in parquet_files(str(tmp_path))]
    assert found == ["A.PARQUET", "b.parquet", "c.pq"]
    for glob in ("*", "**/*", "*.*"):  # sub is named by two of them
        found = [name.removeprefix(f"{tmp_path}/") for name in parquet_files(f"{tmp_path}/{glob}")]
        assert ("sub/d.parquet" in found) == (glob != "*.*")
        assert len(found) == len(set(found)) and not set(found) & set(HIDDEN)
    deep = parquet_files(f"{tmp_path}/**/*.pq")
    assert [name.removeprefix(f"{tmp_path}/") for name in deep] == ["c.pq", "sub/sub/e.pq"]
    assert parquet_files("s3://bucket/homes") is None
    assert parquet_files(f"{tmp_path}/_part.parquet") == [f"{tmp_path}/_part.parquet"]
