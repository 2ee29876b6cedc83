"""HTML of the explore page around the map. All texts of users are escaped."""

from html import escape
from typing import Any

from metricdp.methods.remarks import percent
from metricdp.report.assets import asset, filled
from metricdp.report.canvas.stage import notes_html, page_html, table_html
from metricdp.report.evidence.statement import price_html, receipt_html
from metricdp.report.explore.scene import scene, stage_kind

Shown = Any
"""An `Exploration`, not imported as its module imports this one."""

_ADMINISTRATOR = (
    "Do not publish this page. It shows centers computed from the private data without any "
    "protection."
)
_MADE_UP = (
    "Simulation: the demand on this page is synthetic, on the public universe. Nothing private "
    "took part, and nothing was charged."
)
_LAYERS = {"territories": "Territories", "demand": "Coreset", "centers": "Private centers"}


def explore_page(shown: Shown, title: str | None = None, attribution: str | None = None) -> str:
    """Return the page; see `Exploration.page`."""
    drawn, notes = scene(shown.universe, shown.levels, shown.exact_centers, shown.made_up)
    receipt, last = shown.receipt, len(shown.levels) - 1
    drawn["who"] = "record" if receipt is None else receipt.unit
    drawn["delta"] = f"{float(receipt.delta):g}" if receipt is not None and receipt.delta else None
    drawn["mass"] = "simulated demand" if shown.made_up else "noisy demand"
    centers = f"{shown.k:,} center{'' if shown.k == 1 else 's'} · {shown.universe.name}"
    kind = "A plan" if shown.made_up else "Privacy levels"
    ticks = (
        f'<span data-level="{i}">{escape(level.name)}<br>ε = {float(level.epsilon):g}</span>'
        for i, level in enumerate(shown.levels)
    )
    levels = {"LAST": str(last), "START": str((last + 1) // 2), "TICKS": "".join(ticks)}
    levels["CROWD"] = "many" if last > 4 else "few"
    facts = {"ACCURACY": _accuracy(shown), "RECEIPT": _price(shown)}
    facts |= {name.upper(): str(drawn[name]).capitalize() for name in ("noun", "mass")}
    banner = ""
    if shown.made_up:
        banner = f'<div id="banner" class="calm" role="note">{_MADE_UP}</div>'
    elif shown.exact_centers is not None:
        banner = f'<div id="banner" role="alert">{_ADMINISTRATOR}</div>'
    return page_html(
        f"{kind} for {centers}" if title is None else title,
        _layers(shown),
        attribution,
        drawn,
        banner=banner + "\n",
        choice=filled(asset("explore/choice.html"), levels),
        beside=filled(asset("explore/beside.html"), facts),
        notes=notes_html([*notes, *_reading(shown)]),
        styles=["explore/page.css"],
        scripts=["explore/words.js", "explore/controls.js"],
    )


def _layers(shown: Shown) -> dict[str, str]:
    lines = stage_kind(shown.universe).lines(shown.universe)
    names = _LAYERS if lines is None else {"network": lines} | _LAYERS
    if shown.exact_centers is not None:
        exact = "Centers without noise" if shown.made_up else "Centers without privacy"
        return names | {"exact": exact}
    return names


def _accuracy(shown: Shown) -> str:
    """Predictions as a table of bars, dark to the median and light to the 90th percentile."""
    texts = [(i, level, level.forecast) for i, level in enumerate(shown.levels) if level.forecast]
    if shown.plan is None or not texts:
        return ""
    top = max((f.high for _, _, f in texts if f.high < float("inf")), default=0.0) or 1.0
    rows = []
    for i, level, f in texts:
        long, dark = (100 * min(max(share, 0.0) / top, 1.0) for share in (f.high, f.median))
        bar = f'<i style="width:{long:.1f}%"></i><i class="half" style="width:{dark:.1f}%"></i>'
        name = f"{escape(level.name)} · {float(level.epsilon):g}"
        rows.append(
            f'<tr data-level="{i}"><td>{name}<div>{bar}</div></td>'
            f"<td>{percent(f.median)}</td><td>{percent(f.high)}</td></tr>"
        )
    blind = shown.plan.forecast(None)
    ends = f"<td>{percent(blind.median)}</td><td>{percent(blind.high)}</td>"
    rows.append(f"<tr><td>without any data</td>{ends}</tr>")
    remark = shown.plan.remark()
    after = (
        f"{remark and f'<p>{escape(remark)}</p>'}<details><summary>What was simulated</summary>"
        f"<p>{escape(shown.plan.caption())}</p></details>"
    )
    head = ("Extra cost", "half of runs below", "9 in 10 below")
    return table_html("Predicted accuracy", head, rows, "accuracy", after)


def _price(shown: Shown) -> str:
    if shown.receipt is None:
        return receipt_html(None, "public")
    price = price_html(shown.receipt, exposed=shown.exact_centers is not None)
    if len(shown.levels) == 1:
        return price
    parts = " + ".join(f"{float(level.epsilon):g}" for level in shown.levels)
    total = float(shown.receipt.epsilon)
    loss = f", and δ = {float(shown.receipt.delta):g}" if shown.receipt.delta else ""
    return (
        '<section class="receipt" id="charged"><h2>Shown together, charged together</h2>'
        f"<p>This page shows all {len(shown.levels)} levels. Whoever sees it has seen all of them, "
        f"so together they cost ε = {parts} = <b>{total:g}</b>{loss}, which was charged. A level "
        "is chosen in view of the others, so publishing only one of them afterwards is not "
        "cheaper.</p></section>" + price
    )


def _reading(shown: Shown) -> list[str]:
    what = "simulated" if shown.made_up else "released"
    rows = [
        f"Gray disks: the {what} coreset, summed over squares that follow the zoom; area is "
        f"proportional to weight. Sums below a "
        "thousandth of the heaviest are not drawn.",
        "A center keeps its number and color from level to level where that is possible.",
        "Keyboard: Tab to the slider or to the map; there the arrow keys move, plus and minus "
        "zoom, 0 shows the whole.",
    ]
    if shown.plan is not None and shown.made_up:
        rows.append(
            f"The map shows one of the simulated demands, of the shape "
            f"“{shown.plan.example_shape}”; the figures are of all."
        )
    elif shown.plan is not None:
        rows.append(
            f"Predictions come from runs on {shown.plan.records:,} made-up records, not from the "
            f"data."
        )
    return rows
