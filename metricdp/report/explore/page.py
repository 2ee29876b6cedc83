"""The explore page's text around the map. Everything that is a user's is escaped."""

from __future__ import annotations

from html import escape
from typing import Any

from metricdp.methods.remarks import percent
from metricdp.report.assets import asset, filled
from metricdp.report.canvas.stage import notes_html, page_html
from metricdp.report.evidence.statement import embedded
from metricdp.report.explore.scene import scene, stage_kind
from metricdp.report.words import receipt_html

Shown = Any
"""An `Exploration`, which makes its page by this module and so is not imported."""

_ADMINISTRATOR = (
    "Do not publish this page. It shows centers computed from the private data without any "
    "protection."
)
_MADE_UP = (
    "Simulation: the demand on this page is made up on the public universe. Nothing private took "
    "part, nothing was charged."
)
_LAYERS = {
    "network": "Network",
    "territories": "Territories",
    "demand": "Coreset",
    "centers": "Private centers",
}
_EXACT = "Centers without privacy"


def explore_page(shown: Shown, title: str | None = None, attribution: str | None = None) -> str:
    """Return the page; see `Exploration.page`."""
    drawn, notes = scene(shown.universe, shown.levels, shown.exact_centers, shown.made_up)
    drawn["who"] = "record" if shown.receipt is None else shown.receipt.unit
    drawn["delta"] = (
        f"{float(shown.receipt.delta):g}"
        if shown.receipt is not None and shown.receipt.delta
        else None
    )
    drawn["mass"] = "simulated demand" if shown.made_up else "noisy demand"
    centers = f"{shown.k:,} center{'' if shown.k == 1 else 's'} · {shown.universe.name}"
    kind = "A plan" if shown.made_up else "Privacy levels"
    named = title if title is not None else f"{kind} for {centers}"
    levels = {
        "LAST": str(len(shown.levels) - 1),
        "START": str(len(shown.levels) // 2),
        "TICKS": "".join(
            _tick(i, level.name, float(level.epsilon)) for i, level in enumerate(shown.levels)
        ),
        "CROWD": "many" if len(shown.levels) > 5 else "few",
    }
    facts = {
        "ACCURACY": _accuracy(shown),
        "NOUN": str(drawn["noun"]).capitalize(),
        "MASS": str(drawn["mass"]).capitalize(),
        "RECEIPT": _price(shown),
    }
    return page_html(
        named,
        _layers(shown),
        attribution,
        drawn,
        banner=_banner(shown) + "\n",
        choice=filled(asset("explore/choice.html"), levels),
        beside=filled(asset("explore/beside.html"), facts),
        notes=notes_html([*notes, *_reading(shown)]),
        styles=["explore/page.css"],
        scripts=["explore/words.js", "explore/controls.js"],
    )


def _tick(i: int, name: str, epsilon: float) -> str:
    return f'<span data-level="{i}">{escape(name)}<br>ε = {epsilon:g}</span>'


def _banner(shown: Shown) -> str:
    if shown.made_up:
        return f'<div id="banner" class="calm" role="note">{_MADE_UP}</div>'
    return (
        ""
        if shown.exact_centers is None
        else f'<div id="banner" role="alert">{_ADMINISTRATOR}</div>'
    )


def _layers(shown: Shown) -> dict[str, str]:
    names = dict(_LAYERS)
    lines = stage_kind(shown.universe).lines(shown.universe)
    if lines is None:
        del names["network"]
    else:
        names["network"] = lines
    if shown.exact_centers is not None:
        names["exact"] = "Centers without noise" if shown.made_up else _EXACT
    return names


def _accuracy(shown: Shown) -> str:
    """The predictions as bars: dark to the median, light to the 90th percentile."""
    told = [
        (i, level, level.forecast)
        for i, level in enumerate(shown.levels)
        if level.forecast is not None
    ]
    if shown.plan is None or not told:
        return ""
    top = max((f.high for _, _, f in told if f.high < float("inf")), default=0.0) or 1.0
    rows = []
    for i, level, f in told:
        long = min(max(f.high, 0.0) / top, 1.0)
        dark = min(max(f.median, 0.0) / top, 1.0)
        bar = (
            f'<i style="width:{100 * long:.1f}%"></i>'
            f'<i class="half" style="width:{100 * dark:.1f}%"></i>'
        )
        name = f"{escape(level.name)} · {float(level.epsilon):g}"
        rows.append(
            f'<tr data-level="{i}"><td>{name}<div>{bar}</div></td>'
            f"<td>{percent(f.median)}</td><td>{percent(f.high)}</td></tr>"
        )
    blind = shown.plan.forecast(None)
    rows.append(
        f"<tr><td>without any "
        f"data</td><td>{percent(blind.median)}</td><td>{percent(blind.high)}</td></tr>"
    )
    said = shown.plan.remark()
    if said:
        said = f"<p>{escape(said)}</p>"
    head = "<tr><th>Extra cost</th><th>half of runs below</th><th>9 in 10 below</th></tr>"
    return (
        '<section class="accuracy"><h2>Predicted accuracy</h2>'
        f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>{said}"
        f"<details><summary>What was "
        f"simulated</summary><p>{escape(shown.plan.caption())}</p></details></section>"
    )


def _price(shown: Shown) -> str:
    if shown.receipt is None:
        return receipt_html(None, "public")
    parts = " + ".join(f"{float(level.epsilon):g}" for level in shown.levels)
    total = float(shown.receipt.epsilon)
    loss = f", and δ = {float(shown.receipt.delta):g}" if shown.receipt.delta else ""
    return (
        '<section class="receipt" id="charged"><h2>Shown together, charged together</h2>'
        f"<p>This page shows all {len(shown.levels)} levels, and whoever sees it has seen them "
        f"all: together they cost "
        f"ε = {parts} = <b>{total:g}</b>{loss}, and that was charged. A level is chosen in view "
        f"of the others, so publishing "
        "only one of them afterwards does not make it cheaper.</p></section>"
        + receipt_html(shown.receipt)
        + embedded(shown.receipt)
    )


def _reading(shown: Shown) -> list[str]:
    what = "simulated" if shown.made_up else "released"
    told = [
        f"Gray disks: the {what} coreset, summed over squares that follow the zoom; area is "
        f"proportional to weight. Sums below a "
        "thousandth of the heaviest are not drawn.",
        "A center keeps its number and color from level to level where that is possible.",
        "Keyboard: Tab to the slider or to the map; there the arrow keys move, plus and minus "
        "zoom, 0 shows the whole.",
    ]
    if shown.plan is not None and shown.made_up:
        told.append(
            f"The map shows one of the simulated demands, of the shape "
            f"“{shown.plan.example_shape}”; the figures are of all."
        )
    elif shown.plan is not None:
        told.append(
            f"Predictions come from runs on {shown.plan.records:,} made-up records, not from the "
            f"data."
        )
    return told
