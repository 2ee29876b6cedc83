"""A small road network, private files with canaries, and a runner, for the tests of the command
line.
"""

import gzip
import json
import shlex
from pathlib import Path
from typing import NamedTuple

import metricdp as mdp
from metricdp.cli import main

SIDE, ROWS = 5, 2003  # so many that no noise of epsilon 1 hides the two corners
CANARIES = ("987654321", "canary", "12.3456789", "-71.3002")


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def lines(self):
        return self.err.splitlines()

    @property
    def json(self):
        return json.loads(self.out)


def run(capsys, *argv, main=main):
    """The outcome of a call; blanks of the first argument separate words, as in a shell."""
    capsys.readouterr()
    status = main([*(word for text in argv[:1] for word in shlex.split(text)), *argv[1:]])
    return Ran(status, *capsys.readouterr())


def works(capsys, *argv):
    """The outcome of a call that succeeds."""
    ran = run(capsys, *argv)
    assert ran.status == 0, ran.err
    return ran


def fails(capsys, words, *argv, status=2):
    """Hold that a call ends with this status, says these words and its error in one line, prints no
    result, and leaves the folder that it is called from as it was; its outcome.
    """
    before = snapshot(Path())
    ran = run(capsys, *argv)
    errors = [line for line in ran.lines if line.startswith("metricdp: error: ")]
    assert (ran.status, ran.out, errors) == (status, "", ran.lines[-1:]), ran.err
    assert words in ran.err and not [c for c in CANARIES if c in ran.err], ran.err
    assert snapshot(Path()) == before
    return ran


def snapshot(folder):
    files = [p for p in folder.rglob("*") if p.suffix != ".lock"]
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b"" for p in files}


def grid_edges():
    """(from, to, length) of a SIDE × SIDE grid with ids 100, 101, …"""
    edges = []
    for i in range(SIDE):
        for j in range(SIDE):
            v = 100 + i * SIDE + j
            edges += [(v, v + 1, 100 + v % 7)] if j + 1 < SIDE else []
            edges += [(v, v + SIDE, 100 + v % 5)] if i + 1 < SIDE else []
    return edges


def places():
    return {
        100 + i * SIDE + j: (-71.3 + j / 1000, -29.9 + i / 1000)
        for i in range(SIDE)
        for j in range(SIDE)
    }


def build_world(folder):
    """Write the graph, its nodes and the demand: ROWS records at two corners."""
    text = "from,to,length_m\n" + "".join(f"{a},{b},{w}\n" for a, b, w in grid_edges())
    (folder / "roads.csv").write_text(text)
    (folder / "roads.csv.gz").write_bytes(gzip.compress(text.encode()))
    rows = "".join(f"{v},{x},{y}\n" for v, (x, y) in places().items())
    (folder / "nodes.csv").write_text("id,lon,lat\n" + rows)
    corners = {v: f"{v},{x:.4f},{y:.4f}" for v, (x, y) in places().items()}
    rows = [f"{corners[100 if i % 2 else 124]},canary-{i % 900}" for i in range(ROWS)]
    (folder / "homes.csv").write_text("\n".join(["vertex,lon,lat,person", *rows]) + "\n")


def build_road(folder, pieces, rows=(), columns="vertex"):
    """Write a road of pieces of 100 m between 0, 1, …, and some demand."""
    edges = [f"{i},{i + 1},100" for i in range(pieces)]
    for name, lines in (("roads", ["from,to,length", *edges]), ("homes", [columns, *rows])):
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def build_ledger(path, budget=2.0, spent=1.5):
    ledger = mdp.Ledger(budget, journal=path)
    if spent:
        ledger.charge(spent, purpose="before")
