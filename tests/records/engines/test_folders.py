"""Folders of files as one table: Parquet as Spark and Dask write it, of which no file is read twice
and none is lost; and text, of which each file names the columns, and all alike.
"""

import gzip
import uuid
from importlib.util import find_spec

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metricdp.errors import InputError
from metricdp.records.engines import embedded
from metricdp.records.engines.embedded import parquet_files
from metricdp.records.engines.opening import opened
from metricdp.records.ingestion.cells import text_of
from metricdp.records.ingestion.columns import column, texts
from metricdp.records.ingestion.lines import Layout, Lines
from metricdp.running.contributions import contributors
from metricdp.testing.engines import counted
from tests import cases, refuses, spark
from tests.records import doors

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


def library_of(engine):
    """Skips the test where an engine's library is missing."""
    if engine == "dask":
        pytest.importorskip("dask.dataframe")
    if engine == "spark":
        spark.session()


def records_of(source, engine="embedded"):
    """Users of one record, of two, …"""
    library_of(engine)
    return doors.read(str(source), engine)[:3]


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


@cases(("folder", "engine"), ("u=7", "embedded"), ("U=7", "embedded"), ("u=7", "spark"))
def test_a_column_named_twice_is_refused(tmp_path, folder, engine, monkeypatch):
    """The folder's name would be the user of all: Windows does not know ``U`` from ``u``."""
    file = tmp_path / folder / "part-0.parquet"
    write(file, v=[1, 1], u=["a", "b"])
    refuses("in files and in the names of their folders", records_of, tmp_path, engine)
    for most in (embedded.AT_ONCE, -1):
        monkeypatch.setattr(embedded, "AT_ONCE", most)
        assert records_of(file, engine) == [2, 0, 0]  # the file itself
    write(tmp_path / "day=7" / "part-0.parquet", v=[1, 1], u=["a", "b"])
    assert records_of(tmp_path / "day=7", engine) == [2, 0, 0]


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


def records_of_texts(folder, *others, engine):
    """Users of one record, of two, …, of files in order."""
    for i, text in enumerate(("u,v\na,1\nb,2\n", *others)):
        data = text if isinstance(text, bytes) else text.encode()
        (folder / f"rows-{i}.csv").write_bytes(data)
    return records_of(folder / "rows-*.csv", engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "other",
    ["v,u\n1,a\n", "u;v\nc;1\n", "user,v\nc,1\n", "c,3\nd,4\n", 'u,"v\nc,1\n', "u,v,w\nc,1,1\n"],
    ids=["order", "delimiter", "name", "none", "quote", "more"],
)
def test_other_names_are_refused(tmp_path, other, engine):
    """The second file was read by the first one's names: 1 was a user, and the names were a
    record.
    """
    words = r"first rows of its files.* not the same$"
    refused = refuses(words, records_of_texts, tmp_path, other, engine=engine)
    assert "c" not in str(refused).removeprefix(str(tmp_path)).split()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_names_in_other_words(tmp_path, engine):
    others = ("u,v\r\nc,3\r\n", "u,v\na,4\n", "")
    assert records_of_texts(tmp_path, *others, engine=engine) == [2, 1, 0]
    others = (b"u,v\nc,3\n", "\ufeffu,v\nd,4\n", "\n\nu,v\ne,5\n")
    assert records_of_texts(tmp_path, *others, engine=engine) == [5, 0, 0]


def outcomes(folder, lines, engines):
    """Users of one record, of two, … of a file of lines, or None where it is refused, by engine."""
    (folder / "rows.csv").write_bytes(lines)
    found = []
    for engine in engines:
        try:
            with pytest.MonkeyPatch.context() as patch:
                if engine == "large":
                    patch.setattr(embedded, "AT_ONCE", -1)
                    patch.setattr(embedded, "CHUNK", 7)
                    engine = "embedded"
                found.append(records_of(folder / "rows.csv", engine))
        except InputError:
            found.append(None)
    return found


@cases("engine", *ENGINES, "spark")
@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.txt", "rows.csv.gz"])
def test_a_file_without_names_may_have_no_records(tmp_path, engine, name):
    """It was refused, or a fault of the engine, which told that nobody is in it."""
    library_of(engine)
    path = tmp_path / name
    delimiter = {"csv": ",", "tsv": "\t", "txt": " "}[name[5:8]]
    write = gzip.open if name.endswith(".gz") else open
    for n in (0, 1):
        with write(path, "wt") as file:
            file.write(f"a{delimiter}1\n" * n)
        assert counted(contributors(str(path), "1", engine)) == [n] + 20 * [0]


@cases(
    ("lines", "expected"),
    (b"u,v\na,1\nu,v\nu,2\n", [1, 1, 0]),
    (b"\n \n# homes\nu,v\r\na,1\r\n\r\n  \nb,2", [2, 0, 0]),
    (b"\xef\xbb\xbfu,v\ra,1\r\xef\xbb\xbfa,2\r", [0, 1, 0]),
    (b"u,v\na,1\n\t\nb,2\n", None),
    (b"u,v\na,1\n\xc2\xa0\nb,2\n", None),
    (b"u\tv\na\t1\n\t\nb\t2\n", None),
    (b"u,v\n#,1\n%,2\n", [2, 0, 0]),
    (b"u,v\na,\xff\n", None),
    (b"u,v\na,\xef\xbf\xbd\n", None),
    (b"u,v\na,\0\n", None),
    (b'u,v\n"a",1\n"a,b",1\n', [2, 0, 0]),
    (b'u,v\n"a\nb",1\n', None),
)
def test_one_grammar_on_every_path(tmp_path, lines, expected):
    """A line equal to the head was no record; blanks counted by what stood in other lines."""
    engines = ["embedded", "large"]
    if find_spec("dask"):
        engines.append("dask")
    assert outcomes(tmp_path, lines, engines) == [expected] * len(engines)


LINES = [b"a,1", b"", b" ", b"\t", b"\t\t", b"a\t1", b",", b'"a",1', b'a",1', b"\xef\xbb\xbfa,1"]
LINES += [b"u,v", b"a,1\r", b"\ra,1", b"a,\xff", b"a,\0", b"a,1,2", b"#a,1", "\u2028".encode()]
LINES += [b"\x0b", b"\x1c,\x1d", "a\x85,1".encode(), b"a, 1", b"a", b"\xc2", "\ufffd,1".encode()]


@pytest.mark.parametrize("delimiter", [b",", b"\t", None])
def test_what_a_line_is_no_other_line_tells(delimiter):
    """Cells of a block, by whichever parser, are those of its lines one by one."""
    form = Layout(("u", "v"), delimiter and delimiter.decode())
    plain = b"b\t2" if delimiter == b"\t" else b"b,2"
    filler = b"\n".join([plain] * 4000)
    between = [text_of(c) for c in Lines(plain, form).columns(["u"])["u"]] * 4000
    for line in LINES:
        alone = Lines(line, form).columns(["u"])["u"]
        for other in LINES:
            cells = texts(column(Lines(b"\n".join([line, filler, other]), form).table(["u"]), "u"))
            after = Lines(other, form).columns(["u"])["u"]
            first, last = ([text_of(c) for c in some] for some in (alone, after))
            assert cells == [*first, *between, *last], (line, other)


def test_packed_files_say_so_by_their_names(tmp_path):
    """Some engines unpacked by the name, and some by the content."""
    packed = gzip.compress(b"u,v\na,1\n")
    for engine in ("embedded", "dask"):
        for name, data in (("a.csv", packed), ("b.csv.gz", b"u,v\na,1\n")):
            (tmp_path / name).write_bytes(data)
            refuses("", records_of, tmp_path / name, engine)
        (tmp_path / "c.csv.gz").write_bytes(packed)
        assert records_of(tmp_path / "c.csv.gz", engine) == [1, 0, 0]


def test_spark_leaves_out_the_head_of_each_file_and_no_other_line(tmp_path):
    session = spark.session()
    for split in ("64", "1000"):  # files in parts, and several files in one part
        session.conf.set("spark.sql.files.maxPartitionBytes", split)
        session.conf.set("spark.sql.files.openCostInBytes", "1")
        lines = [f"user-{i},1" for i in range(20)]
        first = "\n".join(["\ufeff# homes", "", "u,v", *lines[:9], "u,v", "", "  "]) + "\n"
        (tmp_path / "a.csv").write_text(first)
        (tmp_path / "b.csv").write_bytes(b"u,v\r\n" + "\r\n".join(lines[9:]).encode())
        assert records_of(tmp_path / "?.csv", "spark") == [21, 0, 0]
        (tmp_path / "b.csv").write_bytes(b"u,v\nx,\xff\n")
        refuses("at least one is not|one entry per record", records_of, tmp_path / "?.csv", "spark")
    session.conf.unset("spark.sql.files.maxPartitionBytes")
    session.conf.unset("spark.sql.files.openCostInBytes")
    pq.write_table(pa.table({"u": pa.array([1, 2], pa.duration("us"))}), tmp_path / "spans.parquet")
    refuses("durations", records_of, tmp_path / "spans.parquet", "spark")
