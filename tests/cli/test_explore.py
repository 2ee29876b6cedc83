"""``metricdp explore`` and ``metricdp plan``: one price for all levels, pages for their readers,
nothing private anywhere else.
"""

import re
import stat

import metricdp as mdp
from metricdp.cli import main
from tests import raising
from tests.cli_world import CANARIES, ROWS, build_ledger, run, snapshot
from tests.report.map.test_map import data_of

EXPLORE = ("explore", "roads.csv", "--nodes", "nodes.csv", "--demand", "homes.csv", "-k", "2")
QUICK = (*EXPLORE, "--repeats", "0", "--epsilons", "1/2,2")
PLAN = "plan roads.csv --nodes nodes.csv --records 300 -k 2 --repeats 1".split()


def test_levels_on_stdout_and_on_the_page(world, capsys):
    ran = run(capsys, *QUICK, "--output", "page.html")
    reported = ran.json
    assert ran.status == 0 and reported["page"] == "page.html"
    assert reported["receipt"]["epsilon_exact"] == "5/2"
    found = [(one["name"], one["epsilon"], set(one["centers"])) for one in reported["levels"]]
    assert found == [("Moderate", 2.0, {100, 124}), ("Strong", 0.5, {100, 124})]
    assert "2 levels, shown together, are charged together: epsilon 1/2 + 2 = 2.5" in ran.err
    assert "spent epsilon 2.5 per record" in ran.err
    data = data_of((world / "page.html").read_text("utf-8"))
    assert [level["epsilon"] for level in data["levels"]] == ["2", "0.5"] and data["exact"] is None
    text = ran.out + ran.err + re.sub(r'id="library">[^<]*<', "", (world / "page.html").read_text())
    assert not any(canary in text for canary in CANARIES if not canary.startswith("-71"))
    # the exact number of records; digits within a digest are chance
    assert not re.search(rf"\b{ROWS}\b", ran.out)


def test_one_level_is_not_together_with_others(world, capsys):
    ran = run(capsys, *EXPLORE, "--repeats", "0", "--epsilons", "1", "--output", "page.html")
    assert ran.status == 0 and "together" not in ran.err
    assert "Shown together" not in (world / "page.html").read_text()


def test_the_ledger_is_charged_the_sum_once_or_not_at_all(world, capsys):
    build_ledger(world / "study.ledger", budget=4, spent=1.5)
    before = snapshot(world)
    paid = ("--ledger", "study.ledger")
    refused = run(capsys, *EXPLORE, "--epsilons", "1,2", "--output", "page.html", *paid)
    assert refused.status == 3 and "left" in refused.err and not (world / "page.html").exists()
    dry = run(capsys, *QUICK, "--ledger", "study.ledger", "--dry-run")
    assert dry.status == 0 and dry.json["epsilon_exact"] == "5/2"
    assert dry.json["charged"] is False
    assert snapshot(world) == before
    assert run(capsys, *QUICK, "--ledger", "study.ledger", "--output", "page.html").status == 0
    ledger = mdp.Ledger(4, journal=world / "study.ledger")
    assert ledger.left == 0 and [entry.purpose for entry in ledger.entries] == ["before", "explore"]
    again = run(capsys, *QUICK, "--ledger", "study.ledger", "--dry-run")
    assert again.status == 3 and again.out == ""


def test_the_administrators_page_warns_and_is_the_owners_alone(world, capsys):
    ran = run(capsys, *QUICK, "--output", "page.html", "--administrator", "--quiet")
    assert ran.status == 0 and "do not publish it" in ran.err
    page = (world / "page.html").read_text("utf-8")
    assert {center["id"] for center in data_of(page)["exact"]} == {"100", "124"}
    assert "Do not publish this page" in page
    assert stat.S_IMODE((world / "page.html").stat().st_mode) == 0o600
    assert "exact_centers" not in ran.out and "administrator" not in ran.out
    assert run(capsys, *QUICK, "--output", "other.html", "--quiet").err == ""
    assert stat.S_IMODE((world / "other.html").stat().st_mode) != 0o600


def test_users_names_and_predictions(world, capsys):
    users = "--user person --max-contributions 2 --epsilons 2,1/2 --repeats 1 --records 500"
    shown = "--output page.html --objective k-means --names"
    ran = run(capsys, *EXPLORE, *users.split(), *shown.split(), "mild, firm")
    reported = ran.json
    assert [level["name"] for level in reported["levels"]] == ["mild", "firm"]
    assert reported["receipt"]["unit"] == "user"
    prediction = reported["prediction"]
    assert prediction["records"] == 500 and prediction["max_contributions"] == 2
    assert not any(canary in ran.out + ran.err for canary in CANARIES)


def test_a_plan_is_figures_a_table_and_a_page(world, capsys):
    ran = run(capsys, *PLAN, "--epsilons", "0.1,2", "--output", "plan.html")
    reported = ran.json
    assert ran.status == 0 and [level["epsilon"] for level in reported["levels"]] == [0.1, 2.0]
    assert reported["levels"][1]["median"] <= reported["without_data"]["nine_in_ten"]
    assert reported["basis"].startswith("simulation")
    assert "9 in 10 below" in ran.err and "no data" in ran.err and "made-up records" in ran.err
    page = (world / "plan.html").read_text("utf-8")
    assert "Nothing private took part" in page and "Do not publish" not in page
    assert len(data_of(page)["levels"]) == 2
    options = "--epsilons 1 --quiet --method local-search --neighboring replace-one"
    quiet = run(capsys, *PLAN, *options.split())
    assert quiet.err == "" and quiet.json["method"] == "local-search"


def test_an_error_after_the_charge_says_what_was_spent(world, capsys, monkeypatch):
    monkeypatch.setattr("metricdp.report.explore.front._levels", raising(RuntimeError("canary")))
    ran = run(capsys, *QUICK, "--output", "page.html", "--ledger", "new.ledger")
    assert ran.status == 1 and "2.5 was charged before this and stays spent" in ran.err
    assert "canary" not in ran.err


def test_help_names_the_marks(capsys):
    for command, said in (("explore", "must not be"), ("plan", "No private data takes part")):
        assert main([command, "--help"]) == 0
        assert said in " ".join(capsys.readouterr().out.split())
