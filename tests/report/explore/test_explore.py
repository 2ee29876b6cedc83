"""The explore page: what is on it, what must never be, and that a real browser shows it."""

import base64
import html
import itertools
import json
import re
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.audit.patch import patched
from metricdp.report import drawing
from metricdp.report.explore import front
from metricdp.report.explore.scene import _matched, level_names
from metricdp.report.words import sureness
from tests import raising, refuses
from tests.report.conftest import canvas, settle
from tests.report.map.test_map import data_of, read_png, unsqueezed
from tests.report.streets import streets

EVIL = "</script><img src=x onerror='window.stolen=1'>"
SIDE = 12


def records(metric, n=400):
    """Half of the records at the first vertex, half at the last."""
    return [metric.ids[0]] * n + [metric.ids[-1]] * n


def explored(metric, **options):
    asked = {"epsilons": ["0.5", 3], "k": 3, "repeats": 0} | options
    return mdp.explore(metric, mdp.PrivateDemand(metric, records(metric)), **asked)


@pytest.fixture(scope="module")
def metric():
    return streets(SIDE)


@pytest.fixture(scope="module")
def shown(metric):
    return explored(metric)


def test_the_levels_are_charged_together_and_at_once(metric):
    ledger = mdp.Ledger(epsilon=2)
    levels = explored(metric, epsilons=["1/3", 0.5, 1], ledger=ledger)
    found = [(entry.epsilon, entry.purpose) for entry in ledger.entries]
    assert found == [(Fraction(11, 6), "explore")]
    assert levels.receipt.epsilon == Fraction(11, 6)
    expected = [Fraction(1), Fraction(1, 2), Fraction(1, 3)]
    assert [level.epsilon for level in levels.levels] == expected
    assert [level.result.receipt.epsilon for level in levels.levels] == expected
    refuses("", explored, metric, error=mdp.BudgetError, epsilons=["0.1", "0.1001"], ledger=ledger)
    assert len(ledger.entries) == 1
    page = levels.page()
    assert "Shown together, charged together" in page
    assert "ε = 1 + 0.5 + 0.333333 = <b>1.83333</b>" in page


def test_a_delta_is_charged_for_every_level_and_said(metric):
    ledger = mdp.Ledger(3, "1e-5")
    page = explored(metric, method="hst", delta="1e-6", epsilons=[1, 2], ledger=ledger).page()
    assert ledger.left == 0 and ledger.spent_delta == Fraction(2, 10**6)
    assert "<b>3</b>, and δ = 2e-06" in page and data_of(page)["delta"] == "2e-06"


def test_predictions_are_of_as_much_noise_as_the_levels_have(metric):
    """A user with shares is one unit of weight: 0 in place of 100 % and more. A tiny epsilon counts
    thousands of millions of records.
    """
    users = [str(i // 2) for i in range(8000)]
    demand = mdp.PrivateDemand(metric, records(metric, 4000), user=users, weighting="share")
    levels = mdp.explore(metric, demand, [1, 99], 2, repeats=1)
    assert levels.plan.max_contributions == 1 and levels.plan.forecast(1).high < 0.01
    numbers = []
    with patched(front, "plan", lambda universe, records, **asked: numbers.append(records)):
        for _ in range(9):
            explored(metric, epsilons=["1e-8", "2e-8"], repeats=1)
    assert max(numbers) == front.SIMULATED  # false alarm only if all nine noises are below -10^6


def test_ctrl_c_while_predicting_does_not_lose_what_was_paid(metric, monkeypatch):
    monkeypatch.setattr("metricdp.report.explore.front.plan", raising(KeyboardInterrupt))
    levels = explored(metric, repeats=1)
    assert levels.plan is None and len(levels.levels) == 2
    assert "Predicted accuracy" not in levels.page()


def test_the_page_holds_what_was_released(metric, shown):
    data = data_of(shown.page())
    x, y = (np.array(unsqueezed(data[axis])) for axis in "xy")
    assert len(data["levels"]) == 2 and data["exact"] is None and len(x) == SIDE**2
    tails, reach = np.array(unsqueezed(data["tails"])), np.array(unsqueezed(data["reach"]))
    drawn = {tuple(sorted(e)) for e in zip(tails.tolist(), (tails + reach).tolist())}
    step = np.hypot(np.diff(x[np.array(sorted(drawn))]), np.diff(y[np.array(sorted(drawn))]))
    assert len(drawn) == 2 * SIDE * (SIDE - 1) and step.max() < 1.2 * step.min()
    plane = drawing.project(metric).points
    places = np.round((plane - plane.min(axis=0)) / np.ptp(plane, axis=0).max() * ((1 << 20) - 1))
    where = {tuple(p): i for i, p in enumerate(places.tolist())}
    order = [where[a, b] for a, b in zip(x.tolist(), y.tolist())]
    for level, reported in zip(shown.levels, data["levels"]):
        weight = reported["weight"]
        values = np.frombuffer(base64.b64decode(weight["values"]["bdata"]), "<f4")
        weights = values[unsqueezed(weight["index"])]
        coreset = dict(zip(*level.result.release.coreset()))
        expected = [coreset.get(metric.ids[i], 0.0) for i in order]
        np.testing.assert_allclose(weights, expected, rtol=1e-6)
        ranked = [c["id"] for c in reported["centers"]]
        assert sorted(ranked) == sorted(level.result.centers)
        label = metric.nearest(ranked)[0]
        np.testing.assert_array_equal(unsqueezed(reported["label"]), label[order])
        found = [c["vertices"] for c in reported["centers"]]
        assert found == np.bincount(label, minlength=3).tolist()
        assert reported["size"] == len(coreset)
        assert reported["total"] == pytest.approx(sum(coreset.values()))


def test_without_the_administrator_no_center_without_privacy_is_anywhere(metric, shown):
    page = shown.page()
    assert "Do not publish" not in page and 'value="exact"' not in page
    assert data_of(page)["exact"] is None
    whole = explored(metric, administrator=records(metric), objective="k-means")
    assert "Nothing on this page" in page and "sure of it from this page" in page
    page = whole.page()
    assert "Do not publish this page" in page and 'role="alert"' in page and 'value="exact"' in page
    assert "are protected by nothing" in page  # so nothing is promised of the page as a whole
    assert not [said for said in ("Nothing on this", "sure of it", "Privacy state") if said in page]
    assert {metric.ids[0], metric.ids[-1]} <= {c["id"] for c in data_of(page)["exact"]}
    expected = mdp.k_means(metric, k=3, weights={metric.ids[0]: 400, metric.ids[-1]: 400}).centers
    assert whole.exact_centers == expected
    assert "exact" not in re.sub("_exact", "", json.dumps(whole.to_dict()))
    assert "exact" not in repr(whole)
    for center in whole.to_dict()["levels"]:
        public = {"name", "epsilon", "centers", "coordinates", "crs", "k", "method", "receipt"}
        assert set(center) <= public


def test_ids_names_and_titles_are_text():
    metric = streets(SIDE, lambda i: f"{EVIL}{i}")
    levels = explored(metric, names=[f"{EVIL}a", "b"], administrator=records(metric))
    for page in (levels.page(), levels.page(title=EVIL)):
        assert "<img" not in page and page.count("<script") == 2 == page.count("</script")
        assert data_of(page)["levels"][0]["centers"][0]["id"].startswith(EVIL)
    framed = levels._repr_html_()
    assert framed.count("<") == 2 and 'sandbox="allow-scripts' in framed
    assert "allow-same-origin" not in framed
    assert html.unescape(re.search('srcdoc="(.*)"', framed, re.DOTALL)[1]) == levels.page()


def test_predictions_are_simulated_for_the_released_total_or_a_guess(metric):
    reported = explored(metric, epsilons=["0.05", 5], repeats=1)
    assert reported.plan.records == 800  # noise of epsilon 5 does not move two digits
    assert reported.levels[0].forecast == reported.plan.forecast(1)
    assert reported.levels[1].forecast == reported.plan.forecast(0)
    assert explored(metric, repeats=1, records=77).plan.records == 77
    page = reported.page()
    assert "Predicted accuracy" in page and "runs on 800 made-up records, not from the data" in page
    assert data_of(page)["levels"][0]["forecast"] is not None and "prediction" in reported.to_dict()
    assert "Predicted accuracy" not in explored(metric).page()


def test_a_plans_page_is_of_made_up_demand_alone(metric):
    reported = mdp.plan(metric, records=300, k=3, epsilons=[1, "0.2"], repeats=1)
    levels = mdp.Exploration.of_plan(reported)
    page = levels.page()
    assert levels.receipt is None and "Nothing private took part, and nothing was charged" in page
    assert "Do not publish" not in page and "charged together" not in page
    assert "Centers without noise" in page
    assert [c["id"] for c in data_of(page)["exact"]] == reported.example_centers
    refuses("Plan", mdp.Exploration.of_plan, levels)
    uniform = mdp.plan(metric, records=9, k=2, epsilons=[1], repeats=1, method="uniform")
    refuses("releases no weights", mdp.Exploration.of_plan, uniform)


def test_tables_of_costs_and_deep_boxes_have_no_page():
    table = mdp.CostTable([[5.0, 6.0], [7.0, 8.0]])
    demand, ledger = mdp.PrivateDemand(table, [0]), mdp.Ledger(1)
    refuses("not a table of costs", mdp.explore, table, demand, [1], 1, ledger=ledger)
    assert ledger.spent == 0
    line = mdp.plan(mdp.EuclideanSpace([0], [1]), records=9, k=1, epsilons=[1], repeats=1)
    refuses("a box of two dimensions", mdp.Exploration.of_plan, line)


def test_universes_without_coordinates_get_a_layout_and_boxes_a_plain_map():
    social = mdp.GraphMetric(nx.connected_watts_strogatz_graph(60, 4, 0.2, seed=1), weight=None)
    data = data_of(explored(social).page())
    assert data["layout"] and data["unit"] is None and data["levels"][0]["shade"] is None
    box = mdp.EuclideanSpace([0, 0], [4, 2])
    points = np.array([[1.0, 1.0]] * 500 + [[3.5, 0.5]] * 500)
    demand = mdp.PrivateDemand(box, points)
    data = data_of(mdp.explore(box, demand, [1, 8], 2, repeats=0, administrator=points).page())
    assert data["box"] == [0, 0, 4, 2] and data["x"]["n"] == 0
    assert data["levels"][0]["x"]["n"] == data["levels"][0]["size"]
    exact = sorted((c["x"], c["y"]) for c in data["exact"])
    np.testing.assert_allclose(exact, [[1, 1], [3.5, 0.5]], atol=1e-6)
    image = read_png(base64.b64decode(data["levels"][0]["shade"]["source"].split(",")[1]))[:, :, 0]
    assert image.shape == (200, 400)
    assert set(np.unique(image)) == {1 + c["color"] for c in data["levels"][0]["centers"]}
    assert image[100, 100] != image[150, 350]
    cloud = mdp.EuclideanMetric(np.random.default_rng(0).random((50, 2)))
    answer = mdp.explore(cloud, mdp.PrivateDemand(cloud, [0, 1]), [1], 2, repeats=0)
    assert ">Points<" in answer.page()


def test_an_empty_demand_makes_a_page(metric):
    nobody = mdp.PrivateDemand(metric, [])
    reported = mdp.explore(metric, nobody, [1], 3, repeats=0, administrator=[])
    assert len(data_of(reported.page())["levels"][0]["centers"]) == 3
    box = mdp.EuclideanSpace([0, 0], [1, 1])
    demand = mdp.PrivateDemand(box, np.zeros((0, 2)))
    mdp.explore(box, demand, [1], 3, repeats=0, administrator=np.zeros((0, 2))).page()


def test_centers_keep_their_rank_where_they_can():
    rng = np.random.default_rng(3)
    before, after = rng.random((5, 2)), rng.random((5, 2))
    best = min(
        itertools.permutations(range(5)),
        key=lambda p: sum(((before[i] - after[j]) ** 2).sum() for i, j in enumerate(p)),
    )
    assert _matched(after, before).tolist() == list(best)
    assert _matched(after, None).tolist() == _matched(after, before[:4]).tolist() == [0, 1, 2, 3, 4]


def test_words_about_privacy():
    named = level_names([Fraction(1, 20), Fraction(1, 2), *map(Fraction, (1, 2, 5, 9))])
    assert named == ["Very strong", "Strong", "Good", "Moderate", "Weak", "Very weak"]
    for epsilon, prior in itertools.product((0, 0.01, 0.1, 0.7, 2, 6), (0.5, 0.1)):
        exactly = 100 * prior * np.exp(epsilon) / (prior * np.exp(epsilon) + 1 - prior)
        reported = float(sureness(Fraction(epsilon), prior).split()[0])
        assert exactly <= reported + 1e-9 and reported < exactly + 0.1 + 1e-9
    assert sureness(Fraction(9)) == sureness(Fraction(10**6)) == "over 99.9 %"


# ---- a real browser
# ------------------------------------------------------------------------------------------------


@pytest.fixture
def visit(show, tmp_path):
    """Open an exploration's page."""
    paths = (tmp_path / f"{i}.html" for i in itertools.count())

    def go(levels, width=860, height=540, **options):
        return show(levels.write(next(paths)), width, height, **options)

    return go


def pixels(page, *colors, tolerance=12):
    """How many pixels of a screenshot of the map are near each color."""
    shot = read_png(page.locator("#stage").screenshot())[:, :, :3].astype(int)
    wanted = [[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in colors]
    return [int((np.abs(shot - color).max(axis=2) <= tolerance).sum()) for color in wanted]


def test_browser_slider_layers_and_keyboard(visit, metric):
    levels = explored(metric, epsilons=["0.05", 1, 8], administrator=records(metric), repeats=1)
    page = visit(levels)
    data = data_of(levels.page())
    assert page.locator("#chosen").inner_text().startswith("Good · ε = 1\npredicted extra cost")
    first = canvas(page)
    page.focus("#level")
    page.keyboard.press("ArrowRight")  # more privacy
    settle(page)
    assert "Very strong · ε = 0.05" in page.locator("#chosen").inner_text()
    assert canvas(page) != first
    ids = [c["id"] for c in data["levels"][2]["centers"]]
    assert page.locator("#centers tr td:first-child span").all_inner_texts() == ids
    assert page.locator("#level").get_attribute("aria-valuetext") == "Very strong, epsilon 0.05"
    page.locator("#ticks span").nth(0).click()
    settle(page)
    assert "ε = 8" in page.locator("#chosen").inner_text()
    assert page.locator(".accuracy tr.on").inner_text().startswith("Very weak · 8")

    shown = [data["palette"][c["color"]] for c in data["levels"][0]["centers"]]
    colors = ["#c01818", "#22262b", *shown]
    red, dark, *centers = pixels(page, *colors)
    assert red > 100 and dark > 300 and sum(centers) > 300  # one may lie over another
    for layer in ("exact", "demand", "territories", "network", "centers"):
        page.uncheck(f"#layers input[value={layer}]")
    assert pixels(page, "#c01818")[0] < red / 2  # what is left is the legend
    settle(page)
    pen = "(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data"
    assert page.evaluate(f"{pen}.every((v) => v === 0))(ground)")
    assert page.evaluate("performance.getEntriesByName('metricdp-level').length") >= 2


def test_browser_runs_nothing_that_ids_say(visit):
    metric = streets(SIDE, lambda i: f"{EVIL}{i}")
    page = visit(explored(metric, names=[EVIL, "b"], administrator=records(metric)))
    box = page.locator("#stage").bounding_box()
    for share in np.linspace(0.1, 0.9, 12):
        x, y = box["width"] * (0.5 + (share - 0.5) * 0.6), box["height"] * (1 - share)
        page.mouse.move(box["x"] + x, box["y"] + y)
    settle(page)
    assert page.evaluate("window.stolen") is None
    assert page.locator("main img, header img").count() == 0
    assert EVIL in page.locator("#centers").inner_text()


def test_browser_on_a_phone(visit, metric, shown):
    phone = {"width": 390, "height": 844, "device_scale_factor": 2}
    phone |= {"is_mobile": True, "has_touch": True}
    for levels in (explored(metric, epsilons=[f"{i + 1}/10" for i in range(7)]), shown):
        page = visit(levels, **phone)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.getElementById('layers').open") is False
    stage, slider = page.locator("#stage").bounding_box(), page.locator("#level").bounding_box()
    assert stage["width"] == 390 and stage["height"] > 400 and slider["height"] >= 30
    assert slider["width"] > 300
    for mark in page.locator("#ticks span, summary:visible, #centers button").all():
        assert min(mark.bounding_box()["width"], mark.bounding_box()["height"]) >= 44
    mean = page.locator("#now dt", has_text="Mean distance").locator("+ dd").inner_text()
    assert re.match(r"[\d.]+ hops, [\d.]+ hops to [\d.]+ hops \(95 %", mean)
    before = canvas(page)
    page.locator("#ticks span").first.tap()
    settle(page)
    assert canvas(page) != before


def test_browser_shows_layouts_and_boxes(visit):
    social = mdp.GraphMetric(nx.connected_watts_strogatz_graph(60, 4, 0.2, seed=1), weight=None)
    levels = explored(social)
    page = visit(levels, 500, 400)
    assert page.locator("#scale").is_hidden()
    page, errors = page.context.new_page(), []
    page.on("pageerror", lambda error: errors.append(error))
    # as a notebook shows it, in a frame that may do nothing but run
    page.set_content(levels._repr_html_())
    framed = page.frame_locator("iframe")
    framed.locator("html[data-ready=all]").wait_for(state="attached", timeout=90_000)
    framed.locator("#level").press("ArrowLeft")
    assert framed.locator("#chosen").inner_text() == "Weak · ε = 3" and errors == []
    box = mdp.EuclideanSpace([0, 0], [4, 2])
    levels = mdp.explore(box, mdp.PrivateDemand(box, [[1.0, 1.0]] * 500), [4], 2, repeats=0)
    page = visit(levels, 500, 400)
    assert page.locator("#scale b").inner_text().endswith("units")
    assert pixels(page, "#22262b", tolerance=40)[0] > 50
