"""The stage of pages: markup, scripts and styles in their order, and text that stays text."""

from __future__ import annotations

import json

from metricdp.report.canvas.stage import notes_html, script_json, scripts, stage_html, styles

EVIL = "</script><img src=x onerror=alert(1)>"


def test_what_users_say_is_text() -> None:
    page = stage_html(EVIL, {"network": EVIL}, EVIL)
    assert EVIL not in page and "<img" not in page and page.count("&lt;img") == 3
    assert EVIL not in notes_html([EVIL], "Notes") and "<h2>Notes</h2>" in notes_html([], "Notes")
    told = script_json({"id": EVIL, "n": 1})
    assert "<" not in told and json.loads(told) == {"id": EVIL, "n": 1}


def test_without_an_attribution_there_is_an_empty_place_for_it() -> None:
    assert '<p id="credit" hidden></p>' in stage_html("a map", {})
    assert '<p id="credit">© me</p>' in stage_html("a map", {}, "© me")


def test_own_scripts_and_styles_come_after_the_shared_ones() -> None:
    program = scripts("map/page.js")
    places = [program.index(text) for text in ("const byId", "const begin", "await begin(")]
    assert places == sorted(places)
    sheet = styles("explore/page.css")
    places = [sheet.index(text) for text in ("box-sizing", "#banner {", "@page")]
    assert places == sorted(places)
