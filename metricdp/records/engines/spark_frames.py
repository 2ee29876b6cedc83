"""Demand in a data frame of Spark, or in files that it reads: Arrow batches are mapped by its
Python workers, and keys and counts alone are shuffled. Text is handed to them as lines, for what
Spark makes of a bad one it prints.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from metricdp.errors import InputError, MissingExtraError
from metricdp.records.engines.absent import absent
from metricdp.records.engines.by_user import Dialect, UserRule
from metricdp.records.engines.embedded import is_parquet, of_text, same_heads
from metricdp.records.engines.folders import parquet_files, refuse_unread, unread_in
from metricdp.records.engines.frames import Frame, Seal
from metricdp.records.engines.registry import Engine
from metricdp.records.engines.sources import Answer, Groups, grouped_parts
from metricdp.records.engines.work import GroupWork, Sum, Work, added
from metricdp.records.exact import HALF, PIECES, Sums
from metricdp.records.ingestion.encoders import VALUES, Reading, RowEncoder
from metricdp.records.ingestion.lines import Layout, Lines, decoded, has_names, layout
from metricdp.records.trouble import Trouble, raised

SPARK = Dialect(
    "`",
    "({0} div {1})",
    "CAST({0} AS DECIMAL(20, 0))",
    "to_json(named_struct({1}))",
    "sha2({0}, 256)",
)


class SparkFrame(Frame):
    """A data frame of Spark, computed by its session.

    `form`: of its one column of lines, if it is a text file; `spans`: columns of Parquet files on
    this machine that hold durations.
    """

    def __init__(
        self,
        native: Any,
        path: str | None = None,
        form: Layout | None = None,
        spans: set[str] | None = None,
    ) -> None:
        super().__init__(native, path)
        self._form, self._spans = form, spans or set()
        self.lines = form is not None

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns, or their places."""
        return list(self.native.columns) if self._form is None else self._form.columns

    def check(self, names: Sequence[Any]) -> None:
        """As elsewhere; durations in Parquet files are integers for Spark."""
        super().check(names)
        refuse_unread(self.path, names, self._spans)

    def _chosen(self, names: Sequence[str]) -> Any:
        if self._form is not None:
            return self.native.selectExpr(*_LINES)
        return self.native.select(*(self.native[_quoted(name)] for name in names))

    def by_user(self, reading: Reading, rule: UserRule) -> SparkFrame:
        """Windows over each user's records."""
        text = rule.statement("{rows}", reading.names, SPARK)
        kind = "long" if reading.kind is np.int64 else "double"
        kinds = ", ".join([*(f"{name} {kind}" for name in reading.names[:-1]), "_user string"])
        read = self._chosen(reading.columns).mapInArrow(rows(reading, self._form), kinds)
        return SparkFrame(self.native.sparkSession.sql(text, rows=read))

    def grouped(self, encode: RowEncoder, key: Answer) -> tuple[Groups, Seal]:
        """Each partition gives its keys and counts; Spark groups by key and adds up."""
        from pyspark.sql import functions as F

        work = GroupWork(encode, key)
        pairs = self._chosen(work.names).mapInArrow(
            groups_in_partition(work, self._form), "kind long, at long, records long"
        )
        sums = pairs.groupBy("kind", "at").agg(F.sum("records").alias("records")).toArrow()
        kind, at, n = (sums[name].to_numpy() for name in ("kind", "at", "records"))
        if (kind == 2).any():
            raised(Trouble(int(at[kind == 2].max())))
        n_rows, low, high = (int(n[(kind == 1) & (at == j)].max(initial=0)) for j in range(3))
        groups = np.stack([at[kind == 0], n[kind == 0]], axis=1).astype(np.int64)
        return grouped_parts([groups]), Seal(n_rows, low + (high << 32))

    def add(self, work: Work) -> Sum:
        """Each partition gives its vector as keys and numbers; Spark groups by key and adds up; the
        sums come here. Integers go in pieces of 32 bits, which Spark, whose partitions have numbers
        of 32 bits, cannot add up to more than 64.
        """
        from pyspark.sql import functions as F

        start = work.start()
        kind = "long" if isinstance(start, Sums) else "double"
        pairs = self._chosen(work.names).mapInArrow(
            in_partition(work, self._form), f"at long, value {kind}"
        )
        sums = pairs.groupBy("at").agg(F.sum("value").alias("value")).toArrow()
        places = sums["at"].to_numpy()
        values = sums["value"].to_numpy()
        if (places < 0).any():
            return Trouble(-int(places.min()))
        total = np.zeros(len(start) * (PIECES if kind == "long" else 1), values.dtype)
        total[places] = values
        return Sums.of_pieces(total.reshape(PIECES, -1)) if kind == "long" else total


def groups_in_partition(
    work: GroupWork, form: Layout | None
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A worker's batches: groups of blocks (kind 0), seals (kind 1), trouble (kind 2)."""

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for block in gathered(batches, len(work.names), form):
            found = work(block)
            if isinstance(found, Trouble):
                rows = np.array([[2, int(found), 1]])
            else:
                kinds = np.zeros((len(found) + 2, 1), np.int64)
                kinds[:3] = 1
                (n, digest), groups = found[0], found[1:]
                seal = [[0, n], [1, digest & HALF], [2, digest >> 32]]
                rows = np.hstack([kinds, np.vstack([seal, groups])])
            columns = [pa.array(column, pa.int64()) for column in rows.T]
            yield pa.RecordBatch.from_arrays(columns, names=["kind", "at", "records"])

    return mapped


def gathered(batches: Iterable[Any], width: int, form: Layout | None) -> Iterator[Any]:
    """Batches as blocks of a good size: Arrow tables, or lines."""
    import pyarrow as pa

    held: list[Any] = []
    n_rows = 0
    heads = Heads()
    for batch in batches:
        held.append(batch if form is None or form.names is None else heads.without(batch))
        n_rows += batch.num_rows
        if n_rows * width >= VALUES:
            yield _block(pa.Table.from_batches(held), form)
            held = []
            n_rows = 0
    if held:
        yield _block(pa.Table.from_batches(held), form)


def _block(table: Any, form: Layout | None) -> Any:
    if form is None:
        return table
    return Lines(b"\n".join(table.column(0).to_pylist()), form)


_LINES = (
    "CAST(value AS BINARY) AS value",
    "_metadata.file_path AS file",
    "_metadata.file_block_start AS start",
)
"""A line as its bytes, and from which part of which file Spark read it."""


class Heads:
    """Leaves out the heads of files in a partition's lines."""

    def __init__(self) -> None:
        self._file: str | None = None
        self._inside = False

    def without(self, batch: Any) -> Any:
        """A batch of `_LINES` without those of heads."""
        starts = batch.column(2).to_numpy()
        if starts.all():
            self._file = None
            return batch
        kept = np.ones(len(starts), bool)
        files = batch.column(1).to_pylist()
        for i in range(len(starts)):
            file = files[i] if starts[i] == 0 else None
            if file != self._file:
                self._file, self._inside = file, file is not None
            if self._inside:
                kept[i] = False
                self._inside = not has_names(decoded(batch.column(0)[i].as_py())[0])
        return batch.filter(kept)


def in_partition(work: Work, form: Layout | None) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A worker's batches: blocks' vectors are added up; trouble is a negative key."""

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        total: Sum | None = None
        for block in gathered(batches, len(work.names), form):
            vector = work(block)
            total = vector if total is None else added(total, vector)
        if total is None:
            return
        if isinstance(total, Trouble):
            places, values = np.array([-int(total)]), np.zeros(1, work.kind)
        else:
            whole = total.pieces().ravel() if isinstance(total, Sums) else total
            places = np.flatnonzero(whole)
            values = whole[places]
        kind = pa.float64() if values.dtype.kind == "f" else pa.int64()
        yield pa.RecordBatch.from_arrays(
            [pa.array(places, pa.int64()), pa.array(values, kind)], names=["at", "value"]
        )

    return mapped


def rows(reading: Reading, form: Layout | None) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a worker does before users are bounded: read records and users."""

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        numbers = [(name, pa.from_numpy_dtype(reading.kind)) for name in reading.names[:-1]]
        schema = pa.schema([*numbers, ("_user", pa.string())])
        for block in gathered(batches, len(reading.columns), form):
            yield pa.RecordBatch.from_pydict(reading.rows(block), schema=schema)

    return mapped


class Spark(Engine):
    """Spark's data frames, and files read by the present session or a local one."""

    libraries = ("pyspark",)
    reads = "spark"

    def table(self, table: Any) -> Frame:
        """A frame of it."""
        return SparkFrame(table)

    def file(self, path: str, asked: Sequence[Any]) -> Frame:
        """A frame of text files or of Parquet files."""
        try:
            from pyspark.sql import SparkSession
        except ImportError:
            raise MissingExtraError("the engine spark", "spark") from None
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        parquet = is_parquet(path)
        files = (parquet_files(path) or []) if parquet else []
        frame = None
        start: list[str] = []
        try:
            session = SparkSession.builder.getOrCreate()
            with _untyped_folders(session):
                frame = session.read.parquet(path) if parquet else session.read.text(path)
            if not parquet:  # rows of the start of a file, which Spark reads first
                first = frame.selectExpr(*_LINES).limit(100).collect()
                start = [decoded(row["value"])[0] for row in first]
        except Exception:  # what a reader says may quote a row
            frame = None
        if frame is None:
            why = absent(path, "Parquet" if parquet else "text")
            raise InputError(f"{path}: {why} (by Spark, which needs Java)")
        form = None if parquet else layout(start, path, asked)
        if form is not None:
            same_heads(of_text(path), path, form, asked)
        return SparkFrame(frame, path, form, unread_in(files))


@contextmanager
def _untyped_folders(session: Any) -> Iterator[None]:
    """Folders named ``column=value`` are columns of text, so ``007`` and ``7`` stay apart."""
    name = "spark.sql.sources.partitionColumnTypeInference.enabled"
    before = session.conf.get(name)
    session.conf.set(name, "false")
    try:
        yield
    finally:
        session.conf.set(name, before)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


ENGINE = Spark()
