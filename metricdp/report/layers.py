"""A clustering as geographic layers: sites, territories as areas and as streets, a spider diagram
(lines from demand to its site), and noisy demand.

All is post-processing. Territories follow the metric's shortest paths; their areas are unions of
Voronoi cells of the universe's points. Layers are in the universe's own coordinate system.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.solvers.objectives.instance import WITHIN
from metricdp.universe.bends import between, polylines
from metricdp.universe.crs import WGS84
from metricdp.universe.geo import need_geo

LAYERS = ("sites", "territories", "streets", "spider", "demand")
"""Names of the layers, as `Solution.to_geopandas` takes them."""
_MARGIN = 0.01
"""Margin of areas beyond the convex hull of all points, as a share of the extent."""
_DRAWN = 2.0**-24
"""Resolution of areas, as a share of the extent: finer needs more vertices, and can fail."""


def crs_of(universe: Any) -> str | None:
    """The coordinate reference system of a universe, if it is known."""
    if getattr(universe, "crs", None) is not None:
        return str(universe.crs)
    return WGS84 if getattr(universe, "coordinate_system", None) == "lonlat" else None


def check_sited(universe: Any) -> None:
    """Refuse a page of a table of costs, which knows no distances between its sites and clients."""
    if getattr(universe, "sites", None) is not getattr(universe, "ids", None):
        raise InputError(
            f"a page draws sites among the points, not a table of costs: the sites of "
            f"{universe.name} have no places"
        )


@dataclass(frozen=True, eq=False)
class Layers:
    """The layers of some centers. `facts`: columns of the centers' table; `weights`: demand of each
    point; `parts`: part of each point in the partition of a release (None: each is its own).
    """

    metric: Metric
    sites: Ints
    facts: dict[str, list[Any]]
    weights: Floats | None = None
    parts: Ints | None = None

    def __post_init__(self) -> None:
        need_geo()
        xy = self.metric.coordinates
        if xy is None or xy.shape[1] != 2 or not np.isfinite(xy).any():
            raise InputError(
                f"{self.metric.name} has no coordinates, and so no layers: give them (nodes=, "
                f"--nodes)"
            )

    def layer(self, name: str) -> Any:
        """A GeoDataFrame of one layer."""
        if name not in LAYERS:
            raise InputError(f"layer must be one of {', '.join(LAYERS)}; got {name!r}")
        if name == "streets" and self.metric.graph is None:
            raise InputError(f"{self.metric.name} has no edges, so no territories of streets")
        if name in ("spider", "demand") and self.weights is None:
            raise InputError(f"no weights are known, so there is no layer {name!r}")
        return getattr(self, f"_{name}")()

    @property
    def names(self) -> list[str]:
        """Names of the available layers."""
        lacking = ["streets"] * (self.metric.graph is None)
        lacking += ["spider", "demand"] * (self.weights is None)
        return [name for name in LAYERS if name not in lacking]

    @cached_property
    def nearest(self) -> tuple[Ints, Floats]:
        """Index of the nearest center of each point, and the distance."""
        label, distance = self.metric.nearest_to(self.sites)
        return label.astype(np.int64), np.asarray(distance, np.float64)

    @cached_property
    def xy(self) -> Floats:
        """Coordinates of all points, shape (n_points, 2); NaN where there are none."""
        return np.asarray(self.metric.coordinates, np.float64)

    @cached_property
    def site_xy(self) -> Floats:
        """Coordinates of the centers, shape (k, 2)."""
        return self.xy[self.sites]

    def frame(self, columns: dict[str, Any], shapes: Any) -> Any:
        """A GeoDataFrame in the universe's coordinate reference system."""
        import geopandas as gpd

        return gpd.GeoDataFrame(columns, geometry=list(shapes), crs=crs_of(self.metric))

    def _points(self, places: Floats) -> list[Any]:
        import shapely

        known = np.isfinite(places).all(axis=1)
        made = np.full(len(places), None, dtype=object)
        made[known] = shapely.points(places[known])
        return list(made)

    def _sites(self) -> Any:
        return self.frame(self.facts, self._points(self.site_xy))

    def _territories(self) -> Any:
        """Unions of Voronoi cells, a little beyond the hull of all points."""
        return self.frame(self.facts, self.areas(self.nearest[0], len(self.sites)))

    def areas(self, label: Ints, k: int) -> list[Any]:
        """Multipolygons of k labels of the points; None for a label without points."""
        import shapely

        kept = np.flatnonzero(np.isfinite(self.xy).all(axis=1))
        stretch = self.metric.stretch()
        found = np.array(_areas(self.xy[kept] * stretch, label[kept], k), dtype=object)
        return list(shapely.transform(found, lambda points: points / stretch))

    def _streets(self) -> Any:
        """The edges of each territory as one shape. A two-way edge between two territories is cut
        where both centers are equally far; a one-way edge belongs to the center whose trips use it.
        """
        label, drawn = self.nearest[0], self._drawn
        one, other = label[drawn.u], label[drawn.v]
        share = np.where(one == other, 1.0, drawn.share)
        ends = ((one, np.zeros(len(share)), share), (other, share, np.ones(len(share))))
        shapes = drawn.shapes(ends, len(self.sites))
        ranked = {name: self.facts[name] for name in ("rank", "center")}
        return self.frame(ranked, shapes)

    def band_areas(self, limits: Sequence[float]) -> list[Any]:
        """Areas of the distance bands that end at these limits, and of the last, unbounded one."""
        return self.areas(band_of(limits, self.nearest[1]), len(limits) + 1)

    def band_streets(self, limits: Sequence[float]) -> list[Any]:
        """Streets of the same bands, cut where a limit is reached."""
        distance, drawn = self.nearest[1], self._drawn
        pieces = list[tuple[Ints, Floats, Floats]]()
        for i, (low, high) in enumerate(pairwise([-np.inf, *limits, np.inf])):
            band = np.full(len(drawn.share), i)
            with np.errstate(invalid="ignore", divide="ignore"):
                at = [(end - distance[drawn.u]) / drawn.back for end in (low, high)]
                back = [1 - (end - distance[drawn.v]) / drawn.there for end in (high, low)]
            near = [np.clip(_number(x, 0.0), 0, drawn.share) for x in at]
            far = [np.clip(_number(x, 1.0), drawn.share, 1) for x in back]
            pieces += [(band, near[0], near[1]), (band, far[0], far[1])]
        return drawn.shapes(pieces, len(limits) + 1)

    @cached_property
    def edges(self) -> tuple[Ints, Ints, tuple[Floats, Ints, Floats]]:
        """Edges with coordinates at both ends: tails, heads, and their lines (`polylines`)."""
        graph = self.metric.graph
        if graph is None:
            raise InputError(f"{self.metric.name} has no edges, so no streets")
        pairs = graph.pairs()
        placed = np.flatnonzero(np.isfinite(self.xy[pairs]).all(axis=(1, 2)))
        u, v = pairs[placed].T
        bends = graph.bends
        if bends is not None:
            bends = bends.taken(placed, np.zeros(len(placed), bool))
        return u, v, polylines(self.xy[u], self.xy[v], bends)

    @cached_property
    def _drawn(self) -> _Drawn:
        """These edges with arc lengths, and the share of each that is served through its tail."""
        (u, v, lines), graph = self.edges, self.metric.graph
        there, back = arc_lengths(graph, u, v), arc_lengths(graph, v, u)
        direction = getattr(self.metric, "direction", "to-center")
        if direction == "from-center":
            there, back = back, there
        elif direction == "round-trip":
            cycle = there + back
            there = back = np.where(np.isinf(cycle), 0.0, cycle)  # one-way: cut in the middle
        distance = self.nearest[1]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = (distance[v] - distance[u] + there) / (there + back)
        share = np.where(np.isinf(back), 0.0, np.where(np.isinf(there), 1.0, share))
        share = np.clip(np.where(there + back > 0, share, 0.5), 0, 1)
        return _Drawn(u, v, lines, there, back, share)

    def _groups(self) -> tuple[Ints, Ints, Floats, Floats]:
        """Intersections of parts and territories: part, center, weight and weighted mean place."""
        assert self.weights is not None
        part = np.arange(len(self.metric)) if self.parts is None else self.parts
        kept = np.flatnonzero(np.isfinite(self.xy).all(axis=1) & (self.weights > 0))
        k = len(self.sites)
        keys, at = np.unique(part[kept] * k + self.nearest[0][kept], return_inverse=True)
        weight, middle = _middles(at, self.weights[kept], self.xy[kept], len(keys))
        return keys // k, keys % k, weight, middle

    def _spider(self) -> Any:
        """A line from the weighted mean of each part to the center that serves it."""
        import shapely

        part, center, weight, middle = self._groups()
        known = np.isfinite(self.site_xy[center]).all(axis=1)
        ends = np.stack([middle, self.site_xy[center]], axis=1)[known]
        names = [self.facts["center"][c] for c in center[known].tolist()]
        columns = {"part": part[known], "rank": center[known] + 1, "center": names}
        columns["demand"] = weight[known]
        return self.frame(columns, shapely.linestrings(ends) if len(ends) else [])

    def _demand(self) -> Any:
        """A point for each part, at its weighted mean."""
        part, _, weight, middle = self._groups()
        keys, at = np.unique(part, return_inverse=True)
        mass, places = _middles(at, weight, middle, len(keys))
        columns: dict[str, Any] = {"part": keys, "demand": mass}
        if self.parts is None:
            columns["vertex"] = [_plain(self.metric.ids[i]) for i in keys.tolist()]
        return self.frame(columns, self._points(places))


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Edges as lines between `u` and `v`, with arc lengths `there` and `back` (infinite for a
    missing arc). `share`: fraction of the edge, from `u`, that is served through `u`.
    """

    u: Ints
    v: Ints
    lines: tuple[Floats, Ints, Floats]
    there: Floats
    back: Floats
    share: Floats

    def shapes(self, pieces: Iterable[tuple[Ints, Floats, Floats]], k: int) -> Any:
        """Multilines of k owners from pieces of edges, given as (owner, first share, last
        share).
        """
        import shapely

        lines, owners = [np.empty(0, object)], [np.empty(0, np.int64)]
        for owner, first, last in pieces:
            has = last > first
            xy, line = between(*self.lines, first, last)
            kept, number = has[line], np.cumsum(has) - 1
            if kept.any():
                lines.append(shapely.linestrings(xy[kept], indices=number[line[kept]]))
                owners.append(owner[has])
        line, owner = np.concatenate(lines), np.concatenate(owners)
        return [shapely.multilinestrings(line[owner == c]) for c in range(k)]


def _number(values: Floats, otherwise: float) -> Floats:
    """The values, with NaN (of 0 / 0 or inf / inf) replaced."""
    return np.where(np.isnan(values), otherwise, values)


def _middles(at: Ints, weights: Floats, xy: Floats, n: int) -> tuple[Floats, Floats]:
    """Weights of n groups, and their weighted mean places."""
    mass = np.bincount(at, weights, n).astype(np.float64)
    sums = np.column_stack([np.bincount(at, weights * axis, n) for axis in xy.T])
    return mass, sums / np.maximum(mass, 1e-300)[:, None]


def band_of(limits: Sequence[float], distance: Floats) -> Ints:
    """Index of the band of each distance; ``len(limits)`` beyond the last limit."""
    return np.searchsorted(np.array(limits) * (1 + WITHIN), distance).astype(np.int64)


def arc_lengths(graph: Any, tails: Ints, heads: Ints) -> Floats:
    """Lengths of arcs from tails to heads, infinite where there is none."""
    n = len(graph)
    keys = graph.tails() * n + graph.indices  # ascending, as arcs are stored
    wanted = tails * n + heads
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, graph.lengths[at], np.inf)


def _plain(name: Any) -> Any:
    name = name.item() if isinstance(name, np.generic) else name
    return name if isinstance(name, int | str | float) else str(name)


def center_facts(
    centers: list[Any], label: Ints, distance: Floats, weights: Any, loads: Any, measured: str
) -> dict[str, list[Any]]:
    """Columns of a table of centers: rank, id, points, demand, mean distance, service."""
    k = len(centers)
    columns: dict[str, list[Any]] = {"rank": list(range(1, k + 1))}
    columns["center"] = [_plain(center) for center in centers]
    columns["points"] = np.bincount(label, minlength=k).tolist()
    if weights is not None and loads is not None:
        mass = np.bincount(label, weights=weights, minlength=k)
        far = np.bincount(label, weights=weights * distance, minlength=k)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(mass > 0, far / mass, np.nan)
        columns["demand"] = mass.tolist()
        columns["mean_distance"] = [None if np.isnan(m) else m for m in mean.tolist()]
        columns["distance_unit"] = [measured] * k
        columns["load"] = loads
    return columns


def _areas(places: Floats, label: Ints, k: int) -> list[Any]:
    """Unions of the Voronoi cells of each label, clipped to the convex hull plus a margin. O(n log
    n).

    Voronoi edges between different labels are polygonized, and each face gets the label of its
    nearest place. Places are first rounded to the resolution.
    """
    import shapely
    from scipy.spatial import Voronoi, cKDTree

    wide = float(np.ptp(places, axis=0).max() or 1.0)
    places, first = np.unique(np.round(places / (wide * _DRAWN)), axis=0, return_index=True)
    places, label = places * (wide * _DRAWN), label[first]
    hull = shapely.buffer(shapely.convex_hull(shapely.MultiPoint(places)), _MARGIN * wide)
    west, south, east, north = shapely.bounds(hull) + 10 * wide * np.array([-1, -1, 1, 1])
    frame = [[west, south], [east, south], [east, north], [west, north]]
    found = Voronoi(np.concatenate((places, frame)))
    owner = np.append(label, [k] * 4)[found.ridge_points]
    borders = np.asarray(found.ridge_vertices)[owner[:, 0] != owner[:, 1]]
    edges = shapely.linestrings(found.vertices[borders[(borders >= 0).all(axis=1)]])
    united = partial(shapely.union_all, grid_size=wide * _DRAWN / 4)
    lines = united([*edges, shapely.boundary(hull)])
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(lines)))
    inside = shapely.point_on_surface(faces)
    faces, inside = (each[shapely.within(inside, hull)] for each in (faces, inside))
    near = label[cKDTree(places).query(shapely.get_coordinates(inside))[1]]
    parts = [shapely.get_parts(united(faces[near == c])) for c in range(k)]
    return [shapely.multipolygons(part) if len(part) else None for part in parts]
