"""What an engine is: one file, which ends in ``ENGINE = …``, and a name in ``opening.py``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metricdp.records.engines.frames import Frame


class Engine(ABC):
    """What counts private rows of some `libraries`' tables, and files if it `reads` paths. A
    subclass needs a `Frame`; `metricdp.testing.engines` has its tests.
    """

    libraries: tuple[str, ...] = ()
    reads: str | None = None

    def takes(self, table: Any) -> bool:
        """Whether it counts this table: asked without importing any library."""
        return type(table).__module__.partition(".")[0] in self.libraries

    @abstractmethod
    def table(self, table: Any) -> Frame:
        """A frame of a table that it takes."""

    def file(self, path: str, asked: Sequence[Any]) -> Frame:
        """A frame of a path: a file, a folder or a glob, of text or Parquet."""
        raise NotImplementedError


READERS = ("embedded", "dask", "spark")
"""Who can be asked to read a path, the default first."""
