"""Entry points of rows: files and tables of each kind that `from_frame` reads."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

import metricdp as mdp

LOADERS = {
    **dict.fromkeys(("pandas", "CSV", "TSV", "Parquet", "Parquet, several", "Arrow"), 12),
    **dict.fromkeys(("Polars", "Polars, lazy", "DuckDB", "Ibis", "Dask", "GeoPandas"), 12),
    **dict.fromkeys(("GeoPackage", "GeoJSON", "GeoParquet", "FlatGeobuf", "Shapefile"), 12),
    "Spark": 2,
}
"""Most neighbors of each demand that are tried, by loader: a job of Spark takes seconds."""
POINTS = ("pandas, points", "CSV, points", "Polars, points", "DuckDB, points")
ENDINGS = {"GeoPackage": "gpkg", "GeoJSON": "geojson", "FlatGeobuf": "fgb", "Shapefile": "shp"}


def loaded(loader: str, m: int | None, universe: Any, rows: list[Any], users: list[str]) -> Any:
    """A demand read through a loader, with users if `m`, their bound, is not None."""
    import pandas as pd

    columns = {"who": pd.Series(users, dtype="str")}
    named: dict[str, Any] = {} if m is None else {"user": "who", "max_contributions": m}
    if loader in POINTS:
        points = np.array(rows, float).reshape(-1, 2)
        columns |= {name: pd.Series(points[:, i]) for i, name in enumerate("xy")}
        named |= {"x": "x", "y": "y"}
    else:
        columns["vertex"] = pd.Series(rows, dtype="int64")
        named["node"] = "vertex"
    with tempfile.TemporaryDirectory() as folder:
        table = tabled(loader.removesuffix(", points"), columns, Path(folder))
        return mdp.PrivateDemand.from_frame(universe, table, **named)


def tabled(loader: str, columns: dict[str, Any], folder: Path) -> Any:
    """The path of a file of this kind with the rows, or a table of a library."""
    path = folder / f"rows.{ENDINGS.get(loader, loader.lower())}"
    if loader in ("CSV", "TSV"):
        _written(path, columns, "," if loader == "CSV" else "\t")
        return path
    import pandas as pd

    frame = pd.DataFrame(columns)
    if loader == "Parquet":
        frame.to_parquet(path)
    elif loader == "Parquet, several":
        frame[::2].to_parquet(folder / "1.parquet")
        frame[1::2].to_parquet(folder / "2.parquet")
        return f"{folder}/*.parquet"
    elif loader == "GeoParquet":
        path = folder / "places.parquet"
        _geographic(frame).to_parquet(path)
    elif loader in ENDINGS:
        order = {"SPATIAL_INDEX": "NO"} if loader == "FlatGeobuf" else {}  # else GDAL sorts rows
        _geographic(frame).to_file(path, **order)
    else:
        return _table(loader, frame)
    return path


def _written(path: Path, columns: dict[str, Any], delimiter: str) -> None:
    def quoted(cell: Any) -> str:
        text = str(cell)
        return '"' + text.replace('"', '""') + '"' if delimiter in text or '"' in text else text

    rows = [columns, *zip(*columns.values())]
    text = "".join(delimiter.join(map(quoted, row)) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def _geographic(frame: Any) -> Any:
    import geopandas

    points = geopandas.points_from_xy([0.0] * len(frame), [0.0] * len(frame))
    return geopandas.GeoDataFrame(frame, geometry=points, crs=4326)


def _table(loader: str, frame: Any) -> Any:
    """A table of a library with the rows."""
    table = nw.from_native(frame)
    if loader.startswith("Polars"):
        return table.to_polars().lazy() if "lazy" in loader else table.to_polars()
    if loader == "Arrow":
        return table.to_arrow()
    if loader in ("DuckDB", "Ibis"):
        return table.lazy(loader.lower()).to_native()
    if loader == "Dask":
        from dask import dataframe

        return dataframe.from_pandas(frame, npartitions=2)
    if loader == "Spark":
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        session = SparkSession.builder.master("local[1]")
        session = session.config("spark.ui.showConsoleProgress", "false").getOrCreate()
        return session.createDataFrame(frame, schema="who string, vertex long")
    if loader == "pandas, objects":
        return frame.astype(object)
    return _geographic(frame) if loader == "GeoPandas" else frame
