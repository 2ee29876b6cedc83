"""DuckDB: what it reads (Parquet files, relations, Arrow data sets), and the bounding of users for
all tables of this machine. What does not fit into memory is written to a folder of its own.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from metricdp.errors import InputError, MissingExtraError
from metricdp.records.engines.bounding import statement
from metricdp.records.engines.frames import Frame, LocalFrame
from metricdp.records.engines.registry import Engine
from metricdp.records.ingestion.encoders import USER, VALUES, Reading

try:
    import fcntl
except ImportError:  # where there are no such locks, nothing is swept
    fcntl = None  # type: ignore[assignment]

MEMORY = "1GB"
"""What DuckDB may use before it writes to disk."""
_PREFIX, _LOCK = "metricdp-spill-", "lock"


@contextmanager
def connected() -> Iterator[Any]:
    """A connection for one reading, and a fresh folder (0700) for what it writes to disk, which
    goes with it, however the reading ends.
    """
    duckdb = _duckdb()
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
    """A fresh folder that only this user can read, removed afterwards. What a killed process left
    is removed by the next one: it held a lock on its folder.
    """
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
    """Lock a new file for as long as this process lives, and only then give it its name."""
    if fcntl is None:
        return None
    fresh = path.with_suffix(".new")
    lock = os.open(fresh, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fresh.rename(path)
    return lock


def _sweep() -> None:
    """Remove folders of this user whose lock nobody holds any more."""
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


class DuckFrame(LocalFrame):
    """Rows that a connection of their own reads: files of Parquet, data sets of Arrow.

    Parameters
    ----------
    native : callable
        From a connection to a relation.
    path : str, optional
    """

    def __init__(self, native: Callable[[Any], Any], path: str | None = None) -> None:
        super().__init__(native, path)
        with connected() as connection:
            self._columns = list(native(connection).columns)

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return self._columns

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches of Arrow."""
        with connected() as connection:
            yield from _streamed(self.native(connection), names)


class Relation(LocalFrame):
    """A relation of a connection of the caller's own, which reads it, and writes to disk where the
    caller told it to.
    """

    lock = threading.RLock()
    """A connection answers one query at a time."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.native.columns)

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches of Arrow."""
        with self.lock:
            yield from _streamed(self.native, names)


class Bounded(LocalFrame):
    """At most m rows of each user of a table on this machine: read anew each time, with the same
    key. DuckDB is given records and texts of users, never a cell.
    """

    def __init__(self, frame: LocalFrame, reading: Reading, m: int, key: str) -> None:
        super().__init__(None)
        self._frame, self._reading, self._m, self._key = frame, reading, m, key

    @property
    def columns(self) -> Sequence[str]:
        """Numbers of a record, and its user."""
        return self._reading.names

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches of Arrow: a window over each user's rows, out of core."""
        import pyarrow as pa

        kind = pa.from_numpy_dtype(self._reading.kind)
        numbers = [(name, kind) for name in self._reading.names[:-1]]
        schema = pa.schema([*numbers, (USER, pa.string())])
        text = statement(
            "_rows",
            self._reading.names,
            self._m,
            quote='"',
            digest=lambda columns: f"sha256('{self._key}' || json_array({', '.join(columns)}))",
        )
        with connected() as connection:
            connection.from_arrow(schema.empty_table()).create("_rows")
            with closing(self._frame.batches(self._reading.columns)) as blocks:
                for block in blocks:
                    read = pa.Table.from_pydict(self._reading.rows(block), schema=schema)
                    connection.from_arrow(read).insert_into("_rows")
            yield from _streamed(connection.sql(text), names)


def _streamed(relation: Any, names: Sequence[str]) -> Iterator[Any]:
    import duckdb

    chosen = relation.select(*map(duckdb.ColumnExpression, dict.fromkeys(names)))
    yield from chosen.to_arrow_reader(VALUES // len(names))


class DuckDB(Engine):
    """Relations, and data sets of Arrow."""

    libraries = ("duckdb", "_duckdb")

    def takes(self, table: Any) -> bool:
        """Whether it is a relation, or an Arrow data set."""
        arrow = type(table).__module__.partition(".")[0] == "pyarrow" and hasattr(table, "scanner")
        return arrow or super().takes(table)

    def table(self, table: Any) -> Frame:
        """A frame of it."""
        if super().takes(table):
            _duckdb()
            return Relation(table)
        return DuckFrame(lambda connection: connection.from_arrow(table))


def parquet(path: str) -> DuckFrame:
    """A frame of Parquet files: one, a folder, a glob.

    Raises
    ------
    InputError
        There is none that can be read.
    """
    where = path.rstrip("/") + "/*.parquet" if Path(path).is_dir() else path
    quoted = "'" + where.replace("'", "''") + "'"
    error = _duckdb().Error
    try:
        return DuckFrame(lambda connection: connection.sql(f"FROM read_parquet({quoted})"), path)
    except error:  # what DuckDB says may quote a row
        pass
    raise InputError(f"{path}: no readable Parquet file, or none at all")


def _duckdb() -> Any:
    try:
        import duckdb
        import pyarrow  # noqa: F401 - in which DuckDB hands out blocks
    except ImportError:
        raise MissingExtraError("demand that is streamed from files", "engines") from None
    return duckdb


ENGINE = DuckDB()
