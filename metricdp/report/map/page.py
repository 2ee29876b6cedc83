"""The map page: one self-contained HTML file that shows a clustering on its public universe."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from metricdp.arguments import Floats, floats, integer, listed, shown
from metricdp.errors import InputError
from metricdp.metrics.units import in_words, unit_shown
from metricdp.options import hashable
from metricdp.report import drawing
from metricdp.report.canvas import network
from metricdp.report.canvas.network import STEPS, DrawnUniverse, short
from metricdp.report.canvas.stage import facts_html, notes_html, page_html, table_html
from metricdp.report.colors import PALETTE, ink_on
from metricdp.report.evidence.statement import Basis, price_html, receipt_html
from metricdp.report.layers import check_sited
from metricdp.report.words import figures_of, intervals_html, show_number

if TYPE_CHECKING:
    from metricdp.metrics.base import Metric


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
    stability: Any = None,
) -> str:
    """Return an HTML page with the network, the centers, their territories and the noisy demand.

    The page loads nothing: its content security policy forbids network requests. All arguments are
    public or post-processing of a release.

    Parameters
    ----------
    metric : Metric
        A finite universe. Where it has no coordinates a layout is computed from its distances
        (`pivot_layout`).
    centers : sequence of ids
        Distinct, the user's own.
    weights : array_like of float, shape (n_points,), optional
        Noisy demand per point in the order of ``metric.ids`` (a release's ``weights``), shown as
        sums over squares of a public grid that follow the zoom.
    title : str, optional
        Instead of "20 centers · Coquimbo · ε = 1".
    receipt : Receipt, optional
        What the releases cost; anything with ``to_dict()`` and ``str()``.
    method : str, optional
        Name of the method, shown in the panel.
    k : int, optional
        Number of centers asked for, if it may differ from the number of centers.
    basis : {"public", "non-private"}, optional
        Without a receipt: what the clustering was computed from. Left out, the page says that it
        states no guarantee.
    attribution : str, optional
        Credit for the network's data, such as "© OpenStreetMap contributors", shown on the map.
    evaluation : Evaluation or Summary, optional
        How well these centers serve the demand (`metricdp.evaluate`, or free
        `metricdp.Result.summary`), in the order of `centers`: shown with its intervals.
    stability : Stability or SiteCosts, optional
        How firmly the centers stand (`metricdp.Solution.stability`), in the order of `centers`:
        shown as halos and a sentence.

    Raises
    ------
    InputError
        A table of costs, no centers, repeated ones, weights of another length or not finite, both a
        receipt and a basis.
    UnknownIdError
        A center is not in the universe.

    Notes
    -----
    Equal arguments give equal pages. One multi-source shortest path computation, and 51 rows of the
    metric more where a layout has to be computed.

    Examples
    --------
    >>> from metricdp.report import map_page
    >>> metric = mdp.EuclideanMetric([[0, 0], [4, 0], [9, 0]])
    >>> page = map_page(metric, mdp.k_median(metric, k=1).centers, title="One clinic")
    >>> "<title>One clinic" in page
    True
    """
    wrong = any(not isinstance(said, str | None) for said in (title, method, attribution))
    if wrong or (k is not None and integer(k) is None):
        raise InputError("title, method and attribution must be text, and k an integer")
    chosen, noisy = _checked(metric, centers, weights, receipt, basis)
    scene = _scene(metric, chosen, noisy, "weight" if receipt is None else "noisy demand")
    answer = scene["levels"][0]
    answer["centers"] = _with_intervals(answer["centers"], evaluation)
    if stability is not None:
        for i, (record, doubt) in enumerate(zip(answer["centers"], stability.doubt.tolist())):
            record |= {"doubt": short(doubt), "firm": stability.of_site(i)}
    named = title if title is not None else _title(metric, len(chosen), receipt, k)
    figures = _summary(metric, scene, method, k, evaluation) + intervals_html(evaluation)
    if stability is not None:
        sentence = escape(stability.sentence(unit_shown(metric)))
        figures += f"<section><h2>How sure their places are</h2><p>{sentence}</p></section>"
    return page_html(
        named,
        _layers(scene),
        attribution,
        {key: v for key, v in scene.items() if key not in ("mean", "notes")},
        beside=_result(figures, receipt, basis),
        notes=notes_html(scene["notes"] + _notes(answer), "Reading this map"),
        scripts=["map/page.js"],
    )


def _result(summary: str, receipt: Any, basis: Basis | None) -> str:
    """The figures and the receipt; a warning of a missing guarantee comes first."""
    price = price_html(receipt) or receipt_html(None, basis)
    warned = receipt is None and basis != "public"
    return price + summary if warned else summary + price


def _checked(
    metric: Metric, centers: Any, weights: Any, receipt: Any, basis: Any
) -> tuple[list[Hashable], Floats | None]:
    chosen = listed(centers, "centers")
    if not chosen:
        raise InputError("a map needs at least one center")
    check_sited(metric)
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
    parts = [f"{k:,} center{'' if k == 1 else 's'}", str(metric.name)]
    parts[0] += f" of {asked:,} asked for" if asked not in (None, k) else ""
    epsilon = None if receipt is None else receipt.to_dict().get("epsilon")
    return " · ".join(parts + ([] if epsilon is None else [f"ε = {show_number(epsilon)}"]))


def _scene(metric: Metric, centers: list[Any], noisy: Floats | None, mass: str) -> dict[str, Any]:
    """The data that the page's script draws; ``notes`` tell what is not drawn."""
    position = np.asarray(metric.positions(centers), dtype=np.int64)
    label, distance = metric.nearest(centers)
    net = DrawnUniverse(metric)
    notes, ids = net.remarks(), net.ids()
    lost = int((~np.isfinite(net.everywhere[position]).all(axis=1)).sum())
    if lost:
        what = "center has" if lost == 1 else "centers have"
        notes.append(f"{lost:,} {what} no coordinates: see the table.")
    if ids is None:
        above = f"Above {network.MAX_IDS:,} {net.noun}"
        notes.append(f"{above} only centers and squares answer to the pointer.")
    answer = net.answer(centers, label, net.colors(label, position), noisy)
    facts: dict[str, Any] = {"levels": [answer], "mass": mass, "measure": unit_shown(metric) or ""}
    facts |= {"ids": ids, "mean": _mean_distance(distance, noisy), "notes": notes}
    return net.data() | facts | ({} if ids is None else {"far": far(distance[net.order])})


def far(distance: Floats) -> dict[str, Any]:
    """Distances for the script, in 2^20 steps; -1 if infinite."""
    known = np.isfinite(distance)
    step = float(distance[known].max(initial=0.0)) / STEPS or 1.0
    at = np.where(known, np.rint(np.where(known, distance, 0.0) / step), -1).astype(np.int64)
    return {"step": step, **drawing.squeezed(at)}


def _notes(answer: dict[str, Any]) -> list[str]:
    """Notes on demand and halos, if there are any."""
    notes = []
    if answer["weight"] is not None:
        notes.append(
            "Gray disks: sums of weights over squares that follow the zoom; area is proportional "
            "to the sum. Sums below a thousandth of the largest are not drawn, nor are negative "
            "ones, which noise can cause."
        )
    if "doubt" in answer["centers"][0]:
        notes.append("Halos around centers: the wider, the less sure the place of the center.")
    elif "low" in answer["centers"][0]:
        less = "the less sure how much demand the center serves"
        notes.append(f"Halos around centers: the wider, {less}.")
    return notes


def _mean_distance(distance: Floats, noisy: Floats | None) -> float | None:
    """Mean distance of (noisy) demand, or of all points; None if the total is not positive."""
    if noisy is None:
        return short(distance.mean()) if np.isfinite(distance).all() else None
    total = float(noisy.sum())
    mean = float(noisy @ distance) / total if total > 0 else -1.0
    return short(mean) if 0 <= mean < np.inf else None


def _with_intervals(centers: list[dict[str, Any]], evaluation: Any) -> list[dict[str, Any]]:
    """The records of centers; if an evaluation has their loads with intervals, with these."""
    loads = getattr(evaluation, "loads", None)
    if loads is None or np.shape(loads.low) != (len(centers),):
        return centers
    mass = [None if c["mass"] is None else short(load) for c, load in zip(centers, loads.estimate)]
    ends = zip(mass, map(short, loads.low), map(short, loads.high))
    return [c | dict(zip(("mass", "low", "high"), each)) for c, each in zip(centers, ends)]


def _summary(
    metric: Metric, scene: dict[str, Any], method: str | None, k: int | None, evaluation: Any
) -> str:
    centers = scene["levels"][0]["centers"]
    weighted = scene["levels"][0]["weight"] is not None
    noun, mass = str(scene["noun"]).capitalize(), str(scene["mass"]).capitalize()
    facts = {"Universe": str(metric.name), noun: f"{len(metric):,}"}
    if metric.graph is not None:
        count, links = metric.graph.edges_in_words.split()
        facts[links.capitalize()] = count
    if method:
        facts["Method"] = method
    if k is not None:
        facts["Centers asked for"] = f"{k:,}"
    if weighted:
        facts[mass] = f"{_grouped(sum(c['mass'] for c in centers))} in all"
    mean = _mean_text(metric, scene, evaluation)
    if mean:
        facts["Mean distance"] = mean
    head = ["Center", noun, *[mass] * weighted]
    rows = (_row(c, weighted) for c in centers)
    return facts_html("Clustering", facts) + table_html("Centers", head, rows)


def _mean_text(metric: Metric, scene: dict[str, Any], evaluation: Any) -> str:
    """The mean distance as text, with its interval if an evaluation has it."""
    unit = unit_shown(metric)
    facts = {} if evaluation is None else evaluation.to_dict()
    known = dict(figures_of(facts)).get("Mean distance")
    if known is not None:
        estimate, low, high = (in_words(known[end], unit) for end in ("estimate", "low", "high"))
        level = show_number(100 * facts.get("level", 0.95))
        return f"{estimate}; {level} % interval {low} to {high}"
    if scene["mean"] is None:
        return ""
    weighted = scene["levels"][0]["weight"] is not None
    over = f"by {scene['mass']}" if weighted else f"over all {scene['noun']}"
    return f"{in_words(scene['mean'], unit)}, {over}"


def _row(center: dict[str, Any], weighted: bool) -> str:
    color = PALETTE[center["color"]]
    mark = f'<i style="background:{color};color:{ink_on(color)}">{center["rank"]}</i>'
    shown = f"{mark}<span>{escape(center['id'])}</span>"
    spoken = escape(f"Center {center['rank']}, {center['id']}: show on the map", quote=True)
    name = f'<button type="button" title="Show on the map" aria-label="{spoken}">{shown}</button>'
    mass = f"<td>{_grouped(center['mass'])}</td>" if weighted else ""
    cells = f"<td>{name}</td><td>{center['vertices']:,}</td>{mass}"
    return f'<tr data-center="{center["rank"] - 1}">{cells}</tr>'


def _layers(scene: dict[str, Any]) -> dict[str, str]:
    names = {"network": "Network", "territories": "Territories"}
    names |= {"demand": str(scene["mass"]).capitalize(), "centers": "Centers"}
    absent = {"network": not scene["tails"]["n"]}
    absent |= {"demand": scene["levels"][0]["weight"] is None}
    return {name: shown for name, shown in names.items() if not absent.get(name)}


def _grouped(value: float) -> str:
    """A noisy sum as text."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}"
