"""The table of docs/which-method.md is what its script draws, in form."""

import re
from pathlib import Path

import pytest

from tests import loaded, refuses

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    return loaded(ROOT / "benchmarks" / "which_method.py")


def test_a_table_is_put_between_its_own_marks(script):
    page = "<!-- a -->\n<!-- end -->\nkept\n<!-- b -->\n\nold\n\n<!-- end -->\n"
    once = script.placed(script.placed(page, "a", "A"), "b", "B")
    assert re.findall(r"^[A-Zk]\w*$", once, re.M) == ["A", "kept", "B"]
    assert script.placed(once, "b", "B") == once
    refuses("no marks", script.placed, page, "c", "C", error=AssertionError)


def test_the_page_has_a_row_for_every_setting(script):
    page = script.PAGE.read_text("utf-8")
    cases = (script.FINITE_UNIVERSES, script.FINITE), (script.DIMENSIONS, script.BOX)
    for names, methods in cases:
        starts = tuple(f"| {n}" for n in names)
        rows = [line for line in page.splitlines() if line.startswith(starts)]
        assert len(rows) == len(names) * len(script.RECORDS) * len(script.EPSILONS)
        assert all(row.count("|") == len(methods) + 4 for row in rows)
        assert all("**" in row for row in rows)
