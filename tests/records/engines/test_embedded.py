"""Files of this machine: what they are by their names and first bytes, what is refused, and what is
said of one that is not there or cannot be read.
"""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import GraphFileError, MissingExtraError
from metricdp.records.engines import embedded, tables
from metricdp.records.engines.embedded import absent
from tests import cases, path_metric, refuses


@cases(
    ("start", "problem"),
    (b"a,b\n1,2\n", ""),
    (b"", "empty"),
    (b"\xef\xbb\xbf \r\n\t", "empty"),
    (b"\x1f\x8b rest", "gzip"),
    (b"a\0\nb", "UTF-8"),
    (b"a\0", "UTF-8"),
    (b"a\n\0", ""),
    (b"\0\n", "UTF-8"),
)
def test_text_is_reported_by_its_first_line(tmp_path, start, problem):
    path = str(tmp_path / "a.csv")
    Path(path).write_bytes(start)
    if problem:
        refuses(problem, embedded.text, path, ["a"])
    else:
        assert embedded.text(path, ["a"]).columns[0] == "a"
    if problem == "gzip":
        refuses(problem, embedded.text, path, ["1"])
    else:
        assert embedded.text(path, ["1"]).columns[0] == "1"


def test_packed_files_are_reported_from_damaged_ones(tmp_path):
    packed = gzip.compress(b"x\n" + bytes(range(1, 120)) * 9, mtime=0)
    for content, said in ((packed[:30], "damaged or truncated"), (b"x\n1\n", embedded._NOT_PACKED)):
        (tmp_path / "a.csv.gz").write_bytes(content)
        refuses(said, embedded.text, str(tmp_path / "a.csv.gz"), ["x"], error=GraphFileError)


def test_a_workbook_is_reported(tmp_path):
    (tmp_path / "homes.xlsx").write_bytes(b"PK\x03\x04\x14\0 and more")
    refuses("save the sheet as CSV", embedded.text, str(tmp_path / "homes.xlsx"), ["x"])


def test_parquet_is_reported_by_its_ending_else_by_its_first_bytes(tmp_path):
    file = tmp_path / "rows"
    for content, expected in ((b"PAR1", True), (b"PAR1\0\1", True), (b"PAR2", False), (b"", False)):
        file.write_bytes(content)
        assert embedded.is_parquet(str(file)) is expected
    assert not embedded.is_parquet(str(tmp_path / "none"))
    assert embedded.is_parquet("none.PARQUET") and not embedded.is_parquet("rows.csv")
    file.write_bytes(b"PAR1, and no table")
    refuses("cannot be read as Parquet", embedded.parquet, str(file))


def test_what_is_large_is_read_when_it_is_asked(tmp_path, monkeypatch):
    file = tmp_path / "rows.csv"
    file.write_text("x\n1\n")
    for most, expected in ((3, True), (4, False)):
        monkeypatch.setattr(embedded, "AT_ONCE", most)
        assert embedded.large(str(file)) is expected
    assert not embedded.large(str(tmp_path / "none.csv")) and embedded.large(str(tmp_path))
    assert embedded.large("s3://bucket/a.csv") and embedded.large("*.csv")


def test_files_elsewhere_are_left_to_their_engine(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("x\n1\n")
    assert embedded.layout_of(["x"], "s3://a/*.csv", ["x"]).names == ("x",)
    refuses("not the same", embedded.layout_of, ["y"], str(file), ["y"])


def test_files_of_a_storage_are_found_by_their_pattern(tmp_path):
    for name in ("b.csv", "a.csv", "c.txt"):
        (tmp_path / name).write_text("x\n1\n")
    found = embedded.matching(f"file://{tmp_path}/*.csv")
    assert found == [f"file://{tmp_path}/{name}" for name in ("a.csv", "b.csv")]


def test_libraries_that_are_missing_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refuses("Parquet", embedded.parquet, "rows.parquet", error=MissingExtraError)
    refuses("network", embedded.file_system, "s3://a", error=MissingExtraError)


@pytest.mark.parametrize(("values", "rows"), [(1, [1] * 5), (7, [3, 2]), (99, [5])])
def test_arrays_are_read_block_by_block(values, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "VALUES", values)
    points = np.arange(10, dtype=np.float32).reshape(5, 2)
    np.save(tmp_path / "points.npy", points)
    blocks = list(tables.array_in(str(tmp_path / "points.npy")).batches(["0", "1"]))
    assert [len(block) for block in blocks] == rows
    assert (np.concatenate(blocks) == points).all() and blocks[0].dtype == np.float64


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_part_of_a_mapped_array_is_that_part(tmp_path, mode, monkeypatch):
    """A slice was read from its file's beginning, and what was written in memory from the file."""
    monkeypatch.setattr(tables, "VALUES", 4)
    np.save(tmp_path / "points.npy", np.arange(10.0).reshape(5, 2))
    mapped = np.load(tmp_path / "points.npy", mmap_mode=mode)
    if mode != "r":
        mapped[3] = 7.0
    for part in (mapped, mapped[2:], mapped[1:4], mapped.reshape(2, 5)[1:]):
        frame = tables.ArrayFile.of(part)
        assert np.concatenate(list(frame.batches(frame.columns))).tolist() == part.tolist()


def test_arrays_of_other_kinds_are_refused(tmp_path):
    path = tmp_path / "a.npy"
    for array in (
        np.zeros(6),
        np.zeros((2, 3, 1)),
        np.asfortranarray(np.zeros((2, 3))),
        np.zeros((2, 3), complex),
        np.array([["a", "b"]]),
        np.array([[None]]),
    ):
        np.save(path, array)
        refuses(r"shape \(n, d\), in C order", lambda: tables.array_in(str(path)))
        if array.dtype != object:
            mapped = np.load(path, mmap_mode="r")
            refuses(r"shape \(n, d\), in C order", tables.ArrayFile.of, mapped)
    refuses("no such file", tables.array_in, str(tmp_path / "none.npy"), error=GraphFileError)


METRIC = path_metric(9)


@cases(
    ("named", "words"),
    ("none*.csv", "no file has such a name"),
    ("none*.parquet", "no file has such a name"),
    ("hello world", "no such file"),
    ("nowhere.parquet", "no such file"),
    ("torn*.parquet", "none of its files can be read as Parquet"),
    ("s4://bucket/homes.csv", "unknown kind of storage 's4'"),
    ("ftp://host/homes.parquet", "unknown kind of storage 'ftp'"),
    ("https://localhost:1/homes.csv", r"the storage \(https\) has no such file, or does not"),
)
def test_each_has_a_message_of_its_own(named, words, here):
    (here / "torn1.parquet").write_bytes(b"PAR1 and no more")
    assert str(refuses(words, mdp.PrivateDemand.from_frame, METRIC, named)).startswith(named)


def test_folders(tmp_path):
    assert absent(str(tmp_path), "Parquet") == "is a folder without Parquet files"
    assert absent(str(tmp_path)) == "is a directory, not a file"


def test_a_table_of_names_alone_holds_nobody_and_blank_ids_are_refused(tmp_path):
    (tmp_path / "nobody.csv").write_text("vertex,user\n")
    for whose in (None, "user"):
        demand = mdp.PrivateDemand.from_frame(METRIC, str(tmp_path / "nobody.csv"), user=whose)
        assert mdp.k_median(METRIC, demand, k=2, epsilon=1).k == 2
    (tmp_path / "lines.csv").write_text("vertex\n1\n\n2\n\n")  # blank lines are no records
    mdp.PrivateDemand.from_frame(METRIC, str(tmp_path / "lines.csv"))
    for cells in ("1,a\n,b\n", "1,a\n  ,b\n", '1,a\n"",b\n', "1,a\n2,\n", "1,a\n2,  \n"):
        (tmp_path / "blank.csv").write_text("vertex,user\n" + cells)
        blank = str(tmp_path / "blank.csv")
        refuses("every record must", mdp.PrivateDemand.from_frame, METRIC, blank, user="user")
