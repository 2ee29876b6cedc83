"""From what a user has, a path or some library's table, to a `Frame`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from metricdp.arguments import chosen, shown
from metricdp.errors import InputError
from metricdp.records.engines.frames import ENGINES, Frame, InMemory

AT_ONCE = 1 << 26
"""Bytes of a file that is read at once; larger ones are streamed."""
_TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")


def opened(source: Any, engine: str = "embedded") -> Frame:
    """A frame of a path, a glob, an array in a file, or a table of some library.

    Parameters
    ----------
    source : path or table
        CSV, TSV, Parquet (one file, a folder, or a glob), ``.npy``; pandas, Polars (also lazy),
        PyArrow table or dataset, DuckDB relation, Dask or PySpark data frame, `numpy.memmap`.
    engine : {"embedded", "dask", "spark"}
        Who reads a path. Tables are counted where they are.

    Raises
    ------
    InputError
        None of these.
    MissingExtraError
        The engine is not installed.
    """
    chosen(engine, ENGINES, "engine")
    if isinstance(source, str | os.PathLike):
        return _file(os.fspath(source), engine)
    library = type(source).__module__.partition(".")[0]
    kind = type(source).__name__
    if library == "numpy" and kind == "memmap":
        from metricdp.records.engines.embedded import ArrayFile

        return ArrayFile(source)
    if library in ("duckdb", "_duckdb") or (library == "pyarrow" and hasattr(source, "scanner")):
        from metricdp.records.engines.embedded import DuckFrame, relation_of

        return DuckFrame(source if library != "pyarrow" else relation_of(source))
    if library == "polars" and kind == "LazyFrame":
        from metricdp.records.engines.embedded import PolarsFrame

        return PolarsFrame(source)
    if library in ("dask", "dask_expr"):
        from metricdp.records.engines.dask_frames import DaskFrame

        return DaskFrame(source)
    if library == "pyspark":
        from metricdp.records.engines.spark_frames import SparkFrame

        return SparkFrame(source)
    import narwhals as nw

    try:
        return InMemory(nw.from_native(source, eager_only=True))
    except TypeError:
        pass
    wanted = "a path or a pandas, Polars, PyArrow, DuckDB, Dask or PySpark table"
    raise InputError(f"expected {wanted}, got {type(source).__name__}")


def _file(path: str, engine: str) -> Frame:
    """A frame of a file: small ones at once, large ones by the engine."""
    if "\0" in path:
        raise InputError(f"a path cannot hold {shown(path)}")
    text = path.lower().endswith(_TEXT)
    if path.lower().endswith(".npy"):
        from metricdp.records.engines.embedded import ArrayFile, array_in

        if engine != "embedded":
            raise InputError(f"{path}: arrays are read by the embedded engine")
        return ArrayFile(array_in(path))
    if engine == "dask":
        from metricdp.records.engines.dask_frames import DaskFrame, read

        return DaskFrame(read(path, text), path, text)
    if engine == "spark":
        from metricdp.records.engines.spark_frames import SparkFrame, read_spark

        return SparkFrame(read_spark(path, text), path, text)
    if not _large(path):
        from metricdp.universe.tables import read_table

        return InMemory(read_table(Path(path), private=True), path)
    from metricdp.records.engines.embedded import DuckFrame, relation_in

    return DuckFrame(relation_in(path, text), path, text)


def _large(path: str) -> bool:
    """Whether it is several files, or a large one. If there is none, the reader of small ones says
    so.
    """
    if "://" in path:
        return True
    try:
        if any(mark in path for mark in "*?[") and not Path(path).exists():
            return True
        return (
            any(Path(path).glob("*.parquet"))
            if Path(path).is_dir()
            else Path(path).stat().st_size > AT_ONCE
        )
    except OSError:
        return False
