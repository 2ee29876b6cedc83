"""The map page: one self-contained HTML file that shows a clustering on its public universe."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arguments import file_path, floats, hashable, integer, listed, shown
from metricdp.atomic import write_whole
from metricdp.errors import InputError, MissingExtraError
from metricdp.report import drawing
from metricdp.report.assets import asset, filled
from metricdp.report.colors import PALETTE, ink_on
from metricdp.report.evidence.statement import embedded
from metricdp.report.words import (
    Basis,
    figures_of,
    intervals_html,
    receipt_html,
    show_number,
)

if TYPE_CHECKING:
    from metricdp.metrics.base import Metric

_LAYERS = {
    "network": "Network",
    "territories": "Territories",
    "mass": "{mass}",
    "centers": "Centers",
}


def map_page(
    metric: Metric,
    centers: Sequence[Hashable],
    *,
    weights: ArrayLike | None = None,
    title: str | None = None,
    receipt: Any = None,
    method: str | None = None,
    k: int | None = None,
    basis: Basis | None = None,
    attribution: str | None = None,
    evaluation: Any = None,
) -> str:
    """Return an HTML page with the network, the centers, their territories and the noisy demand.

    The page loads nothing: plotly.js, data and style are inside it, and its content security policy
    forbids network requests. Nothing private is an argument: all is public or post-processing of a
    release.

    Parameters
    ----------
    metric : Metric
        A finite universe. Where it has no coordinates a layout is computed from its distances
        (`pivot_layout`).
    centers : sequence of ids
        Distinct, the user's own.
    weights : array_like of float, shape (n_points,), optional
        Noisy demand per point in the order of ``metric.ids`` (a release's ``weights``), shown as
        sums over a public grid.
    title : str, optional
        Instead of "20 centers · Coquimbo · ε = 1".
    receipt : Receipt, optional
        What the releases cost; anything with ``to_dict()`` and ``str()``.
    method : str, optional
        Name of the method, shown in the panel.
    k : int, optional
        Number of centers asked for, where it may differ from how many there are.
    basis : {"public", "non-private"}, optional
        Without a receipt: what the clustering was computed from. Left out, the page says that it
        states no guarantee.
    attribution : str, optional
        Whose data the network is, such as "© OpenStreetMap contributors": shown on the map.
    evaluation : Evaluation or Summary, optional
        How well these centers serve the demand (`metricdp.evaluate`, or free
        `metricdp.Result.summary`), in the order of `centers`: shown with its intervals, those of
        loads as halos around the centers, the wider the less is known.

    Returns
    -------
    str
        About 4.8 MB for plotly.js, and 8–60 bytes a point and 11 bytes an edge.

    Raises
    ------
    MissingExtraError
        plotly is not installed.
    InputError
        No centers, repeated ones, weights of another length or not finite, both a receipt and a
        basis.
    UnknownIdError
        A center is not in the universe.

    Notes
    -----
    Equal arguments give equal pages. Complexity: one multi-source shortest path computation, O((n +
    m) log n) for the drawing, and 51 rows of the metric more where a layout has to be computed.
    """
    library = plotly_js()
    said = (title, method, attribution)
    if not all(text is None or isinstance(text, str) for text in said) or (
        k is not None and integer(k) is None
    ):
        raise InputError("title, method and attribution must be text, and k an integer")
    chosen, noisy = _checked(metric, centers, weights, receipt, basis)
    position = np.asarray(metric.positions(chosen), dtype=np.int64)
    scene, notes = _scene(
        metric, chosen, position, noisy, "weight" if receipt is None else "noisy demand"
    )
    scene["centers"] = _with_intervals(scene["centers"], evaluation)
    named = title if title is not None else _title(metric, len(chosen), receipt, k)
    pieces = {
        "TITLE": escape(named),
        "STYLE": asset("common.css") + asset("print.css"),
        "LAYERS": _layers(scene),
        "TOOLS": asset("tools.html"),
        "CREDIT": f'<p id="credit">{escape(attribution)}</p>' if attribution else "",
        "RESULT": _result(
            _summary(metric, scene, method, k, evaluation) + intervals_html(evaluation),
            receipt,
            basis,
        ),
        "NOTES": _notes(notes),
        "DATA": script_json(scene),
        "PLOTLY": library,
        "SCRIPT": asset("common.js") + asset("map/page.js"),
    }
    return filled(asset("map/page.html"), pieces)


def _result(summary: str, receipt: Any, basis: Basis | None) -> str:
    """The result, then what it cost; but first of all that there is no guarantee, where it is
    so.
    """
    said = receipt_html(receipt, basis) + ("" if receipt is None else embedded(receipt))
    warned = receipt is None and basis != "public"
    return said + summary if warned else summary + said


def write_map(
    path: str | os.PathLike[str], metric: Metric, centers: Sequence[Hashable], **options: Any
) -> Path:
    """Write `map_page` to a file, wholly or not at all.

    Parameters
    ----------
    path : path-like
        Replaced if it exists. A temporary file beside it takes the text first.
    metric, centers, **options
        As for `map_page`.

    Returns
    -------
    Path
        The file written.
    """
    target = file_path(path, "path")
    text = map_page(metric, centers, **options)
    write_whole(target, text)
    return target


def plotly_js() -> str:
    """The library's script, as text; `MissingExtraError` without plotly."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingExtraError("the map page", "maps") from None
    return str(get_plotlyjs())


def _checked(
    metric: Metric,
    centers: Sequence[Hashable],
    weights: ArrayLike | None,
    receipt: Any,
    basis: Basis | None,
) -> tuple[list[Hashable], NDArray[np.float64] | None]:
    chosen = listed(centers, "centers")
    if not chosen:
        raise InputError("a map needs at least one center")
    if not all(map(hashable, chosen)) or len(set(chosen)) != len(chosen):
        raise InputError("centers must be distinct")
    if basis is not None and not (isinstance(basis, str) and basis in ("public", "non-private")):
        raise InputError(f'basis must be "public", "non-private" or None, got {shown(basis)}')
    if receipt is not None and not callable(getattr(receipt, "to_dict", None)):
        raise InputError(f"receipt must be a Receipt, got {type(receipt).__name__}")
    if receipt is not None and basis is not None:
        raise InputError(
            "give a receipt or a basis, not both: a receipt says what the clustering was computed "
            "from"
        )
    if weights is None:
        return chosen, None
    noisy = floats(weights, "weights must be numbers")
    if noisy.shape != (len(metric),):
        raise InputError(f"weights must have shape ({len(metric)},), got {noisy.shape}")
    if not np.isfinite(noisy).all():
        raise InputError("weights must be finite")
    return chosen, noisy


def _title(metric: Metric, k: int, receipt: Any, asked: int | None) -> str:
    parts = [
        f"{k:,} center{'' if k == 1 else 's'}"
        + (f" of {asked:,} asked for" if asked not in (None, k) else "")
    ]
    parts.append(str(metric.name))
    epsilon = None if receipt is None else receipt.to_dict().get("epsilon")
    return " · ".join(parts + ([] if epsilon is None else [f"ε = {show_number(epsilon)}"]))


def _scene(
    metric: Metric,
    centers: list[Hashable],
    position: NDArray[np.int64],
    noisy: NDArray[np.float64] | None,
    mass_name: str,
) -> tuple[dict[str, Any], list[str]]:
    """Everything the page's script draws, and the notes on what it leaves out."""
    label, distance = metric.nearest(centers)
    plane = drawing.project(metric)
    pairs, n_edges = drawing.edge_pairs(metric, plane.points)
    kept = np.flatnonzero(np.isfinite(plane.points).all(axis=1))
    new = np.full(len(plane.points), -1, dtype=np.int64)
    new[kept] = np.arange(len(kept))
    points = plane.points[kept]
    color = drawing.territory_colors(label, pairs, plane.points, position)
    spots = None if noisy is None else drawing.bubbles(points, noisy[kept])
    many = len(kept) > drawing.MAX_IDS
    noun = "points" if metric.graph is None else "vertices"
    shaded = plane.unit is not None and len(points) > 2
    scene = {
        "unit": plane.unit,
        "layout": plane.unit is None,
        "palette": list(PALETTE),
        "inks": [ink_on(color) for color in PALETTE],
        "box": [*points.min(axis=0).tolist(), *points.max(axis=0).tolist()],
        "x": drawing.packed(points[:, 0], "f4"),
        "y": drawing.packed(points[:, 1], "f4"),
        "label": drawing.packed(label[kept], "u2" if len(centers) < 2**16 else "i4"),
        "edges": drawing.packed(new[pairs].ravel(), "i4"),
        "distance": drawing.packed(distance[kept] if not many else [], "f4"),
        "weights": None if noisy is None or many else drawing.packed(noisy[kept], "f4"),
        "ids": None if many else [str(metric.ids[i]) for i in kept.tolist()],
        "massName": mass_name,
        "noun": noun,
        "bubbles": None if spots is None else _rounded(spots),
        "shade": drawing.shading(points, label[kept], color, new[pairs]) if shaded else None,
        "centers": center_records(centers, plane.points[position], label, color, noisy),
        "mean": _mean_distance(distance, noisy),
    }
    hidden = int((new[position] < 0).sum())
    return scene, [
        *_notes_on_places(plane.unit, len(kept), len(label), hidden, noun),
        *_notes_on_limits(len(kept), len(pairs), n_edges),
        *_notes_on_bubbles(spots),
    ]


def _mean_distance(
    distance: NDArray[np.float64], noisy: NDArray[np.float64] | None
) -> float | None:
    """Of the (noisy) demand to its center, or of all points; None where the noise leaves no
    mass.
    """
    if noisy is None:
        return _short(distance.mean())
    total = float(noisy.sum())
    mean = float(noisy @ distance) / total if total > 0 else -1.0
    return _short(mean) if 0 <= mean < np.inf else None


def center_records(
    ids: list[Hashable],
    places: NDArray[np.float64],
    label: NDArray[np.int64],
    color: NDArray[np.int64],
    noisy: NDArray[np.float64] | None,
) -> list[dict[str, Any]]:
    """One record a center: what its marker, its hover text and its row in the table show."""
    vertices = np.bincount(label, minlength=len(ids)).tolist()
    mass = None if noisy is None else np.bincount(label, weights=noisy, minlength=len(ids)).tolist()
    placed = np.asarray(np.isfinite(places).all(axis=1)).tolist()
    return [
        {
            "id": str(identifier),
            "rank": c + 1,
            "color": int(color[c]),
            "vertices": vertices[c],
            "mass": None if mass is None else _short(mass[c]),
            "x": _short(places[c, 0]) if placed[c] else None,
            "y": _short(places[c, 1]) if placed[c] else None,
        }
        for c, identifier in enumerate(ids)
    ]


def _with_intervals(centers: list[dict[str, Any]], evaluation: Any) -> list[dict[str, Any]]:
    """The records of centers, with the ends of what each serves where an evaluation tells them."""
    loads = getattr(evaluation, "loads", None)
    if loads is None or np.shape(loads.low) != (len(centers),):
        return centers
    ends = zip(np.asarray(loads.low).tolist(), np.asarray(loads.high).tolist())
    return [
        record | {"low": _short(low), "high": _short(high)}
        for record, (low, high) in zip(centers, ends)
    ]


def _notes_on_places(
    unit: str | None, drawn: int, n_points: int, hidden_centers: int, noun: str
) -> list[str]:
    if unit is None:
        notes = [
            "The universe has no coordinates: places are a layout computed from public distances "
            "(pivot MDS), "
            "not geography."
        ]
    else:
        notes = [
            "Shading: the territory of what is nearest on the page. Territories themselves follow "
            "the metric's "
            "distances."
        ]
    if drawn < n_points:
        also = (
            f", {hidden_centers:,} of them center{'' if hidden_centers == 1 else 's'}"
            if hidden_centers
            else ""
        )
        notes.append(
            f"{n_points - drawn:,} of {n_points:,} {noun} have no coordinates and are not "
            f"drawn{also}; "
            "the table counts them."
        )
    return notes


def _notes_on_limits(drawn: int, m_drawn: int, n_edges: int) -> list[str]:
    notes = []
    if n_edges > drawing.MAX_EDGES:
        notes.append(
            f"Of {n_edges:,} edges only the {m_drawn:,} longest as drawn are shown; every vertex "
            f"is a dot."
        )
    if drawn > drawing.MAX_IDS:
        notes.append(
            f"Above {drawing.MAX_IDS:,} vertices only centers and bubbles answer to the pointer."
        )
    return notes


def _notes_on_bubbles(spots: dict[str, Any] | None) -> list[str]:
    if spots is None:
        return []
    what = (
        "the sum of weights over a cell of a public grid" if spots["cell"] else "a vertex's weight"
    )
    notes = [f"Bubbles: area is proportional to {what}."]
    if spots["negative"]:
        notes.append(
            f"{spots['negative']:,} bubbles whose sum is negative, as noise makes some, are not "
            f"drawn."
        )
    return notes


def _summary(
    metric: Metric, scene: dict[str, Any], method: str | None, k: int | None, evaluation: Any
) -> str:
    weighted = scene["bubbles"] is not None
    noun = str(scene["noun"]).capitalize()
    facts = [("Universe", str(metric.name)), (noun, f"{len(metric):,}")]
    graph = metric.graph
    if graph is not None:
        count, links = graph.edges_in_words.split()
        facts.append((links.capitalize(), count))
    facts += [("Method", method)] if method else []
    facts += [("Centers asked for", f"{k:,}")] if k is not None else []
    total = sum(c["mass"] for c in scene["centers"]) if weighted else 0.0
    facts += [(str(scene["massName"]).capitalize(), f"{grouped(total)} in all")] if weighted else []
    mean = _mean_said(metric, scene, evaluation)
    facts += [("Mean distance", mean)] if mean else []
    listed = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
    head = f"<th>Center</th><th>{noun}</th>" + (
        f"<th>{str(scene['massName']).capitalize()}</th>" if weighted else ""
    )
    rows = "".join(_row(c, weighted) for c in scene["centers"])
    return (
        f"<section><h2>Clustering</h2><dl>{listed}</dl></section>"
        f"<section><h2>Centers</h2><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></section>"
    )


def _mean_said(metric: Metric, scene: dict[str, Any], evaluation: Any) -> str:
    """The mean distance with its interval, where one is known: then no other figure of it."""
    unit = unit_said(metric)
    told = {} if evaluation is None else evaluation.to_dict()
    known = dict(figures_of(told)).get("Mean distance")
    if known is not None:
        low, high = grouped(known["low"]), grouped(known["high"])
        level = show_number(100 * told.get("level", 0.95))
        return f"{grouped(known['estimate'])}{unit}; {level} % interval {low} to {high}"
    if scene["mean"] is None:
        return ""
    over = (
        f"by {scene['massName']}" if scene["bubbles"] is not None else f"over all {scene['noun']}"
    )
    return f"{grouped(scene['mean'])}{unit}, {over}"


def unit_said(metric: Metric) -> str:
    """What distances are measured in, as it stands after a figure."""
    return f" {metric.measured_in}" if metric.measured_in else f" ({metric.measured})"


def _row(center: dict[str, Any], weighted: bool) -> str:
    color = PALETTE[center["color"]]
    mark = f'<i style="background:{color};color:{ink_on(color)}">{center["rank"]}</i>'
    shown = f"{mark}<span>{escape(center['id'])}</span>"
    spoken = escape(f"Center {center['rank']}, {center['id']}: show on the map", quote=True)
    name = f'<button type="button" title="Show on the map" aria-label="{spoken}">{shown}</button>'
    mass = f"<td>{grouped(center['mass'])}</td>" if weighted else ""
    cells = f"<td>{name}</td><td>{center['vertices']:,}</td>{mass}"
    return f'<tr data-center="{center["rank"] - 1}">{cells}</tr>'


def _layers(scene: dict[str, Any]) -> str:
    absent = {"network": not scene["edges"]["bdata"], "mass": scene["bubbles"] is None}
    mass = str(scene["massName"]).capitalize()
    return "".join(
        f'<label><input type="checkbox" value="{name}" checked><span class="key {name}"></span>'
        f"{shown.format(mass=mass)}</label>"
        for name, shown in _LAYERS.items()
        if not absent.get(name)
    )


def _notes(notes: list[str]) -> str:
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<section class="notes"><h2>Reading this map</h2><ul>{items}</ul></section>'


def script_json(scene: dict[str, Any]) -> str:
    """JSON that may stand inside a script element: no character there can end it."""
    text = json.dumps(scene, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _rounded(spots: dict[str, Any]) -> dict[str, Any]:
    return {
        key: [_short(v) for v in value] if isinstance(value, np.ndarray) else value
        for key, value in spots.items()
    }


def _short(value: Any) -> float:
    return float(f"{float(value):.7g}")


def grouped(value: float) -> str:
    """A noisy sum as people read it."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}"
