"""HTML pages of heat maps and of service bands."""

from typing import Any

import numpy as np

from metricdp.errors import InputError
from metricdp.metrics.units import in_words, unit_shown
from metricdp.report.canvas.network import DrawnUniverse, packed_weights, short
from metricdp.report.canvas.stage import facts_html, notes_html, page_html, table_html
from metricdp.report.colors import HEAT, ramp
from metricdp.report.evidence.statement import price_html, receipt_html
from metricdp.report.map.page import far
from metricdp.report.words import show_number


def heat_page(heat: Any, title: str | None, attribution: str | None) -> str:
    """See `Heatmap.page`."""
    net, metric, receipt = DrawnUniverse(heat.universe), heat.universe, heat.receipt
    factor, per = heat.per
    doubt = heat.standard_error
    level = net.graded(heat.classes, HEAT)
    level["weight"] = packed_weights(factor * heat.density[net.order])
    columns = None if doubt is None else packed_weights(factor * doubt[net.order])
    scene = {"palette": list(HEAT), "levels": [level], "per": per, "doubt": columns}
    width = in_words(heat.bandwidth, unit_shown(metric))
    epsilon = None if receipt is None else receipt.to_dict().get("epsilon")
    spent = "" if epsilon is None else f" · ε = {show_number(epsilon)}"
    named, layers = title or f"Heat map · {metric.name}{spent}", {"territories": "Density"}
    beside = _facts(heat, width, per, net.noun) + (
        price_html(receipt) or receipt_html(None, "weights")
    )
    notes = _notes(heat, width, net)
    return _page(named, layers, attribution, net, scene, beside, notes, "heat/page.js")


def bands_page(bands: Any, plan: Any, title: str | None, attribution: str | None) -> str:
    """See `Bands.page`."""
    metric = bands.metric
    if len(bands.label) != len(metric) or metric.sites is not metric.ids:
        raise InputError("a page of bands needs a finite universe whose points are the sites")
    net, sited = DrawnUniverse(metric), metric.positions(plan.centers)
    n = len(bands.limits) + 1
    colors = ramp(n)
    level = net.graded(bands.label, colors)
    level["centers"] += [
        {"color": n, "rank": i + 1, "id": str(name), "x": short(x), "y": short(y)}
        for i, (name, (x, y)) in enumerate(zip(plan.centers, net.everywhere[sited].tolist()))
        if np.isfinite([x, y]).all()
    ]
    inks, distances = ["#ffffff"] * (n + 1), far(bands.distance[net.order])
    scene = {"palette": [*colors, "#22262b"], "inks": inks, "levels": [level], "far": distances}
    scene["measure"] = unit_shown(metric) or ""
    named = title or f"Service bands · {metric.name}"
    layers = {"territories": "Bands", "centers": "Centers"}
    beside = _bands_table(bands, colors, net.noun) + price_html(plan.receipt)
    notes = net.remarks(shading="The ground has the band of what is nearest on the page.")
    return _page(named, layers, attribution, net, scene, beside, notes, "heat/bands.js")


def _page(
    title: str,
    layers: dict[str, str],
    attribution: str | None,
    net: DrawnUniverse,
    scene: dict[str, Any],
    beside: str,
    notes: list[str],
    script: str,
) -> str:
    """A page with graded ground below streets."""
    return page_html(
        title,
        ({"network": "Streets"} if len(net.edges) else {}) | layers,
        attribution,
        net.data() | {"graded": True, "ids": net.ids()} | scene,
        beside=beside,
        notes=notes_html(notes, "Reading this map"),
        scripts=[script],
        styles=["heat/page.css"],
    )


def _bands_table(bands: Any, colors: list[str], noun: str) -> str:
    """A table of bands: color, points and demand."""
    columns, unit = bands.to_columns(), unit_shown(bands.metric)
    ends = [in_words(limit, unit) for limit in bands.limits]
    names = [f"up to {ends[0]}", *(f"to {end}" for end in ends[1:]), "farther"]
    rows = []
    for i, color in enumerate(colors):
        points = f"{columns['points'][i]:,}"
        cells = f'<td><i style="background:{color}"></i>{names[i]}</td><td>{points}</td>'
        if bands.demand is not None:
            known = f"{columns['demand'][i]:,.0f}"
            if bands.interval is not None:
                known += f" ({columns['low'][i]:,.0f} to {columns['high'][i]:,.0f})"
            cells += f"<td>{known}</td><td>{100 * columns['share'][i]:.0f} %</td>"
        rows.append(f"<tr>{cells}</tr>")
    head = ["Distance", noun.capitalize()] + ["Demand", "Share"] * (bands.demand is not None)
    return table_html("Service bands", head, rows, "intervals")


def _facts(heat: Any, width: str, per: str, noun: str) -> str:
    """Figures of the map, and the legend."""
    factor, _ = heat.per
    total = float(heat.density @ heat.lengths)
    facts = {
        "Universe": str(heat.universe.name),
        "Demand" if heat.receipt is None else "Noisy demand": f"{total:,.0f} in all",
        "Bandwidth": width,
        "Kernel": "quartic, along shortest paths",
    }
    counts = np.bincount(heat.classes, minlength=len(HEAT)).tolist()
    starts = ["less, or within its noise" if heat.standard_error is not None else "less"]
    starts += [f"from {in_words(factor * float(low), None)}" for low in heat.breaks]
    rows = [
        f'<tr><td><i style="background:{color}"></i>{start}</td><td>{count:,}</td></tr>'
        for color, start, count in reversed(list(zip(HEAT, starts, counts)))
    ]
    head = (f"Per {per}", noun.capitalize())
    return facts_html("Demand", facts) + table_html("Density", head, rows, "intervals")


def _notes(heat: Any, width: str, net: DrawnUniverse) -> list[str]:
    found = [
        f"Demand of every point is spread over {width} around it, so nothing finer than that is "
        f"shown."
    ]
    if heat.standard_error is not None:
        found.append(
            "Gray: densities below two standard errors, where the noise hides whether anybody is."
            if heat.receipt is not None
            else "Gray: densities below two standard errors of counts of people."
        )
    return found + net.remarks(shading="The ground has the density of what is nearest on the page.")
