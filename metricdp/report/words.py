"""A receipt in words, as escaped HTML."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from html import escape
from typing import Any, Literal

from metricdp.report.canvas.stage import table_html

Basis = Literal["public", "non-private"]

_NEIGHBORING = {
    "add-remove": "add-remove: one {unit} more or less",
    "replace-one": "replace-one: one {unit} changed for another",
}
_ORDER = ("epsilon", "delta", "neighboring", "unit", "sensitivity", "mechanisms")
_LABELS = {
    "epsilon": "ε (epsilon)",
    "delta": "δ (delta)",
    "neighboring": "Neighboring relation",
    "unit": "Unit of privacy",
}

_WITHOUT: dict[Basis | None, tuple[str, str]] = {
    None: (
        "No receipt",
        "This page came without a receipt, so it states no privacy guarantee. Treat the "
        "clustering as non-private unless it was computed from public data alone.",
    ),
    "public": (
        "Public clustering",
        "Computed from the public universe alone. No private data took part, and no privacy "
        "budget was spent.",
    ),
    "non-private": (
        "Not private",
        "This clustering was computed from demand data without differential privacy, on purpose. "
        "The centers and weights may reveal where that demand is: share this page only as you "
        "would share the data.",
    ),
}


def show_number(value: Any) -> str:
    """A number, or numeric text, in at most six significant digits; other text as it is."""
    try:
        return f"{float(Fraction(str(value))):.6g}"
    except (ValueError, ZeroDivisionError, OverflowError):
        return str(value)


def sureness(epsilon: Fraction) -> str:
    """How sure even odds can become: e^epsilon / (1 + e^epsilon), rounded up."""
    share = 1 / (1 + math.exp(-min(float(epsilon), 700.0)))
    return "over 99.9 %" if share > 0.999 else f"{math.ceil(1000 * share) / 10:.1f} %"


def meaning(facts: Mapping[str, Any]) -> str:
    """What the epsilon of a receipt means, in a sentence; nothing where there is none."""
    try:
        epsilon = Fraction(str(facts.get("epsilon_exact", facts.get("epsilon"))))
        delta = Fraction(str(facts.get("delta_exact", facts.get("delta") or 0)))
    except (ValueError, ZeroDivisionError):
        return ""
    exchanged = facts.get("neighboring") == "replace-one"
    happened = "was this one rather than another" if exchanged else "took part"
    what = f"that a {facts.get('unit') or 'record'} {happened}"
    but = f", but for a chance of about {show_number(delta)}" if delta else ""
    sure = f"at most {sureness(epsilon)} sure of it from this page{but}"
    return f"Whoever thought it as likely as not {what} can be {sure}."


def receipt_html(receipt: Any, basis: Basis | None = None) -> str:
    """Say in HTML what was spent and for what, or that there is no guarantee."""
    if receipt is None:
        title, text = _WITHOUT[basis]
        tone = "plain" if basis == "public" else "warn"
        return f'<section class="receipt {tone}"><h2>{title}</h2><p>{text}</p></section>'
    facts = _with_exact(receipt.to_dict())
    unit = str(facts.get("unit") or "record")
    known = [key for key in _ORDER if facts.get(key) is not None]
    rest = [key for key in facts if key not in (*_ORDER, "made") and facts[key] is not None]
    each = ((escape(_label(key)), _fact(key, facts[key], unit)) for key in known + rest)
    rows = "".join(f"<dt>{label}</dt><dd>{fact}</dd>" for label, fact in each)
    said = meaning(receipt.to_dict())
    return (
        '<section class="receipt"><h2>Privacy receipt</h2>'
        "<p>Nothing on this page was computed from private data other than through these "
        f"releases.</p>{said and f'<p>{escape(said)}</p>'}<dl>{rows}</dl><details><summary>As text"
        f"</summary><code>{escape(str(receipt))}</code></details></section>"
    )


_FIGURES = {
    "records": "Records",
    "mean": "Mean distance",
    "mean_capped": "Mean distance up to the clip",
    "median": "Median distance",
    "p90": "90th percentile",
    "clipped": "Share beyond the clip",
}


def figures_of(told: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Names of figures, their estimates and both ends, from an evaluation's JSON."""
    ends = ("estimate", "low", "high")
    rows = [
        (_FIGURES.get(name, _label(name)), value)
        for name, value in told.items()
        if isinstance(value, Mapping) and all(isinstance(value.get(e), int | float) for e in ends)
    ]
    for i, limit in enumerate(told.get("within", [])):
        share = {end: told["share"][end][i] for end in ends}
        rows.append((f"Share within {show_number(limit)}", share))
    for area in told.get("by_area", {}).get("areas", []):
        rows.append((f"Mean distance in {area['area']}", area["mean"]))
    return rows


def short(value: float) -> str:
    """A figure that is known roughly, in three digits or to the unit."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def intervals_html(evaluation: Any) -> str:
    """Figures with their intervals, as a table; nothing without an evaluation."""
    if evaluation is None:
        return ""
    told = evaluation.to_dict()
    rows = (
        f"<tr><td>{escape(text)}</td><td>{short(ends['estimate'])}</td>"
        f"<td>{short(ends['low'])} to {short(ends['high'])}</td></tr>"
        for text, ends in figures_of(told)
    )
    price = (told.get("receipt") or {}).get("epsilon_exact")
    paid = f"<p>Paid for with ε = {escape(show_number(price))}.</p>" if price else ""
    if told.get("basis") == "release":
        paid = "<p>Estimated from the release alone, free of charge: intervals of a model.</p>"
    if "by_area" in told:
        paid = f"<p>Worst served: {escape(told['by_area']['worst'])}.</p>{paid}"
    head = ("Figure", "Estimate", f"{show_number(100 * told.get('level', 0.95))} % interval")
    return table_html("How well the centers serve", head, rows, "intervals", paid)


def _with_exact(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Fold ``epsilon_exact`` into ``epsilon``, if the decimal is not exact; delta too."""
    merged = {key: value for key, value in facts.items() if not str(key).endswith("_exact")}
    for key in [key for key in merged if f"{key}_exact" in facts]:
        exact = str(facts[f"{key}_exact"])
        short = show_number(exact)
        try:
            whole = Fraction(short) == Fraction(exact)
        except ValueError:
            whole = True
        merged[key] = short if whole else f"{short} (exactly {exact})"
    return merged


def _label(key: str) -> str:
    return _LABELS.get(key, str(key).replace("_", " ").capitalize())


def _fact(key: str, value: Any, unit: str) -> str:
    if key == "mechanisms" and isinstance(value, list | tuple):
        return "<ul>" + "".join(f"<li>{_mechanism(m)}</li>" for m in value) + "</ul>"
    if key == "neighboring" and str(value) in _NEIGHBORING:
        return escape(_NEIGHBORING[str(value)].format(unit=unit))
    return _plain(value)


def _mechanism(value: Any) -> str:
    """One line a mechanism: its name, then its other fields."""
    if not isinstance(value, Mapping):
        return escape(str(value))
    rest = {key: v for key, v in _with_exact(value).items() if v is not None}
    if show_number(rest.get("delta")) == "0":  # as most mechanisms have none
        del rest["delta"]
    names = [str(rest.pop(key, "")) for key in ("name", "mechanism")]
    asked = rest.pop("query", None)
    parts = [f"<b>{escape(name)}</b>" for name in filter(None, names)][:1]
    if parts and asked is not None:
        parts[0] += f" on {_plain(asked)}"
    return "; ".join(parts + ([_plain(rest)] if rest else []))


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        spoken = {"epsilon": "ε =", "delta": "δ ="}
        told = ((spoken.get(str(k), str(k).replace("_", " ")), v) for k, v in value.items())
        return "; ".join(f"{escape(name)} {_plain(v)}" for name, v in told)
    if isinstance(value, list | tuple):
        return ", ".join(_plain(v) for v in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float) or re.fullmatch(r"-?\d+/\d+", str(value)):
        return escape(show_number(value))
    return escape(str(value))
