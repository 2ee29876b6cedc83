"""The map page: what is on it, what must never be, and that a real browser draws it."""

import base64
import io
import itertools
import json
import re
import zlib
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.releases import Mechanism, Receipt
from metricdp.report import drawing, map_page
from metricdp.report.colors import PALETTE
from metricdp.report.evidence.statement import receipt_html
from metricdp.report.words import show_number
from metricdp.universe.graph import build_graph
from tests import cases, grid_metric
from tests.report.conftest import disks, settle, written

COUNTED = Mechanism("discrete Laplace", "histogram of 8 parts", 1, 3.0, Fraction(1, 3))
RECEIPT = Receipt.of([COUNTED], "add-remove", "record")


def grid(side, *, ids=None, coordinates="lonlat", name="grid"):
    """A side × side grid of unit edges, 0.01 degrees apart near Coquimbo."""
    pairs = grid_metric(side, side).graph.pairs()
    place = np.c_[np.tile(np.arange(side), side), np.repeat(np.arange(side), side)] * 0.01
    place += [-71.3, -30.0]
    ids = list(range(side * side)) if ids is None else ids
    where = {"coordinates": place, "coordinate_system": coordinates} if coordinates else {}
    named = {"ids": ids, "directed": False, "name": name, **where}
    return mdp.GraphMetric(build_graph(pairs[:, 0], pairs[:, 1], None, **named))


def data_of(page):
    return json.loads(re.search(r'id="map-data">(.*?)</script>', page, re.DOTALL)[1])


def unsqueezed(packed):
    """A naive inverse of `drawing.squeezed`."""
    raw, n, out, value = zlib.decompress(base64.b64decode(packed["z"])), packed["n"], [], 0
    for i in range(n):
        folded = sum(raw[plane * n + i] << (8 * plane) for plane in range(4))
        value += -(folded + 1) // 2 if folded % 2 else folded // 2
        out.append(value)
    return out


def ids_of(data):
    """The ids of the points in the order of the drawing."""
    return json.loads(zlib.decompress(base64.b64decode(data["ids"])))


def weights_of(data):
    reported = data["levels"][0]["weight"]
    values = np.frombuffer(base64.b64decode(reported["values"]["bdata"]), "<f4")
    return values[unsqueezed(reported["index"])]


def centers_of(page):
    return data_of(page)["levels"][0]["centers"]


def edges_of(data):
    """Pairs of ids that are joined by a line."""
    ids, tails = ids_of(data), unsqueezed(data["tails"])
    heads = [a + r for a, r in zip(tails, unsqueezed(data["reach"]))]
    return {frozenset((ids[a], ids[b])) for a, b in zip(tails, heads)}


def test_page_shows_centers_territories_and_noisy_mass():
    metric = grid(12, ids=[f"node-{i}" for i in range(144)])
    weights = np.random.default_rng(0).normal(3, 1, 144)
    about = {"weights": weights, "receipt": RECEIPT, "method": "partition", "k": 2}
    page = map_page(metric, ["node-13", "node-130"], **about)
    data = data_of(page)
    centers = centers_of(page)
    assert "<title>2 centers · grid · ε = 0.333333</title>" in page
    assert [c["id"] for c in centers] == ["node-13", "node-130"]
    assert sum(c["vertices"] for c in centers) == 144
    np.testing.assert_allclose(sum(c["mass"] for c in centers), weights.sum(), rtol=1e-5)
    order = [int(name[5:]) for name in ids_of(data)]
    label, distance = metric.nearest(["node-13", "node-130"])
    assert sorted(order) == list(range(144))
    np.testing.assert_array_equal(unsqueezed(data["levels"][0]["label"]), label[order])
    np.testing.assert_allclose(weights_of(data), weights[order], rtol=1e-6)
    far = np.array(unsqueezed(data["far"])) * data["far"]["step"]
    np.testing.assert_allclose(far, distance[order], atol=1e-5)
    ends = metric.graph.pairs().tolist()
    assert edges_of(data) == {frozenset((f"node-{a}", f"node-{b}")) for a, b in ends}
    place = np.c_[unsqueezed(data["x"]), unsqueezed(data["y"])] * 1.0
    plane = drawing.project(metric).points[order]
    scale = np.ptp(plane, axis=0).max() / (data["steps"] - 1)
    np.testing.assert_allclose(place * scale + data["box"][:2], plane, atol=scale)
    promise = (
        "Nothing on this page was computed from private data other than through these releases."
    )
    assert promise in page
    assert "can become at most 58.3 % sure of it from this page." in page  # e^(1/3) : 1
    facts = ["discrete Laplace", "histogram of 8 parts", "add-remove", "partition"]
    for said in ["0.333333 (exactly 1/3)", *facts]:
        assert said in page


def test_without_weights_no_mass_is_on_the_page():
    page = map_page(grid(4), [0, 15], basis="public")
    assert data_of(page)["levels"][0]["weight"] is None
    assert all(c["mass"] is None for c in centers_of(page))
    assert 'value="demand"' not in page and "oisy demand" not in page


@cases(
    ("basis", "says", "never"),
    (None, "states no privacy guarantee", "No private data took part"),
    ("public", "No private data took part", "may reveal"),
    ("non-private", "without differential privacy, on purpose", "No private data took part"),
)
def test_without_a_receipt_the_page_promises_nothing_it_does_not_know(basis, says, never):
    page = map_page(grid(3), [0], basis=basis)
    assert says in page and never not in page and "other than through these releases" not in page
    assert "ε =" not in page


def test_everything_of_the_user_is_escaped():
    evil = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
    metric = grid(3, ids=[evil, *range(8)], name=evil)
    receipt = Receipt.of([Mechanism(evil, evil, 1, 1.0, Fraction(1))], "add-remove", "record")
    page = map_page(metric, [evil, 4], title=None, receipt=receipt, method=evil, weights=np.ones(9))
    assert "<script>document" not in page and "<img" not in page
    assert centers_of(page)[0]["id"] == evil and evil in ids_of(data_of(page))
    assert "@@" not in map_page(grid(2, name="@@DATA@@"), [0]).replace("@@DATA@@", "")


def test_equal_arguments_give_equal_pages():
    about = {"weights": np.arange(49.0), "receipt": RECEIPT}
    one, other = (map_page(grid(7, coordinates=None), [3, 40], **about) for _ in range(2))
    assert one == other


def test_vertices_without_coordinates_are_left_out_and_said_so():
    metric = grid(5)
    metric.coordinates = metric.coordinates.copy()
    metric.coordinates[[0, 7], [0, 1]] = np.nan
    page = map_page(metric, [0, 24], weights=np.ones(25), receipt=RECEIPT)
    data = data_of(page)
    assert "2 of 25 vertices have no coordinates and are not drawn; figures count them." in page
    assert "1 center has no coordinates: see the table." in page
    assert len(ids_of(data)) == data["x"]["n"] == data["y"]["n"] == 23
    centers = centers_of(page)
    assert centers[0]["x"] is None and centers[1]["x"] is not None
    assert len(edges_of(data)) == 40 - 2 - 4 and sum(c["vertices"] for c in centers) == 25


def test_above_a_limit_points_do_not_answer_to_the_pointer(monkeypatch):
    monkeypatch.setattr("metricdp.report.canvas.network.MAX_IDS", 20)
    page = map_page(grid(6), [0, 35], weights=np.ones(36), receipt=RECEIPT)
    data = data_of(page)
    assert data["ids"] is None and "far" not in data and data["tails"]["n"] == 60
    assert "Above 20 vertices only centers and squares answer" in page


def test_points_that_no_center_reaches_are_reported_so():
    metric = grid(3)
    label, distance = metric.nearest([0])
    metric.nearest = lambda centers: (label, np.where(np.arange(9) == 8, np.inf, distance))
    data = data_of(map_page(metric, [0], basis="public"))
    assert unsqueezed(data["far"])[ids_of(data).index("8")] == -1
    assert "Mean distance" not in map_page(metric, [0])


def test_degrees_become_kilometers_at_the_middle_latitude():
    plane = drawing.project(grid(11))
    assert plane.unit == "km"
    width, height = np.ptp(plane.points, axis=0)
    assert height == pytest.approx(0.1 * 111.195, rel=1e-4)
    assert width / height == pytest.approx(np.cos(np.radians(29.95)), rel=1e-6)
    np.testing.assert_allclose(plane.points.max(axis=0), -plane.points.min(axis=0))


def test_the_antimeridian_is_no_border():
    metric = grid(11)
    longitude, latitude = metric.coordinates.T
    metric.coordinates = np.c_[(longitude + 71.3 + 179.95 + 180) % 360 - 180, latitude]
    assert np.ptp(metric.coordinates[:, 0]) > 359
    expected = drawing.project(grid(11)).points
    np.testing.assert_allclose(drawing.project(metric).points, expected, atol=1e-6)


def test_shading_has_the_color_of_the_nearest_territory():
    metric = grid(10)
    points = drawing.project(metric).points
    label = np.repeat([0, 1], 50)
    pairs = drawing.all_edges(metric, points)
    shade = drawing.ground(points, pairs).painted(np.array([4, 9])[label])
    image = read_png(base64.b64decode(shade["source"].split(",")[1]))
    rows, columns = image.shape[:2]
    assert max(rows, columns) == 760
    column = ((points[:, 0] - shade["x"]) / shade["width"] * columns).astype(int)
    row = ((shade["y"] - points[:, 1]) / shade["height"] * rows).astype(int)
    np.testing.assert_array_equal(image[row, column, 0], np.where(label == 0, 5, 10))
    middle = (points[0] + points[11]) / 2 - [shade["x"], shade["y"]]
    middle /= [shade["width"], -shade["height"]]
    # far from every edge: transparent
    assert image[int(middle[1] * rows), int(middle[0] * columns), 0] == 0


def test_a_receipt_says_whose_promise_it_is():
    noise = Mechanism("a < b", "counts", 2, 3.0, Fraction(1, 2), proofs=(1,))
    said = receipt_html(Receipt.of([noise], "replace-one", "user"))
    reported = ["<dd>0.5</dd>", "<li>a &lt; b on counts", "all records of one user are exchanged"]
    sure = "that a user was this one rather than another can become at most 62.3 %"
    for expected in [*reported, "P1 docs/proofs", sure]:
        assert expected in said
    assert show_number(Fraction(11, 10)) == "1.1" and show_number("0.10") == "0.1"


# ---- a real browser
# ------------------------------------------------------------------------------------------------


def read_png(data):
    """(rows, columns, channels) of an image; of one with a palette, its numbers of colors."""
    image = np.asarray(pytest.importorskip("PIL.Image").open(io.BytesIO(data)))
    return image.reshape(*image.shape[:2], -1)


def test_browser_draws_territories_in_their_colors(show, tmp_path):
    centers = [a * 50 + b for a in (8, 25, 41) for b in (8, 25, 41)]
    about = {"weights": np.random.default_rng(2).random(2500), "receipt": RECEIPT}
    path = written(tmp_path / "page.html", map_page(grid(50), centers, **about))
    page = show(path)
    stage = read_png(page.locator("#stage").screenshot())[:, :, :3].astype(int)
    for center in centers_of(path.read_text("utf-8")):
        color = np.array([int(PALETTE[center["color"]][i : i + 2], 16) for i in (1, 3, 5)])
        assert (np.abs(stage - color).sum(axis=2) < 60).sum() > 150, center
    blank = (np.abs(stage - [244, 242, 236]).sum(axis=2) < 12).mean()
    assert 0.05 < blank < 0.8


def test_browser_shows_ids_as_text(show, tmp_path):
    evil = "<script>document.title='owned'</script><b>bold</b>"
    metric = grid(5, ids=[evil, *range(24)])
    about = {"weights": np.ones(25), "receipt": RECEIPT}
    page = show(written(tmp_path / "page.html", map_page(metric, [evil, 12], **about)), 500, 800)
    assert page.title() == "2 centers · grid · ε = 0.333333"
    stage, disk = page.locator("#stage").bounding_box(), disks(page)[0]
    page.mouse.move(stage["x"] + disk["x"], stage["y"] + disk["y"])
    assert evil in page.inner_text("#tip") and "noisy demand" in page.inner_text("#tip")
    assert page.evaluate("document.getElementById('tip').children.length") == 0
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert re.fullmatch(r"[125]0* (km|m)", page.inner_text("#scale"))


def test_browser_adds_up_noisy_weights_with_their_signs(show, tmp_path):
    weights = np.random.default_rng(5).normal(0.5, 2, 900)
    drawn = map_page(grid(30), [0], weights=weights, receipt=RECEIPT)
    page = show(written(tmp_path / "page.html", drawn))
    stage = page.locator("#stage").bounding_box()
    for _ in range(7):
        page.click("#zoom-out")
    settle(page)
    shown = page.evaluate("stage.seen()")
    box = np.ptp(drawing.project(grid(30)).points, axis=0) / shown["view"]["per"]
    left = stage["x"] + shown["wide"] / 2 - box[0] / 2
    bottom = stage["y"] + shown["high"] / 2 + box[1] / 2 + shown["view"]["y"] / shown["view"]["per"]
    totals = set()
    for dx, dy in itertools.product((0.25, 0.75, 1.05), repeat=2):  # far away: a few squares
        page.mouse.move(left + dx * max(box), bottom - dy * max(box))
        said = page.inner_text("#tip") if page.locator("#tip").is_visible() else ""
        totals |= set(re.findall(r"noisy demand (-?[\d.,]+)\nsum over (\d+)", said))
    assert sum(int(n) for _, n in totals) == 900
    total = sum(float(weight.replace(",", "")) for weight, _ in totals)
    assert total == pytest.approx(weights.sum(), abs=2.5)


def test_an_evaluation_gives_intervals_of_loads_and_of_the_mean_distance():
    """Loads' are halos around the centers; the mean distance is told once, with its unit."""
    universe = grid_metric(9, 9)
    universe.measured_in = "m"
    homes = mdp.PrivateDemand(universe, [(0, 3)] * 900 + [(8, 5)] * 900)
    result = mdp.k_median(universe, homes, k=2, epsilon=1)
    said = {"weights": result.release.weights, "receipt": result.receipt}
    whole = map_page(universe, result.centers, evaluation=result.summary(), **said)
    plain = map_page(universe, result.centers, **said)
    reported = centers_of(whole)
    assert [c["low"] <= c["high"] for c in reported] == [True, True]
    loads = result.summary().loads
    for center, low, load in zip(reported, loads.low.tolist(), loads.estimate.tolist()):
        assert center["low"] == pytest.approx(low, rel=1e-3, abs=1)
        assert center["mass"] == pytest.approx(load, rel=1e-3, abs=1)  # not the weights' sum
    assert "free of charge" in whole and "low" not in centers_of(plain)[0]
    (fact,) = re.findall(r"<dt>Mean distance</dt><dd>(.*?)</dd>", whole)
    assert re.fullmatch(r"[\d.,]+ m; 95 % interval [\d.,]+ m to [\d.,]+ m", fact)
    assert re.search(r"<dt>Mean distance</dt><dd>[\d.,]+ m, by noisy demand</dd>", plain)


def test_buttons_of_centers_are_distinguished_by_those_who_hear_them():
    page = map_page(grid(4, ids=[f"<{i}>" for i in range(16)]), ["<0>", "<9>"], basis="public")
    spoken = re.findall(r'aria-label="(Center [^"]*)"', page)
    assert spoken == [f"Center {i + 1}, &lt;{v}&gt;: show on the map" for i, v in enumerate((0, 9))]
