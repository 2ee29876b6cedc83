"""The stage of a page: its markup, its scripts and styles, and what all pages say beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from metricdp.report.assets import asset, filled

_SCRIPTS = ("stage", "data", "view", "network", "demand", "centers", "steer")


def stage_html(title: str, layers: Mapping[str, str], attribution: str | None = None) -> str:
    """The map's part of a page."""
    box = (
        '<label><input type="checkbox" value="{0}" checked><span class="key {0}"></span>{1}</label>'
    )
    pieces = {
        "TITLE": escape(title),
        "LAYERS": "".join(box.format(key, escape(name)) for key, name in layers.items()),
        "CREDIT": f'<p id="credit">{escape(attribution)}</p>'
        if attribution
        else '<p id="credit" hidden></p>',
    }
    return filled(asset("canvas/stage.html"), pieces)


def scripts(*own: str) -> str:
    """The canvas program, and after it a page's own scripts, such as ``"map/page.js"``."""
    return "".join(map(asset, (*(f"canvas/{name}.js" for name in _SCRIPTS), *own)))


def styles(*own: str) -> str:
    """The styles of all pages around those of one."""
    return "".join(map(asset, ("common.css", "phone.css", *own, "print.css")))


def notes_html(notes: Iterable[str], heading: str = "Reading this page") -> str:
    """Sentences on how to read a page, as its last section."""
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f'<section class="notes"><h2>{heading}</h2><ul>{items}</ul></section>'


def script_json(scene: Mapping[str, Any]) -> str:
    """JSON that may stand inside a script element: no character there can end it."""
    text = json.dumps(scene, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
