"""Conformance tests of graph formats, to inherit."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from metricdp.errors import GraphFileError, InputError
from metricdp.universe.files import read_graph_file
from metricdp.universe.formats import FORMATS, formats
from metricdp.universe.graph import Graph

Edges = dict[tuple[Any, Any], float]
"""Length of each edge, by its ends in the order of the graph's ids."""


class FormatTestCase:
    """Pytest class for a graph format: registration, reading, and refusals.

    Inherit it, and define `name` and `files`.

    Examples
    --------
    >>> class TestMine(FormatTestCase):
    ...     name = "dimacs"
    ...
    ...     def files(self):
    ...         return {"a.gr": (b"p sp 2 2\\na 1 2 4\\na 2 1 4\\n", {(1, 2): 4.0})}
    >>> TestMine().test_files_are_read()
    """

    name: ClassVar[str]
    """Name of the format in `metricdp.universe.FORMATS`."""
    binary: ClassVar[bool] = False
    """Whether the format is binary; such files are not tested as gzip."""

    def files(self) -> dict[str, tuple[bytes, Edges]]:
        """Small files by name, each with its content and edges."""
        raise NotImplementedError("define files: def files(self): return {name: (data, edges)}")

    def test_it_is_registered(self) -> None:
        """The format is registered under its name, with endings."""
        assert self.name in FORMATS
        assert formats()[self.name].endings

    def test_files_are_read(self) -> None:
        """Files are read by ending and by name, also compressed."""
        for file, (data, expected) in self.files().items():
            assert edges(self._read(file, data)) == expected
            assert edges(self._read(file, data, format=self.name)) == expected
            if not self.binary:
                assert edges(self._read(f"{file}.gz", gzip.compress(data))) == expected

    def test_the_file_stays_as_it_is(self) -> None:
        """Reading does not change the file or its folder."""
        for file, (data, _) in self.files().items():
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / file
                path.write_bytes(data)
                read_graph_file(path)
                assert path.read_bytes() == data
                assert [p.name for p in Path(folder).iterdir()] == [file]

    def test_an_empty_file_is_refused(self) -> None:
        """The message contains the file's name."""
        for file in self.files():
            with pytest.raises(InputError, match=file.split(".")[0]):
                self._read(file, b"", format=self.name)

    def test_what_is_cut_short_is_refused_or_read(self) -> None:
        """A truncated file is read, or refused as bad input."""
        for file, (data, _) in self.files().items():
            for end in np.unique(np.linspace(1, len(data) - 1, 40).astype(int)).tolist():
                try:
                    self._read(file, data[:end], format=self.name)
                except GraphFileError as error:
                    assert file.split(".")[0] in str(error)
                except InputError:  # a graph that is directed or disconnected now
                    continue

    def _read(self, file: str, data: bytes, **options: Any) -> Graph:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            path.write_bytes(data)
            return read_graph_file(path, largest_component=True, **options)


def edges(graph: Graph) -> Edges:
    """A graph's edges, for comparison."""
    rows = np.repeat(np.arange(len(graph)), np.diff(graph.indptr))
    arcs = zip(rows.tolist(), graph.indices.tolist(), graph.lengths.tolist())
    return {(graph.ids[i], graph.ids[j]): w for i, j, w in arcs if i < j}
