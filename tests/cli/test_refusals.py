"""The first refusal names all that a graph needs, and doing what it says is enough."""

import networkx as nx
import pytest

from tests.cli_world import run


@pytest.fixture
def crooked(here):
    """Directed, in two pieces, with two columns that may be lengths."""
    rows = ["a,b,1,5", "b,c,1,5", "c,a,1,5", "x,y,1,5"]
    (here / "roads.csv").write_text(
        "\n".join(["from,to,length,time,oneway", *(f"{row},1" for row in rows)]) + "\n"
    )
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("x", "y")])
    nx.write_graphml(graph, here / "plain.graphml")


@pytest.mark.usefixtures("crooked")
def test_all_options_at_once(capsys):
    ran = run(capsys, "cluster", "roads.csv", "-k", "1")
    assert ran.status == 2 and len(ran.lines) == 1
    said = ran.lines[0]
    assert "needs 3 more options" in said and "=True" not in said
    for part in ("--weight COLUMN, one of length, time", "--symmetrize", "--largest-component"):
        assert part in said
    ask = "cluster roads.csv -k 1 --weight time --symmetrize --largest-component"
    assert run(capsys, *ask.split()).status == 0


@pytest.mark.usefixtures("crooked")
def test_one_missing_option_has_its_own_words(capsys):
    ask = "cluster plain.graphml -k 1 --symmetrize"
    said = run(capsys, *ask.split()).lines[0]
    assert "--largest-component" in said and "more options" not in said


@pytest.mark.usefixtures("crooked")
def test_what_is_no_option_is_reported_first(capsys):
    assert (
        "no column 'minutes'"
        in run(capsys, *["cluster", "roads.csv", "-k", "1", "--weight", "minutes"]).err
    )


@pytest.mark.usefixtures("crooked")
def test_the_graph_has_a_name_of_its_own(capsys):
    ask = "cluster roads.csv -k 1 --weight time --symmetrize --largest-component"
    said = run(capsys, *ask.split(), "--name", "the town").err
    assert "read the town:" in said


def test_completion_is_asked_of_argcomplete_alone(monkeypatch, capsys):
    """Not loaded unless a shell asks, and no matter if it is not installed."""
    import sys

    from metricdp.cli import complete

    monkeypatch.setitem(sys.modules, "argcomplete", None)
    complete(None)
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    complete(None)
    assert capsys.readouterr() == ("", "")


def test_a_shell_gets_completions(tmp_path):
    pytest.importorskip("argcomplete")
    import os
    import subprocess
    import sys

    line = "metricdp cluster roads.csv --sym"
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    asked |= {"_ARGCOMPLETE_IFS": " ", "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "out")}
    subprocess.run([sys.executable, "-m", "metricdp"], env={**os.environ, **asked}, timeout=60)
    assert "--symmetrize" in (tmp_path / "out").read_text()
