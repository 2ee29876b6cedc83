"""Demand in Dask: blocks are mapped where they are, and vectors added in a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from metricdp.errors import InputError, MissingExtraError
from metricdp.records.engines.absent import absent
from metricdp.records.engines.by_user import UserRule
from metricdp.records.engines.embedded import is_parquet, of_text, same_heads
from metricdp.records.engines.folders import parquet_files, refuse_unread, unread_in
from metricdp.records.engines.frames import Frame, Seal
from metricdp.records.engines.registry import Engine
from metricdp.records.engines.sources import Answer, Groups, grouped_parts
from metricdp.records.engines.work import GroupWork, Sum, Work, added, checked, joined
from metricdp.records.exact import Sums
from metricdp.records.ingestion.encoders import VALUES, Reading, RowEncoder
from metricdp.records.ingestion.lines import Layout, Lines, body, decoded, layout

Add = Callable[[Any, Any], Any]
FAN_IN = 8
"""Vectors that one task adds."""


class DaskFrame(Frame):
    """A data frame of Dask, computed by the default client.

    `fine`: columns of Parquet files of which pandas has a part only.
    """

    def __init__(self, native: Any, path: str | None = None, fine: set[str] | None = None) -> None:
        super().__init__(native, path)
        self._fine = fine or set()

    def check(self, names: Sequence[Any]) -> None:
        """As elsewhere; times of day in nanoseconds, which Python's have not, are refused."""
        super().check(names)
        refuse_unread(self.path, names, self._fine)

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.native.columns)

    def blocks(self, names: Sequence[str]) -> list[Any]:
        """Delayed ones of some columns."""
        found: list[Any] = self.native[list(names)].to_delayed()
        return found

    def add(self, work: Work) -> Sum:
        """One task a block."""
        found: Sum = tree(work, self.blocks(work.names))
        return found

    def grouped(self, encode: RowEncoder, key: Answer) -> tuple[Groups, Seal]:
        """One task a block, and one for every eight blocks' groups, down to one."""
        none = np.zeros((1, 2), np.int64)
        groups = tree(GroupWork(encode, key), self.blocks(encode.names), joined)
        whole = checked(joined(none, groups))
        return grouped_parts([whole[1:]]), Seal(*whole[0].tolist())

    def by_user(self, reading: Reading, rule: UserRule) -> DaskFrame:
        """Records are shuffled by user, so that a block holds all of each of its users."""
        import dask.dataframe as dd
        from dask import delayed

        like = meta(reading)
        read = [delayed(rows, pure=False)(one, reading) for one in self.blocks(reading.columns)]
        shuffled = dd.from_delayed(read, meta=like, verify_meta=False).shuffle(on="_user")
        like = like.assign(**{name: np.empty(0, np.int64) for name in rule.extra})
        return DaskFrame(shuffled.map_partitions(rule.rows, reading.names, meta=like))


class DaskLines(DaskFrame):
    """Text files, as blocks of lines that workers read.

    `native`: of each file.
    """

    lines = True

    def __init__(self, native: list[Any], path: str, form: Layout) -> None:
        super().__init__(native, path)
        self._form = form

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns, or their places."""
        return self._form.columns

    def blocks(self, names: Sequence[str]) -> list[Any]:
        """Of whole lines."""
        from dask import delayed

        return [
            delayed(lines_of, pure=False)(block, self._form, at == 0)
            for blocks in self.native
            for at, block in enumerate(blocks)
        ]


def lines_of(block: bytes, form: Layout, first: bool) -> Lines:
    """A block as lines; the first of a file without its head."""
    return Lines((body(block) or b"") if first and form.names is not None else block, form)


def rows(block: Any, reading: Reading) -> Any:
    """A block's records beside their users."""
    import pandas as pd

    read = reading.rows(block)
    users = pd.array(read.pop("_user"), dtype="string[pyarrow]")
    return pd.DataFrame({**read, "_user": users})


def meta(reading: Reading) -> Any:
    """What such a block looks like."""
    import pandas as pd

    numbers: dict[str, Any] = {name: np.empty(0, reading.kind) for name in reading.names[:-1]}
    return pd.DataFrame({**numbers, "_user": pd.array([], dtype="string[pyarrow]")})


def tree(work: Work | GroupWork, blocks: list[Any], add: Add = added) -> Any:
    """One task a block, then one for every eight vectors, down to one vector."""
    from dask import delayed

    shared = delayed(work, pure=False)
    vectors = [delayed(in_blocks, pure=False)(shared, block, add) for block in blocks]
    while len(vectors) > 1:
        vectors = [
            delayed(all_added, pure=False)(vectors[i : i + FAN_IN], add)
            for i in range(0, len(vectors), FAN_IN)
        ]
    return unpacked(vectors[0].compute()) if vectors else work(np.empty((0, len(work.names))))


def packed(vector: Any) -> Any:
    """Sums as length, places and values other than 0, if that is shorter."""
    if not isinstance(vector, Sums):
        return vector
    places = vector.places()
    return vector if len(places) * 2 > len(vector) else (len(vector), places, vector[places])


def unpacked(vector: Any) -> Any:
    """The vector again."""
    if not isinstance(vector, tuple):
        return vector
    n, places, values = vector
    return values.spread(places, n)


def in_blocks(work: Work | GroupWork, block: Any, add: Add) -> Any:
    """Sum over pieces of a partition, which may be large."""
    if isinstance(block, Lines):
        return packed(work(block))
    step = max(1, VALUES // max(len(work.names), 1))
    total = work(block.iloc[:step])
    for start in range(step, len(block), step):
        total = add(total, work(block.iloc[start : start + step]))
    return packed(total)


def all_added(vectors: list[Any], add: Add) -> Any:
    """Sum of a few vectors."""
    total = unpacked(vectors[0])
    for vector in vectors[1:]:
        total = add(total, unpacked(vector))
    return packed(total)


class Dask(Engine):
    """Data frames of Dask, and files read by the default client."""

    libraries = ("dask", "dask_expr")
    reads = "dask"

    def table(self, table: Any) -> Frame:
        """A frame of it."""
        return DaskFrame(table)

    def file(self, path: str, asked: Sequence[Any]) -> Frame:
        """A frame of text files or of Parquet files."""
        try:
            import dask.dataframe as dd
        except ImportError:
            raise MissingExtraError("the engine dask", "dask") from None
        _connected()
        parquet = is_parquet(path)
        files = parquet_files(path) if parquet else None
        found = None
        try:
            # folders named column=value are no columns: types of such are guessed from all names
            plain = {"partitioning": None}
            if not parquet:
                found = _blocks(path)
            elif files != []:
                found = dd.read_parquet(path if files is None else files, dataset=plain)
        except Exception:  # what a reader says may quote a row
            found = None
        if found is None:
            raise InputError(f"{path}: {absent(path, 'Parquet' if parquet else 'text')}")
        if parquet:
            return DaskFrame(found, path, unread_in(files or [], ("duration", "time64[ns]")))
        start, blocks = found
        form = layout(decoded(start), path, asked)
        same_heads(of_text(path), path, form, asked)
        return DaskLines(blocks, path, form)


def _connected() -> None:
    """Make the scheduler of DASK_SCHEDULER_ADDRESS the default; else use threads."""
    import dask

    if dask.config.get("scheduler-address", None):
        from distributed import get_client

        get_client(dask.config.get("scheduler-address"))


def _blocks(path: str) -> tuple[bytes, list[list[Any]]]:
    """The start of the first file, and blocks of whole lines of each."""
    from dask.bytes import read_bytes

    size = None if path.endswith(".gz") else "64 MiB"
    start, blocks = read_bytes(
        path, delimiter=b"\n", blocksize=size, compression="infer", sample="1 MiB"
    )
    return start, blocks


ENGINE = Dask()
