"""DuckDB connections for one reading, each with a private folder for data spilled to disk."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from metricdp.errors import need

try:
    import fcntl
except ImportError:  # without file locks, folders of killed processes are not removed
    fcntl = None  # type: ignore[assignment]

MEMORY = "1GB"
"""Memory that DuckDB may use before it spills to disk."""
_PREFIX = "metricdp-spill-"
_LOCK = "lock"


@contextmanager
def connected() -> Iterator[Any]:
    """A connection for one reading with a fresh folder (0700), removed at the end."""
    duckdb = duckdb_module()
    with spilling() as folder:
        connection = duckdb.connect()
        try:
            quoted = folder.replace("'", "''")
            connection.execute(f"SET temp_directory = '{quoted}'")
            connection.execute(f"SET memory_limit = '{MEMORY}'")
            connection.execute("SET preserve_insertion_order = false")
            connection.execute("SET enable_progress_bar = false")
            yield connection
        finally:
            connection.close()


@contextmanager
def spilling() -> Iterator[str]:
    """A fresh private folder, removed at the end, or by the next reading if this process dies."""
    _sweep()
    folder = tempfile.mkdtemp(prefix=_PREFIX)  # 0700
    lock = None
    try:
        lock = _locked(Path(folder) / _LOCK)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _locked(path: Path) -> int | None:
    """Lock a new file while this process lives; renamed once locked, so others see it locked."""
    if fcntl is None:
        return None
    fresh = path.with_suffix(".new")
    lock = os.open(fresh, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fresh.rename(path)
    return lock


def _sweep() -> None:
    """Remove folders of this user whose lock no living process holds."""
    if fcntl is None:
        return
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError):
            lock = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path.parent, ignore_errors=True)
            finally:
                os.close(lock)


def duckdb_module() -> Any:
    """The module duckdb; raises MissingExtraError unless it and PyArrow, in whose
    batches it returns rows, are installed.
    """
    need("demand that is streamed from files", "engines", "duckdb", "pyarrow")
    import duckdb

    return duckdb
