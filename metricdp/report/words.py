"""Formats numbers, intervals and privacy levels as text."""

import math
from collections.abc import Mapping
from fractions import Fraction
from html import escape
from typing import Any

from metricdp.report.canvas.stage import table_html


def show_number(value: Any) -> str:
    """A number, or numeric text, in at most six significant digits; other text unchanged."""
    try:
        return f"{float(Fraction(str(value))):.6g}"
    except (ValueError, ZeroDivisionError, OverflowError):
        return str(value)


def sureness(epsilon: Fraction, prior: float = 0.5) -> str:
    """Largest posterior probability of a unit's presence under pure epsilon-DP, from this prior;
    rounded up, as text.
    """
    odds = prior * math.exp(min(float(epsilon), 700.0))
    share = odds / (odds + 1 - prior)
    return "over 99.9 %" if share > 0.999 else f"{math.ceil(1000 * share) / 10:g} %"


def exactly(value: Fraction) -> str:
    """A number in a few digits, with the exact fraction if these do not suffice."""
    exact = str(value)
    short = show_number(exact)
    if Fraction(short) == value:
        return short
    return f"{short} (exactly {exact})" if len(exact) <= 24 else f"about {short}"


_FIGURES = {
    "records": "Records",
    "mean": "Mean distance",
    "mean_capped": "Mean distance up to the clip",
    "median": "Median distance",
    "p90": "90th percentile",
    "clipped": "Share beyond the clip",
}


def figures_of(facts: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Names of figures with estimate and interval, from the JSON form of an evaluation."""
    ends = ("estimate", "low", "high")
    rows = [
        (_FIGURES.get(name, name.replace("_", " ").capitalize()), value)
        for name, value in facts.items()
        if isinstance(value, Mapping) and all(isinstance(value.get(e), int | float) for e in ends)
    ]
    for i, limit in enumerate(facts.get("within", [])):
        share = {end: facts["share"][end][i] for end in ends}
        rows.append((f"Share within {show_number(limit)}", share))
    for area in facts.get("by_area", {}).get("areas", []):
        rows.append((f"Mean distance in {area['area']}", area["mean"]))
    return rows


def short(value: float) -> str:
    """A figure in three digits, or rounded to the unit."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def intervals_html(evaluation: Any) -> str:
    """An HTML table of figures with intervals; empty without an evaluation."""
    if evaluation is None:
        return ""
    facts = evaluation.to_dict()
    rows = (
        f"<tr><td>{escape(text)}</td><td>{short(ends['estimate'])}</td>"
        f"<td>{short(ends['low'])} to {short(ends['high'])}</td></tr>"
        for text, ends in figures_of(facts)
    )
    price = (facts.get("receipt") or {}).get("epsilon_exact")
    paid = f"<p>Paid for with ε = {escape(show_number(price))}.</p>" if price else ""
    if facts.get("basis") == "release":
        paid = (
            "<p>Estimated from the release alone, free of charge; intervals hold under a model.</p>"
        )
    if "by_area" in facts:
        worst = facts["by_area"]["worst"] or "not known"
        paid = f"<p>Worst served: {escape(worst)}.</p>{paid}"
    head = ("Figure", "Estimate", f"{show_number(100 * facts.get('level', 0.95))} % interval")
    return table_html("How well the centers serve", head, rows, "intervals", paid)
