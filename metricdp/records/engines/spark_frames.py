"""Demand in a Spark data frame, or in files that Spark reads: Python workers map Arrow batches, and
only keys and counts are shuffled. Workers parse text files themselves, line by line, as Spark
would print rows that it cannot parse.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError, need
from metricdp.records.engines.bounding import UserRule, whole_users
from metricdp.records.engines.embedded import (
    absent,
    is_parquet,
    layout_of,
    named_twice,
    parquet_files,
    unread_in,
)
from metricdp.records.engines.frames import (
    Frame,
    GroupWork,
    Seal,
    Sum,
    Work,
    arrow_schema,
    arrow_table,
)
from metricdp.records.engines.sources import Answer, Groups, grouped_parts
from metricdp.records.exact import HALF, PIECES, Sums
from metricdp.records.ingestion.encoders import USER, VALUES, Reading, RowEncoder
from metricdp.records.ingestion.lines import Layout, Lines, decoded, has_names, header
from metricdp.records.trouble import Trouble, raised

VALUE, SEAL, TROUBLE = range(3)
"""Kinds of numbers that a worker returns, each with a key."""


class SparkFrame(Frame):
    """A Spark data frame, computed by its session; with a `form`, of one column of lines."""

    libraries = ("pyspark",)

    def _chosen(self, names: Sequence[str]) -> Any:
        if self.form is not None:
            return self.native.selectExpr(*_LINES)
        return self.native.select(*(self.native[_quoted(name)] for name in names))

    def _summed(self, work: Work, number: str) -> list[NDArray[Any]]:
        """Workers return numbers with kinds and keys; Spark adds them up by these. Returned: arrays
        of kinds, keys and sums.
        """
        from pyspark.sql import functions as F

        pairs = self._chosen(work.names).mapInArrow(
            in_partition(work, self.form, number), f"kind long, at long, value {number}"
        )
        sums = pairs.groupBy("kind", "at").agg(F.sum("value").alias("value")).toArrow()
        found = [sums[name].to_numpy() for name in ("kind", "at", "value")]
        if (bad := found[0] == TROUBLE).any():
            raised(Trouble(int(found[1][bad].max())))
        return found

    def by_user(self, reading: Reading, rule: UserRule) -> SparkFrame:
        """Records are sorted by user, all of each user in one partition."""
        read = self._chosen(reading.columns).mapInArrow(rows(reading, self.form), _types(reading))
        ordered = read.repartition(USER).sortWithinPartitions(USER)
        kinds = _types(reading, rule.weighted)
        return SparkFrame(ordered.mapInArrow(kept(reading, rule), kinds))

    def groups(self, encode: RowEncoder, of: Answer) -> tuple[Groups, Seal]:
        """Counts by key: each Spark partition returns its keys and counts."""
        kind, at, n = self._summed(GroupWork(encode, of), "long")
        n_rows, low, high = (int(n[(kind == SEAL) & (at == j)].max(initial=0)) for j in range(3))
        groups = np.stack([at[kind == VALUE], n[kind == VALUE]], axis=1).astype(np.int64)
        return grouped_parts([groups]), Seal(n_rows, low + (high << 32))

    def add(self, work: Work) -> Sum:
        """Each Spark partition returns its vector, integers in pieces of 32 bits. As there are less
        than 2^32 partitions, sums of the pieces fit 64 bits.
        """
        start = work.start()
        pieces = isinstance(start, Sums)
        _, at, values = self._summed(work, "long" if pieces else "double")
        total = np.zeros(len(start) * (PIECES if pieces else 1), values.dtype)
        total[at] = values
        return Sums.of_pieces(total.reshape(PIECES, -1)) if pieces else total


def in_partition(
    work: Work, form: Layout | None, number: str
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a worker does with its batches: counts by key of each block, or the sum of vectors."""

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        found: Iterable[Sum] = map(work, gathered(batches, len(work.names), form))
        if not isinstance(work, GroupWork):
            some = iter(found)
            found = [reduce(work.added, some, first) for first in islice(some, 1)]
        kinds = (pa.int64(), pa.int64(), pa.float64() if number == "double" else pa.int64())
        for total in found:
            columns = [pa.array(held, kind) for held, kind in zip(pairs(total), kinds)]
            yield pa.RecordBatch.from_arrays(columns, names=["kind", "at", "value"])

    return mapped


def pairs(total: Sum) -> list[NDArray[Any]]:
    """A worker's answer as arrays of kinds, keys and numbers."""
    if isinstance(total, Trouble):
        return [np.array([held]) for held in (TROUBLE, int(total), 1)]
    if isinstance(total, np.ndarray) and total.ndim > 1:
        (n_rows, digest), groups = total[0], total[1:]
        seal = [[SEAL, 0, n_rows], [SEAL, 1, digest & HALF], [SEAL, 2, digest >> 32]]
        kinds = np.full((len(groups), 1), VALUE)
        return [*np.concatenate([np.array(seal), np.hstack([kinds, groups])]).T]
    whole = total.pieces().ravel() if isinstance(total, Sums) else total
    at = np.flatnonzero(whole)
    return [np.full(len(at), VALUE), at, whole[at]]


def gathered(batches: Iterable[Any], width: int, form: Layout | None) -> Iterator[Any]:
    """Batches joined to blocks of about `VALUES` numbers: Arrow tables, or lines."""
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
"""A line's bytes, its file, and the offset of the part of the file that Spark read it from."""


class Heads:
    """Drops the headers of files from a partition's lines."""

    def __init__(self) -> None:
        self._file: str | None = None
        self._inside = False

    def without(self, batch: Any) -> Any:
        """A batch of `_LINES` without lines of headers."""
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


def rows(reading: Reading, form: Layout | None) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a worker does before contributions are bounded: read records and users."""

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
        for block in gathered(batches, len(reading.columns), form):
            yield from arrow_table(reading.rows(block), arrow_schema(reading)).to_batches()

    return mapped


def kept(reading: Reading, rule: UserRule) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """What a worker does with rows sorted by user: apply the rule."""

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
        schema = arrow_schema(reading, rule.weighted)
        for block in whole_users(batches):
            yield from arrow_table(rule.rows(block, reading), schema).to_batches()

    return mapped


def file(path: str, asked: Sequence[Any]) -> Frame:
    """A frame of text files or of Parquet files."""
    need("the engine spark", "spark", "pyspark")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    parquet = is_parquet(path)
    files = (parquet_files(path) or []) if parquet else []
    frame = None
    refused: dict[str, str] = {}
    lines: list[str] = []
    try:
        session = SparkSession.builder.getOrCreate()
        with _untyped_folders(session):
            frame = session.read.parquet(path) if parquet else session.read.text(path)
        if parquet:
            of_files = session.read.option("recursiveFileLookup", "true").parquet(path).columns
            refused = named_twice(of_files, _folders(frame, path))
        else:  # the first rows, which Spark takes from the start of a file
            first = frame.selectExpr(*_LINES).limit(100).collect()
            lines = header(b"\n".join(row["value"] for row in first))
    except Exception:  # what a reader says may quote a row
        frame = None
    if frame is None:
        why = absent(path, "Parquet" if parquet else "text")
        raise InputError(f"{path}: {why} (by Spark, which needs Java)")
    form = None if parquet else layout_of(lines, path, asked)
    return SparkFrame(frame, None, path, {**unread_in(files), **refused}, form)


def _folders(frame: Any, path: str) -> set[str]:
    """Names of columns given by folders ``column=value`` below a path."""
    above = path if "://" in path else str(Path(path).absolute())
    inside = (unquote(file).partition(above)[2] for file in frame.inputFiles())
    parts = (part.partition("=") for one in inside for part in one.split("/")[:-1])
    return {name for name, is_column, _ in parts if is_column}


@contextmanager
def _untyped_folders(session: Any) -> Iterator[None]:
    """Read values of folders ``column=value`` as text, so that ``007`` and ``7`` differ."""
    name = "spark.sql.sources.partitionColumnTypeInference.enabled"
    before = session.conf.get(name)
    session.conf.set(name, "false")
    try:
        yield
    finally:
        session.conf.set(name, before)


def _types(reading: Reading, weighted: bool = False) -> str:
    """The Spark schema of rows that were read, with weights if `weighted`."""
    kind = "long" if reading.kind is np.int64 else "double"
    numbers = [f"{name} {kind}" for name in reading.encoder(weighted).columns]
    return ", ".join([*numbers, f"{USER} string"])


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
