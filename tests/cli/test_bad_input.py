"""Bad input of every kind: status 2, one line on stderr, nothing on stdout, no file, no charge,
nothing private.
"""

import gzip
import os
import re
import subprocess
import sys

import networkx as nx
import pytest

from metricdp.cli import main
from tests import beside
from tests.cli_world import CANARIES, ROWS, build_ledger, build_world, fails, run, snapshot, works

COMMANDS = beside(__file__, "refusals.toml")
MEANT, _ = (COMMANDS.pop(part) for part in ("meant", "federated"))
BAD_ROW = "987654321"

FILES = {name: text.encode() for name, text in COMMANDS.pop("files").items()}


def private_file(bad, header="vertex,lon,lat,person"):
    """A demand file of ROWS good records and a bad one."""
    good = [f"{100 + i % 25},-71.3,-29.9,canary-{i}" for i in range(ROWS)]
    return "\n".join([header, *good[:90], bad, *good[90:]]).encode() + b"\n"


DEMANDS = {
    "unknown.csv": private_file(f"{BAD_ROW},-71.3,-29.9,canary-x"),
    "gap.csv": private_file(",-71.3,-29.9,canary-x"),
    "nancoord.csv": private_file("100,nan,12.3456789,canary-x"),
    "nouser.csv": private_file("100,-71.3,-29.9,"),
    "raggedrow.csv": private_file(f"100,-71.3,-29.9,canary-x,{BAD_ROW}"),
    "quotes.csv": private_file('100,-71.3,-29.9,"canary'),
    "latin.dem": private_file("100,-71.3,-29.9,canary-\u00e9").replace(b"\xc3\xa9", b"\xe9"),
    "cut.dem.gz": gzip.compress(private_file("100,-71.3,-29.9,canary"))[:-20],
    "noheader.csv": private_file("100,-71.3,-29.9,c", f"{BAD_ROW},-71.3002,-29.9,canary-0"),
    "twice.csv": private_file("100,-71.3,-29.9,canary-x", header="vertex,canary,canary,person"),
}


def varied(base, more):
    """A command with more options; a demand among them stands in place of its own."""
    if "--demand " in more:
        base = base.replace(" --demand homes.csv", "")
    return f"{base} {more}".strip()


CASES = {
    name: (varied(one["command"], more), words)
    for one in COMMANDS.values()
    for name, (more, words) in one["refused"].items()
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    build_world(folder)
    for name, content in {**FILES, **DEMANDS}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    asked = f"cluster {folder}/roads.csv -k 2 --demand {folder}/homes.csv --epsilon 1 -q --output"
    assert main([*asked.split(), f"{folder}/result.json"]) == 0
    build_ledger(folder / "study.ledger")
    build_ledger(folder / "damaged.ledger")
    text = (folder / "damaged.ledger").read_bytes()
    (folder / "damaged.ledger").write_bytes(text.replace(b'"3/2"', b'"1/2"'))
    return folder


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_one_line_and_leaves_no_trace(name, world, monkeypatch, capsys):
    command, words = CASES[name]
    monkeypatch.chdir(world)
    quiet = ["-q"] if command.startswith(("cluster", "evaluate", "demo")) else []
    status = 3 if words.startswith("asked epsilon") else 2  # 3: no budget is left
    ran = fails(capsys, words, command, *quiet, status=status)
    lines = ran.lines
    if name.startswith("non-private: "):
        assert lines.pop(0).startswith("metricdp: warning: --non-private")
    assert len(lines) == 1 and words in lines[0]
    assert_nothing_private(ran.err, command)


def assert_nothing_private(text, command):
    assert not [c for c in CANARIES if c in text]
    assert not re.search(rf"\b({ROWS}|{ROWS + 1}|{ROWS + 2})\b", text)
    if any(name in command for name in DEMANDS):
        assert not re.search(r"\b(line|row) \d|\b9[0-9]\b", text)


def test_every_good_base_would_pass(world, monkeypatch, capsys):
    """What the cases vary is accepted itself: so each is refused for the reason it names."""
    monkeypatch.chdir(world)
    before = snapshot(world)
    more = {
        "public": "",
        "private": "",
        "evaluate": "",
        "placed": "--ledger new.ledger --user person",
    }
    for name, options in more.items():
        command = f"{COMMANDS[name]['command']} {options}"
        ran = works(capsys, command)
        assert ran.json is not None
        assert_nothing_private(ran.err, command)
    for name in set(snapshot(world)) - set(before):
        (world / name).unlink()
    (world / "study.ledger").write_bytes(before["study.ledger"])


@pytest.mark.parametrize(("words", "meant"), MEANT.items())
def test_a_wrong_name_gets_the_one_that_was_meant(words, meant, capsys):
    ran = run(capsys, words)
    assert (ran.status, len(ran.lines)) == (2, 1)
    said = re.search(r"did you mean (.*)\?", ran.err)
    assert (said[1] if said else "") == meant


# The first refusal names all that a graph needs, and doing what it says is enough


def test_all_options_at_once(here, capsys):
    """Directed, in two pieces, with two columns that may be lengths."""
    rows = [f"{ends},1,5,1" for ends in ("a,b", "b,c", "c,a", "x,y")]
    (here / "roads.csv").write_text("\n".join(["from,to,length,time,oneway", *rows]) + "\n")
    ran = run(capsys, "cluster", "roads.csv", "-k", "1")
    assert ran.status == 2 and len(ran.lines) == 1
    said = ran.lines[0]
    assert "needs 3 more options" in said and "=True" not in said
    for part in ("--weight COLUMN, one of length, time", "--symmetrize", "--largest-component"):
        assert part in said
    ask = "cluster roads.csv -k 1 --weight time --symmetrize --largest-component"
    assert "read the town:" in works(capsys, ask, "--name", "the town").err
    assert "no column 'minutes'" in run(capsys, "cluster roads.csv -k 1 --weight minutes").err
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("x", "y")])
    nx.write_graphml(graph, here / "plain.graphml")
    said = run(capsys, "cluster plain.graphml -k 1 --symmetrize").lines[0]
    assert "--largest-component" in said and "more options" not in said


def test_completion_is_asked_of_argcomplete_alone(monkeypatch, capsys):
    """Not loaded unless a shell asks, and no matter if it is not installed."""
    from metricdp.cli import complete

    monkeypatch.setitem(sys.modules, "argcomplete", None)
    complete(None)
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    complete(None)
    assert capsys.readouterr() == ("", "")


def test_a_shell_gets_completions(tmp_path):
    pytest.importorskip("argcomplete")
    line = "metricdp cluster roads.csv --sym"
    asked = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    asked |= {"_ARGCOMPLETE_IFS": " ", "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "out")}
    subprocess.run([sys.executable, "-m", "metricdp"], env={**os.environ, **asked}, timeout=60)
    assert "--symmetrize" in (tmp_path / "out").read_text()
