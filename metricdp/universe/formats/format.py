"""What a graph format is: how its files are known, read, and which options they have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metricdp.arrays import Floats
from metricdp.universe.edges import EdgeData
from metricdp.universe.graph import CoordinateSystem
from metricdp.universe.text import bare_name, decode

Nodes = tuple[list[Any], Floats, CoordinateSystem]
"""Ids, points of shape (n_nodes, 2), and what these are."""


@dataclass(frozen=True)
class File:
    """A file's content, unzipped."""

    path: Path
    data: bytes

    @property
    def name(self) -> str:
        """Lower case, without ``.gz``."""
        return bare_name(self.path)

    @property
    def head(self) -> bytes:
        """Its beginning, without a mark of the encoding and blanks."""
        return self.data[:2000].lstrip(b"\xef\xbb\xbf \t\r\n")

    @property
    def text(self) -> str:
        """Raise GraphFileError where it is no text."""
        return decode(self.data, self.path)


@dataclass(frozen=True)
class Columns:
    """Which columns (or attributes) of a file mean what; None: the usual names. Of a
    geographic file its layer too, the system of one that declares none, and whether edges meet
    where columns say ("ids") or where lines end ("geometry").
    """

    weight: str | None = None
    source: str | None = None
    target: str | None = None
    layer: str | None = None
    crs: str | None = None
    topology: str = "ids"


def _never(file: File) -> bool:
    return False


@dataclass(frozen=True)
class Format:
    """A graph format. A new one is a file in this folder with a `FORMAT`, and its name in
    `metricdp.universe.formats.FORMATS`.

    Attributes
    ----------
    endings : tuple of str
        Endings of names, in lower case, that mean it; ``.gz`` does not count.
    read : callable
        From a file and the columns to edges; raises GraphFileError.
    options : frozenset of str
        Which of "weight", "source" and "target" its files have columns for. ("unit" can be the
        weight of all.)
    certain : callable
        Whether a file's content tells for certain, whatever the ending; asked first.
    fits : callable
        Whether the content fits, asked where the ending does not tell.
    where_it_fits : tuple of str
        Endings of other formats under which `fits` decides; "" stands for unknown ones.
    nodes_beside : tuple of (str, str)
        Ending of a graph's name, and that of the coordinates' which may lie beside it.
    nodes_endings : tuple of str
        Endings of files of coordinates.
    nodes : callable
        Reads these: the nodes, or a file that can be read as a table.

    Examples
    --------
    >>> from metricdp.universe.formats import formats
    >>> formats()["metis"].endings
    ('.graph', '.metis')
    """

    endings: tuple[str, ...]
    read: Callable[[File, Columns], EdgeData]
    options: frozenset[str] = frozenset()
    certain: Callable[[File], bool] = _never
    fits: Callable[[File], bool] = _never
    where_it_fits: tuple[str, ...] = ()
    nodes_beside: tuple[tuple[str, str], ...] = ()
    nodes_endings: tuple[str, ...] = ()
    nodes: Callable[[File], Nodes | File] = field(default=lambda file: file)
