"""Tables that this process reads, block by block."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from os import cpu_count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.protocols import Space
from metricdp.records.engines.bounding import UserRule, whole_users
from metricdp.records.engines.frames import Frame, Seal
from metricdp.records.engines.sources import Coins, Source, Tally
from metricdp.records.engines.spilling import connected, duckdb_module
from metricdp.records.engines.weighting import Weighted
from metricdp.records.engines.work import Sum, Work, digest
from metricdp.records.ingestion.encoders import (
    USER,
    VALUES,
    Reading,
    RowEncoder,
    columns_of,
    n_rows,
)


class LocalFrame(Frame):
    """A table that this process reads, block by block.

    `at_once`: whether all records are read once, when the demand is made, and kept: for tables that
    are small or already in memory.
    """

    at_once: bool = False

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Blocks of some columns."""

    def check_users(self) -> None:
        """Rows that are not read at once are sorted by DuckDB."""
        if not self.at_once:
            duckdb_module()

    def records(
        self, universe: Space, encode: RowEncoder, user: str | None, rule: UserRule | None = None
    ) -> Source | NDArray[Any]:
        """As `Frame.records`; if the table is read at once, all records that the rule keeps."""
        if not self.at_once:
            return super().records(universe, encode, user, rule)
        reading = None if user is None else Reading(encode, user)
        parts, users = [encode.empty()], list[str]()
        names = encode.names if reading is None else reading.columns
        with closing(self.batches(names)) as batches:
            for batch in batches:
                if reading is None:
                    parts.append(encode(batch))
                else:
                    records, whose = reading(batch)
                    parts.append(records)
                    users += whose
        records = np.concatenate(parts)
        if rule is not None:
            records = rule.kept(users, records)
            if rule.weighted:
                return weighted(records)
            records = encode.stepped(records)
        return Tally(*np.unique(records, return_counts=True)) if records.ndim == 1 else records

    def add(self, work: Work) -> Sum:
        """Blocks are encoded and answered by a few threads."""
        n_threads = min(4, cpu_count() or 1)
        total = work.start()
        with ThreadPoolExecutor(n_threads) as pool:
            working: set[Future[Any]] = set()
            with closing(self.batches(work.names)) as batches:
                for batch in batches:
                    working.add(pool.submit(work, batch))
                    if len(working) > n_threads:
                        done, working = wait(working, return_when=FIRST_COMPLETED)
                        for future in done:
                            total = work.added(total, future.result())
            for future in working:
                total = work.added(total, future.result())
        return total

    def by_user(self, reading: Reading, rule: UserRule) -> Frame:
        """DuckDB sorts the rows by user, and spills to disk what does not fit into memory."""
        return ByUser(self, reading, rule)

    def subsampled(self, encode: RowEncoder, share: float, seal: Seal) -> NDArray[Any]:
        """A Poisson subsample, an array, drawn once."""
        coins = Coins(share)
        kept = [encode.empty()]
        n, sums = 0, 0
        for batch in self.batches(encode.names):
            rows = columns_of(batch, encode.names)
            first = encode.first(rows)
            n, sums = n + n_rows(rows), sums + digest(first)
            kept.append(coins(encode.stepped(first)))
        seal.compare(Seal(n, sums))
        return np.concatenate(kept)


def weighted(rows: NDArray[Any]) -> Source:
    """A source of records (n, d + 1), weights last: positions if they are integers, else points."""
    return Tally(rows[:, 0], rows[:, 1]) if rows.dtype.kind == "i" else Weighted(rows)


class ByUser(LocalFrame):
    """The rows that a rule keeps of each user; DuckDB sees only records and texts of users."""

    def __init__(self, frame: LocalFrame, reading: Reading, rule: UserRule) -> None:
        super().__init__(frame, reading.encoder(rule.weighted).names)
        self._reading, self._rule = reading, rule

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Columns of kept rows, from blocks that have all rows of their users."""
        with connected() as connection:
            schema = arrow_schema(self._reading)
            connection.from_arrow(schema.empty_table()).create("_rows")
            with closing(self.native.batches(self._reading.columns)) as blocks:
                for block in blocks:
                    read = arrow_table(self._reading.rows(block), schema)
                    connection.from_arrow(read).insert_into("_rows")
            ordered = connection.sql(f"FROM _rows ORDER BY {USER}").to_arrow_reader(VALUES)
            for block in whole_users(ordered):
                yield self._rule.rows(block, self._reading)


def arrow_schema(reading: Reading, weighted: bool = False) -> Any:
    """The Arrow schema of rows that were read, with weights if `weighted`."""
    import pyarrow as pa

    kind = pa.from_numpy_dtype(reading.kind)
    numbers = [(name, kind) for name in reading.encoder(weighted).columns]
    return pa.schema([*numbers, (USER, pa.string())])


def arrow_table(columns: dict[str, Any], schema: Any) -> Any:
    """Columns as an Arrow table."""
    import pyarrow as pa

    return pa.Table.from_pydict(columns, schema=schema)
