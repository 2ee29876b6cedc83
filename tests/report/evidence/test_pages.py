"""Map and explore pages hold the statement; the map shows intervals of an evaluation."""

import metricdp as mdp
from metricdp.report import map_page
from metricdp.report.words import intervals_html
from tests.report.evidence.test_front import demanded, grid, reported


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
    page = map_page(grid(), result.centers, basis="public")
    assert "Privacy statement" not in page


def test_intervals_are_those_of_the_report():
    report = reported("evaluate")
    table = intervals_html(report)
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
