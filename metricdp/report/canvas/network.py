"""Finite universes and answers (centers, territories, weights) as the page's script draws them."""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.report import drawing
from metricdp.report.colors import PALETTE, ink_on

STEPS = 1 << 20
"""Number of grid steps to which coordinates are rounded."""
MAX_IDS = 60_000
"""Up to this number of points, each shows its id on hovering; more would make large files."""
_WEIGHTS = 50_000
"""If an answer has more distinct weights, they are rounded to three digits, for file size."""
_TERRITORIES = (
    "Shading: the territory of what is nearest on the page. Territories themselves follow the "
    "metric's distances."
)


def span(box: Sequence[float]) -> float:
    """The longer side of a box (left, bottom, right, top), or 1 if it is a point."""
    return max(box[2] - box[0], box[3] - box[1]) or 1.0


def steps(points: Floats, box: Sequence[float]) -> Ints:
    """Coordinates as grid steps of the drawing, shape (n, 2)."""
    at = np.rint((points - np.asarray(box[:2])) / span(box) * (STEPS - 1))
    return np.clip(at, 0, STEPS - 1).astype(np.int64)


def frame(unit: str | None, noun: str, box: list[float]) -> dict[str, Any]:
    """Facts of a universe for scripts: unit, noun for points, box and colors."""
    facts = {"unit": unit, "layout": unit is None, "noun": noun, "palette": list(PALETTE)}
    return facts | {"inks": [ink_on(color) for color in PALETTE], "steps": STEPS, "box": box}


class DrawnUniverse:
    """A finite universe in the plane: points with coordinates, in Z-order (`order`, `points`),
    `edges` between them with `bends`, and coordinates of all points (`everywhere`). Without
    coordinates a layout is computed.
    """

    def __init__(self, metric: Any) -> None:
        plane = drawing.project(metric)
        self.metric = metric
        self.unit = plane.unit
        self.everywhere = plane.points
        self.noun = "points" if metric.graph is None else "vertices"
        kept = np.flatnonzero(np.isfinite(plane.points).all(axis=1))
        self.order = kept[drawing.z_order(plane.points[kept])]
        self.points = plane.points[self.order]
        self.box = [*self.points.min(axis=0).tolist(), *self.points.max(axis=0).tolist()]
        new = np.full(len(plane.points), -1, dtype=np.int64)
        new[self.order] = np.arange(len(self.order))
        given = new[drawing.all_edges(metric, plane.points)]
        ends = np.sort(given, axis=1)
        sorting = np.lexsort((ends[:, 1], ends[:, 0]))
        self.edges = ends[sorting]
        self.bends = plane.bends
        if self.bends is not None:
            placed = np.flatnonzero((new[metric.graph.pairs()] >= 0).all(axis=1))
            self.bends = self.bends.taken(placed[sorting], (given[:, 0] > given[:, 1])[sorting])

    @cached_property
    def ground(self) -> drawing.Ground | None:
        """The nearest point of each pixel; None without geographic coordinates."""
        somewhere = len(self.points) > 2 and bool(np.ptp(self.points, axis=0).any())
        if self.unit is None or not somewhere:
            return None
        return drawing.ground(self.points, self.edges, self.bends)

    def data(self) -> dict[str, Any]:
        """Data for the script that all answers share."""
        x, y = steps(self.points, self.box).T
        tails, heads = self.edges.T
        parts = {"x": x, "y": y, "tails": tails, "reach": heads - tails}
        squeezed = {name: drawing.squeezed(values) for name, values in parts.items()}
        return frame(self.unit, self.noun, self.box) | squeezed | {"bends": self._bent()}

    def _bent(self) -> dict[str, Any] | None:
        """Number and coordinates of each edge's bends, which may be outside of the box."""
        if self.bends is None:
            return None
        at = np.rint((self.bends.xy - self.box[:2]) / span(self.box) * (STEPS - 1))
        parts = {"count": np.diff(self.bends.offsets), "x": at[:, 0], "y": at[:, 1]}
        return {name: drawing.squeezed(values) for name, values in parts.items()}

    def colors(self, label: Ints, position: Ints) -> Ints:
        """A color index for each territory, shape (k,); those of adjacent ones differ."""
        around = self.order[self.edges]
        return drawing.territory_colors(label, around, self.everywhere, position)

    def ids(self) -> str | None:
        """The ids of the points, packed; None if there are too many."""
        if len(self.order) > MAX_IDS:
            return None
        names = [str(self.metric.ids[i]) for i in self.order.tolist()]
        return drawing.squeezed_text(json.dumps(names, separators=(",", ":")))

    def graded(self, grade: Ints, colors: Sequence[str]) -> dict[str, Any]:
        """An answer without centers, whose ground and points are colored by a grade."""
        grade = grade[self.order]
        return {
            "centers": [{"color": i, "x": None, "y": None} for i in range(len(colors))],
            "label": drawing.squeezed(grade),
            "weight": None,
            "shade": None if self.ground is None else self.ground.painted(grade, colors),
        }

    def shade(self, label: Ints, color: Ints) -> dict[str, Any] | None:
        """The picture of the territories, or None without geographic coordinates."""
        return None if self.ground is None else self.ground.painted(color[label[self.order]])

    def answer(
        self, centers: Sequence[Any], label: Ints, color: Ints, weights: Floats | None
    ) -> dict[str, Any]:
        """Centers, territories and weights of one answer for the script."""
        position = np.asarray(self.metric.positions(list(centers)), dtype=np.int64)
        places = self.everywhere[position]
        return {
            "centers": center_records(list(centers), places, label, color, weights),
            "label": drawing.squeezed(label[self.order]),
            "weight": None if weights is None else packed_weights(weights[self.order]),
            "shade": self.shade(label, color),
        }

    def remarks(self, shading: str = _TERRITORIES) -> list[str]:
        """Notes for readers of the picture; `shading`: the note on the ground's colors."""
        facts = [shading]
        if self.unit is None:
            facts = [
                "The universe has no coordinates: places are a layout computed from public "
                "distances (landmark MDS), not geography."
            ]
        every, lost = len(self.everywhere), len(self.everywhere) - len(self.order)
        if lost:
            has, is_, it = ("has", "is", "it") if lost == 1 else ("have", "are", "them")
            drawn = f"no coordinates and {is_} not drawn; figures count {it}"
            facts.append(f"{lost:,} of {every:,} {self.noun} {has} {drawn}.")
        return facts


def packed_weights(weights: Floats) -> dict[str, Any]:
    """Weights, in the order of the drawing, for the script: distinct values, and indices."""
    values, index = np.unique(_few(weights), return_inverse=True)
    return {"index": drawing.squeezed(index), "values": drawing.packed(values, "f4")}


def _few(weights: Floats) -> Floats:
    """The weights, rounded to three digits if nearly all differ."""
    if len(weights) <= _WEIGHTS or len(np.unique(weights)) <= _WEIGHTS:
        return weights
    size = np.abs(weights)
    digit = np.where(size > 0, 10.0 ** np.floor(np.log10(np.maximum(size, 1e-300)) - 2), 1.0)
    return np.rint(weights / digit) * digit


def center_records(
    ids: list[Any], places: Floats, label: Ints, color: Ints, weights: Floats | None
) -> list[dict[str, Any]]:
    """A record for each center: the data of its marker, hover text and table row."""
    vertices = np.bincount(label, minlength=len(ids)).tolist()
    mass: list[float | None] = [None] * len(ids)
    if weights is not None:
        mass = [short(m) for m in np.bincount(label, weights=weights, minlength=len(ids))]
    records = []
    for c, identifier in enumerate(ids):
        placed = bool(np.isfinite(places[c]).all())
        x, y = places[c].tolist() if placed else (None, None)
        facts = {"id": str(identifier), "rank": c + 1, "color": int(color[c])}
        records.append({**facts, "vertices": vertices[c], "mass": mass[c], "x": x, "y": y})
    return records


def short(value: Any) -> float:
    """A figure in seven digits."""
    return float(f"{float(value):.7g}")
