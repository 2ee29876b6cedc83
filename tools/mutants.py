"""Mutation testing: does a test fail when a line of the privacy core is changed?

    python tools/mutants.py accounting/cost.py
    python tools/mutants.py privacy/gate.py privacy/noise.py --json mutants.json
    python tools/mutants.py accounting/cost.py --list

A mutant is one function of one file with one operator, comparison, constant, condition or statement
changed. Every function's tests are those of the listed files that call it, found by running them
once, with the examples of the file. Each mutant runs in a fork of a process that has everything
imported: its function gets the changed code in place, wherever it was imported before. A mutant
that no test notices survives; explain it in `tools/survivors.toml`, or write the test. Exit status
1 if one is not explained, or an explanation is of no survivor of the files that were run.

Mutated are bodies of functions: not constants of modules and classes, defaults, messages of
exceptions, and not compiled kernels, which have twins in plain Python (`tests/naive.py`). Needs a
system that can fork.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import gc
import importlib
import json
import os
import resource
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # threads do not survive a fork
ROOT = Path(__file__).resolve().parents[1]
TESTS = {
    "accounting": ("tests/accounting", "tests/privacy", "tests/vectors"),
    "privacy": ("tests/privacy", "tests/vectors", "tests/accounting/test_ledger.py"),
    "records": ("tests/records", "tests/privacy/test_demand.py"),
}
EXPLAINED = ROOT / "tools" / "survivors.toml"
SECONDS = 20
"""Of processor time that the tests of one mutant may take; beyond it, it counts as noticed."""
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil"}


@dataclass(frozen=True)
class Mutant:
    """One change: the function that it is in, where, and what becomes of what."""

    file: str
    function: str
    line: int
    before: str
    after: str
    code: CodeType

    @property
    def name(self) -> str:
        """What survivors are explained by: no line number, which moves."""
        return f"{self.file}::{self.function}: {self.before} -> {self.after}"


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may become of one node of the tree."""
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            new = copy.deepcopy(node)
            new.ops[i] = COMPARISONS[type(op)]()
            yield new
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        new = copy.deepcopy(node)
        new.op = OPERATORS[type(node.op)]()
        yield new
    elif isinstance(node, ast.BoolOp):
        new = copy.deepcopy(node)
        new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield copy.deepcopy(node.operand)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Name) and node.id in NAMES:
        yield ast.Name(NAMES[node.id], node.ctx)
    elif isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield ast.Attribute(copy.deepcopy(node.value), NAMES[node.attr], node.ctx)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        new = copy.deepcopy(node)
        new.test = ast.UnaryOp(ast.Not(), new.test)
        yield new
    elif isinstance(node, ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ):
        yield ast.Pass()


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every node that may be changed, as (parent, field, index, node): no words, no annotations."""
    for field, value in ast.iter_fields(tree):
        if field in ("decorator_list", "returns", "annotation", "args") and not isinstance(
            tree, ast.Call | ast.Lambda
        ):
            continue
        for index, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(node, ast.AST) or isinstance(node, ast.JoinedStr):
                continue
            yield tree, field, index, node
            if not isinstance(node, ast.Raise):
                yield from places(node)


def shown(node: ast.AST) -> str:
    """One line of source."""
    text = " ".join(ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).split())
    return text if len(text) <= 90 else f"{text[:87]}..."


def told(node: ast.AST) -> str:
    """What is changed, in one line: of a compound statement its head."""
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {shown(node.test)}"
    return shown(node)


def mutants(file: str) -> list[Mutant]:
    """All mutants of a file below ``metricdp/``."""
    path = ROOT / "metricdp" / file
    tree = ast.parse(path.read_text("utf-8"))
    found = []
    for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
        if any(
            getattr(d, "id", getattr(d, "attr", "")) == "abstractmethod"
            for d in function.decorator_list
        ):
            continue
        spots = [s for s in places(function) if not _within(tree, function)]
        for parent, field, index, node in spots:
            for new in changes(node):
                found += _compiled(tree, path, file, function, (parent, field, index, node, new))
    return found


def _within(tree: ast.AST, function: ast.FunctionDef) -> bool:
    """Whether it is defined in another function, whose mutants are the outer one's."""
    outer = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n is not function)
    return any(function in ast.walk(one) for one in outer)


def _compiled(
    tree: ast.AST, path: Path, file: str, function: ast.FunctionDef, change: tuple[Any, ...]
) -> list[Mutant]:
    parent, field, index, node, new = change
    ast.copy_location(new, node)
    _put(parent, field, index, new)
    try:
        whole = compile(ast.fix_missing_locations(tree), str(path), "exec")
    finally:
        _put(parent, field, index, node)
    line = function.lineno if not function.decorator_list else function.decorator_list[0].lineno
    codes = [c for c in _codes(whole) if c.co_name == function.name and c.co_firstlineno == line]
    words = told(node), told(new)
    return [Mutant(file, c.co_qualname, node.lineno, *words, c) for c in codes[:1]]


def _put(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


class Callers:
    """A pytest plugin that notes which tests call which functions of a file, and how long each
    takes.
    """

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.calls: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> None:
        """Before each test, its fixtures included."""
        self.begun = time.process_time()

        def note(frame: Any, event: str, _: Any) -> None:
            if event == "call" and frame.f_code.co_filename == self.path:
                self.calls.setdefault(frame.f_code.co_qualname, set()).add(item.nodeid)

        sys.setprofile(note)

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """After each test."""
        sys.setprofile(None)
        self.seconds[nodeid] = time.process_time() - self.begun


def in_fork(work: Any, seconds: int) -> tuple[int, Any]:
    """Exit status of `work` in a fork of this process, and what it returned, JSON-ready."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as told:
        child = os.fork()
        if not child:
            status = 70
            with contextlib.suppress(BaseException):
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
                for stream in (1, 2):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
                status, found = work()
                Path(told.name).write_text(json.dumps(found), "utf-8")
            os._exit(status)
        _, ended = os.waitpid(child, 0)
        text = Path(told.name).read_text("utf-8")
    return os.waitstatus_to_exitcode(ended), json.loads(text) if text else None


def tests_of(file: str, tests: list[str]) -> tuple[dict[str, list[str]], dict[str, float]]:
    """Of each function the tests that call it, the fastest first."""
    import pytest

    def work() -> tuple[int, Any]:
        plugin = Callers(ROOT / "metricdp" / file)
        status = pytest.main(["-q", "-p", "no:cacheprovider", "-n0", *tests], plugins=[plugin])
        calls = {name: sorted(ids) for name, ids in plugin.calls.items()}
        return int(status), [calls, plugin.seconds]

    status, found = in_fork(work, 3600)
    if status or found is None:
        raise SystemExit(f"the tests of {file} fail before anything is changed (status {status})")
    calls, seconds = found
    return {name: sorted(ids, key=seconds.__getitem__) for name, ids in calls.items()}, seconds


def survives(mutant: Mutant, tests: list[str]) -> bool:
    """Whether all its tests pass."""
    import pytest

    def work() -> tuple[int, Any]:
        replaced = 0
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                code = thing.__code__
                same = code.co_filename == mutant.code.co_filename
                if same and code.co_qualname == mutant.function:
                    thing.__code__ = mutant.code
                    replaced += 1
        if not replaced:
            return 71, None
        return int(pytest.main(["-xq", "-p", "no:cacheprovider", "-n0", *tests])), None

    status, _ = in_fork(work, SECONDS)
    if status == 71:
        raise SystemExit(f"{mutant.name}: the function is not to be found")
    return status == 0


def prepare(file: str, tests: list[str]) -> None:
    """Import what the forks need: the package, the file, pytest and the tests."""
    from hypothesis import Phase, settings

    settings.register_profile("mutants", database=None, phases=[Phase.explicit, Phase.generate])
    settings.load_profile("mutants")
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    importlib.import_module("metricdp")
    importlib.import_module("metricdp." + file.removesuffix(".py").replace("/", "."))
    for path in tests[:-1]:
        found = sorted((ROOT / path).glob("test_*.py")) if (ROOT / path).is_dir() else [ROOT / path]
        for one in found:
            with contextlib.suppress(BaseException):  # a test whose extra is missing
                importlib.import_module(".".join(one.relative_to(ROOT).with_suffix("").parts))


def run(file: str, tests: list[str]) -> dict[str, Any]:
    """Try all mutants of a file."""
    prepare(file, tests)
    calls, _ = tests_of(file, tests)
    found = mutants(file)
    survivors, uncalled = [], []
    for number, mutant in enumerate(found, 1):
        if mutant.function not in calls:
            uncalled.append(mutant.name)
        elif survives(mutant, calls[mutant.function]):
            survivors.append(mutant.name)
            print(f"  survives, line {mutant.line}: {mutant.name}", flush=True)
        if number % 25 == 0:
            print(f"  {file}: {number} of {len(found)}", flush=True)
    killed = len(found) - len(survivors) - len(uncalled)
    print(
        f"{file}: {len(found)} mutants, {killed} noticed, {len(survivors)} survive, "
        f"{len(uncalled)} in functions that none of these tests calls",
        flush=True,
    )
    return {
        "file": file,
        "mutants": len(found),
        "killed": killed,
        "survivors": survivors,
        "uncalled": uncalled,
    }


def explained() -> dict[str, str]:
    """Of each survivor that may survive, why."""
    return tomllib.loads(EXPLAINED.read_text("utf-8")) if EXPLAINED.is_file() else {}


def main(arguments: list[str] | None = None) -> int:
    """Run; 0 if every survivor is explained."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", help="below metricdp/, such as accounting/cost.py")
    parser.add_argument("--tests", action="append", help="in place of those of the folder")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    parser.add_argument("--json", type=Path, help="write what was found")
    asked = parser.parse_args(arguments)
    if asked.list:
        for file in asked.files:
            print(*(f"{one.line}: {one.name}" for one in mutants(file)), sep="\n")
        return 0
    results = []
    for file in asked.files:
        tests = asked.tests or list(TESTS[file.split("/")[0]])
        results.append(run(file, [*tests, f"metricdp/{file}"]))
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    reasons = explained()
    alive = {name for one in results for name in one["survivors"]}
    stale = {n for n in reasons if n.split("::")[0] in asked.files} - alive
    for name in sorted(alive - set(reasons)):
        print(f"not explained: {name}")
    for name in sorted(stale):
        print(f"explained, but it does not survive: {name}")
    return int(bool(alive - set(reasons) or stale))


if __name__ == "__main__":
    sys.exit(main())
