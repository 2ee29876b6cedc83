"""Mutated command lines and input files: a result, or status 2 and one line; then nothing was
printed, written or charged.
"""

import contextlib
import io
import json
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from metricdp.cli import main
from tests import beside
from tests.cli_world import CANARIES, ROWS, build_ledger, build_world, snapshot
from tests.fuzzing import LONGEST_MESSAGE, bounded, fuzz, mutated, packed

GOOD = beside(__file__, "commands.toml")
COMMANDS, PATHS = GOOD["lines"], GOOD["paths"].split()
WORDS = [*GOOD["odd"], *GOOD["words"].split(), "9" * 5000, "x" * 300, "x" * 5000, "\udcff"]
INPUTS = "roads.csv nodes.csv homes.csv study.ledger centers.json roads.npz places.csv open.csv"
FILES = {name: [line for line in COMMANDS if name in line.split()] for name in INPUTS.split()}
"""Of each input, the commands that read it."""


@st.composite
def command_lines(draw: Any) -> list[str]:
    """A good command line after one to three mistakes."""
    line = shlex.split(draw(st.sampled_from(COMMANDS)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(line) - 1)) if line else 0
        kind = draw(st.sampled_from("rrrridds"))
        marks = ("out", ".csv", ".ledger", ".json")
        is_path = at < len(line) and any(mark in line[at] for mark in marks)
        word = draw(st.sampled_from(PATHS if is_path else WORDS)) if kind in "ri" else ""
        line[at : at + (kind in "rd")] = (
            [word] if kind in "ri" else line[at : at + 1] * 2 if kind == "s" else []
        )
    return line


@cache
def world() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="metricdp-fuzz-"))
    build_world(folder)
    build_ledger(folder / "study.ledger")
    (folder / "centers.json").write_text('{"centers": [100, 124], "k": 2}\n')
    rents = "".join(f"{v},7\n" for v in range(100, 112))
    (folder / "places.csv").write_text("vertex,rent\n" + rents)
    (folder / "open.csv").write_text("124\n118\n")
    (folder / "folder").mkdir()
    with contextlib.chdir(folder), contextlib.redirect_stderr(io.StringIO()):
        main(["tree", "roads.csv", "--output", "roads.npz"])
    return folder


@pytest.fixture(autouse=True, scope="session")
def clean_up() -> Iterator[None]:
    """At the very end: a worker may come back to this module after others."""
    yield
    if world.cache_info().currsize:
        shutil.rmtree(world(), ignore_errors=True)


def ran(argv: list[str]) -> tuple[int, str, list[str]]:
    """Status, stdout and the lines of stderr without the warnings that a reading of private data
    gives.
    """
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(world()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        bounded(),
    ):
        status = main(argv)
    lines = err.getvalue().split("\n")
    assert lines.pop() == "", "the last line has no end"
    errors = [line for line in lines if not line.startswith("metricdp: warning: ")]
    return status, out.getvalue(), errors


def restore(before: dict[str, bytes]) -> None:
    folder = world()
    for name in sorted(set(snapshot(folder)) - set(before), reverse=True):
        path = folder / name
        path.rmdir() if path.is_dir() else path.unlink()
    for name, content in before.items():
        if (folder / name).is_file() and (folder / name).read_bytes() != content:
            (folder / name).write_bytes(content)


def check(argv: list[str], *, torn: str = "") -> int:
    """Run and check; afterwards the folder is as before. The tail of a `torn` file may have been
    cut off.
    """
    before = snapshot(world())
    try:
        status, out, lines = ran([*argv, "-q"] if "-q" not in argv and "--" not in argv else argv)
        after = snapshot(world())
    finally:
        restore(before)
    said = "\n".join(lines)
    assert not [canary for canary in CANARIES if canary in said], said
    counted = re.search(rf"\b({ROWS - 1}|{ROWS}|{ROWS + 1})\b", said)
    assert not counted or str(ROWS) in " ".join(argv), said
    if status == 0:
        if "--help" not in argv and "-h" not in argv and "--version" not in argv:
            json.loads(out)
        return status
    assert status in (2, 3), said
    assert out == ""
    assert len(lines) == 1, lines
    assert lines[0].startswith("metricdp: error: ") and lines[0].isprintable()
    assert len(lines[0]) <= LONGEST_MESSAGE
    if torn in after and before[torn].startswith(after[torn].rstrip(b"\n")):
        after[torn] = before[torn]
    assert after == before
    return status


KNOWN = [["cluster", "\0", "-k", "2"], shlex.split(COMMANDS[2].replace("out.json", "folder"))]


@fuzz(125, [{"argv": argv} for argv in KNOWN], argv=command_lines())
def test_command_lines(argv: list[str]) -> None:
    check(argv)


def damaged_worlds() -> st.SearchStrategy[tuple[str, bytes, str]]:
    """(file, content, command): one input file damaged, and a command that reads it."""
    return st.sampled_from(sorted(FILES)).flatmap(
        lambda name: st.tuples(
            st.just(name),
            st.deferred(lambda: mutated((world() / name).read_bytes())).flatmap(packed),
            st.sampled_from(FILES[name]),
        )
    )


@fuzz(100, case=damaged_worlds())
def test_input_files(case: tuple[str, bytes, str]) -> None:
    name, content, command = case
    path = world() / name
    good = path.read_bytes()
    path.write_bytes(content)
    try:
        check(shlex.split(command), torn="study.ledger")
    finally:
        path.write_bytes(good)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_mutated_is_good(command: str) -> None:
    assert check(shlex.split(command)) == 0
