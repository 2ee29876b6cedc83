"""Demand in Dask: workers map the blocks that they hold, and a tree of tasks adds the vectors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from metricdp.errors import InputError, MissingExtraError
from metricdp.records.engines.bounding import UserRule
from metricdp.records.engines.embedded import (
    absent,
    is_parquet,
    layout_of,
    parquet_files,
    unread_in,
)
from metricdp.records.engines.frames import Frame, GroupWork, Seal, Sum, Work, checked
from metricdp.records.engines.sources import Answer, Groups, grouped_parts
from metricdp.records.exact import Sums
from metricdp.records.ingestion.encoders import USER, VALUES, Reading, RowEncoder
from metricdp.records.ingestion.lines import Layout, Lines, body, header

FAN_IN = 8
"""Vectors that one task adds."""


class DaskFrame(Frame):
    """A data frame of Dask, computed by the default client."""

    libraries = ("dask", "dask_expr")

    def blocks(self, names: Sequence[str]) -> list[Any]:
        """Delayed blocks of some columns."""
        found: list[Any] = self.native[list(names)].to_delayed()
        return found

    def add(self, work: Work) -> Sum:
        """One task a block, then one for every eight vectors, down to one vector."""
        from dask import delayed

        shared = delayed(work, pure=False)
        vectors = [
            delayed(in_blocks, pure=False)(shared, block) for block in self.blocks(work.names)
        ]
        while len(vectors) > 1:
            vectors = [
                delayed(all_added, pure=False)(shared, vectors[i : i + FAN_IN])
                for i in range(0, len(vectors), FAN_IN)
            ]
        return unpacked(vectors[0].compute()) if vectors else work.start()

    def groups(self, encode: RowEncoder, of: Answer) -> tuple[Groups, Seal]:
        """Counts by key, merged by workers."""
        work = GroupWork(encode, of)
        whole = checked(work.added(work.start(), self.add(work)))
        return grouped_parts([whole[1:]]), Seal(*whole[0].tolist())

    def by_user(self, reading: Reading, rule: UserRule) -> DaskFrame:
        """Records are shuffled by user, so that a block holds all records of its users."""
        import dask.dataframe as dd
        from dask import delayed

        read = [delayed(rows, pure=False)(one, reading) for one in self.blocks(reading.columns)]
        like = framed(reading.named([np.empty(0, reading.kind)] * (len(reading.names) - 1), []))
        shuffled = dd.from_delayed(read, meta=like, verify_meta=False).shuffle(on=USER)
        names = reading.encoder(rule.weighted).names
        like = framed(reading.named([np.empty(0, reading.kind)] * (len(names) - 1), []))
        return DaskFrame(shuffled.map_partitions(kept, reading, rule, meta=like), names)


class DaskLines(DaskFrame):
    """Text files, as blocks of lines that workers read.

    `native`: the delayed blocks of each file.
    """

    def blocks(self, names: Sequence[str]) -> list[Any]:
        """Delayed blocks of whole lines."""
        from dask import delayed

        return [
            delayed(lines_of, pure=False)(block, self.form, at == 0)
            for blocks in self.native
            for at, block in enumerate(blocks or [b""])
        ]


def lines_of(block: bytes, form: Layout, first: bool) -> Lines:
    """A block as lines; the first of a file without its header."""
    return Lines((body(block) or b"") if first and form.names is not None else block, form)


def rows(block: Any, reading: Reading) -> Any:
    """The records of a block, with their users."""
    return framed(reading.rows(block))


def kept(block: Any, reading: Reading, rule: UserRule) -> Any:
    """The rows that a rule keeps of a block that holds all rows of its users."""
    return framed(rule.rows(block, reading))


def framed(columns: dict[str, Any]) -> Any:
    """Columns as a data frame of pandas."""
    import pandas as pd

    return pd.DataFrame({**columns, USER: pd.array(columns[USER], dtype="string[pyarrow]")})


def packed(vector: Sum) -> Any:
    """Sums as length, indices and values of the nonzero ones, if that is shorter."""
    if not isinstance(vector, Sums):
        return vector
    places = vector.places()
    return vector if len(places) * 2 > len(vector) else (len(vector), places, vector[places])


def unpacked(vector: Any) -> Sum:
    """The inverse of `packed`."""
    if not isinstance(vector, tuple):
        return vector
    n, places, values = vector
    return values.spread(places, n)


def in_blocks(work: Work, block: Any) -> Any:
    """The sum over a Dask partition, in blocks, as it may be large."""
    if isinstance(block, Lines):
        return packed(work(block))
    step = max(1, VALUES // max(len(work.names), 1))
    starts = range(0, max(len(block), 1), step)
    return packed(reduce(work.added, (work(block.iloc[at : at + step]) for at in starts)))


def all_added(work: Work, vectors: list[Any]) -> Any:
    """The sum of a few vectors."""
    return packed(reduce(work.added, map(unpacked, vectors)))


def file(path: str, asked: Sequence[Any]) -> Frame:
    """A frame of text files or of Parquet files."""
    try:
        import dask.dataframe as dd
    except ImportError:
        raise MissingExtraError("the engine dask", "dask") from None
    _connected()
    parquet = is_parquet(path)
    files = parquet_files(path) if parquet else None
    found: Any = None
    try:
        # folders named column=value are not columns: their types would be inferred from all names
        plain = {"partitioning": None}
        if not parquet:
            found = _blocks(path)
        elif files != []:
            found = dd.read_parquet(path if files is None else files, dataset=plain)
    except Exception:  # what a reader says may quote a row
        found = None
    if found is None:
        raise InputError(f"{path}: {absent(path, 'Parquet' if parquet else 'text')}")
    if parquet:  # pandas has no nanoseconds in times of day
        refused = unread_in(files or [], ("duration", "time64[ns]"))
        return DaskFrame(found, None, path, refused)
    lines, blocks = found
    return DaskLines(blocks, path=path, form=layout_of(lines, path, asked))


def _connected() -> None:
    """Make the scheduler at DASK_SCHEDULER_ADDRESS the default; without one, threads are used."""
    import dask

    if dask.config.get("scheduler-address", None):
        from distributed import get_client

        get_client(dask.config.get("scheduler-address"))


def _blocks(path: str) -> tuple[list[str], list[list[Any]]]:
    """The header of the first file, and blocks of whole lines of each."""
    from dask.bytes import read_bytes

    size = None if path.endswith(".gz") else "64 MiB"
    start, blocks = read_bytes(
        path, delimiter=b"\n", blocksize=size, compression="infer", sample="1 MiB"
    )
    return header(start), blocks
