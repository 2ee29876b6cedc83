"""Which engines there are: one file each, which ends in ``ENGINE = …``, and one line below."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metricdp.records.engines.frames import Frame

MODULES = (
    "arrays",
    "geo_frames",
    "duck",
    "polars_frames",
    "ibis_frames",
    "dask_frames",
    "spark_frames",
    "embedded",
    "memory",
)
"""Files of engines, in the order in which they are asked."""


class Engine(ABC):
    """What counts private rows: tables of some libraries, and files perhaps.

    A subclass needs a frame (`metricdp.records.engines.frames.Frame`) and nothing else.
    `metricdp.testing.engines` holds the tests that it must pass.

    Attributes
    ----------
    libraries : tuple of str
        Top modules whose tables it counts.
    reads : str or None
        The name under which a caller asks for it to read paths, if it can.
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
        """A frame of a path: a file, a folder or a glob, of text or Parquet.

        Parameters
        ----------
        path : str
        asked : sequence of str
            The columns that will be read: whether a text file has names is told by them
            (`metricdp.records.ingestion.lines.by_place`).

        Raises
        ------
        InputError
            There is no such file, or none that can be read.
        """
        raise NotImplementedError


def engines() -> Iterator[Engine]:
    """All engines; none imports its library before it is asked to count."""
    for name in MODULES:
        yield import_module(f"metricdp.records.engines.{name}").ENGINE


READERS = ("embedded", "dask", "spark")
"""Who can be asked to read a path, the default first."""
