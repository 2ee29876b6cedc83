"""Mutation testing: does a test fail when a line of the privacy core is changed?

    python tools/mutants.py --all --json mutants.json
    python tools/mutants.py privacy/gate.py privacy/noise.py
    python tools/mutants.py accounting/cost.py --list

A mutant is one function of one file with one operator, comparison, constant, condition or statement
changed. The tests are collected and run once, to note which of them run which lines. Then each
mutant gets a fork of the process that holds the collected tests: its function gets the changed code
in place, wherever it was imported before, and the tests that run its line are run, those first that
noticed others of the function, then the fastest, until one fails. What passes all, or as many as
`SECONDS` allow, survives; explain it in `tools/survivors.toml`, or write the test. A test counts
only if it passes alone in a fork with nothing changed.

With `--json`, results are continued where they were left: what was noticed stays noticed until its
function changes; the others are tried again with `--again`. Exit status 1 if a survivor is not
explained, or an explanation is of no survivor of the files that were run.

Mutated are bodies of functions: not constants of modules and classes, defaults, messages of
exceptions, and not compiled kernels, which have reference implementations in plain Python
(`tests/naive.py`). Tests in other processes see no change. Needs a system that can fork.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import gc
import hashlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")  # threads do not survive a fork
ROOT = Path(__file__).resolve().parents[1]
ORDER = (
    "privacy/gate.py",
    "privacy/noise.py",
    "records/engines/sources.py",
    "privacy/caps.py",
    "accounting/binding.py",
    "privacy/continual.py",
    "accounting/continual.py",
    "accounting/ledger.py",
    "accounting/budget.py",
    "privacy/selection.py",
    "records/exact.py",
    "privacy/queries.py",
    "privacy/scores.py",
    "records/engines/bounding.py",
    "privacy",
    "accounting",
    "running/charging.py",
    "running/runner.py",
    "running/attesting.py",
    "protocols.py",
    "archives.py",
    "records/scores.py",
    "records/paths.py",
    "records/ingestion",
    "records",
)
"""What `--all` runs: the whole privacy core, the most important first."""
SETS = {
    "privacy": ("tests/privacy", "tests/vectors", "metricdp/privacy"),
    "privacy/gate.py": (
        "tests/privacy/test_gate_wiring.py",
        "tests/privacy/test_gate.py",
        "tests/privacy/test_queries.py",
        "tests/privacy/test_shares.py",
    ),
    "privacy/noise.py": (
        "tests/privacy/test_noise.py",
        "tests/privacy/test_gate_wiring.py",
        "tests/privacy/test_shares.py",
        "tests/running/test_runner.py",
        "metricdp/privacy/noise.py",
    ),
    "privacy/caps.py": ("tests/privacy/test_caps.py", "metricdp/privacy/caps.py"),
    "privacy/continual.py": ("tests/privacy/test_continual.py", "tests/running/test_stream.py"),
    "privacy/selection.py": (
        "tests/privacy/test_selection.py",
        "tests/privacy/test_gate_wiring.py",
        "metricdp/privacy/selection.py",
    ),
    "privacy/queries.py": (
        "tests/privacy/test_gate.py",
        "tests/privacy/test_queries.py",
        "tests/records/test_exact.py",
        "tests/records/engines/test_sources.py",
        "tests/privacy/test_gate_wiring.py",
        "tests/privacy/test_noise.py",
        "tests/records/test_paths.py",
        "metricdp/privacy/queries.py",
        "tests/running/test_evaluation.py",
    ),
    "privacy/scores.py": (
        "tests/privacy/test_selection.py",
        "tests/privacy/test_queries.py",
        "tests/records/test_exact.py",
        "tests/privacy/test_gate_wiring.py",
        "metricdp/privacy/scores.py",
        "tests/methods/finite/test_max_coverage.py",
    ),
    "privacy/swaps.py": (
        "tests/privacy/test_swaps.py",
        "tests/privacy/test_queries.py",
        "tests/records/test_exact.py",
        "metricdp/privacy/swaps.py",
    ),
    "privacy/demand.py": (
        "tests/privacy/test_demand.py",
        "tests/privacy/test_gate_wiring.py",
        "tests/privacy/test_caps.py",
        "tests/privacy/test_gate.py",
        "tests/records/test_cells.py",
        "tests/running/test_contributions.py",
        "tests/records/test_ingestion.py",
        "tests/records/test_trouble.py",
        "tests/records/test_geographic.py",
        "tests/records/engines/test_opening.py",
        "tests/accounting/test_binding.py",
        "metricdp/privacy/demand.py",
    ),
    "privacy/evaluation.py": (
        "tests/privacy/test_gate.py",
        "tests/records/test_exact.py",
        "metricdp/privacy/evaluation.py",
    ),
    "privacy/_vault.py": (
        "tests/privacy/test_demand.py",
        "tests/privacy/test_gate.py",
        "tests/privacy/test_selection.py",
        "tests/records/test_trouble.py",
    ),
    "accounting/binding.py": (
        "tests/accounting/test_periods.py",
        "tests/accounting/test_binding.py",
        "tests/accounting/test_ledger.py",
        "tests/privacy/test_caps.py",
        "tests/privacy/test_demand.py",
        "metricdp/accounting/binding.py",
    ),
    "accounting": (
        "tests/accounting/test_ledger.py",
        "tests/accounting/test_cost.py",
        "tests/accounting/test_periods.py",
        "tests/accounting/test_binding.py",
        "tests/accounting/test_journal.py",
        "metricdp/accounting",
    ),
    "accounting/ledger.py": (
        "tests/accounting/test_ledger.py",
        "tests/accounting/test_cost.py",
        "tests/accounting/test_periods.py",
        "tests/accounting/test_binding.py",
        "tests/privacy/test_shares.py",
        "tests/federated",
        "metricdp/accounting/ledger.py",
    ),
    "accounting/continual.py": ("tests/accounting/test_continual.py",),
    "accounting/budget.py": (
        "tests/accounting/test_ledger.py",
        "tests/accounting/test_binding.py",
        "tests/accounting/test_periods.py",
        "tests/privacy/test_gate_wiring.py",
        "metricdp/accounting/budget.py",
    ),
    "accounting/logarithms.py": ("tests/accounting/test_logarithms.py",),
    "accounting/cost.py": (
        "tests/accounting/test_cost.py",
        "tests/privacy/test_shares.py",
        "tests/accounting/test_ledger.py",
        "tests/privacy/test_noise.py",
        "metricdp/accounting/cost.py",
    ),
    "accounting/covering.py": (
        "tests/accounting/test_cost.py",
        "tests/privacy/test_gate.py",
        "tests/methods/finite/test_max_coverage.py",
        "tests/privacy/test_gate_wiring.py",
        "metricdp/accounting/covering.py",
    ),
    "accounting/journal.py": (
        "tests/accounting/test_journal.py",
        "tests/accounting/test_binding.py",
        "tests/accounting/test_periods.py",
        "metricdp/accounting/journal.py",
    ),
    "running": (
        "tests/running/test_charging.py",
        "tests/running/test_front.py",
        "tests/methods/test_atomic.py",
        "tests/test_proofs.py",
        "metricdp/running/charging.py",
    ),
    "running/runner.py": (
        "tests/running/test_runner.py",
        "tests/running/test_charging.py",
        "tests/methods/test_privacy.py",
        "tests/methods/test_atomic.py",
        "tests/methods/finite/test_regional.py",
        "tests/methods/finite/test_local_search.py",
        "tests/methods/box/test_coreset.py",
        "tests/methods/box/test_private_candidates.py",
        "tests/benchmarks/methods/test_baselines.py",
        "tests/audit/test_replay.py",
    ),
    "running/attesting.py": (
        "tests/running/test_attesting.py",
        "tests/test_proofs.py",
        "metricdp/running/attesting.py",
    ),
    "running/contributions.py": (
        "tests/running/test_contributions.py",
        "tests/cli/test_contributions.py",
        "tests/methods/test_refusals.py",
        "metricdp/running/contributions.py",
    ),
    "running/private_centers.py": (
        "tests/running/test_private_centers.py",
        "tests/running/test_runner.py",
        "tests/methods/test_refusals.py",
        "metricdp/running/private_centers.py",
    ),
    "running/stream": (
        "tests/running/test_stream.py",
        "tests/running/test_stream_crashes.py",
        "tests/privacy/test_continual.py",
        "tests/methods/test_refusals.py",
        "metricdp/running/stream.py",
    ),
    "running/evaluation.py": (
        "tests/running/test_evaluation.py",
        "tests/metrics/test_units.py",
        "tests/methods/test_refusals.py",
        "metricdp/running/evaluation.py",
    ),
    "running/front.py": (
        "tests/running/test_front.py",
        "tests/running/test_charging.py",
        "tests/methods/test_atomic.py",
        "tests/methods/test_expected.py",
        "tests/methods/test_refusals.py",
        "metricdp/running/front.py",
    ),
    "running/privately.py": (
        "tests/running/test_front.py",
        "tests/running/test_charging.py",
        "tests/methods/test_atomic.py",
        "tests/methods/test_expected.py",
        "tests/methods/test_refusals.py",
        "metricdp/running/privately.py",
    ),
    "running/covering_sets.py": (
        "tests/methods/finite/test_max_coverage.py",
        "tests/methods/test_refusals.py",
        "tests/running/test_front.py",
        "metricdp/running/covering_sets.py",
    ),
    "protocols.py": (
        "tests/privacy/test_gate_wiring.py",
        "tests/privacy/test_gate.py",
        "metricdp/protocols.py",
    ),
    "archives.py": (
        "tests/test_archives.py",
        "tests/methods/test_saving.py",
        "metricdp/archives.py",
    ),
    "records": ("tests/records", "tests/privacy/test_caps.py", "tests/privacy/test_demand.py"),
    "records/trouble.py": ("tests/records/test_trouble.py", "metricdp/records/trouble.py"),
    "records/engines": (
        "-k",
        "not spark and not dask and not killed",
        "tests/records/engines",
        "tests/records/test_ingestion.py",
        "tests/records/test_paths.py",
        "tests/records/test_trouble.py",
        "metricdp/records/engines",
    ),
    "records/engines/geo": (
        "tests/records/test_geographic.py",
        "metricdp/records/engines/geographic.py",
    ),
    "records/engines/dask_frames.py": (
        "-k",
        "dask",
        "tests/records/engines",
        "tests/records/test_doors.py",
    ),
    "records/engines/spark_frames.py": (
        "-k",
        "spark",
        "tests/records/engines",
        "tests/records/test_doors.py",
    ),
    "records/exact.py": (
        "tests/records/test_exact.py",
        "tests/privacy/test_queries.py",
        "metricdp/records/exact.py",
    ),
    "records/scores.py": (
        "tests/records/test_scores.py",
        "tests/privacy/test_swaps.py",
        "tests/privacy/test_queries.py",
        "tests/methods/finite/test_max_coverage.py",
        "metricdp/records/scores.py",
    ),
    "records/engines/sources.py": (
        "tests/records/engines/test_sources.py",
        "tests/records/engines/test_bounding.py",
        "tests/records/engines/test_engines.py",
        "tests/records/test_exact.py",
        "tests/records/test_paths.py",
        "tests/privacy/test_queries.py",
        "tests/privacy/test_caps.py",
        "tests/privacy/test_gate_wiring.py",
    ),
    "records/engines/bounding.py": (
        "tests/records/engines/test_bounding.py",
        "tests/running/test_contributions.py",
        "tests/privacy/test_caps.py",
        "tests/privacy/test_gate_wiring.py",
        "tests/privacy/test_demand.py",
    ),
    "records/ingestion": (
        "-k",
        "not spark and not dask",
        "tests/records/test_cells.py",
        "tests/records/test_columns.py",
        "tests/records/test_encoders.py",
        "tests/records/test_geometry.py",
        "tests/records/test_lines.py",
        "tests/records/test_matching.py",
        "tests/records/test_ingestion.py",
        "tests/privacy/test_demand.py",
    ),
    "records/paths.py": ("tests/records/test_paths.py", "metricdp/records/paths.py"),
}
"""Of the files whose names begin so, what pytest is given; the longest name counts."""
EXPLAINED = ROOT / "tools" / "survivors.toml"
SECONDS = 8.0
"""Of processor time: how much the tests that one mutant is given take without it."""
ALIVE = ("survives", "not reached", "not found")
"""How a mutant may end that nothing noticed; else it ends with what noticed it."""
SLOW = 3.0
"""A test that takes longer is not given to mutants."""
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
    """One change: the function that it is in and a mark of its source, first and last line of the
    statement, and what becomes of what.
    """

    file: str
    function: str
    line: int
    last: int
    source: str
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
        needs = "super()" in ast.unparse(node)  # the code must close over the same
        yield ast.Expr(ast.Name("__class__", ast.Load())) if needs else ast.Pass()


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


def reported(node: ast.AST) -> str:
    """What is changed, in one line: of a compound statement its head."""
    if isinstance(node, ast.If | ast.While):
        return f"{type(node).__name__.lower()} {shown(node.test)}"
    return shown(node)


def mutants(file: str) -> list[Mutant]:
    """All mutants of a file below ``metricdp/``."""
    path = ROOT / "metricdp" / file
    tree = ast.parse(path.read_text("utf-8"))
    found = []
    future = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    for top in tree.body:
        part = ast.Module([*future, top], [])
        for function in _outer(top):
            marks = {getattr(d, "id", getattr(d, "attr", "")) for d in function.decorator_list}
            if "abstractmethod" in marks:
                continue
            for parent, field, index, node in list(places(function)):
                for new in changes(node):
                    change = parent, field, index, node, new
                    found += _compiled(part, path, file, function, change)
    return found


def _outer(node: ast.AST) -> Iterator[ast.FunctionDef]:
    """Functions that are not within another, whose mutants they are."""
    if isinstance(node, ast.FunctionDef):
        yield node
    elif isinstance(node, ast.ClassDef):
        for one in node.body:
            yield from _outer(one)


def _compiled(
    tree: ast.Module, path: Path, file: str, function: ast.FunctionDef, change: tuple[Any, ...]
) -> list[Mutant]:
    parent, field, index, node, new = change
    ast.copy_location(new, node)
    words = reported(node), reported(new)
    _put(parent, field, index, new)
    try:
        whole = compile(ast.fix_missing_locations(tree), str(path), "exec")
    finally:
        _put(parent, field, index, node)
    line = function.lineno if not function.decorator_list else function.decorator_list[0].lineno
    codes = [c for c in _codes(whole) if c.co_name == function.name and c.co_firstlineno == line]
    mark = hashlib.sha256(ast.unparse(function).encode()).hexdigest()[:8]
    place = *_statement(function, node), mark
    return [Mutant(file, c.co_qualname, *place, *words, c) for c in codes[:1]]


def _statement(function: ast.FunctionDef, node: ast.AST) -> tuple[int, int]:
    """First and last line of the statement that it is in: of a compound one its head."""
    inner: ast.stmt | None = None
    for one in ast.walk(function):
        nearer = inner is None or getattr(one, "lineno", 0) >= inner.lineno
        if isinstance(one, ast.stmt) and one is not function and nearer and node in ast.walk(one):
            inner = one
    if inner is None:
        return function.lineno, function.end_lineno or function.lineno
    body = getattr(inner, "body", None)
    last = body[0].lineno - 1 if body else inner.end_lineno
    return inner.lineno, max(inner.lineno, last or 0)


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


def in_fork(work: Callable[[Path], int]) -> tuple[int, Any]:
    """Exit status of `work` in a fork of this process, and what it told, JSON-ready."""
    folder = Path(tempfile.mkdtemp(prefix="mutant-"))
    child = os.fork()
    if not child:
        status = 70
        with contextlib.suppress(BaseException):
            os.setpgid(0, 0)
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + 3 * 2**30,) * 2)
            for stream in (1, 2):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
            status = work(folder)
        os._exit(status)
    _, ended = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)  # what the tests started
    reported = folder / "told.json"
    found = json.loads(reported.read_text("utf-8")) if reported.is_file() else None
    shutil.rmtree(folder, ignore_errors=True)
    return os.waitstatus_to_exitcode(ended), found


class Tried:
    """A pytest plugin that, in place of the tests, tries the mutants with them."""

    def __init__(self, files: list[str], results: dict[str, Any], asked: Any) -> None:
        self.files, self.results, self.asked = files, results, asked
        self.failed = self.skipped = False
        self.alone: dict[str, bool] = {}
        self.kills: dict[str, int] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note how a test ended."""
        self.failed = self.failed or report.failed
        self.skipped = self.skipped or report.skipped

    def pytest_runtestloop(self, session: Any) -> bool:
        """Run all tests once, then the mutants."""
        self.items = {item.nodeid: item for item in session.items}
        self.code: dict[tuple[str, str], list[FunctionType]] = {}
        gc.unfreeze()  # of the set before
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                key = thing.__code__.co_filename, thing.__code__.co_qualname
                self.code.setdefault(key, []).append(thing)
        gc.collect()
        gc.freeze()
        self.found = {file: named(mutants(file)) for file in self.files}  # files may change
        self.lines, self.seconds, failing = self._traced()
        print(*(f"fails unchanged: {one}" for one in failing), sep="\n", end="\n" * bool(failing))
        used = sum(self.seconds.values())
        print(f"{len(self.items)} tests, {used:.0f} s", flush=True)
        for file in self.files:
            self._run(file)
        return True

    def _item(self, nodeid: str, folder: Path) -> bool:
        """Whether a test passes."""
        item = self.items[nodeid]
        item.config._tmp_path_factory._basetemp = folder
        self.failed = self.skipped = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return not self.failed

    def _traced(self) -> Any:
        """What `_trace` tells; beside the results it is kept, while no file changes."""
        paths = {ROOT / "metricdp" / file for file in self.files}
        paths |= {item.path for item in self.items.values()}
        mark = hashlib.sha256(b"".join(one.read_bytes() for one in sorted(paths))).hexdigest()[:8]
        kept = self.asked.json and self.asked.json.with_suffix(f".{mark}")
        if kept and kept.is_file():
            return json.loads(kept.read_text("utf-8"))
        status, traced = in_fork(self._trace)
        if status or traced is None:
            raise SystemExit(f"the tests end with {status} before anything is changed")
        if kept:
            write(kept, traced)
        return traced

    def _trace(self, folder: Path) -> int:
        """Of each file and line the tests that run it; and what each test that passes takes."""
        paths = {str(ROOT / "metricdp" / file): file for file in self.files}
        lines: dict[str, dict[int, set[str]]] = {file: {} for file in self.files}
        seconds, failing = {}, []
        for nodeid in self.items:
            seen: set[tuple[str, int]] = set()
            sys.settrace(tracer := _tracer(paths, seen))
            threading.settrace(tracer)
            begun = time.process_time()
            passed = self._item(nodeid, folder)
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            if not passed:
                failing.append(nodeid)
                continue
            seconds[nodeid] = time.process_time() - begun
            for file, line in seen:
                lines[file].setdefault(line, set()).add(nodeid)
        found = {file: {n: sorted(ids) for n, ids in of.items()} for file, of in lines.items()}
        (folder / "told.json").write_text(json.dumps([found, seconds, failing]), "utf-8")
        return 0

    def _chosen(self, mutant: Mutant) -> list[str]:
        """The tests for a mutant: those that run its line, as many as the time allows."""
        lines = self.lines[mutant.file]
        span = range(mutant.line, mutant.last + 1)
        ids = {one for line in span for one in lines.get(str(line), ())}

        def rank(nodeid: str) -> tuple[float, float]:
            return -self.kills.get(f"{mutant.function} {nodeid}", 0), self.seconds[nodeid]

        chosen, total = [], 0.0
        for nodeid in sorted(ids, key=rank):
            took = self.seconds[nodeid]
            if took <= SLOW and (total + took <= SECONDS or not chosen):
                chosen.append(nodeid)
                total += took
        return chosen

    def _passes_alone(self, nodeid: str) -> bool:
        if nodeid not in self.alone:
            status, _ = in_fork(lambda folder: int(not self._item(nodeid, folder)))
            self.alone[nodeid] = status == 0
        return self.alone[nodeid]

    def try_one(self, mutant: Mutant) -> str:
        """`survives`, `not reached`, or what noticed it."""
        chosen = [one for one in self._chosen(mutant) if self.alone.get(one, True)]
        if not chosen:
            return "not reached"
        functions = self.code.get((mutant.code.co_filename, mutant.function), [])
        if not functions:
            return "not found"

        def work(folder: Path) -> int:
            for function in functions:
                function.__code__ = mutant.code
            reported = folder / "told.json"
            for nodeid in chosen:
                reported.write_text(json.dumps(nodeid), "utf-8")
                signal.setitimer(signal.ITIMER_PROF, 6 + 4 * self.seconds[nodeid])
                signal.setitimer(signal.ITIMER_REAL, 60 + 40 * self.seconds[nodeid])
                if not self._item(nodeid, folder):
                    return 1
            return 0

        status, nodeid = in_fork(work)
        if status == 0:
            return "survives"
        if status == 70 or nodeid is None:
            return "not found"
        if not self._passes_alone(nodeid):
            return self.try_one(mutant)
        self.kills[key] = self.kills.get(key := f"{mutant.function} {nodeid}", 0) + 1
        return str(nodeid) if status == 1 else f"{nodeid} (ended by {status})"

    def _run(self, file: str) -> None:
        """Try all mutants of a file that are not settled."""
        found = self.found[file]
        old = self.results.get(file, {})
        new = {}
        begun = time.time()
        for key, mutant in found.items():
            known, source = old.get(key, ("", ""))
            again = known in ALIVE and self.asked.again
            if source != mutant.source or again:
                known = self.try_one(mutant)
                if known in ALIVE:
                    print(f"  {known}, line {mutant.line}: {mutant.name}", flush=True)
            new[key] = known, mutant.source
            self.results[file] = {**old, **new}
            if self.asked.json:
                write(self.asked.json, self.results)
        self.results[file] = new
        alive = [known for known, _ in new.values() if known in ALIVE]
        took = time.time() - begun
        print(f"{file}: {len(new)} mutants, {len(alive)} not noticed, {took:.0f} s", flush=True)


def _tracer(paths: dict[str, str], seen: set[tuple[str, int]]) -> Any:
    def line(frame: FrameType, event: str, _: Any) -> Any:
        seen.add((paths[frame.f_code.co_filename], frame.f_lineno))
        return line

    def call(frame: FrameType, event: str, _: Any) -> Any:
        return line(frame, event, _) if frame.f_code.co_filename in paths else None

    return call


def named(found: list[Mutant]) -> dict[str, Mutant]:
    """Mutants by what they are kept under: a number, where names are not unique."""
    keys: dict[str, Mutant] = {}
    counts: dict[str, int] = {}
    for one in found:
        counts[one.name] = counts.get(one.name, 0) + 1
        keys[f"{one.name} #{counts[one.name]}"] = one
    return keys


def write(path: Path, results: Any) -> None:
    """Write what was found, whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    part.replace(path)


def explained() -> dict[str, str]:
    """Of each survivor that may survive, why."""
    return tomllib.loads(EXPLAINED.read_text("utf-8")) if EXPLAINED.is_file() else {}


def core() -> list[str]:
    """All files of the privacy core, in the order of `ORDER`."""
    files: list[str] = []
    for one in ORDER:
        path = ROOT / "metricdp" / one
        found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        files += [str(p.relative_to(ROOT / "metricdp")) for p in found]
    return list(dict.fromkeys(files))


def set_of(file: str) -> str:
    """Which of `SETS` a file's tests are."""
    return max((one for one in SETS if file.startswith(one)), key=len)


def try_all(files: list[str], tests: list[str], results: dict[str, Any], asked: Any) -> None:
    """Collect tests and try the mutants of files with them."""
    import pytest
    from hypothesis import HealthCheck, Phase, settings

    settings.register_profile(
        "mutants",
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutants")
    options = ["-p", "no:cacheprovider", "-p", "no:xdist", "-s"]
    pytest.main([*options, *tests], plugins=[Tried(files, results, asked)])


def main(arguments: list[str] | None = None) -> int:
    """Run; 0 if every survivor is explained."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="below metricdp/, such as accounting/cost.py")
    parser.add_argument("--all", action="store_true", help="the whole privacy core")
    parser.add_argument("--tests", action="append", help="in place of those of `SETS`")
    parser.add_argument("--list", action="store_true", help="print the mutants, run nothing")
    parser.add_argument("--json", type=Path, help="what was found; continued if it exists")
    parser.add_argument("--again", action="store_true", help="try what was not noticed again")
    asked = parser.parse_args(arguments)
    files = core() if asked.all else asked.files
    if asked.list:
        for file in files:
            print(*(f"{one.line}: {one.name}" for one in mutants(file)), sep="\n")
        return 0
    results: dict[str, Any] = {}
    if asked.json and asked.json.is_file():
        results = json.loads(asked.json.read_text("utf-8"))
    sys.path.insert(0, str(ROOT))
    os.chdir(ROOT)
    if asked.tests:
        try_all(files, asked.tests, results, asked)
    for name in () if asked.tests else dict.fromkeys(map(set_of, files)):
        part = [file for file in files if set_of(file) == name]
        try_all(part, list(SETS[name]), results, asked)
    return judged(files, results)


def judged(files: list[str], results: dict[str, Any]) -> int:
    """Print a table, and what is not explained, or explained in vain; 0 if nothing."""
    reasons = explained()
    alive = set()
    print("| file | mutants | noticed | explained | open |\n| --- | --- | --- | --- | --- |")
    for file in files:
        ends = results.get(file, {}).items()
        names = [key.rsplit(" #", 1)[0] for key, (known, _) in ends if known in ALIVE]
        good = sum(name in reasons for name in names)
        noticed = len(ends) - len(names)
        print(f"| `{file}` | {len(ends)} | {noticed} | {good} | {len(names) - good} |")
        alive |= set(names)
    stale = {n for n in reasons if n.split("::")[0] in files} - alive
    for name in sorted(alive - set(reasons)):
        print(f"not explained: {name}")
    for name in sorted(stale):
        print(f"explained, but it does not survive: {name}")
    return int(bool(alive - set(reasons) or stale))


if __name__ == "__main__":
    sys.exit(main())
