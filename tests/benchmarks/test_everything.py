"""``python -m benchmarks all``: one report of several suites."""

import json
import re
from pathlib import Path

from benchmarks import SUITES, everything
from benchmarks.everything import Run
from tests import refuses
from tests.benchmarks.running import measure


def test_suites_are_all_there_and_parse_their_short_options():
    names = set(SUITES)
    assert {one.suite for one in everything._chosen(None)} == names
    parser = everything._parser()
    for one in everything.RUNS:
        parser.parse_args([one.suite, *one.full])
        parser.parse_args([one.suite, *one.short])
        parser.parse_args([one.suite, *one.middle])
    refuses("there is no suite 'pme'", everything._chosen, "pme")


def test_a_run_writes_the_report_and_names_what_is_left_out(here, monkeypatch, capsys):
    tiny = ("--sets", "gm-d2-k8", "--records", "300", "--repeats", "1", "-k", "3", "--methods")
    runs = (
        Run("paper1", "Boxes", (), (*tiny, "kmed++,uniform")),
        Run("tsplib", "Points", (), (str(here / "absent"),)),
    )
    monkeypatch.setattr(everything, "RUNS", runs)
    command = ("all", "--short", "--folder", "out", "--suites", "paper1,tsplib", "--json")
    ran = measure(capsys, *command)
    assert ran.status == 0
    reported = json.loads(ran.out)
    assert [row["outcome"].split(":")[0] for row in reported["rows"]] == ["measured", "left out"]
    assert reported == json.loads(Path("out/report.json").read_text("utf-8"))
    assert re.search(r"<h2>Boxes</h2>.*uniform", Path("out/report.html").read_text("utf-8"), re.S)
    assert "## Points" in Path("out/report.md").read_text("utf-8")
    assert list(Path("out").glob("figures-*/*.png"))


def test_a_wrong_name_is_answered_with_all_names(capsys):
    ran = measure(capsys, "medoid")
    assert ran.status == 2 and "'pmed'" in ran.err and "did you mean medoids?" in ran.err
