"""The map page in a browser: every control by a real click, key or finger, and the print."""

import base64
import re
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.report import map_page
from tests.report.conftest import canvas, disks, seen, until, written
from tests.report.map.test_map import RECEIPT, grid, read_png

SIDE = 30
CENTERS = [0, 15 * SIDE + 15, 15 * SIDE + 16, SIDE * SIDE - 1]


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """A map of four centers, two of which lie together."""
    weights = np.random.default_rng(3).random(SIDE * SIDE)
    about = {"weights": weights, "receipt": RECEIPT, "attribution": "© <somebody>"}
    path = tmp_path_factory.mktemp("four") / "map.html"
    return written(path, map_page(grid(SIDE), CENTERS, **about))


@pytest.fixture
def visit(show, four):
    return partial(show, four)


def reached(page, width):
    """What is seen once it is so wide: a tap is taken for one a moment later."""
    now = "stage.seen().wide * stage.seen().view.per"
    until(page, f"Math.abs({now} / {width} - 1) < 1e-9")
    return seen(page)


def test_every_button_answers_to_the_mouse(visit):
    page = visit()
    first = seen(page)
    page.click("#zoom-in")
    assert seen(page)[0] == pytest.approx(first[0] / 1.6)
    page.click("#zoom-out")
    assert seen(page) == pytest.approx(first)
    page.click("#zoom-out")
    assert seen(page)[0] == pytest.approx(first[0] * 1.6)
    page.click("#whole")
    assert seen(page) == pytest.approx(first)
    with page.expect_download() as download:
        page.click("#save")
    assert download.value.suggested_filename == "metricdp-map.png"
    picture = read_png(Path(download.value.path()).read_bytes())
    stage = page.locator("#stage").bounding_box()
    assert picture.shape[:2] == pytest.approx((2 * stage["height"], 2 * stage["width"]), abs=2)
    assert picture.shape[2] == 3 or (picture[:, :, 3] == 255).all()  # not on a see-through ground
    corner = picture[-40:, picture.shape[1] // 2 :, :3].astype(int)
    assert (np.ptp(corner, axis=(0, 1)) > 50).all()  # whose data it is, is on the picture too


def test_mouse_and_wheel_move_the_map(visit):
    page = visit()
    stage = page.locator("#stage").bounding_box()
    first = seen(page)
    at = stage["x"] + 0.3 * stage["width"], stage["y"] + 0.5 * stage["height"]
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + 50, at[1] + 20, steps=3)
    page.mouse.up()
    per = first[0] / stage["width"]
    moved = seen(page)
    assert moved == pytest.approx((first[0], first[1] - 50 * per, first[2] + 20 * per))
    page.mouse.wheel(0, -400)
    until(page, f"stage.seen().view.per < {0.7 * per}")
    near = seen(page)
    share = (at[0] + 50 - stage["x"]) / stage["width"]  # what is under the pointer stays there
    assert near[1] + share * near[0] == pytest.approx(moved[1] + share * moved[0])
    page.mouse.wheel(0, 90_000)  # never so far away, or so near, that it is lost
    until(page, f"stage.seen().view.per > {10 * per}")
    assert seen(page)[0] == pytest.approx(20 * first[0])
    page.mouse.dblclick(*at)
    assert seen(page) == pytest.approx(first)
    page.mouse.wheel(0, -90_000)
    until(page, f"stage.seen().view.per < {per / 1000}")
    assert seen(page)[0] == pytest.approx(first[0] / 3000)


def test_fingers_reach_every_button_and_a_tap_tells_what_hovering_tells(visit):
    page = visit(390, 800, has_touch=True, is_mobile=True)
    for box in page.locator("#tools button, tbody tr button, summary:visible").all():
        size = box.bounding_box()
        assert size["height"] >= 44 and size["width"] >= 44
    stage, disk = page.locator("#stage").bounding_box(), disks(page)[0]
    page.touchscreen.tap(stage["x"] + disk["x"], stage["y"] + disk["y"])
    until(page, "tip.textContent.startsWith('Center 1 · 0\\n') && !tip.hidden")
    first = seen(page)
    page.tap("#zoom-in")
    assert reached(page, first[0] / 1.6)[1] > first[1]
    page.tap("#whole")
    assert reached(page, first[0]) == pytest.approx(first)
    assert not page.locator("#layers label").first.is_visible()
    page.tap("#layers summary")
    for name in ("#zoom-in", "#zoom-out", "#whole", "#save", "#layers label"):
        box = page.locator(name).first.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390, name
    page.tap("#layers label:last-child")
    until(page, "stage.seen().circles.length === 0")


def test_fingers_move_and_zoom(visit):
    page = visit(390, 800, has_touch=True, is_mobile=True)
    stage = page.locator("#stage").bounding_box()
    first = seen(page)
    touch = partial(page.context.new_cdp_session(page).send, "Input.dispatchTouchEvent")

    def drag(*steps):
        for i, fingers in enumerate(steps):
            points = [{"x": stage["x"] + x, "y": stage["y"] + y} for x, y in fingers]
            touch({"type": "touchMove" if i else "touchStart", "touchPoints": points})
            page.wait_for_timeout(150)  # a finger that rests flings nothing
        touch({"type": "touchEnd", "touchPoints": []})

    drag([(200, 300)], [(200, 280)], [(200, 240)], [(200, 180)])
    until(page, "scrollY > 40")  # one finger scrolls the page, and the map stays
    assert seen(page) == first
    until(page, "(scrollTo(0, 0), scrollY === 0)")  # again until the fling is over
    drag(*([(x, y), (x, y + 40)] for x, y in [(200, 200), (230, 200), (260, 210)]))
    per = first[0] / stage["width"]
    until(page, f"stage.seen().view.x < {first[1] + first[0] / 2 - 59.5 * per}")
    assert page.evaluate("scrollY") == 0
    before = seen(page)
    assert before == pytest.approx((first[0], first[1] - 60 * per, first[2] + 10 * per))
    drag([(150, 200), (250, 200)], [(120, 200), (280, 200)], [(100, 200), (300, 200)])
    after = reached(page, before[0] / 2)
    middle = before[1] + before[0] * 200 / stage["width"]
    assert after[1] + after[0] * 200 / stage["width"] == pytest.approx(middle)


def test_distances_have_the_unit_that_suits_them(show, tmp_path):
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {i: {"x": 2.0 * i, "y": 0.0} for i in graph})
    nx.set_edge_attributes(graph, {(0, 1): 847.3, (1, 2): 12_400.0}, "length")
    metric = mdp.GraphMetric(graph)
    metric.measured_in = "m"
    page = show(mdp.k_median(metric, k=1, opened=[0]).save(tmp_path / "units.html"))
    stage = page.locator("#stage").bounding_box()
    per = page.evaluate("stage.seen().view.per")
    for away, said in ((0.0, "847 m"), (2.0, "13.2 km")):  # the middle vertex is in the middle
        middle = stage["x"] + stage["width"] / 2, stage["y"] + stage["height"] / 2
        page.mouse.move(middle[0] + away / per, middle[1])
        until(page, f"tip.textContent.includes('distance to it {said}')")


def test_keys_move_the_map(visit):
    page = visit()
    page.focus("#stage")
    first = seen(page)
    ways = {"ArrowRight": [1, 0], "ArrowLeft": [-1, 0], "ArrowUp": [0, 1], "ArrowDown": [0, -1]}
    for key, way in ways.items():
        before = seen(page)
        page.keyboard.press(key)
        after = seen(page)
        assert after[0] == pytest.approx(before[0]), key
        assert [np.sign(round(b - a, 9)) for a, b in zip(before[1:], after[1:])] == way
    page.keyboard.press("+")
    assert seen(page)[0] == pytest.approx(first[0] / 1.6)
    page.keyboard.press("0")
    assert seen(page) == pytest.approx(first)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#layers') !== null")


def test_layers_and_rows_answer_to_clicks(visit):
    page = visit()
    whole = canvas(page)
    hidden = set()
    for box in page.locator("#layers label").all():
        box.click()
        hidden.add(canvas(page))
        box.click()
        assert canvas(page) == whole
    assert len(hidden | {whole}) == 5
    first, scale = seen(page), page.inner_text("#scale")
    page.click("tbody tr:nth-child(4) button")
    assert seen(page)[0] == pytest.approx(first[0] / 4) and page.inner_text("#scale") != scale
    stage = page.locator("#stage").bounding_box()
    last = next(disk for disk in disks(page) if disk["c"]["rank"] == 4)
    middle = stage["width"] / 2, stage["height"] / 2
    assert (last["x"], last["y"]) == pytest.approx(middle, abs=1)


def test_what_is_said_on_the_map_and_at_the_pointer(visit):
    page = visit()
    assert page.inner_text("#credit") == "© <somebody>"
    assert page.inner_text("#sizes").startswith("noisy demand ")
    named = [button.get_attribute("aria-label") for button in page.locator("#tools button").all()]
    assert named == ["Zoom in", "Zoom out", "Whole map", "Save the picture"]
    panel = page.inner_text("aside").lower()
    assert panel.index("mean distance") < panel.index("centers\n") < panel.index("privacy receipt")
    stage = page.locator("#stage").bounding_box()
    disk = disks(page)[3]
    page.mouse.move(stage["x"] + disk["x"], stage["y"] + disk["y"])
    said = page.inner_text("#tip").split("\n")
    assert said[0] == "Center 4 · 899" and said[1].endswith("vertices in its territory")
    page.click("tbody tr:nth-child(4) button")
    disk = next(disk for disk in disks(page) if disk["c"]["rank"] == 4)
    step = stage["width"] / (seen(page)[0] / 0.963)  # a vertex is 0.963 km west of the next
    page.mouse.move(stage["x"] + disk["x"] - step, stage["y"] + disk["y"])
    said = page.inner_text("#tip").split("\n")
    assert said[:3] == ["898", "territory of center 4", "distance to it 1"]
    assert said[3].startswith("noisy demand 0.")
    page.mouse.move(1, 1)
    assert not page.locator("#tip").is_visible()


def test_markers_that_would_lie_on_each_other_are_smaller(visit):
    page = visit(390, 700)
    alone, left, right, _ = disks(page)
    differing = np.hypot(left["x"] - right["x"], left["y"] - right["y"])
    assert left["r"] == right["r"] < alone["r"] and left["r"] + right["r"] < differing
    page.click("tbody tr:nth-child(2) button")
    assert len({disk["r"] for disk in disks(page)}) == 1


def test_numbers_of_centers_in_one_place_do_not_cover_each_other(show, tmp_path):
    graph = nx.path_graph(9)
    nx.set_node_attributes(graph, {v: (0.0, 0.0) if v < 6 else (v, v) for v in graph}, "pos")
    for v, (x, y) in nx.get_node_attributes(graph, "pos").items():
        graph.nodes[v].update(x=x, y=y)
    drawn = map_page(mdp.GraphMetric(graph, weight=None), [0, 1, 2, 3, 4, 5], basis="public")
    page = show(written(tmp_path / "map.html", drawn))
    places = [disk["label"] for disk in disks(page)]
    pairs = [(a, b) for i, a in enumerate(places) for b in places[:i]]
    gaps = [max(abs(a[0] - b[0]) / 9, abs(a[1] - b[1]) / 12) for a, b in pairs]
    assert len(places) == 6 and min(gaps) >= 0.99


def test_print_is_one_sheet_and_shows_what_the_screen_does(visit):
    page = visit(1400, 900, color_scheme="dark")
    page.click("tbody tr:nth-child(2) button")
    page.click("#zoom-out")
    first, places = seen(page), disks(page)
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4", print_background=True))) == 1
    assert seen(page) == first and disks(page) == places
    page.emulate_media(media="print")
    stage = page.locator("#stage").bounding_box()
    drawing = page.locator("#ground").bounding_box()
    expected = pytest.approx((stage["width"], stage["height"]), abs=1)
    assert (drawing["width"], drawing["height"]) == expected
    assert stage["width"] <= 680
    on_paper, middle = seen(page), first[1] + first[0] / 2
    assert on_paper[0] >= first[0] and on_paper[1] + on_paper[0] / 2 == pytest.approx(middle)
    places = disks(page)
    assert {disk["c"]["rank"] for disk in places} >= {2, 3}
    results, receipt = (page.locator(name).bounding_box() for name in ("tbody", ".receipt"))
    assert stage["y"] + stage["height"] <= results["y"]
    assert receipt["x"] > results["x"] or receipt["y"] > results["y"]
    assert not page.locator("#tools").is_visible()
    shot = read_png(page.locator("#stage").screenshot())[:, :, :3].astype(int)
    colors = page.evaluate("JSON.parse(document.getElementById('map-data').textContent).palette")
    for disk in places:  # each center where it is, in its own color
        y, x = (int(disk[axis]) for axis in "yx")
        around = shot[max(y - 4, 0) : y + 5, max(x - 4, 0) : x + 5]
        hue = colors[disk["c"]["color"]]
        wanted = [int(hue[i : i + 2], 16) for i in (1, 3, 5)]
        assert np.abs(around - wanted).sum(axis=2).min() < 40, disk["c"]["id"]
    ground = page.evaluate("getComputedStyle(document.getElementById('stage')).backgroundColor")
    assert min(map(int, re.findall(r"\d+", ground))) > 230  # whatever the screen's colors


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_of_the_screen_are_followed(visit, scheme):
    page = visit(color_scheme=scheme)
    for where in ("body", "#stage"):
        style = f"getComputedStyle(document.querySelector('{where}'))"
        color = page.evaluate(f"{style}.backgroundColor")
        assert (int(re.findall(r"\d+", color)[0]) < 80) == (scheme == "dark"), where
    before = canvas(page)
    page.emulate_media(color_scheme="dark" if scheme == "light" else "light")
    assert canvas(page) != before  # at once, without opening it anew


def test_resizing_keeps_the_whole_map_or_the_place(visit):
    page = visit(1000, 700)
    page.set_viewport_size({"width": 800, "height": 500})
    until(page, "stage.seen().wide < 500")
    assert {disk["c"]["rank"] for disk in disks(page)} == {1, 2, 3, 4}
    assert all(0 < disk["x"] < 460 and 0 < disk["y"] < 500 for disk in disks(page))
    page.click("tbody tr:nth-child(1) button")
    place = seen(page)[0] / page.evaluate("stage.seen().wide")
    page.set_viewport_size({"width": 1000, "height": 700})
    until(page, "stage.seen().wide > 500")
    assert seen(page)[0] / page.evaluate("stage.seen().wide") == pytest.approx(place)
    ground = base64.b64decode(canvas(page).split(",")[1])
    assert read_png(ground).shape[:2] == (page.evaluate("stage.seen().high"), 660)
