"""The page of a stream's days: what is on it, and that a real browser shows it."""

import numpy as np

from metricdp.report import days_page
from metricdp.report.days.page import _kept
from metricdp.running.stream import PastDay
from tests import refuses
from tests.report.conftest import canvas, until, written
from tests.report.map.test_map import data_of
from tests.report.streets import streets

EVIL = "</script><img src=x onerror='window.stolen=1'>"
SIDE = 9


def past(metric, *days):
    reported = []
    for i, at in enumerate(days, start=1):
        before = set(reported[-1].centers) if reported else None
        centers = [metric.ids[j] for j in at]
        moved = 0 if before is None else len(set(centers) - before)
        reported.append(PastDay(i, centers, f"2026-11-{i:02d}", moved, moved > 1))
    return reported


def test_days_hold_their_centers_with_numbers_that_stay():
    metric = streets(SIDE)
    page = days_page(metric, past(metric, (0, 40, 80), (0, 80, 41), (1, 41, 79)))
    days = data_of(page)["levels"]
    expected = [["0", "40", "80"], ["0", "41", "80"], ["1", "41", "79"]]
    assert [[c["id"] for c in day["centers"]] for day in days] == expected
    assert [day["moved"] for day in days] == [0, 1, 2]
    assert [day["alarm"] for day in days] == [False, False, True]
    assert [c["since"] for c in days[2]["centers"]] == [3, 2, 3]
    assert [c["from"] is None for c in days[1]["centers"]] == [True, False, True]
    assert "<title>3 centers over 3 days" in page and len(page) < 200_000
    refuses("no day", days_page, metric, [])


def test_a_center_takes_the_number_of_the_nearest_that_left():
    points = np.array([[float(i), 0.0] for i in range(10)] + [[np.nan, np.nan]])
    assert _kept([0, 5, 9], [8, 0, 4], points) == [0, 4, 8]
    assert _kept([], [3, 1], points) == [3, 1]
    assert _kept([0, 10], [10, 7], points) == [7, 10]
    assert sorted(_kept([0, 1], [2, 3, 4], points)) == [2, 3, 4]


def test_a_browser_moves_through_the_days(show, tmp_path):
    metric = streets(SIDE, lambda i: f"{i}{EVIL}")
    days = past(metric, (0, 40, 80), (0, 80, 41), (1, 41, 79), (1, 41, 79))
    page = show(written(tmp_path / "a.html", days_page(metric, days)), 1100, 700)
    assert page.text_content("#chosen").startswith("2026-11-04")
    assert page.locator("#centers tr").count() == 3

    last = canvas(page)
    page.focus("#level")
    page.keyboard.press("ArrowLeft")
    assert page.text_content("#chosen").startswith("2026-11-03")
    assert "2 centers moved · alarm" in page.text_content("#chosen")
    assert canvas(page) != last  # the lines from where two centers were
    assert page.text_content("#centers tr:nth-child(2) td:last-child") == "2026-11-02"
    moved = canvas(page)
    page.uncheck('#layers input[value="trails"]')
    page.uncheck('#layers input[value="before"]')
    assert canvas(page) != moved
    page.keyboard.press("Home")
    page.click("#play")
    until(page, "document.getElementById('level').value === '3'")
    until(page, "document.getElementById('play').textContent === 'Play'")
    page.mouse.move(400, 300)
    said = page.locator("#centers button").first.get_attribute("aria-label")
    assert said == f"Center 1, 1{EVIL}: show on the map"
    assert page.evaluate("window.stolen") is None
