"""On this machine, out of core: DuckDB for files, relations and Arrow data sets, Polars for its
lazy frames, NumPy for arrays in files.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metricdp.errors import InputError, MissingExtraError
from metricdp.records.engines.bounding import statement
from metricdp.records.engines.encoders import VALUES
from metricdp.records.engines.frames import LocalFrame

MEMORY = "1GB"
"""What DuckDB may use before it writes to disk."""


class DuckFrame(LocalFrame):
    """A relation of DuckDB."""

    _lock = threading.RLock()
    """A connection answers one query at a time."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.native.columns)

    def tally(self, column: str, most: int) -> tuple[list[Any], list[int]]:
        """One group-by, out of core."""
        with self._lock:
            return super().tally(column, most)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Record batches of Arrow."""
        with self._lock:
            yield from self.native.select(*map(_column, names)).to_arrow_reader(
                VALUES // len(names)
            )

    def bounded(self, names: Sequence[str], user: str, m: int, key: str) -> DuckFrame:
        """A window over each user's rows, out of core."""
        kinds = dict(zip(self.native.columns, map(str, self.native.types)))
        floating = [name for name in (*names, user) if kinds[name] in ("FLOAT", "DOUBLE")]
        text = statement(
            "_rows",
            names,
            user,
            m,
            floating=floating,
            quote='"',
            digest=lambda columns: f"sha256('{key}' || json_array({', '.join(columns)}))",
        )
        return DuckFrame(self.native.query("_rows", text), self.path, self.text)


class PolarsFrame(LocalFrame):
    """A lazy frame of Polars."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return self.native.collect_schema().names()

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Arrow tables."""
        chosen = self.native.select(list(dict.fromkeys(names)))
        for block in chosen.collect_batches(chunk_size=VALUES // len(names), maintain_order=False):
            yield block.to_arrow()

    def bounded(self, names: Sequence[str], user: str, m: int, key: str) -> _Streamed:
        """Polars has no hash to rank by: its rows stream through DuckDB."""
        return _Streamed(self, (names, user, m, key))


class _Streamed(PolarsFrame):
    """The rows of a lazy frame of Polars after DuckDB has bounded its users: read anew each time,
    with the same key.
    """

    def __init__(self, lazy: PolarsFrame, bound: tuple[Sequence[str], str, int, str]) -> None:
        super().__init__(lazy.native)
        self._lazy, self._bound = lazy, bound

    def tally(self, column: str, most: int) -> tuple[list[Any], list[int]]:
        """One group-by of DuckDB."""
        return self._read().tally(column, most)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Record batches of Arrow."""
        yield from self._read().batches(names)

    def _read(self) -> DuckFrame:
        import pyarrow as pa

        names, user, *_ = self._bound
        wanted = list(dict.fromkeys([*names, user]))
        schema = self.native.select(wanted).clear().collect().to_arrow().schema
        blocks = (part for table in self._lazy.batches(wanted) for part in table.to_batches())
        return DuckFrame(relation_of(pa.RecordBatchReader.from_batches(schema, blocks))).bounded(
            *self._bound
        )


class ArrayFile(LocalFrame):
    """Points in a file, mapped to memory block by block, so that what was read can leave memory
    again.

    Parameters
    ----------
    native : numpy.memmap
        Shape (n, d), in the order of C.
    """

    @property
    def columns(self) -> Sequence[Any]:
        """Numbers of the coordinates."""
        return range(self.native.shape[1])

    def check(self, names: Sequence[Any]) -> None:
        """Raise InputError unless the columns are all coordinates in order."""
        if list(names) != list(self.columns):
            raise InputError(
                "an array has no columns for node, x, y, columns or user: it is read as points, "
                "all coordinates in order"
            )

    def bounded(self, names: Sequence[str], user: str, m: int, key: str) -> LocalFrame:
        """An array has no users."""
        raise NotImplementedError

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Arrays."""
        n, d = self.native.shape
        step = max(1, VALUES // d)
        for start in range(0, n, step):
            at = self.native.offset + start * d * self.native.itemsize
            shape = (min(step, n - start), d)
            part = np.memmap(
                self.native.filename, dtype=self.native.dtype, mode="r", offset=at, shape=shape
            )
            yield np.array(part, dtype=np.float64)


def array_in(path: str) -> np.memmap:
    """The array of an ``.npy`` file, left on disk.

    Raises
    ------
    InputError
        The file is none, or its array has not the shape (n, d).
    """
    array = None
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise
    if (
        not isinstance(array, np.memmap)
        or array.ndim != 2
        or not array.flags.c_contiguous
        or array.dtype.kind not in "iuf"
    ):
        raise InputError(f"{path}: not an .npy file of numbers of shape (n, d), in C order")
    return array


def relation_in(path: str, text: bool) -> Any:
    """A relation of CSV files, all columns as text, or of Parquet files, by a connection of its
    own.
    """
    where = (
        "'"
        + (path.rstrip("/") + "/*.parquet" if Path(path).is_dir() else path).replace("'", "''")
        + "'"
    )
    connection = _connection()
    relation = None
    try:
        if text:
            relation = connection.sql(
                f"SELECT * FROM read_csv({where}, header = true, all_varchar = true)"
            )
            relation = relation.select(*(_column(name, trimmed=True) for name in relation.columns))
        else:
            relation = connection.sql(f"SELECT * FROM read_parquet({where})")
    except _duckdb().Error:
        relation = None
    if relation is None:  # what DuckDB says may quote a row
        raise InputError(f"{path}: no readable {'CSV' if text else 'Parquet'} file, or none at all")
    return relation


def relation_of(arrow: Any) -> Any:
    """A relation of an Arrow data set or reader, by a connection of its own."""
    return _connection().from_arrow(arrow)


def _connection() -> Any:
    connection = _duckdb().connect()
    connection.execute(f"SET memory_limit = '{MEMORY}'")
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET enable_progress_bar = false")
    return connection


def _column(name: str, trimmed: bool = False) -> Any:
    import duckdb

    column = duckdb.ColumnExpression(name)
    return duckdb.FunctionExpression("trim", column).alias(name) if trimmed else column


def _duckdb() -> Any:
    try:
        import duckdb
        import pyarrow  # noqa: F401 - in which DuckDB hands out blocks
    except ImportError:
        raise MissingExtraError("demand that is streamed from files", "engines") from None
    return duckdb
