"""The statement is one sheet, loads nothing, and says what the promise means."""

import re

import pytest

from metricdp.report.evidence.named import BLANK, QUESTIONS, promise
from metricdp.report.evidence.statement import page
from tests.report.evidence.test_front import CASES, reported

import metricdp as mdp  # isort: skip


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
    sheet = view.pdf(format="A4", print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", sheet)) == 1
    view.close()
