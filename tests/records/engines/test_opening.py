"""From what a user has to a table: what is refused, and the room that one reading has."""

import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from metricdp.errors import MissingExtraError
from metricdp.metrics import PrecomputedMetric
from metricdp.privacy import PrivateDemand
from metricdp.records.engines import embedded, opening, spilling
from metricdp.running.contributions import contributors
from tests import cases, refuses


@cases(
    ("source", "asked", "words"),
    ("a\0.csv", {}, "a path cannot hold"),
    ("a.NPY", {"engine": "dask"}, "arrays are read by the embedded engine"),
    ("a.gpkg", {"engine": "spark"}, "geographic files are read by the embedded engine"),
    ("a.geojson", {"engine": "dask"}, "geographic files are read by the embedded engine"),
    ("a.csv", {"layer": "roads"}, "a.csv: has no layers"),
    ("a.csv", {"engine": "Dask"}, "engine must be one of embedded, dask, spark"),
    (7, {}, r"expected a path or .* table, got int$"),
    (np.zeros(3), {}, r"got ndarray; a column alone is PrivateDemand\(universe, column\)"),
)
def test_what_no_engine_reads_is_refused_by_name(source, asked, words):
    refuses(words, opening.opened, source, **asked)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["a", "a.csv", "a.csv.gz", "a.npy", "a.parquet", "a.geojson"])
@pytest.mark.parametrize("engine", [*opening.READERS])
def test_pipes_are_refused(tmp_path, name, engine):
    """What was read of one to tell its kind and its names was missing among the records."""
    os.mkfifo(tmp_path / name)
    words = "pipe or a device|by the embedded engine"
    refuses(words, opening.opened, str(tmp_path / name), engine, ["1"])


def test_a_reading_has_a_private_folder_and_removes_what_others_left(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    monkeypatch.setattr(spilling.tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "metricdp-spill-left"
    left.mkdir()
    (left / "lock").touch()
    (tmp_path / "another").mkdir()
    (tmp_path / "metricdp-spill-link").mkdir()
    (tmp_path / "metricdp-spill-link" / "lock").symlink_to(tmp_path / "another")
    locked, locks = spilling.fcntl.flock, []
    monkeypatch.setattr(
        spilling.fcntl, "flock", lambda lock, how: locks.append(lock) or locked(lock, how)
    )
    with spilling.spilling() as first, spilling.spilling() as second:
        assert not left.exists()
        for folder in (first, second):
            (lock,) = Path(folder).iterdir()
            assert stat.S_IMODE(lock.stat().st_mode) == 0o600 and lock.name == "lock"
            assert stat.S_IMODE(lock.parent.stat().st_mode) == 0o700
        spilling.shutil.rmtree(second)  # as a thorough cleaner may
    kept = sorted(one.name for one in tmp_path.iterdir())
    assert kept == ["another", "metricdp-spill-link"]  # a link is not followed
    assert len(locks) == 4  # what was left, the first, the second that sees it, and its own
    for given_back in locks:
        refuses("descriptor", os.fstat, given_back, error=OSError)


def test_a_reading_where_there_are_no_locks(tmp_path, monkeypatch):
    monkeypatch.setattr(spilling.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(spilling, "fcntl", None)
    with spilling.spilling() as folder:
        assert not list(Path(folder).iterdir())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("library", ["duckdb", "pyarrow"])
def test_libraries_that_are_missing_are_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    refuses("streamed from files", spilling.duckdb_module, error=MissingExtraError)


def test_what_sorts_users_is_named_before_they_are_read(tmp_path, monkeypatch):
    """It was told as a fault of the engine, and only of a file that is large."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    (tmp_path / "a.csv").write_text("vertex,user\n0,a\n")
    path, metric = str(tmp_path / "a.csv"), PrecomputedMetric([[0.0]])
    asked = (
        lambda: PrivateDemand.from_frame(metric, path, user="user"),
        lambda: contributors(path, "user"),
    )
    for ask in asked:
        ask()  # a small file needs none
    monkeypatch.setattr(embedded, "AT_ONCE", -1)
    PrivateDemand.from_frame(metric, path)
    for ask in asked:
        refuses("streamed from files", ask, error=MissingExtraError)
