"""Tables of this machine: blocks come to this process, and DuckDB bounds users."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from os import cpu_count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.records.engines.by_user import Dialect, UserRule
from metricdp.records.engines.frames import Frame, Seal
from metricdp.records.engines.sources import Coins
from metricdp.records.engines.spilling import connected
from metricdp.records.engines.work import Sum, Work, added, digest
from metricdp.records.ingestion.encoders import USER, VALUES, Reading, RowEncoder, n_rows, opened

DUCKDB = Dialect('"', "({0} // {1})", "CAST({0} AS HUGEINT)", "json_array({0})", "sha256({0})")


class LocalFrame(Frame):
    """A table whose blocks come to this process one after another."""

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Blocks of some columns."""

    def add(self, work: Work) -> Sum:
        """Blocks in a few threads, each with its encoded records and answer."""
        n_threads = min(4, cpu_count() or 1)
        total: Sum = work.start()
        with ThreadPoolExecutor(n_threads) as pool:
            working: set[Future[Any]] = set()
            with closing(self.batches(work.names)) as batches:
                for batch in batches:
                    working.add(pool.submit(work, batch))
                    if len(working) > n_threads:
                        done, working = wait(working, return_when=FIRST_COMPLETED)
                        for future in done:
                            total = added(total, future.result())
            for future in working:
                total = added(total, future.result())
        return total

    def by_user(self, reading: Reading, rule: UserRule) -> Frame:
        """By DuckDB, which writes to disk what does not fit into memory."""
        text = rule.statement("_rows", reading.names, DUCKDB)
        return ByUser(self, reading, text, rule.columns(reading))

    def thinned(self, encode: RowEncoder, share: float, seal: Seal) -> NDArray[Any]:
        """An array: drawn once, as large as the sample."""
        coins = Coins(share)
        kept = [encode.empty()]
        n = 0
        sums = 0
        for batch in self.batches(encode.names):
            rows = opened(batch, encode.names)
            first = encode.first(rows)
            n = n + n_rows(rows)
            sums = sums + digest(first)
            kept.append(coins(encode.stepped(first)))
        seal.compare(Seal(n, sums))
        return np.concatenate(kept)


class ByUser(LocalFrame):
    """What a statement makes of each user's rows; DuckDB sees records and user texts only."""

    def __init__(
        self, frame: LocalFrame, reading: Reading, text: str, columns: Sequence[str]
    ) -> None:
        super().__init__(None)
        self._frame = frame
        self._reading = reading
        self._text = text
        self._columns = columns

    @property
    def columns(self) -> Sequence[str]:
        """Numbers of a record, and its user; perhaps its grains."""
        return self._columns

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches of Arrow: a window over each user's rows, out of core."""
        import pyarrow as pa

        kind = pa.from_numpy_dtype(self._reading.kind)
        numbers = [(name, kind) for name in self._reading.names[:-1]]
        schema = pa.schema([*numbers, (USER, pa.string())])
        with connected() as connection:
            connection.from_arrow(schema.empty_table()).create("_rows")
            with closing(self._frame.batches(self._reading.columns)) as blocks:
                for block in blocks:
                    read = pa.Table.from_pydict(self._reading.rows(block), schema=schema)
                    connection.from_arrow(read).insert_into("_rows")
            yield from streamed(connection.sql(self._text), names)


def streamed(relation: Any, names: Sequence[str]) -> Iterator[Any]:
    """Columns of a relation of DuckDB, as record batches of Arrow."""
    import duckdb

    chosen = relation.select(*map(duckdb.ColumnExpression, dict.fromkeys(names)))
    yield from chosen.to_arrow_reader(VALUES // len(names))
