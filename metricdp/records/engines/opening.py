"""From what a user has, a path or some library's table, to a `Frame`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from metricdp.arguments import chosen, shown
from metricdp.errors import InputError
from metricdp.records.engines.frames import Frame
from metricdp.records.engines.registry import READERS, engines


def opened(source: Any, engine: str = "embedded", asked: Sequence[Any] = ()) -> Frame:
    """A frame of a path, a glob, an array in a file, or a table of some library.

    Parameters
    ----------
    source : path or table
        CSV, TSV, Parquet (one file, a folder, or a glob), ``.npy``; pandas, Polars (also lazy),
        PyArrow table or dataset, DuckDB relation, Ibis table, Dask or PySpark data frame,
        `numpy.memmap`.
    engine : {"embedded", "dask", "spark"}
        Who reads a path. Tables are counted where they are.
    asked : sequence of str
        The columns that will be read.

    Raises
    ------
    InputError
        None of these.
    MissingExtraError
        The engine is not installed.
    """
    chosen(engine, READERS, "engine")
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if "\0" in path:
            raise InputError(f"a path cannot hold {shown(path)}")
        if path.lower().endswith(".npy") and engine != READERS[0]:
            raise InputError(f"{path}: arrays are read by the embedded engine")
        return next(e for e in engines() if e.reads == engine).file(path, asked)
    for one in engines():
        if one.takes(source):
            return one.table(source)
    wanted = "a path or a pandas, Polars, PyArrow, DuckDB, Ibis, Dask or PySpark table"
    raise InputError(f"expected {wanted}, got {type(source).__name__}")
