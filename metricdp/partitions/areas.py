"""Areas of a universe, such as districts: a public label of every place.

Results by area come from sums by label (`metricdp.partitions.service`). A record adds to its own
area alone, so that all areas together cost as much privacy as one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints, listed, shown
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.options import by_id, check_distinct
from metricdp.partitions.service import Inside, TabledAreas
from metricdp.protocols import finite
from metricdp.universe.crs import crs_text
from metricdp.universe.geo import need_geo

ELSEWHERE = "elsewhere"
"""Name of what lies in no area."""
MOST = 3 * 10**7
"""Points times areas of a finite universe, at most: 0.5 GB of amounts."""
_RULE = (
    "by= takes a label for each point (a mapping from id to label, or a list in the order of "
    "metric.ids), or polygons: a GeoDataFrame or GeoSeries, whose index names them, or a mapping "
    "from name to polygon"
)


@dataclass(frozen=True, eq=False)
class Areas:
    """A public label of every place of a universe.

    `names`: distinct; the last may be `ELSEWHERE`. `label`: a function from records to the indices
    of their areas, shape (n,).
    """

    universe: Metric | EuclideanSpace
    names: tuple[str, ...]
    label: TabledAreas | Inside

    @classmethod
    def of(cls, universe: Metric | EuclideanSpace, by: Any) -> Areas:
        """Areas from labels of points, or from polygons, in the coordinate system that these
        declare or else in the universe's.

        A point on the border of two polygons, or in both, belongs to the one that is named first.
        """
        polygons = _polygons(by, universe)
        if polygons is not None:
            return cls._drawn(universe, *polygons)
        points = finite(
            universe, "by=", "in a box by= takes polygons: a label for each point needs points"
        )
        pairs = by_id(by)
        ids, labels = (list(points.ids), listed(by, "by")) if pairs is None else pairs
        check_distinct(ids, "by= must name every id once")
        if len(labels) != len(ids) or not all(isinstance(one, Hashable) for one in labels):
            raise InputError(_RULE)
        at = points.positions(ids)
        known = [(i, one) for i, one in zip(at.tolist(), labels) if one is not None and one == one]
        given = {i: one for i, one in known if str(one) != ELSEWHERE}  # the same as no label
        named = {str(one): one for one in given.values()}
        names = sorted(named)
        if any(named[str(one)] != one for one in given.values()):
            raise InputError("by= has different labels of one name, such as 1 and '1'")
        number = {name: i for i, name in enumerate(names)}
        table = np.full(len(points), len(names))
        table[list(given)] = [number[str(one)] for one in given.values()]
        return cls._finite(universe, names, table)

    @classmethod
    def _drawn(
        cls, universe: Metric | EuclideanSpace, names: Sequence[str], shapes: Sequence[Any]
    ) -> Areas:
        if universe.n_points is None:
            return cls(universe, (*names, ELSEWHERE), Inside(tuple(shapes)))
        return cls._finite(universe, names, _containing(universe, shapes))

    @classmethod
    def _finite(cls, universe: Metric | EuclideanSpace, names: Sequence[str], table: Ints) -> Areas:
        """Areas from the labels of all points; those without a point are dropped."""
        used, table = np.unique(table, return_inverse=True)
        kept = tuple((*names, ELSEWHERE)[i] for i in used.tolist())
        if kept == (ELSEWHERE,):
            raise InputError("by= has no area with a point in it")
        if len(kept) * len(table) > MOST:
            raise InputError(
                f"{len(kept):,} areas of {len(table):,} points are too many: {MOST:,} at most, "
                f"multiplied; group them"
            )
        return cls(universe, kept, TabledAreas(table.astype(np.int64)))


def spread_evenly(points: Metric, frame: Any, column: str) -> Floats:
    """Weights of the points of a finite universe, shape (n_points,), from a column of polygons,
    such as counts of a census or of a grid: each value is spread evenly over the points in its
    polygon.
    """
    if column not in frame.columns:
        raise InputError(f"the polygons need a column {column!r} of numbers")
    try:
        weights = np.r_[np.asarray(frame[column], np.float64), 0.0]
    except (TypeError, ValueError):
        raise InputError("what polygons weigh must be numbers") from None
    found = _polygons(frame.geometry.reset_index(drop=True), points)
    if found is None or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise InputError("what polygons weigh must be finite and at least 0")
    label = _containing(points, found[1])
    return weights[label] / np.bincount(label)[label]


def _containing(points: Any, shapes: Sequence[Any]) -> Ints:
    """The first polygon that contains each point; ``len(shapes)`` where none does."""
    if points.coordinates is None:
        raise InputError(f"{points.name} has no coordinates that polygons could hold")
    return Inside(tuple(shapes))(points.coordinates)


def _polygons(by: Any, universe: Any) -> tuple[list[str], list[Any]] | None:
    """Names and polygons, in the universe's coordinate system; None if `by` holds labels."""
    frame = getattr(by, "geometry", by) if hasattr(by, "columns") else by
    if hasattr(frame, "geom_type"):
        need_geo()
        own = crs_text(getattr(universe, "crs", None))
        if frame.crs is not None and own is not None:
            frame = frame.to_crs(own)
        names, shapes = list(frame.index), list(frame)
    else:
        pairs = by_id(by)
        if pairs is None or not any(hasattr(one, "geom_type") for one in pairs[1]):
            return None
        need_geo()
        names, shapes = pairs
    if len(getattr(universe, "lower", (0, 0))) != 2:
        raise InputError("polygons need a universe of two coordinates")
    for name, shape in zip(names, shapes):
        kind = getattr(shape, "geom_type", "missing")
        if kind not in ("Polygon", "MultiPolygon"):
            raise InputError(f"areas must be polygons; the geometry of {shown(name)} is {kind}")
    labels = [str(name) for name in names]
    check_distinct(labels, "every area must have a name of its own")
    if not labels or ELSEWHERE in labels:
        raise InputError(f"there must be at least one polygon, and none named {ELSEWHERE!r}")
    return labels, shapes
