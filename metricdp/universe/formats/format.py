"""`Format`: how files of a graph format are recognized and read, and their options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metricdp.arguments import Floats
from metricdp.universe.edges import EdgeData
from metricdp.universe.graph import CoordinateSystem
from metricdp.universe.text import bare_name, decode

Nodes = tuple[list[Any], Floats, CoordinateSystem]
"""Ids, points (n_nodes, 2), and their coordinate system."""


@dataclass(frozen=True)
class File:
    """A file's decompressed content."""

    path: Path
    data: bytes

    @property
    def name(self) -> str:
        """The file's name in lower case, without ``.gz``."""
        return bare_name(self.path)

    @property
    def head(self) -> bytes:
        """The first bytes, without byte-order mark and leading blanks."""
        return self.data[:2000].lstrip(b"\xef\xbb\xbf \t\r\n")

    @property
    def text(self) -> str:
        """The content as text; GraphFileError if it is not UTF-8."""
        return decode(self.data, self.path)


@dataclass(frozen=True)
class Columns:
    """Columns (or attributes) of a file by meaning; None for the usual names. For a geographic file
    also its layer, the system of one that declares none, and its `topology`: whether edges share
    vertices by columns ("ids") or by end points of lines ("geometry"). `directed`: whether a row is
    an arc where no column says so.
    """

    weight: str | None = None
    source: str | None = None
    target: str | None = None
    layer: str | None = None
    crs: str | None = None
    topology: str = "ids"
    directed: bool = False


@dataclass(frozen=True)
class Format:
    """A graph format. A new one is a file in this folder with a `FORMAT`, and its name in
    `metricdp.universe.formats.FORMATS`.

    Attributes
    ----------
    endings : tuple of str
        Endings of names of its files, in lower case, without ``.gz``.
    read : callable
        From a file and the columns to edges; raises GraphFileError.
    options : frozenset of str
        Those of "weight", "source" and "target" for which its files have columns. (Every format
        takes the weight "unit".)
    certain : callable
        Whether a file's content is unambiguous, whatever the ending; tried first.
    fits : callable
        Whether the content fits, tried where the ending is ambiguous.
    where_it_fits : tuple of str
        Endings of other formats for which `fits` decides; "" for unknown ones.
    nodes_beside : tuple of (str, str)
        Ending of a graph's file, and that of the file of coordinates of the same name.
    nodes_endings : tuple of str
        Endings of files of coordinates.
    nodes : callable
        Reads files of coordinates: the nodes, or a file that can be read as a table.

    Examples
    --------
    >>> from metricdp.universe.formats import formats
    >>> formats()["metis"].endings
    ('.graph', '.metis')
    """

    endings: tuple[str, ...]
    read: Callable[[File, Columns], EdgeData]
    options: frozenset[str] = frozenset()
    certain: Callable[[File], bool] = lambda file: False
    fits: Callable[[File], bool] = lambda file: False
    where_it_fits: tuple[str, ...] = ()
    nodes_beside: tuple[tuple[str, str], ...] = ()
    nodes_endings: tuple[str, ...] = ()
    nodes: Callable[[File], Nodes | File] = lambda file: file
