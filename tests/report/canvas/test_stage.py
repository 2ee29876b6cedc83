"""The frame of pages: markup, scripts and styles in their order, and text that stays text."""

import json

from metricdp.report.canvas.stage import notes_html, page_html, script_json

EVIL = "</script><img src=x onerror=alert(1)>"


def page(title="a map", layer="Roads", credit=None):
    return page_html(
        title,
        {"network": layer},
        credit,
        {"id": EVIL},
        beside="",
        notes="",
        scripts=["map/page.js"],
        styles=["explore/page.css"],
    )


def test_what_users_say_is_text():
    shown = page(EVIL, EVIL, EVIL)
    assert EVIL not in shown and "<img" not in shown and shown.count("&lt;img") == 5
    assert EVIL not in notes_html([EVIL], "Notes") and "<h2>Notes</h2>" in notes_html([], "Notes")
    reported = script_json({"id": EVIL, "n": 1})
    assert "<" not in reported and json.loads(reported) == {"id": EVIL, "n": 1}


def test_without_an_attribution_there_is_an_empty_place_for_it():
    assert '<p id="credit" hidden></p>' in page()
    assert '<p id="credit">© me</p>' in page(credit="© me")
