"""The pages of heat maps and of service bands, on the canvas of the other maps."""

from __future__ import annotations

import json
from html import escape
from typing import Any

import numpy as np

from metricdp.errors import InputError
from metricdp.metrics.units import in_words, unit_shown
from metricdp.report import drawing
from metricdp.report.canvas.network import DrawnUniverse, packed_weights, short
from metricdp.report.canvas.stage import notes_html, page_html
from metricdp.report.colors import HEAT, ramp
from metricdp.report.evidence.statement import embedded
from metricdp.report.map.page import MAX_IDS, far
from metricdp.report.words import receipt_html, show_number


def heat_page(heat: Any, title: str | None, attribution: str | None) -> str:
    """See `Heatmap.page`."""
    net, metric = DrawnUniverse(heat.universe), heat.universe
    factor, per = heat.per
    classes = heat.classes
    ground = None if net.ground is None else net.ground.painted(classes[net.order], HEAT)
    level: dict[str, Any] = {
        "centers": [{"color": i, "x": None, "y": None} for i in range(len(HEAT))],
        "label": drawing.squeezed(classes[net.order]),
        "weight": packed_weights(factor * heat.density[net.order]),
        "shade": ground,
    }
    doubt = heat.standard_error
    names = json.dumps([str(metric.ids[i]) for i in net.order.tolist()], separators=(",", ":"))
    scene = net.told() | {
        "palette": list(HEAT),
        "graded": True,
        "levels": [level],
        "per": per,
        "doubt": None if doubt is None else packed_weights(factor * doubt[net.order]),
        "ids": drawing.squeezed_text(names) if len(net.order) <= MAX_IDS else None,
    }
    width = in_words(heat.bandwidth, unit_shown(metric))
    receipt = heat.receipt
    epsilon = None if receipt is None else receipt.to_dict().get("epsilon")
    known = f"Heat map · {metric.name}" + (
        "" if epsilon is None else f" · ε = {show_number(epsilon)}"
    )
    said = receipt_html(receipt) if receipt is not None else _PLAIN
    return page_html(
        title or known,
        {"network": "Streets", "territories": "Density"}
        if len(net.edges)
        else {"territories": "Density"},
        attribution,
        scene,
        beside=_facts(heat, width, per) + said + ("" if receipt is None else embedded(receipt)),
        notes=notes_html(_notes(heat, width, net), "Reading this map"),
        scripts=["heat/page.js"],
        styles=["heat/page.css"],
    )


def bands_page(bands: Any, plan: Any, title: str | None, attribution: str | None) -> str:
    """See `Bands.page`."""
    metric, receipt = bands.metric, plan.receipt
    if len(bands.label) != len(metric) or metric.sites is not metric.ids:
        raise InputError("a page of bands needs a finite universe whose points are the sites")
    net, sited = DrawnUniverse(metric), metric.positions(plan.centers)
    colors, n = ramp(len(bands.limits) + 1), len(bands.limits) + 1
    label = bands.label[net.order]
    sites = [
        {"color": n, "rank": i + 1, "id": str(name), "x": short(x), "y": short(y)}
        for i, (name, (x, y)) in enumerate(zip(plan.centers, net.everywhere[sited].tolist()))
        if np.isfinite([x, y]).all()
    ]
    level: dict[str, Any] = {
        "centers": [{"color": i, "x": None, "y": None} for i in range(n)] + sites,
        "label": drawing.squeezed(label),
        "weight": None,
        "shade": None if net.ground is None else net.ground.painted(label, colors),
    }
    names = json.dumps([str(metric.ids[i]) for i in net.order.tolist()], separators=(",", ":"))
    scene = net.told() | {
        "palette": [*colors, "#22262b"],
        "inks": ["#ffffff"] * (n + 1),
        "graded": True,
        "levels": [level],
        "measure": unit_shown(metric) or "",
        "far": far(bands.distance[net.order]),
        "ids": drawing.squeezed_text(names) if len(net.order) <= MAX_IDS else None,
    }
    said = "" if receipt is None else receipt_html(receipt) + embedded(receipt)
    layers = {"network": "Streets", "territories": "Bands", "centers": "Centers"}
    return page_html(
        title or f"Service bands · {metric.name}",
        {name: text for name, text in layers.items() if name != "network" or len(net.edges)},
        attribution,
        scene,
        beside=_bands_table(bands, colors, net.noun) + said,
        notes=notes_html(
            net.remarks(shading="The ground has the band of what is nearest on the page."),
            "Reading this map",
        ),
        scripts=["heat/bands.js"],
        styles=["heat/page.css"],
    )


def _bands_table(bands: Any, colors: list[str], noun: str) -> str:
    """What each color stands for, and what lies there."""
    told, unit = bands.to_columns(), unit_shown(bands.metric)
    ends = [in_words(limit, unit) for limit in bands.limits]
    said = [f"up to {ends[0]}", *(f"to {end}" for end in ends[1:]), "farther"]
    head = f"<th>Distance</th><th>{noun.capitalize()}</th>"
    head += "" if bands.demand is None else "<th>Demand</th><th>Share</th>"
    rows = ""
    for i, color in enumerate(colors):
        cells = (
            f'<td><i style="background:{color}"></i>{said[i]}</td><td>{told["points"][i]:,}</td>'
        )
        if bands.demand is not None:
            known = f"{told['demand'][i]:,.0f}"
            if bands.interval is not None:
                known += f" ({told['low'][i]:,.0f} to {told['high'][i]:,.0f})"
            cells += f"<td>{known}</td><td>{100 * told['share'][i]:.0f} %</td>"
        rows += f"<tr>{cells}</tr>"
    return (
        f'<section class="intervals"><h2>Service bands</h2><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></section>"
    )


_PLAIN = (
    '<section class="receipt warn"><h2>Not private</h2><p>Made of weights as they are. Who '
    "knows the bandwidth can compute from it where each person is: share this page only as you "
    "would share the data.</p></section>"
)


def _facts(heat: Any, width: str, per: str) -> str:
    """The figures, and what each color stands for."""
    factor, _ = heat.per
    total = float(heat.density @ heat.lengths)
    facts = {
        "Universe": str(heat.universe.name),
        "Demand" if heat.receipt is None else "Noisy demand": f"{total:,.0f} in all",
        "Bandwidth": width,
        "Kernel": "quartic, along shortest paths",
    }
    listed = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
    counts = np.bincount(heat.classes, minlength=len(HEAT)).tolist()
    starts = ["less, or within its noise" if heat.standard_error is not None else "less"]
    starts += [f"from {in_words(factor * float(low), None)}" for low in heat.breaks]
    rows = "".join(
        f'<tr><td><i style="background:{color}"></i>{start}</td><td>{count:,}</td></tr>'
        for color, start, count in reversed(list(zip(HEAT, starts, counts)))
    )
    noun = "points" if heat.universe.graph is None else "vertices"
    return (
        f"<section><h2>Demand</h2><dl>{listed}</dl></section>"
        f'<section class="intervals"><h2>Density</h2><table><thead><tr><th>Per {escape(per)}</th>'
        f"<th>{noun.capitalize()}</th></tr></thead><tbody>{rows}</tbody></table></section>"
    )


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
