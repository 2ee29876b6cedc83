"""Frames of tables that this process reads: in memory, of any library that narwhals knows, and
GeoDataFrames; and streamed, lazy Polars frames, DuckDB relations, Arrow data sets, Ibis
expressions and arrays in files.
"""

import threading
from abc import abstractmethod
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from metricdp.errors import GraphFileError, InputError
from metricdp.records.engines.frames import Frame, LocalFrame
from metricdp.records.engines.spilling import duckdb_module
from metricdp.records.ingestion import geometry
from metricdp.records.ingestion.encoders import VALUES
from metricdp.records.ingestion.geometry import AXES


class TableInMemory(LocalFrame):
    """A table in memory, of any library that narwhals knows: one block."""

    at_once = True

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Whether narwhals knows it, and it is in memory."""
        return _in_memory(table) is not None

    @classmethod
    def of(cls, table: Any) -> Frame:
        """A frame of the library's own table."""
        native = _in_memory(table)
        return cls(native, getattr(native, "column_names", None))

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """The table."""
        yield self.native


def _in_memory(table: Any) -> Any:
    import narwhals as nw

    try:
        return nw.to_native(nw.from_native(table, eager_only=True))
    except nw.exceptions.DuplicateError:
        raise InputError("two columns of the table have the same name") from None
    except TypeError:
        return None


Columns = dict[str, Any]
Rows = Generator[tuple[Columns, Columns], None, None]
"""Coordinates of some rows, by the names `AXES`, and their other columns."""


class Placed(LocalFrame):
    """A table whose rows have a geometry."""

    geometry = True

    @abstractmethod
    def rows(self, plain: list[str], place: bool) -> Rows:
        """Blocks of coordinates, if `place` asks for them, and of the columns `plain`."""

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Blocks with coordinates among the columns."""
        plain = [name for name in dict.fromkeys(names) if name not in AXES]
        for places, columns in self.rows(plain, any(name in AXES for name in names)):
            yield geometry.block(places, columns, names)


class Places(Placed):
    """A GeoDataFrame, or a GeoSeries converted to one, with its declared CRS: one block."""

    libraries = ("geopandas",)
    at_once = True

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Whether it is a series, or a table with an active geometry."""
        if not super().takes(table):
            return False
        return not hasattr(table, "columns") or table._geometry_column_name is not None

    @classmethod
    def of(cls, table: Any) -> Frame:
        """A frame of a table or a series."""
        return cls(table if hasattr(table, "columns") else table.to_frame("geometry"))

    def __init__(self, native: Any) -> None:
        super().__init__(native, [*native.columns, *AXES])
        self.crs = native.crs

    def rows(self, plain: list[str], place: bool) -> Rows:
        """The table."""
        places = geometry.of_shapes(self.native.geometry.array) if place else {}
        yield places, {name: self.native[name] for name in plain}


class PolarsFrame(LocalFrame):
    """A lazy Polars frame; one in memory is a `TableInMemory`."""

    libraries = ("polars",)

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Whether it is a lazy frame."""
        return super().takes(table) and type(table).__name__ == "LazyFrame"

    @classmethod
    def of(cls, table: Any) -> Frame:
        """A frame with the columns of the query's result."""
        return cls(table, table.collect_schema().names())

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Blocks as frames in memory."""
        chosen = self.native.select(list(dict.fromkeys(names)))
        yield from chosen.collect_batches(chunk_size=VALUES // len(names), maintain_order=False)


class ArrowData(LocalFrame):
    """An Arrow data set in its own batches; an Arrow table in memory is a `TableInMemory`."""

    libraries = ("pyarrow",)

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Whether it is a data set."""
        return super().takes(table) and hasattr(table, "scanner")

    @classmethod
    def of(cls, table: Any) -> Frame:
        """A frame with the columns of the schema; those that Arrow would cast are refused."""
        held = (field for kinds in _stored(table) for field in kinds)
        known = {field.name: field.type for field in table.schema}
        cast = [field.name for field in held if field.type != known.get(field.name, field.type)]
        return cls(table, table.schema.names, refused=dict.fromkeys(cast, _CAST))

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches."""
        chosen = list(dict.fromkeys(names))
        yield from self.native.to_batches(columns=chosen, batch_size=VALUES // len(names))


_CAST = "has another type in one of its files, and casts make one user of two: give their path"


def _stored(data: Any) -> Generator[Any, None, None]:
    """The schemas that the files of an Arrow data set declare."""
    for child in getattr(data, "children", ()):
        yield from _stored(child)
    if type(getattr(data, "format", None)).__name__ in ("CsvFileFormat", "JsonFileFormat"):
        raise InputError("types of text files are inferred from their rows: give their path")
    for file in getattr(data, "files", ()):
        with suppress(OSError, ValueError):  # what Arrow says may quote a row
            yield data.format.inspect(file, data.filesystem)


class Relation(LocalFrame):
    """A DuckDB relation, read through the caller's connection, which may spill to disk."""

    libraries = ("duckdb", "_duckdb")
    lock = threading.RLock()
    """A connection answers one query at a time."""

    @classmethod
    def of(cls, table: Any) -> Frame:
        """A frame; needs PyArrow, in whose batches DuckDB returns rows."""
        duckdb_module()
        return cls(table)

    def __init__(self, native: Any) -> None:
        kinds = {name: str(kind).lower() for name, kind in zip(native.columns, native.types)}
        why = "is {}, of which DuckDB returns a part only: cast it to text"
        refused = {name: why.format(kind) for name, kind in kinds.items() if kind in _TRUNCATED}
        super().__init__(native, refused=refused)

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches of Arrow."""
        import duckdb

        with self.lock:
            chosen = self.native.select(*map(duckdb.ColumnExpression, dict.fromkeys(names)))
            yield from chosen.to_arrow_reader(VALUES // len(names))


_TRUNCATED = ("time with time zone", "uhugeint")
"""Types without a counterpart in Arrow: a time would lose its zone, a number its sign."""


class IbisFrame(LocalFrame):
    """A table expression of Ibis, computed by its own backend.

    Rows of SQLite, MySQL and others come through pandas, which types a column by all its cells: one
    fraction, and integers of users beyond 2^53 become one. So only backends are read that the tests
    hold to the rule for cells.
    """

    libraries = ("ibis",)

    @classmethod
    def of(cls, table: Any) -> Frame:
        """A frame of a table in a backend that is read."""
        backend = table.get_backend().name
        if backend not in _CELL_BY_CELL:
            raise InputError(
                f"tables of Ibis are read from {' and '.join(_CELL_BY_CELL)}, not {backend}, whose "
                f"types Ibis may take from all cells of a column: write a Parquet file"
            )
        return cls(table)

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches of Arrow."""
        chosen = self.native.select(*dict.fromkeys(names))
        backend = chosen.get_backend()
        if backend.name == "duckdb":  # Ibis 12 calls a method that DuckDB 2 no longer has
            backend._run_pre_execute_hooks(chosen)
            with Relation.lock:
                yield from backend.con.sql(backend.compile(chosen)).to_arrow_reader(VALUES)
            return
        yield from chosen.to_pyarrow_batches(chunk_size=VALUES // len(names))


_CELL_BY_CELL = ("duckdb", "polars")
"""Backends of Ibis whose rows come as Arrow data of the types that they store."""


class ArrayFile(LocalFrame):
    """Points in an array file.

    `native`: shape (n, d), C-contiguous; `path`: of an ``.npy`` file, which is mapped anew for each
    block, so that blocks that were read can be evicted. A `numpy.memmap` of the caller's may be a
    slice of its file, or changed in memory alone, and is read as it is.
    """

    def __init__(
        self, native: Any, rule: str = "numpy.memmap must hold", path: str | None = None
    ) -> None:
        known = isinstance(native, np.memmap) and native.ndim == 2 and native.flags.c_contiguous
        if not known or native.dtype.kind not in "iuf":
            raise InputError(f"{rule} numbers of shape (n, d), in C order")
        super().__init__(native, range(native.shape[1]), path)

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Whether it is a memory-mapped array."""
        return isinstance(table, np.memmap)

    def check(self, names: Sequence[Any]) -> None:
        """Raise InputError unless all coordinates are named, in order."""
        if list(names) != list(self.columns):
            raise InputError(
                "an array has no columns for node, x, y, columns or user: it is read as points, "
                "all coordinates in order"
            )

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Blocks of points (n, d)."""
        n, d = self.native.shape
        step = max(1, VALUES // d)
        for start in range(0, n, step):
            part = self.native[start : start + step]
            if self.path is not None:
                at = self.native.offset + start * d * part.itemsize
                part = np.memmap(self.path, part.dtype, "r", at, part.shape)
            yield np.array(part, dtype=np.float64)


def array_in(path: str) -> ArrayFile:
    """A frame of an ``.npy`` file, which stays on disk."""
    array = None
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise GraphFileError(path, "no such file") from None
    except (OSError, ValueError):
        array = None
    return ArrayFile(array, f"{path}: not an .npy file of", path)
