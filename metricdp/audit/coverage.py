"""Which lines that see records the audit does *not* run, computed line by line.

Cases run once, without compilation (``NUMBA_DISABLE_JIT=1``). Statements that raise are no gaps, as
their messages are fixed. `REASONS` explains what else is not run, and `gaps` lists what it leaves.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from types import CodeType, FrameType
from typing import Any

from metricdp.audit import perimeter
from metricdp.audit.perimeter import BELOW, DEVICE, ENCODE, GATE, RECORDS, ROOT

REASONS: dict[str, str] = {}
"""By file and function (``"records/engines/spark_frames.py:*"``)."""
Lines = dict[str, set[int]]


@dataclass(frozen=True)
class Gap:
    """Lines of one function that the audit does not run, and why, if there is a reason."""

    file: str
    function: str
    lines: tuple[int, ...]
    of: int
    reason: str = ""

    def __str__(self) -> str:
        some = ", ".join(map(str, self.lines[:8])) + (", …" if len(self.lines) > 8 else "")
        why = f"  ({self.reason})" if self.reason else ""
        return f"{self.file}:{self.function}: {len(self.lines)} of {self.of} lines: {some}{why}"


def private_lines() -> dict[str, dict[str, set[int]]]:
    """By file and function, the lines of code that see records."""
    files = perimeter.perimeter()
    found: dict[str, dict[str, set[int]]] = {}
    kernels = [f for f in files[BELOW] if f.startswith("kernels/")]
    whole = [*files[GATE], *files[RECORDS], *files[DEVICE], *kernels]
    for file in whole:
        found[file] = dict(_functions(file, None))
    for file in files[ENCODE]:
        found[file] = dict(_functions(file, "encode"))
    return {file: functions for file, functions in found.items() if functions}


def _functions(file: str, only: str | None) -> Iterator[tuple[str, set[int]]]:
    """Name and lines of each function of a file (those that raise left out)."""
    path = ROOT / file
    code = compile(path.read_text("utf-8"), str(path), "exec")
    raised = {
        line
        for node in ast.walk(perimeter.tree(file))
        if isinstance(node, ast.Raise)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    for name, lines in _codes(code, ""):
        if only is None or only in name.split("."):
            yield name, lines - raised


def _codes(code: CodeType, prefix: str) -> Iterator[tuple[str, set[int]]]:
    for part in code.co_consts:
        if not isinstance(part, CodeType):
            continue
        name = f"{prefix}{part.co_name}"
        if part.co_flags & 0x2:  # a function: its locals are fast
            lines = {line for *_, line in part.co_lines() if line}
            yield name, lines - {part.co_firstlineno}
        yield from _codes(part, f"{name}.")


@contextmanager
def traced(files: Iterable[str]) -> Iterator[Lines]:
    """Collect the lines of these files that run in this block, in all threads."""
    seen: Lines = defaultdict(set)
    names = {str(ROOT / file): file for file in files}

    def line(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            seen[names[frame.f_code.co_filename]].add(frame.f_lineno)
        return line

    def call(frame: FrameType, event: str, _: Any) -> Any:
        return line if frame.f_code.co_filename in names else None

    before = sys.gettrace()
    threading.settrace(call)
    sys.settrace(call)
    try:
        yield seen
    finally:
        sys.settrace(before)
        threading.settrace(None)


def run_all() -> Lines:
    """The lines that the audit runs."""
    from metricdp.audit.runner import checks

    with traced(private_lines()) as seen:
        _cases()
        for check in checks():
            if not check.essential or not any(fnmatch(check.name, kind) for kind in _RUN):
                continue
            with suppress(Exception):
                check.run(True)
    return seen


_RUN = (
    "*message*",
    "*decoded*",
    "*shuffled*",
    "openings*",
    "*seeded alike",
    "nothing*",
    "*five candidates",
    "canaries in ledgers*",
    "contribution bounding, 2 of 4",
)
"""Checks that are no cases and cheap enough to run without compilation."""


def _cases() -> None:
    from metricdp.audit.cases import cases
    from metricdp.audit.exact import run_once
    from metricdp.audit.replay import run_all

    for case in cases():
        if case.essential or not str(case).startswith("k_median, "):
            run_once(case)
    run_all()


def gaps(seen: Lines) -> list[Gap]:
    """Functions with lines that were not run, those with a reason last."""
    found = []
    for file, functions in private_lines().items():
        for name, lines in functions.items():
            missing = lines - seen.get(file, set())
            if missing:
                found.append(
                    Gap(file, name, tuple(sorted(missing)), len(lines), _reason(file, name))
                )
    return sorted(found, key=lambda gap: (bool(gap.reason), gap.file, gap.lines))


def _reason(file: str, function: str) -> str:
    for pattern, reason in REASONS.items():
        if fnmatch(f"{file}:{function}", pattern):
            return reason
    return ""


def told(found: Sequence[Gap]) -> str:
    """The list as text, and how many lines it leaves."""
    every = sum(len(lines) for f in private_lines().values() for lines in f.values())
    missing = sum(len(gap.lines) for gap in found)
    without = [gap for gap in found if not gap.reason]
    return "\n".join(
        [
            *map(str, found),
            "",
            f"{every:,} lines see records; {every - missing:,} were run; {missing:,} were not, "
            f"{sum(len(gap.lines) for gap in without):,} of them without a reason",
        ]
    )


def main() -> int:
    """Print the list; status 1 if a line without a reason is on it."""
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        again = [sys.executable, "-m", "metricdp.audit", "--coverage"]
        return subprocess.run(
            again, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=False
        ).returncode
    found = gaps(run_all())
    sys.stdout.write(told(found) + "\n")
    return 1 if any(not gap.reason for gap in found) else 0
