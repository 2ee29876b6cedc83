"""DuckDB: what it reads itself, Parquet files, Arrow data sets, and relations of the caller's."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from metricdp.errors import InputError
from metricdp.records.engines.absent import absent
from metricdp.records.engines.frames import Frame
from metricdp.records.engines.local import LocalFrame, streamed
from metricdp.records.engines.registry import Engine
from metricdp.records.engines.spilling import connected, duckdb_module


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
            yield from streamed(self.native(connection), names)


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
            yield from streamed(self.native, names)


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
            duckdb_module()
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
    error = duckdb_module().Error
    try:
        return DuckFrame(lambda connection: connection.sql(f"FROM read_parquet({quoted})"), path)
    except error:  # what DuckDB says may quote a row
        pass
    raise InputError(f"{path}: {absent(path, 'Parquet')}")


ENGINE = DuckDB()
