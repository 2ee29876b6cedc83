"""Lazy frames of Polars, streamed."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from metricdp.records.engines.frames import Frame
from metricdp.records.engines.local import LocalFrame
from metricdp.records.engines.registry import Engine
from metricdp.records.ingestion.encoders import VALUES


class PolarsFrame(LocalFrame):
    """A lazy frame of Polars."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        found: Sequence[str] = self.native.collect_schema().names()
        return found

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Arrow tables."""
        chosen = self.native.select(list(dict.fromkeys(names)))
        for block in chosen.collect_batches(chunk_size=VALUES // len(names), maintain_order=False):
            yield block.to_arrow()


class Polars(Engine):
    """Lazy frames; those in memory are any library's."""

    libraries = ("polars",)

    def takes(self, table: Any) -> bool:
        """Whether it is a lazy frame."""
        return super().takes(table) and type(table).__name__ == "LazyFrame"

    def table(self, table: Any) -> Frame:
        """A frame of it."""
        return PolarsFrame(table)


ENGINE = Polars()
