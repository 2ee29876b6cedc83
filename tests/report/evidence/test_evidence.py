"""Receipts of every method and trust model tell all that software can know and keep to the schema;
the statement is one sheet, loads nothing, and says what the promise means.
"""

import json
import re
import sys
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting.cost import BASIC, ZCDP
from metricdp.audit.canaries import leaks, scene
from metricdp.audit.worlds import small_nets
from metricdp.methods.catalogue import OF_BOXES_ALONE, OF_FINITE_UNIVERSES
from metricdp.provenance import KEYS, package_facts
from metricdp.report import map_page
from metricdp.report.assets import words
from metricdp.report.evidence.facts import UNKNOWN
from metricdp.report.evidence.named import BLANK, QUESTIONS, promise
from metricdp.report.evidence.statement import page
from metricdp.report.words import intervals_html
from tests import beside, grid_metric, refuses
from tests.report.evidence.schema import problems

TABLES = beside(__file__, "evidence.toml")
GRID, BOX = grid_metric(5, 5), mdp.EuclideanSpace([0, 0], [1, 1])


def demanded(universe, users=None):
    n = 900
    own = {} if users is None else {"user": np.arange(n) // 4}
    if users is not None:
        own |= {"weighting": "share"} if users == "share" else {"max_contributions": users}
    if universe is GRID:
        return mdp.PrivateDemand(universe, [universe.ids[i % 7] for i in range(n)], **own)
    return mdp.PrivateDemand(universe, np.random.default_rng(0).normal(0.5, 0.1, (n, 2)), **own)


def clustered(method, universe, delta=0, neighboring="add-remove", users=None, call=mdp.k_median):
    ledger = mdp.Ledger(3, "1e-3", neighboring, purpose="clinics")
    demand = demanded(universe, users)
    return call(universe, demand, 2, epsilon=2, delta=delta, ledger=ledger, method=method)


def collected(trust):
    parameters = mdp.local.public_parameters(GRID, epsilon=4, users=500, k=2, trust=trust)
    encoder = mdp.local.Encoder(parameters)
    return mdp.local.Decoder(parameters).fit(encoder.encode((0, 0)) for _ in range(500))


CASES = {
    **{name: f"clustered({name!r}, GRID)" for name in OF_FINITE_UNIVERSES},
    **{name: f"clustered({name!r}, BOX)" for name in OF_BOXES_ALONE},
    **TABLES["calls"],
}


@cache
def reported(name):
    with small_nets():
        return eval(CASES[name])


def at(record, path):
    for part in path.split("."):
        record = record[part]
    return record


@pytest.mark.parametrize("name", CASES)
def test_nothing_that_software_knows_is_left_blank(name):
    result = reported(name)
    found = mdp.evidence(result)
    assert found.missing == [] and set(found.blanks) == set(QUESTIONS)
    record = found.registry()
    assert problems(record) == []
    for path in TABLES["software"].split():
        value = at(record["deployment"], path)
        assert value not in (None, "", {}, []), path
        assert not str(value).startswith(BLANK), path
    assert UNKNOWN not in json.dumps(found.to_dict()) + found.html()
    known = [point for point in found.checklist() if point.answered]
    assert len(known) == 18
    assert all(point.answer.strip() for point in known)
    assert BLANK in page(found.facts, {})
    assert BLANK not in page(found.facts, dict.fromkeys(QUESTIONS, "reported"))
    told = hasattr(result, "to_dict")
    plain = result.to_dict() if told else {"receipt": result.receipt.to_dict()}
    assert mdp.evidence(json.loads(json.dumps(plain))).to_dict() == found.to_dict()


def test_a_receipt_tells_what_circumstances_it_lacks():
    receipt = reported("partition").receipt.to_dict()
    made = receipt.pop("made")
    for key, fact in KEYS.items():
        told = {name: value for name, value in made.items() if name != key}
        found = mdp.evidence({"receipt": receipt | {"made": told}})
        assert found.missing == [f"{key}: {fact}"]
    found = mdp.evidence(receipt)
    assert len(found.missing) == len(KEYS)
    assert UNKNOWN in found.registry()["deployment"]["dp_variant"]["data_domain"]
    assert any("publication_date" in problem for problem in problems(found.registry()))


def test_a_saved_release_keeps_its_circumstances(tmp_path):
    release = reported("release")
    release.save(tmp_path / "homes.release")
    answer = mdp.Release.load(tmp_path / "homes.release", GRID).k_median(k=2)
    assert mdp.evidence(answer).to_dict() == mdp.evidence(release).to_dict()


def test_what_is_reported_is_right():
    found = mdp.evidence(reported("users, replace-one"))
    record = found.registry()["deployment"]
    assert record["privacy_loss"]["privacy_parameters"] == {"epsilon": 2.0}
    details = record["privacy_loss"]["privacy_unit_details"]
    assert "at most 3 records of each user" in details
    assert "replace-one" in details
    assert "the number of users" in record["dp_variant"]["unprotected_quantities"]
    details = record["privacy_loss"]["privacy_parameters_details"]
    assert "epsilon 2 is spent and 1 is left" in details
    assert "clinics" in record["privacy_loss"]["privacy_parameters_details"]
    assert package_facts()["sha256"] in record["implementation"]["mechanisms"]
    universe = found.facts.universe
    assert universe["points"] == 25
    assert universe["sha256"] in record["dp_variant"]["data_domain"]
    shared = mdp.evidence(reported("users with shares")).registry()["deployment"]["privacy_loss"]
    assert "one unit of weight" in shared["privacy_unit"]
    assert "65,536 fixed-point weight units" in shared["privacy_unit_details"]
    approximate = mdp.evidence(reported("zCDP")).registry()["deployment"]
    assert approximate["dp_variant"]["variant_name"] == "Approximate DP"
    assert approximate["privacy_loss"]["privacy_parameters"]["delta"] == 1e-6
    assert "zCDP" in approximate["implementation"]["composition"]
    assert set(words()["compositions"]) == {BASIC, ZCDP}
    for trust, name in (("local", "Local"), ("shuffle", "Shuffle")):
        model = mdp.evidence(reported(trust)).registry()["deployment"]
        assert model["deployment_model"]["model_name"] == name
        assert model["privacy_loss"]["number_of_privacy_units"] == 500
    registry = mdp.evidence(reported("uniform")).registry()
    assert registry["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.0}


def test_answers_take_the_place_of_blanks():
    answers = {
        "curator": "Regional Health Office",
        "curator_type": "Government",
        "name": "Where clinics could stand",
        "units": "9,000",
        "sector": "Healthcare",
    }
    found = mdp.evidence(reported("partition"), answers=answers)
    record = found.registry()
    assert problems(record) == []
    curators = record["deployment"]["basic"]["data_curators"]
    expected = [{"data_curator_name": "Regional Health Office", "data_curator_type": "Government"}]
    assert curators == expected
    assert record["url_slug"].startswith("where-clinics-could-stand-")
    assert record["deployment"]["privacy_loss"]["number_of_privacy_units"] == 9000
    assert "placeholder" not in json.dumps(record)
    assert not set(answers) & set(found.blanks)
    assert record["deployment"]["administrative"]["tier"] == 2
    full = {name: answers.get(name, "reported") for name in QUESTIONS}
    whole = mdp.evidence(reported("partition"), answers=full)
    assert BLANK not in json.dumps(whole.registry()["deployment"]["basic"])
    assert whole.registry()["deployment"]["administrative"]["tier"] == 3
    assert all(point.answered for point in whole.checklist())


def test_an_audit_counts_for_its_own_package_only():
    audit = {
        "passed": True,
        "package": package_facts(),
        "scope": "short form",
        "checks": [{"passed": True}] * 3,
        "planted": [{"caught": True}, {"caught": True}],
    }
    said = mdp.evidence(reported("partition"), audit=audit).facts.audited()
    checked = "3 of 3 checks passed, 2 of 2 planted"
    assert said.startswith(f"passed, of this very package (short form): {checked}")
    other = audit | {"package": {"sha256": "0" * 64}, "passed": False}
    told = mdp.evidence(reported("partition"), audit=other).facts.audited()
    assert told.startswith("FAILED, of ANOTHER package")


ODD = [None, 3, -1.5, True, "x", "1/0", [], {}, ["x"], {"value": []}, 10**400, "nan"]


def places(tree, path=()):
    """Every place of a JSON tree, of a list its first two."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree[:2])
    for key, inner in items:
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))
        else:
            yield (*path, key)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_a_damaged_file_is_reported_in_one_line(odd):
    plain = mdp.Receipt.to_dict(reported("evaluate").receipt)
    whole = reported("evaluate").to_dict() | {"receipt": plain}
    for path in list(places(whole))[1 + ODD.index(odd) % 3 :: 3]:  # each place meets four
        tree = json.loads(json.dumps(whole))
        inner = tree
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = odd
        try:
            found = mdp.evidence(tree)
        except mdp.InputError as error:
            assert "\n" not in str(error)
        else:
            assert BLANK in json.dumps(found.to_dict()) and found.html()


def test_an_evaluation_tells_the_error():
    report = reported("evaluate")
    figures = mdp.evidence(report).facts.figures()
    assert figures.startswith("Private evaluation, 95 % intervals: Records ")
    assert "Share within 2 " in figures
    for shown in (report, report.to_dict()):
        found = mdp.evidence(reported("partition"), evaluation=shown)
        assert found.registry()["deployment"]["implementation"]["utility"].startswith(figures)
        assert figures.split(":")[0] in found.html()


def test_yaml_says_what_the_record_says_or_what_it_lacks(monkeypatch):
    yaml = pytest.importorskip("yaml", reason="needs the extra evidence")
    found = mdp.evidence(reported("partition"))
    text = found.yaml()
    assert yaml.safe_load(text) == found.registry()
    assert "data_curator_type: Government  # FOR YOU TO ANSWER" in text
    answered = mdp.evidence(reported("partition"), answers={"curator_type": "Nonprofit"}).yaml()
    assert "data_curator_type: Nonprofit\n" in answered
    monkeypatch.setitem(sys.modules, "yaml", None)
    refuses(r"\[evidence\]", found.yaml, error=mdp.MetricDPError)


def test_no_canary_sings():
    universe, _, demand = scene()

    def shown():
        with small_nets():
            found = mdp.evidence(mdp.k_median(universe, demand, 3, epsilon=0.3))
        yield "JSON", json.dumps(found.to_dict())
        yield "page", found.html()
        yield "facts", repr(found.facts.made)

    assert leaks(shown) == ("", 3)


def facts(name):
    return mdp.evidence(reported(name)).facts


def test_the_page_loads_nothing_and_runs_nothing():
    text = page(facts("partition"), {"name": "<script>alert(1)</script>"})
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"(src|href)=[\"'](?!data:)", text)
    assert "default-src 'none'" in text
    assert 'class="blank"' in text


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
    text = map_page(GRID, result.centers, **shown)
    assert "<summary>Privacy statement</summary>" in text
    assert "What is not promised" in text
    assert "FOR YOU TO ANSWER" not in text
    assert 'class="intervals"' not in text
    report = mdp.evaluate(GRID, demanded(GRID), result.centers, epsilon=1, within=[2])
    page = map_page(GRID, result.centers, **shown, evaluation=report)
    assert intervals_html(report) in page
    public = mdp.k_median(GRID, k=2)
    assert "Privacy statement" not in map_page(GRID, public.centers, basis="public")


def test_intervals_are_those_of_the_report_or_summary():
    table = intervals_html(reported("evaluate"))
    assert table.count("<tr>") == 1 + 6 + 1
    assert "Share within 2" in table
    assert "95 % interval" in table
    assert intervals_html(None) == ""
    ends = {"estimate": 3.0, "low": 1, "high": 4.5}
    many = {"estimate": [1.0], "low": [0.0], "high": [2.0]}
    summary = {"mean": ends, "moves_by": ends, "territories": many, "note": "x"}
    table = intervals_html(SimpleNamespace(to_dict=lambda: summary))
    assert "<td>Moves by</td><td>3</td><td>1 to 4.5</td>" in table and table.count("<tr>") == 3
