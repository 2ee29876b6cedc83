"""The map page in a browser: every control by a real click, key or finger, and the print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metricdp.report import write_map
from tests.report.map.test_map import RECEIPT, grid, read_png

SIDE = 30
CENTERS = [0, 15 * SIDE + 15, 15 * SIDE + 16, SIDE * SIDE - 1]
Visit = Callable[..., Any]


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Visit]:
    """Open a map of four centers, two of which lie together; ``page.troubles`` is its console."""
    contexts = []

    def go(width: int = 900, height: int = 640, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(90_000)
        contexts.append(context)
        page = context.new_page()
        page.troubles = []
        page.on("console", lambda message: page.troubles.append(message.text))
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        weights = np.random.default_rng(3).random(SIDE * SIDE)
        about = {"weights": weights, "receipt": RECEIPT, "attribution": "© <somebody>"}
        page.goto(write_map(tmp_path / "map.html", grid(SIDE), CENTERS, **about).as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield go
    for context in contexts:
        context.close()


def seen(page: Any) -> tuple[float, float, float]:
    """Width, left and bottom of what is shown, in kilometers."""
    x, y = page.evaluate(
        "(({ xaxis, yaxis }) => [xaxis.range, yaxis.range])"
        "(document.getElementById('map')._fullLayout)"
    )
    return x[1] - x[0], x[0], y[0]


def settled(page: Any, before: tuple[float, float, float]) -> tuple[float, float, float]:
    """What is shown once it has changed."""
    for _ in range(300):
        if seen(page) != before:
            break
        page.wait_for_timeout(50)
    page.wait_for_timeout(150)
    return seen(page)


def test_every_button_answers_to_the_mouse(visit: Visit) -> None:
    page = visit()
    first = seen(page)
    page.click("#zoom-in")
    near = settled(page, first)
    assert near[0] == pytest.approx(first[0] / 1.6)
    page.click("#zoom-out")
    assert settled(page, near) == pytest.approx(first)
    page.click("#zoom-out")
    far = settled(page, first)
    assert far[0] == pytest.approx(first[0] * 1.6)
    page.click("#whole")
    assert settled(page, far) == pytest.approx(first)
    with page.expect_download() as download:
        page.click("#save")
    assert download.value.suggested_filename == "metricdp-map.png"
    picture = read_png(Path(download.value.path()).read_bytes())
    stage = page.locator("#stage").bounding_box()
    assert picture.shape[:2] == pytest.approx((2 * stage["height"], 2 * stage["width"]), abs=2)
    assert picture.shape[2] == 3 or (picture[:, :, 3] == 255).all()  # not on a see-through ground
    assert page.troubles == []


def test_every_button_answers_to_fingers(visit: Visit) -> None:
    page = visit(390, 800, has_touch=True, is_mobile=True)
    first = seen(page)
    page.tap("#zoom-in")
    near = settled(page, first)
    assert near[0] == pytest.approx(first[0] / 1.6)
    page.tap("#whole")
    assert settled(page, near) == pytest.approx(first)
    for name in ("#zoom-in", "#zoom-out", "#whole", "#save", "#layers label"):
        box = page.locator(name).first.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390, name


def test_keys_move_the_map(visit: Visit) -> None:
    page = visit()
    page.focus("#stage")
    first = seen(page)
    for key, width, x, y in [
        ("ArrowRight", 1, 1, 0),
        ("ArrowLeft", 1, -1, 0),
        ("ArrowUp", 1, 0, 1),
        ("ArrowDown", 1, 0, -1),
        ("+", 1 / 1.6, None, None),
    ]:
        before = seen(page)
        page.keyboard.press(key)
        after = settled(page, before)
        assert after[0] == pytest.approx(width * before[0]), key
        if x is not None:
            assert [np.sign(round(b - a, 9)) for a, b in zip(before[1:], after[1:])] == [x, y]
    page.keyboard.press("0")
    assert settled(page, after) == pytest.approx(first)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#layers') !== null")


def test_layers_and_rows_answer_to_clicks(visit: Visit) -> None:
    page = visit()
    shown = "document.getElementById('map')._fullData.map((t) => t.visible === true)"
    for box in page.locator("#layers label").all():
        box.click()
        page.wait_for_function(f"({shown}).includes(false)")
        box.click()
        page.wait_for_function(f"!({shown}).includes(false)")
    first = seen(page)
    page.click("tbody tr:nth-child(4) button")
    near = settled(page, first)
    assert near[0] == pytest.approx(first[0] / 4)
    page.mouse.move(450, 300)
    page.mouse.wheel(0, 300)
    assert settled(page, near)[0] > near[0]


def test_markers_that_would_lie_on_each_other_are_smaller(visit: Visit) -> None:
    page = visit(390, 700)
    first = seen(page)
    sizes = "document.getElementById('map').data.at(-1).marker.size"
    alone, left, right, _ = page.evaluate(sizes)
    at = "document.getElementById('map').data.at(-1).x"
    apart = page.evaluate(f"{at}[2] - {at}[1]") / first[0] * 390
    assert left == right < alone and (left + right) / 2 < apart
    page.click("tbody tr:nth-child(2) button")
    settled(page, first)
    page.wait_for_function(f"new Set({sizes}).size === 1")


def test_what_is_said_on_the_map(visit: Visit) -> None:
    page = visit()
    assert page.inner_text("#credit") == "© <somebody>"
    assert page.inner_text("#sizes").startswith("noisy demand ")
    named = [button.get_attribute("aria-label") for button in page.locator("#tools button").all()]
    assert named == ["Zoom in", "Zoom out", "Whole map", "Save the picture"]
    panel = page.inner_text("aside").lower()
    assert panel.index("mean distance") < panel.index("centers\n") < panel.index("privacy receipt")


def test_print_is_one_sheet_and_shows_what_the_screen_does(visit: Visit) -> None:
    page = visit(1400, 900)
    first = seen(page)
    sheet = page.pdf(format="A4", print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", sheet)) == 1
    page.emulate_media(media="print")
    stage = page.locator("#stage").bounding_box()
    drawing = page.locator("#map .main-svg").first.bounding_box()
    assert (drawing["width"], drawing["height"]) == pytest.approx(
        (stage["width"], stage["height"]), abs=1
    )
    assert stage["width"] <= 680 and seen(page) == first
    results, receipt = (page.locator(name).bounding_box() for name in ("tbody", ".receipt"))
    assert stage["y"] + stage["height"] <= results["y"]
    assert receipt["x"] > results["x"] or receipt["y"] > results["y"]
    assert not page.locator("#tools").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_of_the_screen_are_followed(visit: Visit, scheme: str) -> None:
    page = visit(color_scheme=scheme)
    for where in ("body", "#stage", "#tools"):
        style = f"getComputedStyle(document.querySelector('{where}'))"
        color = page.evaluate(f"{style}.backgroundColor")
        assert (int(re.findall(r"\d+", color)[0]) < 80) == (scheme == "dark"), where
