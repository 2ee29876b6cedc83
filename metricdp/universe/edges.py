"""`EdgeData`: the arrays of edges that every reader produces, and steps that readers share."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from metricdp.arguments import Floats, Ints, shown
from metricdp.errors import GraphFileError, InputError
from metricdp.options import check_distinct
from metricdp.universe.bends import Bends, bends_of
from metricdp.universe.graph import CoordinateSystem, Graph, build_graph
from metricdp.universe.text import number

LENGTH_NAMES = ("length", "weight", "length_m", "distance", "cost", "time", "travel_time", "w")
"""Columns and attributes taken for lengths, if the caller names none and only one exists."""

ID_NAMES: tuple[str, ...] = ("node_id", "id", "node", "vertex", "vertex_id", "osmid", "osm_id")
ID_NAMES += ("name", "node_number", "label")
"""Columns taken for ids of vertices, in this order."""
UNIT = "unit"
"""The `weight` that makes every edge of a file 1 long."""


def only_length(path: object, known: Sequence[str]) -> str | None:
    """The only one of the `known` names of lengths; None without any, refused for several."""
    if len(known) > 1:
        several = f"several columns may be lengths: {', '.join(known)}"
        raise GraphFileError(path, f"{several}; name one (weight=, --weight)")
    return known[0] if known else None


@dataclass(frozen=True)
class EdgeData:
    """Edges before validation; see `build_graph` for the meaning of the fields.

    `tails`, `heads` (n_edges,): positions in `ids`; `lengths` (n_edges,), or None for edges of
    length 1; `coordinates` (n_points, 2); `crs`, `measured`: as on `Graph`; `bends`: geometry of
    the edges, in the coordinates' system.
    """

    tails: Ints
    heads: Ints
    lengths: Floats | None
    ids: Sequence[Hashable]
    directed: bool
    parallel: Literal["shortest", "last"] = "shortest"
    coordinates: Floats | None = None
    coordinate_system: CoordinateSystem | None = None
    name: str = "graph"
    crs: str | None = None
    measured: str = ""
    bends: Bends | None = None

    def build(
        self, *, symmetrize: bool = False, largest_component: bool = False, one_way: bool = False
    ) -> Graph:
        """Validate; see `build_graph` for the rules and errors."""
        check_coordinates(self.coordinates, self.coordinate_system)
        how: dict[str, Any] = {"symmetrize": symmetrize, "largest_component": largest_component}
        return build_graph(**vars(self), **how, one_way=one_way)

    def drawn(self, lines: Sequence[Any]) -> EdgeData:
        """Attach the geometry of the edges: lines in the coordinates' system."""
        if self.coordinates is None:
            return self
        starts, ends = self.coordinates[self.tails], self.coordinates[self.heads]
        return replace(self, bends=bends_of(lines, starts, ends))

    def with_coordinates(
        self,
        ids: Sequence[Any],
        points: Floats,
        system: CoordinateSystem,
        source: object = "nodes",
        crs: str | None = None,
    ) -> EdgeData:
        """Attach coordinates by id; vertices without any have NaN."""
        row = {i: r for r, i in enumerate(ids)}
        if len(row) != len(ids):
            check_distinct(ids, f"{source}: node ids must be distinct")
        at = np.array([row.get(i, -1) for i in self.ids], dtype=np.int64)
        if (at < 0).all():
            row = {str(i): r for i, r in row.items()}
            at = np.array([row.get(str(i), -1) for i in self.ids], dtype=np.int64)
        if (at < 0).all():
            raise InputError(f"{source}: none of its node ids is a vertex of the graph")
        xy = np.where((at >= 0)[:, None], points[at], np.nan)
        return replace(self, coordinates=xy, coordinate_system=system, crs=crs, bends=None)


def check_coordinates(points: Floats | None, system: CoordinateSystem | None) -> None:
    """Refuse infinite coordinates and degrees out of range (NaN means none)."""
    if points is None:
        return
    if np.isinf(points).any():
        raise InputError("coordinates must be finite (or NaN where a vertex has none)")
    most = np.nanmax(np.abs(points), axis=0, initial=0.0)
    if system == "lonlat" and (most > (180.0, 90.0)).any():
        raise InputError(
            "longitude must lie in [-180, 180] and latitude in [-90, 90] degrees; planar "
            "coordinates are named x and y"
        )


def index_endpoints(tails: Any, heads: Any) -> tuple[Ints, Ints, list[Any]]:
    """Number the endpoints of edges: (tails, heads, ids)."""
    if isinstance(tails, np.ndarray) and isinstance(heads, np.ndarray):
        ids, at = np.unique(np.stack([tails, heads]), return_inverse=True)
        t_at, h_at = at.astype(np.int64).reshape(2, -1)
        return t_at, h_at, ids.tolist()
    text = isinstance(tails, np.ndarray) or isinstance(heads, np.ndarray)
    if text or {str} & set(map(type, tails)) | {str} & set(map(type, heads)):
        tails, heads = list(map(str, tails)), list(map(str, heads))
    known = dict.fromkeys(end for edge in zip(tails, heads) for end in edge)
    position = {each: at for at, each in enumerate(known)}
    t_at, h_at = (np.array([position[e] for e in ends], np.int64) for ends in (tails, heads))
    return t_at, h_at, list(known)


def float_lengths(values: Sequence[Any], weight: object) -> Floats:
    """Lengths from edge attributes: numbers, or numbers as text, as in many GraphML files."""
    if not values or set(map(type, values)) <= {float, int}:
        try:
            return np.array(values, dtype=np.float64)
        except OverflowError:
            large = "holds an integer too large for a length"
            raise InputError(f"edge attribute {weight!r} {large}") from None
    lengths = list(map(number, values))
    if None in lengths:
        bad = values[lengths.index(None)]
        held = f"{type(bad).__name__} {shown(bad)[:40]}"
        raise InputError(f"edge attribute {weight!r} must hold numbers, not {held}")
    return np.array(lengths, dtype=np.float64)


def node_points(first: Sequence[Any], second: Sequence[Any], names: str) -> Floats:
    """Coordinates from two node attributes; None becomes NaN."""
    pairs = [np.nan if v is None else number(v) for column in (first, second) for v in column]
    if None in pairs:
        raise InputError(f"node attributes {names} must hold numbers")
    return np.array(pairs, dtype=np.float64).reshape(2, -1).T.copy()
