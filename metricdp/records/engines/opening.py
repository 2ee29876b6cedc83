"""From what a user has, a path or some library's table, to a `Frame`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from metricdp.arguments import chosen, shown
from metricdp.errors import InputError
from metricdp.records.engines import tables
from metricdp.records.engines.dask_frames import Dask
from metricdp.records.engines.embedded import Embedded
from metricdp.records.engines.frames import READERS, Engine, Frame
from metricdp.records.engines.geographic import geographic_file, is_geographic
from metricdp.records.engines.spark_frames import Spark

ENGINES: tuple[Engine, ...] = (
    tables.Arrays(),
    tables.GeoFrames(),
    tables.DuckDB(),
    tables.Arrow(),
    tables.Polars(),
    tables.Ibis(),
    Dask(),
    Spark(),
    Embedded(),
    tables.Memory(),
)
"""All engines in order. None imports its library before counting."""


def opened(
    source: Any, engine: str = "embedded", asked: Sequence[Any] = (), layer: str | None = None
) -> Frame:
    """A frame of a path, a glob, an array in a file, or a table of some library."""
    chosen(engine, READERS, "engine")
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if "\0" in path:
            raise InputError(f"a path cannot hold {shown(path)}")
        if path.lower().endswith(".npy") and engine != READERS[0]:
            raise InputError(f"{path}: arrays are read by the embedded engine")
        if is_geographic(path):
            if engine != READERS[0]:
                raise InputError(f"{path}: geographic files are read by the embedded engine")
            return geographic_file(path, layer)
        if layer is not None:
            raise InputError(f"{path}: has no layers; leave layer= (--demand-layer) out")
        return next(e for e in ENGINES if e.reads == engine).file(path, asked)
    for one in ENGINES:
        if one.takes(source):
            return one.table(source)
    wanted = "a path or a pandas, Polars, PyArrow, DuckDB, Ibis, Dask or PySpark table"
    column = (
        "; a column alone is PrivateDemand(universe, column)" if hasattr(source, "dtype") else ""
    )
    raise InputError(f"expected {wanted}, got {type(source).__name__}{column}")
