"""Which lines that see records the audit does *not* run, computed line by line.

    python tools/audit_coverage.py

Cases run once, without compilation (``NUMBA_DISABLE_JIT=1``). Statements that raise are no gaps, as
their messages are fixed.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatch
from typing import Any

import perimeter
from coverage import Coverage
from perimeter import BELOW, DEVICE, ENCODE, GATE, RECORDS, ROOT

from metricdp.audit import exact
from metricdp.audit.replay.subjects import subjects
from metricdp.audit.replay.verifying import tiny, verify
from metricdp.audit.runner import cases, checks
from metricdp.audit.worlds import small_nets

_RUN = (
    "*message*",
    "*decoded*",
    "*shuffled*",
    "*seeded alike",
    "nothing*",
    "*five candidates",
    "canaries in ledgers*",
    "contribution bounding, 2 of 4",
)
"""Checks that are no cases and cheap enough to run without compilation."""


def private_functions() -> Iterator[tuple[str, str, set[int]]]:
    """File, name and lines of each function that sees records; inner functions belong to theirs."""
    files = perimeter.perimeter()
    kernels = [file for file in files[BELOW] if file.startswith("kernels/")]
    for file in (*files[GATE], *files[RECORDS], *files[DEVICE], *kernels, *files[ENCODE]):
        for name, node in _functions(perimeter.tree(file)):
            if file not in files[ENCODE] or name.endswith("encode"):
                yield file, name, set(range(node.body[0].lineno, (node.end_lineno or 0) + 1))


def _functions(tree: Any) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{name}", one) for name, one in _functions(node))


def _run_once(case: exact.Case) -> None:
    """The first script alone, on the smallest and the largest demand."""
    for demand in (min(case.demands, key=len), max(case.demands, key=len)):
        order = exact.orders_of(case, demand)[0]
        with small_nets():
            exact.run(case, exact.held(case, demand, order), order, ())


def _run_all() -> None:
    for case in cases():
        if case.essential or not str(case).startswith("k_median, "):
            _run_once(case)
    for subject in subjects():  # each call on one demand and one neighbor
        with suppress(ImportError):
            verify(subject, "add-remove", [tiny(subject, 1)[-1]], 1)
    for check in checks():
        if check.essential and any(fnmatch(check.name, kind) for kind in _RUN):
            with suppress(Exception):
                check.run(True)


def gaps() -> tuple[list[str], int, int]:
    """A line for each function with lines that are not run; all lines, and how many are not."""
    functions = list(private_functions())
    files = sorted({str(ROOT / file) for file, *_ in functions})
    cover = Coverage(data_file=None, config_file=False, include=files)
    cover.exclude(r"^\s*raise\b")
    with cover.collect():
        _run_all()
    found, every, missed = [], 0, 0
    for file, name, lines in functions:
        _, statements, _, missing, _ = cover.analysis2(str(ROOT / file))
        lost = sorted(lines & set(missing))
        of = len(lines & set(statements))
        every, missed = every + of, missed + len(lost)
        if lost:
            some = ", ".join(map(str, lost[:8])) + (", …" if len(lost) > 8 else "")
            found.append(f"{file}:{name}: {len(lost)} of {of} lines: {some}")
    return sorted(found), every, missed


def main() -> int:
    """Print the list; status 1 if a line is on it."""
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        again = [sys.executable, __file__]
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        return subprocess.run(again, env=environment, check=False).returncode
    found, every, missed = gaps()
    said = f"{every:,} lines see records; {every - missed:,} were run; {missed:,} were not"
    sys.stdout.write("\n".join([*found, "", said, ""]))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
