"""Coordinates, colors and pictures of pages as public arrays, and their encoding for scripts."""

import base64
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from metricdp.arguments import Floats, Ints
from metricdp.report.colors import PALETTE, assign_colors
from metricdp.report.layout import pivot_layout
from metricdp.universe.bends import Bends
from metricdp.universe.crs import EARTH_RADIUS

_SHADE_PIXELS = 760  # width of the picture: sharper ones are larger files


@dataclass(frozen=True, eq=False)
class Plane:
    """Coordinates of the points in the plane, near the origin: kilometers for longitude and
    latitude, else the metric's units; NaN if unknown. `unit`: that of the scale bar; None for a
    computed layout.
    """

    points: Floats
    unit: str | None
    bends: Bends | None = None
    """Bends of the graph's edges in the plane; None if the plane was cut at another meridian."""


def project(metric: Any) -> Plane:
    """Project the points of a universe to the plane; without coordinates, compute a layout.

    Longitude and latitude are drawn equirectangularly, true to scale at the middle latitude; a
    universe across the antimeridian is cut at its widest gap of longitudes instead.
    """
    xy = metric.coordinates
    if xy is None or not np.isfinite(xy).all(axis=1).any():
        return Plane(pivot_layout(metric.symmetric), None)
    xy = np.array(xy, dtype=np.float64)
    xy[~np.isfinite(xy).all(axis=1)] = np.nan
    unit = ""
    scale = np.ones(2)
    bends = None if metric.graph is None else metric.graph.bends
    if metric.coordinate_system == "lonlat":
        unit = "km"
        east = _unwrapped(xy[:, 0])
        bends = bends if np.array_equal(east, xy[:, 0], equal_nan=True) else None
        xy[:, 0] = east
        scale = np.radians(1.0) * EARTH_RADIUS / 1000 * metric.stretch()
    xy *= scale
    zero = (np.nanmin(xy, axis=0) + np.nanmax(xy, axis=0)) / 2
    if bends is not None:
        bends = Bends(bends.offsets, bends.xy * scale - zero)
    return Plane(xy - zero, unit, bends)


def _unwrapped(longitude: Floats) -> Floats:
    """Degrees, shifted by 360 west of the widest empty gap when that makes the range shorter."""
    known = np.unique(longitude[np.isfinite(longitude)])
    if len(known) < 2 or known[-1] - known[0] <= 180:
        return longitude
    gaps = np.diff(known)
    widest = int(gaps.argmax())
    if gaps[widest] <= 360 - (known[-1] - known[0]):
        return longitude
    return np.where(longitude <= known[widest], longitude + 360, longitude)


def all_edges(metric: Any, points: Floats) -> Ints:
    """Positions (m, 2) of the ends of all edges between points with coordinates."""
    graph = metric.graph
    if graph is None:
        return np.empty((0, 2), dtype=np.int64)
    pairs: Ints = graph.pairs()
    placed = np.asarray(np.isfinite(points).all(axis=1))
    return pairs[placed[pairs].all(axis=1)]


def territory_colors(label: Ints, pairs: Ints, points: Floats, centers: Ints) -> Ints:
    """Color index (k,) of each territory; adjacent and near ones differ."""
    k = len(centers)
    joined = label[pairs]
    joined = np.unique(joined[joined[:, 0] != joined[:, 1]], axis=0)
    placed = np.flatnonzero(np.isfinite(points[centers]).all(axis=1))
    near = np.empty((0, 2), dtype=np.int64)
    if len(placed) > 1:
        places = points[centers][placed]
        _, found = cKDTree(places).query(places, k=min(7, len(placed)))
        near = np.column_stack([np.repeat(placed, found.shape[1]), placed[found.ravel()]])
    return assign_colors(k, np.vstack([joined.reshape(-1, 2), near]))


@dataclass(frozen=True, eq=False)
class Ground:
    """A grid of square pixels over the drawing, with the nearest point of each.

    `owner` (rows, columns): the nearest point's index, -1 where nothing is near; `x`, `y`, `width`,
    `height`: left, top and size in the plane's units.
    """

    owner: Ints
    x: float
    y: float
    width: float
    height: float

    def painted(self, hue: Ints, palette: Sequence[str] = PALETTE) -> dict[str, Any]:
        """A PNG in which the pixels of each point have its color of the palette."""
        index = np.where(self.owner < 0, 0, 1 + np.asarray(hue)[self.owner]).astype(np.uint8)
        source = "data:image/png;base64," + base64.b64encode(_png(index, palette)).decode()
        place = {"x": self.x, "y": self.y, "width": self.width, "height": self.height}
        return {"source": source, **place}


def ground(points: Floats, pairs: Ints, bends: Bends | None = None) -> Ground:
    """The nearest point of each pixel near the network."""
    low, high = points.min(axis=0), points.max(axis=0)
    reach = 0.018 * float(max(high - low))
    places, end = _along_edges(points, pairs, reach)
    if bends is not None:
        ends = pairs[bends.line()]
        away = ((points[ends] - bends.xy[:, None]) ** 2).sum(axis=2)
        places = np.vstack([places, bends.xy])
        end = np.r_[end, np.where(away[:, 0] <= away[:, 1], ends[:, 0], ends[:, 1])]
    low, high = low - reach, high + reach
    pixel = float(max(high - low)) / _SHADE_PIXELS
    columns, rows = np.maximum(1, np.ceil((high - low) / pixel).astype(int)).tolist()
    across, down = (pixel * (np.arange(n) + 0.5) for n in (columns, rows))
    at = np.stack(np.meshgrid(low[0] + across, high[1] - down), axis=-1)
    distance, nearest = cKDTree(places).query(at, distance_upper_bound=reach)
    owner = np.where(np.isfinite(distance), end[np.minimum(nearest, len(end) - 1)], -1)
    return Ground(owner, float(low[0]), float(high[1]), columns * pixel, rows * pixel)


def _along_edges(points: Floats, pairs: Ints, reach: float) -> tuple[Floats, Ints]:
    """All points and further ones along edges longer than `reach`, and the owner of each."""
    own = np.arange(len(points))
    start = points[pairs[:, 0]]
    step = points[pairs[:, 1]] - points[pairs[:, 0]]
    parts = np.ceil(np.hypot(step[:, 0], step[:, 1]) / (reach or np.inf)).astype(np.int64)
    edge = np.repeat(np.arange(len(pairs)), np.maximum(parts - 1, 0))
    if not len(edge):
        return points, own
    first = np.r_[0, np.flatnonzero(np.diff(edge)) + 1]
    rank = np.arange(len(edge)) - np.repeat(first, np.diff(np.r_[first, len(edge)])) + 1
    share = rank / parts[edge]
    end = np.where(share <= 0.5, pairs[edge, 0], pairs[edge, 1])
    return np.vstack([points, start[edge] + step[edge] * share[:, None]]), np.r_[own, end]


def _png(index: NDArray[np.uint8], colors: Sequence[str]) -> bytes:
    """Palette indices (0 transparent) as an indexed PNG (RFC 2083)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        size, check = (struct.pack(">I", n) for n in (len(data), zlib.crc32(kind + data)))
        return size + kind + data + check

    rows, columns = index.shape
    palette = b"\xff\xff\xff" + b"".join(bytes.fromhex(c[1:]) for c in colors)
    scanlines = np.column_stack([np.zeros(rows, dtype=np.uint8), index]).tobytes()
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0))
    opaque = chunk(b"tRNS", bytes([0] + [255] * len(colors)))
    picture = chunk(b"IDAT", zlib.compress(scanlines, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"PLTE", palette) + opaque + picture


def packed(values: Sequence[Any] | NDArray[Any], dtype: str) -> dict[str, str]:
    """An array as little-endian base64: ``{"dtype": ..., "bdata": ...}``."""
    array = np.ascontiguousarray(np.asarray(values).astype(np.dtype(dtype).newbyteorder("<")))
    return {"dtype": dtype, "bdata": base64.b64encode(array.tobytes()).decode()}


def squeezed(values: Sequence[int] | NDArray[Any]) -> dict[str, Any]:
    """Integers compressed for the page's script: ``{"n": ..., "z": ...}``.

    Differences of consecutive values, zigzag-encoded, split into planes of bytes, deflated
    (RFC 1950), base64.
    """
    array = np.asarray(values, dtype=np.int64)
    step = np.diff(array, prepend=0)
    folded = np.where(step < 0, -2 * step - 1, 2 * step).astype("<u4")
    planes = np.ascontiguousarray(folded.view(np.uint8).reshape(-1, 4).T)
    return {"n": len(array), "z": base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode()}


def squeezed_text(text: str) -> str:
    """Text as deflated (RFC 1950) UTF-8 in base64."""
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode()


def z_order(points: Floats) -> Ints:
    """Indices (n,) that sort points along a Z-order curve (Morton 1966)."""
    low = points.min(axis=0)
    span = float(np.ptp(points, axis=0).max()) or 1.0
    at = np.minimum((points - low) / span * 65535, 65535).astype(np.uint64)
    for shift, mask in ((8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        at = (at | (at << np.uint64(shift))) & np.uint64(mask)
    return np.argsort(at[:, 0] | (at[:, 1] << np.uint64(1)), kind="stable")
