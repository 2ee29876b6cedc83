"""The statement is one sheet, loads nothing, and says what the promise means."""

import re

import pytest

from metricdp.report.evidence.named import BLANK, QUESTIONS, promise
from metricdp.report.evidence.statement import page
from tests.report.evidence.test_front import CASES, reported

import metricdp as mdp  # isort: skip
from metricdp.report import map_page
from metricdp.report.words import intervals_html
from tests.report.evidence.test_front import demanded, grid


def facts(name):
    return mdp.evidence(reported(name)).facts


def test_the_page_loads_nothing_and_runs_nothing():
    text = page(facts("partition"), {"name": "<script>alert(1)</script>"})
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"(src|href)=[\"'](?!data:)", text)
    assert "default-src 'none'" in text
    assert 'class="blank"' in text


@pytest.mark.parametrize("name", CASES)
def test_every_blank_and_no_other_is_marked(name):
    found = facts(name)
    assert BLANK in page(found, {})
    assert BLANK not in page(found, dict.fromkeys(QUESTIONS, "reported"))


def test_odds_are_in_words():
    words = " ".join(promise(facts("release")))  # epsilon 1/3
    assert "even odds about whether one record is among the data" in words
    assert "at most 58.3 % sure" in words
    assert "at most 13.5 %" in words
    assert "may fail with a probability" in " ".join(promise(facts("zCDP")))
    assert "which of two values" in " ".join(promise(facts("users, replace-one")))
    assert promise(facts("uniform"))[0].startswith("No private data was read")


@pytest.mark.parametrize("name", ["users, replace-one", "explore", "local"])
def test_the_statement_prints_on_one_sheet(name, browser):
    view = browser.new_page()
    view.set_content(page(facts(name), {}))
    box = view.locator("#statement").bounding_box()
    assert box["width"] > 300
    view.evaluate("document.querySelector('aside').remove()")
    assert len(re.findall(rb"/Type\s*/Page\b", view.pdf(format="A4", print_background=True))) == 1
    view.close()


# Map and explore pages hold the statement; the map shows intervals of an evaluation


def test_the_map_holds_statement_and_intervals():
    result = reported("partition")
    shown = {"receipt": result.receipt, "method": result.method}
    text = map_page(grid(), result.centers, **shown)
    assert "<summary>Privacy statement</summary>" in text
    assert "What is not promised" in text
    assert "FOR YOU TO ANSWER" not in text
    assert 'class="intervals"' not in text
    report = mdp.evaluate(grid(), demanded(grid()), result.centers, epsilon=1, within=[2])
    page = map_page(grid(), result.centers, **shown, evaluation=report)
    assert intervals_html(report) in page


def test_a_page_without_circumstances_has_no_statement():
    result = mdp.k_median(grid(), k=2)
    assert "Privacy statement" not in map_page(grid(), result.centers, basis="public")


def test_intervals_are_those_of_the_report():
    table = intervals_html(reported("evaluate"))
    assert table.count("<tr>") == 1 + 6 + 1
    assert "Share within 2" in table
    assert "95 % interval" in table
    assert intervals_html(None) == ""


def test_any_interval_is_shown():
    class Summary:
        def to_dict(self):
            ends = {"estimate": 3.0, "low": 1, "high": 4.5}
            many = {"estimate": [1.0], "low": [0.0], "high": [2.0]}
            return {"mean": ends, "moves_by": ends, "territories": many, "note": "x"}

    table = intervals_html(Summary())
    assert "<td>Moves by</td><td>3</td><td>1 to 4.5</td>" in table
    assert table.count("<tr>") == 3
