"""Graph files, one format a file: each has a `FORMAT`, loaded when needed."""

from functools import cache
from typing import Any

FORMATS = {
    "pmed": "pmed",
    "dimacs": "DIMACS .gr",
    "metis": "METIS .graph",
    "graphml": "GraphML",
    "geographic": "lines in GeoPackage, GeoJSON, GeoParquet, Shapefile",
    "edgelist": "edges as CSV/TSV/Parquet",
    "tntp": "TNTP",
}
"""All formats and their names in help texts, in the order in which they are tried."""


@cache
def formats() -> dict[str, Any]:
    """Every `Format` by its name."""
    from metricdp.universe.formats import dimacs, edgelist, geographic, graphml, metis, pmed, tntp

    known = (pmed, dimacs, metis, graphml, geographic, edgelist, tntp)
    return {name: module.FORMAT for name, module in zip(FORMATS, known, strict=True)}
