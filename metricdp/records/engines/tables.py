"""Tables of libraries whose batches come to this process: those in memory, of whatever library
narwhals knows, GeoDataFrames, and what streams: lazy frames of Polars, relations of DuckDB, data
sets of Arrow, expressions of Ibis, points in arrays that lie in a file.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from metricdp.records.engines.frames import Frame
from metricdp.records.engines.local import LocalFrame
from metricdp.records.engines.spilling import duckdb_module
from metricdp.records.ingestion import geometry
from metricdp.records.ingestion.encoders import VALUES
from metricdp.records.ingestion.geometry import AXES
from metricdp.refusals import GraphFileError, InputError


class TableInMemory(LocalFrame):
    """A table in memory, of whatever library narwhals knows: one block."""

    at_once = True

    def __init__(self, native: Any, path: str | None = None) -> None:
        names = getattr(native, "column_names", None)
        super().__init__(native, list(native.columns if names is None else names), path)

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Whether narwhals knows it, and it is in memory."""
        return _in_memory(table) is not None

    @classmethod
    def of(cls, table: Any) -> Frame:
        """Of its own library."""
        return cls(_in_memory(table))

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """The table."""
        yield self.native


def _in_memory(table: Any) -> Any:
    import narwhals as nw

    try:
        return nw.to_native(nw.from_native(table, eager_only=True))
    except TypeError:
        return None


Columns = dict[str, Any]
Rows = Generator[tuple[Columns, Columns], None, None]
"""Places of some rows, by the names `AXES`, and their other columns."""


class Placed(LocalFrame):
    """A table whose rows have a place of their own."""

    geometry = True

    @abstractmethod
    def rows(self, plain: list[str], place: bool) -> Rows:
        """Blocks of some columns, and of places if they are asked for."""

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Both together."""
        plain = [name for name in dict.fromkeys(names) if name not in AXES]
        for places, columns in self.rows(plain, any(name in AXES for name in names)):
            yield geometry.block(places, columns, names)


class Places(Placed):
    """A GeoDataFrame, or a GeoSeries made one, with the system that it declares: one block."""

    libraries = ("geopandas",)
    at_once = True

    @classmethod
    def takes(cls, table: Any) -> bool:
        """A series, or a table whose geometry is set."""
        if not super().takes(table):
            return False
        return not hasattr(table, "columns") or table._geometry_column_name is not None

    @classmethod
    def of(cls, table: Any) -> Frame:
        """Also of a series."""
        return cls(table if hasattr(table, "columns") else table.to_frame("geometry"))

    def __init__(self, native: Any) -> None:
        super().__init__(native, [*native.columns, *AXES])
        self.crs = native.crs

    def rows(self, plain: list[str], place: bool) -> Rows:
        """The table."""
        places = geometry.of_shapes(self.native.geometry.array) if place else {}
        yield places, {name: self.native[name] for name in plain}


class PolarsFrame(LocalFrame):
    """A lazy frame of Polars; those in memory are any library's."""

    libraries = ("polars",)

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Whether it is a lazy frame."""
        return super().takes(table) and type(table).__name__ == "LazyFrame"

    @classmethod
    def of(cls, table: Any) -> Frame:
        """With the columns that it will have."""
        return cls(table, table.collect_schema().names())

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Arrow tables."""
        chosen = self.native.select(list(dict.fromkeys(names)))
        for block in chosen.collect_batches(chunk_size=VALUES // len(names), maintain_order=False):
            yield block.to_arrow()


class ArrowData(LocalFrame):
    """Rows of a data set of Arrow, in its own batches; tables in memory are any library's."""

    libraries = ("pyarrow",)

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Whether it is a data set."""
        return super().takes(table) and hasattr(table, "scanner")

    @classmethod
    def of(cls, table: Any) -> Frame:
        """With the columns of its schema."""
        return cls(table, list(table.schema.names))

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches."""
        chosen = list(dict.fromkeys(names))
        yield from self.native.to_batches(columns=chosen, batch_size=VALUES // len(names))


class Relation(LocalFrame):
    """A relation of the caller's own connection, which reads it and may spill to disk."""

    libraries = ("duckdb", "_duckdb")
    lock = threading.RLock()
    """A connection answers one query at a time."""

    @classmethod
    def of(cls, table: Any) -> Frame:
        """If PyArrow is there, in which DuckDB hands out blocks."""
        duckdb_module()
        return cls(table)

    def __init__(self, native: Any) -> None:
        kinds = {name: str(kind).lower() for name, kind in zip(native.columns, native.types)}
        why = "is {}, of which DuckDB hands out a part only: cast it to text"
        cut = {name: why.format(kind) for name, kind in kinds.items() if kind in _CUT}
        super().__init__(native, list(native.columns), None, cut)

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches of Arrow."""
        import duckdb

        with self.lock:
            chosen = self.native.select(*map(duckdb.ColumnExpression, dict.fromkeys(names)))
            yield from chosen.to_arrow_reader(VALUES // len(names))


_CUT = ("time with time zone", "uhugeint")
"""Types of which Arrow has no counterpart: a time loses its zone, a number its sign."""


class IbisFrame(LocalFrame):
    """A table expression of Ibis, computed by its own backend."""

    libraries = ("ibis",)

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches of Arrow."""
        chosen = self.native.select(*dict.fromkeys(names))
        backend = chosen.get_backend()
        if backend.name == "duckdb":  # Ibis 12 asks for a method that DuckDB 2 has no more
            backend._run_pre_execute_hooks(chosen)
            with Relation.lock:
                yield from backend.con.sql(backend.compile(chosen)).to_arrow_reader(VALUES)
            return
        yield from chosen.to_pyarrow_batches(chunk_size=VALUES // len(names))


class ArrayFile(LocalFrame):
    """Points in a file, mapped to memory block by block, so that what was read can leave memory
    again.

    `native`: shape (n, d), in the order of C.
    """

    def __init__(self, native: Any, rule: str = "numpy.memmap must hold") -> None:
        known = isinstance(native, np.memmap) and native.ndim == 2 and native.flags.c_contiguous
        if not known or native.dtype.kind not in "iuf":
            raise InputError(f"{rule} numbers of shape (n, d), in C order")
        super().__init__(native, range(native.shape[1]))

    @classmethod
    def takes(cls, table: Any) -> bool:
        """Whether it is mapped from a file."""
        return isinstance(table, np.memmap)

    @classmethod
    def of(cls, table: Any) -> Frame:
        """All of it."""
        return cls(table)

    def check(self, names: Sequence[Any]) -> None:
        """Raise InputError unless the columns are all coordinates in order."""
        if list(names) != list(self.columns):
            raise InputError(
                "an array has no columns for node, x, y, columns or user: it is read as points, "
                "all coordinates in order"
            )

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
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


def array_in(path: str) -> ArrayFile:
    """A frame of an ``.npy`` file, left on disk."""
    array = None
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise GraphFileError(path, "no such file") from None
    except (OSError, ValueError):
        array = None
    return ArrayFile(array, f"{path}: not an .npy file of")
