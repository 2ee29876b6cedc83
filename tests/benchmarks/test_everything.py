"""``python -m benchmarks all``: one report of several suites."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from benchmarks import SUITES, everything
from benchmarks.everything import Part, Run
from benchmarks.frame import pages
from metricdp.bench.report import Column, Report
from metricdp.errors import InputError
from tests.benchmarks.running import measure

VOID = {"meta", "img"}


class Balanced(HTMLParser):
    """Counts what is opened and closed, and collects what is referred to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.sources += [v for k, v in attributes if k in ("src", "href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def part(tmp_path):
    picture = tmp_path / "figures-0" / "a.png"
    picture.parent.mkdir()
    picture.write_bytes(b"\x89PNG")
    columns = [Column("name", "in<stance"), Column("gap", "gap %", ".2f")]
    rows = [{"name": "a|b", "gap": 1.0}, {"name": "<script>", "gap": None}]
    report = Report("toy", {}, columns, rows, {}, ["2 instances", "wrote a.png"])
    return Part("A toy", "python -m benchmarks toy", report, 2.0, "", (picture,))


def test_pages_hold_tables_pictures_and_machine(part, tmp_path):
    settings = {"short": True, "seed": 3}
    left_out = Part("Gone", "python -m benchmarks gone", None, 0.0, "left out: no data")
    html = pages.html_page([part, left_out], pages.facts(), settings, "")
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert all(source.startswith("data:image/png;base64,") for source in parser.sources)
    assert "<script>" not in html and "&lt;script&gt;" in html
    text = pages.markdown_page([part, left_out], pages.facts(), settings, "", tmp_path)
    for page in (html, text):
        assert "a look, not a result" in page and "left out: no data" in page
        assert "2 instances" in page and "wrote" not in page and "Python" in page
    assert "![a](figures-0/a.png)" in text and "| a\\|b | 1.00 |" in text


def test_reports_that_lay_out_their_own_tables_stay_as_they_are(part, tmp_path):
    class Own(Report):
        def table(self):
            return "k   cost\n5   1.00\n\nwrote a.png\n"

    own = Own("own", {}, (), [{}], {}, [])
    parts = [Part("Own", "python -m benchmarks own", own, 1.0)]
    settings = {"short": False, "seed": 0}
    assert "```text\nk   cost\n5   1.00\n" in pages.markdown_page(parts, {}, settings, "", tmp_path)
    assert ">k   cost\n5   1.00\n" in pages.html_page(parts, {}, settings, "")


def test_suites_are_all_there_and_parse_their_short_options():
    names = {name.rsplit(".", 1)[1] for name in SUITES} - {"everything"}
    assert {one.suite for one in everything._chosen(None)} == names
    parser = everything._parser()
    for one in everything.RUNS:
        parser.parse_args([one.suite, *one.full])
        parser.parse_args([one.suite, *one.short])
        parser.parse_args([one.suite, *one.middle])
    with pytest.raises(InputError, match="there is no suite 'pme'"):
        everything._chosen("pme")


def test_a_run_writes_the_report_and_names_what_is_left_out(tmp_path, monkeypatch, capsys):
    tiny = ("--sets", "gm-d2-k8", "--records", "300", "--repeats", "1", "-k", "3", "--methods")
    runs = (
        Run("paper1", "Boxes", (), (*tiny, "kmed++,uniform")),
        Run("tsplib", "Points", (), (str(tmp_path / "absent"),)),
    )
    monkeypatch.setattr(everything, "RUNS", runs)
    monkeypatch.chdir(tmp_path)
    command = ("all", "--short", "--folder", "out", "--suites", "paper1,tsplib", "--json")
    ran = measure(capsys, *command)
    assert ran.status == 0
    told = json.loads(ran.out)
    assert [row["outcome"].split(":")[0] for row in told["rows"]] == ["measured", "left out"]
    assert told == json.loads(Path("out/report.json").read_text("utf-8"))
    page = Path("out/report.html").read_text("utf-8")
    assert re.search(r"<h2>Boxes</h2>.*uniform", page, re.S)
    assert "## Points" in Path("out/report.md").read_text("utf-8")
    assert list(Path("out").glob("figures-*/*.png"))


def test_a_file_is_no_folder(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("mine")
    ran = measure(capsys, "all", "--short", "--folder", str(file))
    assert ran.status == 2 and "is a file" in ran.err and file.read_text() == "mine"
