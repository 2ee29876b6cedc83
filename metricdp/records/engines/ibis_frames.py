"""Tables of Ibis: an expression is computed by its own backend, and streamed here in batches."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from metricdp.records.engines.duck import Relation
from metricdp.records.engines.frames import Frame
from metricdp.records.engines.local import LocalFrame
from metricdp.records.engines.registry import Engine
from metricdp.records.ingestion.encoders import VALUES


class IbisFrame(LocalFrame):
    """A table expression of Ibis."""

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns."""
        return list(self.native.columns)

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


class Ibis(Engine):
    """Tables of Ibis, on whatever backend."""

    libraries = ("ibis",)

    def table(self, table: Any) -> Frame:
        """A frame of it."""
        return IbisFrame(table)


ENGINE = Ibis()
