"""Graph files of every supported format, gzipped or not, as validated `Graph` objects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from metricdp.arguments import file_path, shown
from metricdp.errors import GraphFileError, InputError
from metricdp.universe.edges import UNIT, EdgeData
from metricdp.universe.formats.dimacs import read_dimacs
from metricdp.universe.formats.edgelist import read_edgelist
from metricdp.universe.formats.graphml import read_graphml
from metricdp.universe.formats.metis import read_metis
from metricdp.universe.formats.pmed import looks_like_pmed, read_pmed
from metricdp.universe.formats.tntp import read_tntp
from metricdp.universe.graph import Graph
from metricdp.universe.nodes import read_nodes
from metricdp.universe.text import bare_name, decode, naming, read_bytes

FORMATS: dict[str, tuple[str, ...]] = {
    "pmed": (".pmed",),
    "dimacs": (".gr",),
    "metis": (".graph", ".metis"),
    "graphml": (".graphml", ".xml"),
    "edgelist": (
        ".csv",
        ".tsv",
        ".txt",
        ".edges",
        ".edgelist",
        ".el",
        ".dat",
        ".mtx",
        ".parquet",
        ".pq",
    ),
    "tntp": (".tntp",),
}
"""Formats and the endings that mean them; a final ``.gz`` does not count, ``.txt`` may also be pmed
by its content.
"""

_NAMELESS = ("pmed", "dimacs", "metis")


def read_graph_file(
    path: str | Path,
    *,
    format: str | None = None,
    weight: str | None = None,
    nodes: str | Path | None = None,
    source: str | None = None,
    target: str | None = None,
    symmetrize: bool = False,
    largest_component: bool = False,
) -> Graph:
    """Read a graph file.

    Parameters
    ----------
    path : path-like
        The file, gzipped or not.
    format : {"pmed", "dimacs", "metis", "graphml", "edgelist", "tntp"} or None
        None tells by ending and content.
    weight : str or None
        Column or attribute that holds edge lengths; None finds the usual names; ``"unit"`` makes
        every edge 1 long.
    nodes : path-like or None
        File with vertex ids and coordinates, see `read_nodes`. None uses a DIMACS ``.co`` or TNTP
        ``_node.tntp`` file that lies beside. Coordinates are all that is taken from it: its ids
        without an edge are not part of the universe, and vertices that it does not list have NaN
        coordinates.
    source, target : str or None
        Endpoint columns of an edge list.
    symmetrize : bool
        Use the shorter direction both ways where the graph is directed and not symmetric.
    largest_component : bool
        Keep the largest connected component.

    Returns
    -------
    Graph
        Its name is the file's name.

    Raises
    ------
    GraphFileError
        The file cannot be read as the format it is taken for; the message has the line where that
        is known.
    InputError
        An unknown format or ending, an option that the format does not have, lengths that break a
        rule.
    DirectedGraphError, DisconnectedGraphError
        See `symmetrize` and `largest_component`.
    MissingExtraError
        Parquet without pyarrow.

    Notes
    -----
    OR-Library files count the last of repeated edges, all others the shortest. O(size of the file +
    m log m).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "roads.csv"
    >>> _ = file.write_text("from,to,length_m\\na,b,120\\nb,c,80\\n")
    >>> read_graph_file(file)
    Graph('roads.csv', 3 vertices, 2 edges)
    """
    path = file_path(path, "path")
    if format is not None and (not isinstance(format, str) or format not in FORMATS):
        raise InputError(f"unknown graph format {shown(format)}; formats: {', '.join(FORMATS)}")
    for option, column in (("weight", weight), ("source", source), ("target", target)):
        if column is not None and not isinstance(column, str):
            raise InputError(f"{option} must be the name of a column, got {shown(column)}")
    data = read_bytes(path)
    kind = format or _detect(path, data)
    if kind in _NAMELESS and weight not in (None, UNIT):
        reason = f"the format {kind} has no named columns, so weight={weight!r} means nothing"
        raise InputError(f"{path}: {reason}; leave it out, or weight='unit'")
    if kind != "edgelist" and (source is not None or target is not None):
        raise InputError(
            f"{path}: source and target name columns of an edge list; the format here is {kind}"
        )
    with naming(path):
        edges = _parse(kind, path, data, weight, source, target)
    beside = file_path(nodes, "nodes") if nodes is not None else _beside(kind, path)
    if beside is not None:
        edges = edges.with_coordinates(*read_nodes(beside), source=beside)
    with naming(path):
        return replace(edges, name=path.name).build(
            symmetrize=symmetrize, largest_component=largest_component
        )


def _parse(
    kind: str, path: Path, data: bytes, weight: str | None, source: str | None, target: str | None
) -> EdgeData:
    if kind == "edgelist":
        return read_edgelist(path, data, weight, source, target)
    if kind == "graphml":
        return read_graphml(path, data, weight)
    readers = {"pmed": read_pmed, "dimacs": read_dimacs, "metis": read_metis, "tntp": read_tntp}
    return readers[kind](path, decode(data, path), weight)


def _detect(path: Path, data: bytes) -> str:
    """Format by content where that is certain, else by ending."""
    head = data[:2000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if data[:4] == b"PAR1" or head[:14].lower() == b"%%matrixmarket":
        return "edgelist"
    if head.startswith((b"<?xml", b"<graphml")):
        return "graphml"
    if head.startswith(b"<NUMBER OF"):
        return "tntp"
    name = bare_name(path)
    kind = next((f for f, endings in FORMATS.items() if name.endswith(endings)), None)
    if kind is None and b"\np sp " in b"\n" + data[:20_000]:
        return "dimacs"
    if (
        kind == "edgelist"
        and name.endswith((".txt", ".dat"))
        and looks_like_pmed(decode(data, path))
    ):
        return "pmed"
    if kind is None:
        known = ", ".join(FORMATS)
        raise GraphFileError(
            path,
            f"cannot tell the graph format by this ending; name it (format=, --format): {known}",
        )
    return kind


def _beside(kind: str, path: Path) -> Path | None:
    """The coordinates file of the same stem, if there is one."""
    stem = path.name[:-3] if path.name.lower().endswith(".gz") else path.name
    if kind == "dimacs" and stem.lower().endswith(".gr"):
        stem = stem[:-3] + ".co"
    elif kind == "tntp" and stem.lower().endswith("_net.tntp"):
        stem = stem[:-9] + "_node.tntp"
    else:
        return None
    found = (path.with_name(stem + ending) for ending in ("", ".gz"))
    return next((file for file in found if file.is_file()), None)
