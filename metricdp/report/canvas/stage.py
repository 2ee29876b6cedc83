"""The common frame of all pages: markup of the map, scripts, styles, and sections of text."""

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from metricdp.report.assets import asset, filled

_SCRIPTS = ("stage", "data", "view", "network", "demand", "centers", "steer")


def page_html(
    title: str,
    layers: Mapping[str, str],
    attribution: str | None,
    scene: Mapping[str, Any],
    *,
    beside: str,
    notes: str,
    scripts: Iterable[str],
    styles: Iterable[str] = (),
    banner: str = "",
    choice: str = "",
) -> str:
    """A whole page: banner, title, controls (`choice`), map, and the sections `beside` it.

    Texts are HTML, except title and attribution. `layers`: names of layers by key;
    `scripts` and `styles` name a page's own files, `scene` is what the scripts draw.
    """
    pieces = {
        "TITLE": escape(title),
        "STYLE": _joined("common.css", "phone.css", *styles, "print.css"),
        "BANNER": banner,
        "CHOICE": choice,
        "STAGE": _stage(title, layers, attribution),
        "BESIDE": beside,
        "NOTES": notes,
        "DATA": script_json(scene),
        "SCRIPT": _joined(*(f"canvas/{name}.js" for name in _SCRIPTS), *scripts),
    }
    return filled(asset("canvas/frame.html"), pieces)


def _joined(*names: str) -> str:
    return "".join(map(asset, names))


def _stage(title: str, layers: Mapping[str, str], attribution: str | None = None) -> str:
    """The markup of the map."""
    key = '<span class="key {0}"></span>'
    box = f'<label><input type="checkbox" value="{{0}}" checked>{key}{{1}}</label>'
    listed = "".join(box.format(key, escape(name)) for key, name in layers.items())
    shown = f">{escape(attribution)}" if attribution else " hidden>"
    credit = f'<p id="credit"{shown}</p>'
    pieces = {"TITLE": escape(title), "LAYERS": listed, "CREDIT": credit}
    return filled(asset("canvas/stage.html"), pieces)


def notes_html(notes: Iterable[str], heading: str = "Reading this page") -> str:
    """The last section of a page: notes on how to read it."""
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<section class="notes"><h2>{heading}</h2><ul>{items}</ul></section>'


def facts_html(heading: str, facts: Mapping[str, str]) -> str:
    """A section with a list of named facts."""
    listed = "".join(f"<dt>{escape(n)}</dt><dd>{escape(fact)}</dd>" for n, fact in facts.items())
    return f"<section><h2>{heading}</h2><dl>{listed}</dl></section>"


def table_html(
    heading: str, head: Iterable[str], rows: Iterable[str], kind: str = "", after: str = ""
) -> str:
    """A section with a table; `head`: titles of columns; `rows`: markup."""
    titles = "".join(f"<th>{escape(title)}</th>" for title in head)
    return (
        f'<section class="{kind}"><h2>{heading}</h2><table><thead><tr>{titles}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>{after}</section>"
    )


def script_json(scene: Mapping[str, Any]) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(scene, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
