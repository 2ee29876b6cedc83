"""Opens private demand, a path or some library's table, as a `Frame`."""

import os
from collections.abc import Sequence
from typing import Any

from metricdp.arguments import chosen, shown
from metricdp.errors import InputError
from metricdp.records.engines import dask_frames, embedded, spark_frames, tables
from metricdp.records.engines.embedded import check_lasting
from metricdp.records.engines.frames import Frame
from metricdp.records.engines.geographic import geographic_file, is_geographic

ENGINES: tuple[type[Frame], ...] = (
    tables.ArrayFile,
    tables.Places,
    tables.Relation,
    tables.ArrowData,
    tables.PolarsFrame,
    tables.IbisFrame,
    dask_frames.DaskFrame,
    spark_frames.SparkFrame,
    tables.TableInMemory,
)
"""Frame classes in the order in which they are tried. None imports its library to be asked."""
READERS = {"embedded": embedded.file, "dask": dask_frames.file, "spark": spark_frames.file}
"""Engines that read paths, the default first."""


def opened(
    source: Any, engine: str = "embedded", asked: Sequence[Any] = (), layer: str | None = None
) -> Frame:
    """A frame of a path, a glob, an array in a file, or a table of some library."""
    chosen(engine, READERS, "engine")
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        if "\0" in path:
            raise InputError(f"a path cannot hold {shown(path)}")
        check_lasting(path)
        if path.lower().endswith(".npy") and engine != "embedded":
            raise InputError(f"{path}: arrays are read by the embedded engine")
        if is_geographic(path):
            if engine != "embedded":
                raise InputError(f"{path}: geographic files are read by the embedded engine")
            return geographic_file(path, layer)
        if layer is not None:
            raise InputError(f"{path}: has no layers; leave layer= (--demand-layer) out")
        return READERS[engine](path, asked)
    for one in ENGINES:
        if one.takes(source):
            return one.of(source)
    wanted = "a path or a pandas, Polars, PyArrow, DuckDB, Ibis, Dask or PySpark table"
    column = (
        "; a column alone is PrivateDemand(universe, column)" if hasattr(source, "dtype") else ""
    )
    raise InputError(f"expected {wanted}, got {type(source).__name__}{column}")
