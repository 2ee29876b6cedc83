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

from tests import cases
from tests.cli_world import CANARIES, ROWS, build_ledger, build_world, fails, run, snapshot, works

PRIVATE = (
    "cluster roads.csv -k 2 --output out.json --coreset core.csv --demand homes.csv --epsilon 1/2 "
    "--ledger study.ledger"
)
PLACED = PRIVATE + " --nodes nodes.csv --x lon --y lat"
PUBLIC = "cluster roads.csv -k 2 --output out.json"
TWO = "cluster roads.csv -k 2"
FOUND = "every record must be the id (int)"
EVALUATE = "evaluate roads.csv --demand homes.csv --centers good.json"
EDGES = "from,to,length_m\n1,2,5\n2,3,4\n"
BAD_ROW = "987654321"

FILES = {
    # graphs
    "roads.xyz": b"\x00\x01\x02 what",
    "negative.csv": EDGES.encode() + b"3,4,-1\n",
    "parts.csv": EDGES.encode() + b"7,8,1\n",
    # centers
    "good.json": b'{"centers": [100, 124]}',
    "cut.json": b'{"centers": [100, 12',
    "other.json": b'{"k": 2}',
    "unknown.json": b'{"centers": [100, 5]}',
    # ledgers
    "notledger": b"hello\n",
    "folder/inside": b"",
}


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

VARIED = {
    "": {
        # the command itself
        "no command": ("", "COMMAND"),
        "unknown command": ("clutser roads.csv -k 2", "invalid choice: 'clutser'"),
        # options without effect
        "plan in JSON": ("plan r.csv -k 2 --records 9 --output x.json", "must end in .html"),
        "a goal twice": ("plan r.csv -k 2 --records 9 --goal 3% --target 4%", "give one"),
        "ledger of a stream": ("stream init s r.csv --epsilon 1 --renews yearly", "give --ledger"),
        "page in JSON": ("explore r.csv -k 2 --demand d --output x.json", "must end in .html"),
        "graph facts alone": ("decode --parameters p --nodes n.csv", "give GRAPH too"),
        "stream facts alone": ("stream show s --nodes n.csv", "--nodes is about a graph"),
        "users of real ones": ("decode --parameters p --users 9", "--users is of no use here"),
        "messages of a demo": ("decode --demo --messages m", "--messages is of no use here"),
        "items of parameters": ("encode r.csv --items i", "--items is of no use here"),
        "k of items": ("encode --parameters p -k 3", "-k is of no use here: --parameters holds"),
        # evaluate
        "evaluate without demand": ("evaluate roads.csv --centers good.json", "--demand"),
        "evaluate without centers": ("evaluate roads.csv --demand homes.csv", "--centers"),
    },
    "cluster": {
        # the graph
        "missing file": ("nowhere.csv -k 2 --output out.json", "nowhere.csv: no such file"),
        "line break in a name": ("'no\nwhere.csv' -k 2", "no\\nwhere.csv: no such file"),
        "directory": ("folder -k 2 --output out.json", "folder: is a directory"),
        "negative length": ("negative.csv -k 2 --output out.json", "non-negative"),
        "disconnected": ("parts.csv -k 2 --output out.json", "2 components of 3, 2 vertices"),
        # the question
        "no k": ("roads.csv", "-k"),
    },
    TWO: {
        "an option's end": ("--column x", "mean --demand-column? (see metricdp cluster --help)"),
        "a slip": ("--epsilom 1", "did you mean --epsilon?"),
        "an argument's name": (
            "--demand homes.csv --epsilon 1 --max-snap 9",
            "crs, --max-snap and",
        ),
        "title without a page": ("--title T", "--title is of a page, and none is written"),
        "credit without a page": ("--attribution A --output x.json", "--attribution is of a page"),
        "layer of a table": ("--layer x", "no layers; leave --layer out"),
        "direction alone": ("--direction to-center", "pass --directed as well"),
        "one end": ("--source from", "both endpoint columns (--source, --target) or none"),
        "two demands": ("--demand a.csv --demand b.csv", "takes one file, got a.csv and b.csv"),
    },
    (TWO + " --demand homes.csv"): {
        # the price
        "epsilon missing": ("--output out.json", "needs --epsilon"),
        "budget without ledger": ("--epsilon 1 --epsilon-budget 2", "give --ledger"),
        "delta budget without a ledger": ("--epsilon 1 --delta-budget 1e-6", "give --ledger"),
        "delta of one": ("--epsilon 1 --delta 1", "delta must be at least 0 and below 1"),
    },
    "explore --demand d.csv -k 2 --output p.html": {
        "a list in words": ("--epsilons 0.1 0.5 1 roads.csv", "a list has commas (0.1,0.5)"),
        "no list": ("roads.csv --names a --within 3", "arguments: --within 3 (see"),
    },
    "demo": {
        "demo with k zero": ("-k 0", "at least 1"),
        "demo into a file": ("--directory homes.csv", "not a directory"),
        "demo with k above n": ("-k 20000 --directory fresh", "only 15,708 vertices"),
    },
    PUBLIC: {
        # the command itself
        "unknown option": ("--epsilonn 1", "--epsilonn"),
        # the graph
        "unknown format": ("--format shapefile", "formats: pmed, dimacs"),
        "wrong format": ("--format pmed", "line 1"),
        # the price
        "epsilon without demand": ("--epsilon 1", "--epsilon is about private demand"),
        "ledger without demand": ("--ledger study.ledger", "--ledger is about private demand"),
    },
    (PUBLIC + " --non-private"): {
        # columns of the demand
        "non-private: unknown id": ("--demand unknown.csv", f"{FOUND} of a point"),
        "non-private: NaN": ("--nodes nodes.csv --x lon --y lat --demand nancoord.csv", "finite"),
    },
    PRIVATE: {
        # the question
        "k zero": ("-k 0", "at least 1, got '0'"),
        "k above n": ("-k 26", "only 25 vertices"),
        "unknown method": ("--method magic", "partition, uniform"),
        "unknown objective": ("--objective k-center", "invalid choice"),
        # the price
        "epsilon zero": ("--epsilon 0", "between 1e-09 and 1000"),
        "epsilon NaN": ("--epsilon nan", "finite number"),
        "non-private and epsilon": ("--non-private", "contradict"),
        "unknown relation": ("--neighboring swap", "invalid choice"),
        "ledger exhausted": ("--epsilon 0.6", "asked epsilon 0.6, spent 1.5, left 0.5"),
        "ledger that is none": ("--ledger notledger", "not the journal"),
        "ledger damaged": ("--ledger damaged.ledger", "damaged"),
        "ledger nowhere": ("--ledger nowhere/x.ledger", "No such file"),
        "ledger the demand file": ("--ledger homes.csv", "same file"),
        # what is written
        "output nowhere": ("--output nowhere/out.json", "nowhere/out.json cannot be written"),
        "output a device": ("--output /dev/null", "not a regular file"),
        "output the graph": ("--output roads.csv", "--output and GRAPH are the same file"),
        "output the demand": ("--output ./homes.csv", "same file"),
        "coreset and output alike": ("--coreset out.json", "same file"),
        "map that is no page": ("--map map.json", "--map map.json: the name of a page must end in"),
        "coreset of an unknown kind": ("--coreset core.xlsx", "must be one of"),
        "coreset without places": ("--coreset core.geojson", "needs points with coordinates"),
        "coreset of uniform": ("--method uniform", "releases no weights"),
        # columns of the demand
        "x without y": ("--x lon", "go together"),
        "x, y and a column": ("--x lon --y lat --demand-column vertex", "not both"),
        "coordinates, graph without": ("--x lon --y lat", "--nodes"),
        "max-contributions alone": ("--max-contributions 2", "--user"),
        "missing demand file": ("--demand nowhere.csv", "nowhere.csv: no such file"),
        "no such column": ("--demand-column home", "no column 'home'"),
        "no such users": ("--user whose", "--user for users"),
        "unknown id": ("--demand unknown.csv", FOUND),
        "id missing": ("--demand gap.csv", "empty cell"),
        "user missing": ("--user person --demand nouser.csv", "empty cell"),
        "ragged demand": ("--demand raggedrow.csv", "as many fields as the first row"),
        "open quote in demand": ("--demand quotes.csv", "quotes"),
        "demand not UTF-8": ("--demand latin.dem", "UTF-8 text"),
        "demand truncated": ("--demand cut.dem.gz", "truncated gzip"),
        "demand without header": ("--demand noheader.csv", "no column 'vertex'"),
        "demand with equal headers": ("--demand twice.csv", "same name"),
    },
    PRIVATE + " --ledger new.ledger": {
        "budget below epsilon": ("--epsilon-budget 1/4", "asked epsilon 0.5, spent 0, left 0.25"),
        "unknown id, new ledger": ("--demand unknown.csv", FOUND),
    },
    PLACED: {"NaN coordinate": ("--demand nancoord.csv", "finite")},
    EVALUATE: {
        # evaluate
        "missing centers": ("--centers nowhere.json", "nowhere.json: No such file"),
        "centers not JSON": ("--centers cut.json", "not JSON"),
        "centers of another kind": ("--centers other.json", "no list 'centers'"),
        "center not in the graph": ("--centers unknown.json", "id 5"),
        "evaluate an unknown id": ("--demand unknown.csv", FOUND),
    },
}


def varied(base, more):
    """A command with more options; a demand among them stands in place of its own."""
    if "--demand " in more:
        base = base.replace(" --demand homes.csv", "")
    return f"{base} {more}".strip()


CASES = {
    name: (varied(base, more), words)
    for base, rows in VARIED.items()
    for name, (more, words) in rows.items()
}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    build_world(folder)
    for name, content in {**FILES, **DEMANDS}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
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
    for command in (PUBLIC, PRIVATE, EVALUATE, PLACED + " --ledger new.ledger --user person"):
        ran = works(capsys, command)
        assert ran.json is not None
        assert_nothing_private(ran.err, command)
    for name in set(snapshot(world)) - set(before):
        (world / name).unlink()
    (world / "study.ledger").write_bytes(before["study.ledger"])


@cases(
    ("words", "meant"),
    ("cluster r.csv -k 2 --demand h --eps 1", "--epsilon"),
    ("cluster r.csv --k 2", "-k"),
    ("cluster r.csv -k 2 --lon a --lat b", "--x, --y"),
    ("cluster r.csv -k 2 --out a.json", "--output"),
    ("cluster r.csv -k 2 --max_contributions 2", "--max-contributions"),
    ("explore r.csv -k 2 --demand h --eps 1", "--epsilons"),
    ("explore r.csv -k 2 --demand h --epsilon=1", "--epsilons"),
    ("plan r.csv -k 2 --records 9 --user who", "--max-contributions"),
    ("plan r.csv -k 2 --record 9", "--records"),
    ("evaluate r.csv --demand h --center c", "--centers"),
    ("demo --eps 1", "--epsilon"),
    ("clustr r.csv -k 2", "cluster"),
    ("cluster r.csv -k 2 --zzzzzz 1", None),
    ("cluster r.csv -k 2 --id 1", None),
)
def test_a_wrong_name_gets_the_one_that_was_meant(words, meant, capsys):
    ran = run(capsys, words)
    assert (ran.status, len(ran.lines)) == (2, 1)
    said = re.search(r"did you mean (.*)\?", ran.err)
    assert (None if said is None else said[1]) == meant


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
