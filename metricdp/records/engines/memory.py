"""Tables that are in this process already, and small files: read at once, and kept as records."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.protocols import Space
from metricdp.records.engines.by_user import UserRule
from metricdp.records.engines.frames import Frame
from metricdp.records.engines.local import LocalFrame
from metricdp.records.engines.registry import Engine
from metricdp.records.engines.sources import Source, Tally
from metricdp.records.engines.work import Sum, Work
from metricdp.records.ingestion.encoders import Reading, RowEncoder


class TableInMemory(LocalFrame):
    """A table in memory: one block."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        names = getattr(self.native, "column_names", None)
        return list(self.native.columns if names is None else names)

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """The table."""
        yield self.native


class AtOnce(Frame):
    """A table of this machine that is read once, when the demand is made."""

    def __init__(self, frame: LocalFrame) -> None:
        super().__init__(None, frame.path)
        self._frame, self.lines = frame, frame.lines
        self.geometry, self.crs = frame.geometry, frame.crs

    @property
    def columns(self) -> Sequence[Any]:
        """Names of the columns."""
        return self._frame.columns

    def check(self, names: Sequence[Any]) -> None:
        """As where it is."""
        self._frame.check(names)

    def records(
        self,
        universe: Space,
        encode: RowEncoder,
        user: str | None,
        rule: UserRule | None = None,
    ) -> Source | NDArray[Any]:
        """The records, counted in a finite universe; of each user what the rule keeps."""
        parts = [encode.empty()]
        users = []
        read = None if user is None else Reading(encode, user)
        with closing(
            self._frame.batches(encode.names if read is None else read.columns)
        ) as batches:
            for batch in batches:
                if read is None:
                    parts.append(encode(batch))
                else:
                    found, whose = read(batch)
                    parts.append(found)
                    users += whose
        records = np.concatenate(parts)
        if rule is not None:
            held = rule.held(users, records)
            if isinstance(held, Source):
                return held
            records = encode.stepped(held)
        if records.ndim == 1:
            return Tally(*np.unique(records, return_counts=True))
        return records

    def add(self, work: Work) -> Sum:
        """As where it is."""
        return self._frame.add(work)

    def by_user(self, reading: Reading, rule: UserRule) -> Frame:
        """As where it is."""
        return self._frame.by_user(reading, rule)


class Memory(Engine):
    """Whatever library's tables narwhals knows, if they are in memory."""

    def takes(self, table: Any) -> bool:
        """Whether it is one."""
        return self._known(table) is not None

    def table(self, table: Any) -> Frame:
        """A frame of it."""
        return AtOnce(TableInMemory(self._known(table)))

    @staticmethod
    def _known(table: Any) -> Any:
        import narwhals as nw

        try:
            return nw.to_native(nw.from_native(table, eager_only=True))
        except TypeError:
            return None


ENGINE = Memory()
