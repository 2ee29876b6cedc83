"""``metricdp evidence``: from the JSON of a result to what is signed."""

import json

import pytest

from metricdp.cli import main
from tests.cli_world import build_road, run
from tests.report.evidence.schema import problems


@pytest.fixture
def world(here):
    build_road(here, 9, [f"{i},p{i}" for i in range(9)], "vertex,who")
    call = ["cluster", "roads.csv", "--demand", "homes.csv", "-k", "2", "--epsilon", "1/4"]
    assert main([*call, "--output", "result.json", "--quiet"]) == 0
    return here


def test_record_statement_and_checklist(world, capsys):
    (world / "answers.json").write_text('{"curator": "Health Office"}')
    files = ["--registry", "record.json", "--html", "page.html", "--answers", "answers.json"]
    status, out, err = run(capsys, "evidence", "result.json", *files)
    assert status == 0
    reported = json.loads(out)
    assert reported["missing"] == []
    assert "curator" not in reported["blanks"]
    assert "wrote record.json, page.html" in err
    assert "for you to answer: name, curator_type" in err
    record = json.loads((world / "record.json").read_text())
    assert record == reported["registry"] and problems(record) == []
    assert "Health Office" in (world / "page.html").read_text()


def test_yaml(world, capsys):
    yaml = pytest.importorskip("yaml", reason="needs the extra evidence")
    status, out, err = run(capsys, "evidence", "result.json", "--registry", "a.yaml", "--quiet")
    assert (status, err) == (0, "")
    assert yaml.safe_load((world / "a.yaml").read_text()) == json.loads(out)["registry"]
