"""p-median on the published instances of OR-Library (Beasley 1985) and of TSPLIB's point sets
(Reinelt, ORSA Journal on Computing 3, 1991; distances rounded down), against the best known costs.
"""

import csv
import hashlib
import re
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import metricdp as mdp
from metricdp import datasets
from metricdp.arguments import Floats
from metricdp.columns import aligned as in_columns
from metricdp.errors import GraphFileError, InputError
from metricdp.metrics.base import Metric
from metricdp.progress import progress
from metricdp.releases import installed_version
from metricdp.universe.formats.pmed import read_pmed_p
from metricdp.universe.formats.tsplib import read_points
from metricdp.universe.text import read_bytes, read_text

Step = TypeVar("Step")


@dataclass(frozen=True)
class Column:
    """A column of the table.

    `key`: its key in the rows; `form`: format specification of its values, such as ``".3f"``;
    without one they are text, aligned left.
    """

    key: str
    heading: str
    form: str = ""

    def cell(self, row: dict[str, Any]) -> str:
        """The value in a row as text; a dash without one."""
        value = row.get(self.key)
        return "-" if value is None else format(value, self.form)


@dataclass(frozen=True)
class Report:
    """Results of a suite: its `settings`, JSON-ready `rows` and `summary`, the `columns` of the
    table, `lines` of text below it, and what Ctrl-C left `unfinished`.
    """

    suite: str
    settings: dict[str, Any]
    columns: Sequence[Column]
    rows: list[dict[str, Any]]
    summary: dict[str, Any]
    lines: list[str]
    unfinished: str = ""

    def table(self) -> str:
        """Headings, rows and the summary in words, as aligned text."""
        return "\n".join([*aligned(self.columns, self.rows), "", *self.lines]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON-ready values, with everything in the rows."""
        whole = {
            "suite": self.suite,
            "version": installed_version(),
            "settings": self.settings,
            "rows": self.rows,
            "summary": self.summary,
        }
        return whole | {"unfinished": self.unfinished} if self.unfinished else whole


def aligned(columns: Sequence[Column], rows: Iterable[dict[str, Any]]) -> list[str]:
    """Lines of a table: headings, then rows."""
    cells = ([c.cell(row) for c in columns] for row in rows)
    left = [i for i, c in enumerate(columns) if not c.form]
    return in_columns([[c.heading for c in columns], *cells], left)


def gathered(
    measure: Callable[[Step], Iterable[dict[str, Any]]],
    steps: Sequence[Step],
    *,
    label: str,
    unit: str,
) -> tuple[list[dict[str, Any]], str]:
    """Rows of one step after another; Ctrl-C keeps those of finished steps."""
    rows: list[dict[str, Any]] = []
    done = 0
    try:
        for step in progress(steps, label=label, unit=unit):
            rows += list(measure(step))
            done += 1
    except KeyboardInterrupt:
        if not done:
            raise
    return rows, "" if done == len(
        steps
    ) else f"interrupted after {done:,} of {len(steps):,} {unit}s"


TABLE = "pmedian_best_known.csv"
"""A file in the folder with further best costs: columns instance, p and opt_or_best_known."""
OPTIMA = "pmedopt.txt"
"""OR-Library's file of optima."""
NEAR = 0.1
EXACT = 1e-7
"""Gaps in percent that count as near the best known, and as none (sums of roots are rounded)."""
_COLUMNS = [
    Column("instance", "instance"),
    Column("n", "n", "d"),
    Column("p", "p", "d"),
    Column("best_known", "best known", "d"),
    Column("cost", "cost", ".10g"),
    Column("gap_percent", "gap %", ".4f"),
    Column("lower_bound", "bound", ".10g"),
    Column("proven_percent", "proven %", ".4f"),
    Column("seconds", "seconds", ".2f"),
]
Costs = dict[str, dict[int, int | None]]
"""Best known cost, if any, by instance and number of centers."""


def rounded_down(points: Floats) -> Floats:
    """Euclidean distances rounded down, shape (n, n)."""
    x, y = points.T
    return np.floor(np.sqrt(np.subtract.outer(x, x) ** 2 + np.subtract.outer(y, y) ** 2))


@dataclass(frozen=True)
class Library:
    """Published instances: the ending of their files, and how one is read. OR-Library's are named
    by a `prefix` and a number, and may be selected by number; their files state p.
    """

    name: str
    ending: str
    read: Callable[[Path], Metric]
    prefix: str = ""

    def best(self, folder: Path | None) -> Costs:
        """Best known costs as published, and as the table in the folder states them."""
        if folder is not None and self.prefix:
            known = dict(self._problems_in(folder))
        else:
            every = map(datasets.describe, datasets.names())
            mine = [info for info in every if info.file.endswith(self.ending)]
            known = {i.name: dict(i.best) for i in mine if i.best}
            known |= {i.name: {i.k: i.optimum} for i in mine if i.k and i.optimum is not None}
        path = None if folder is None else folder / TABLE
        if path is not None and path.is_file():
            try:
                for row in csv.DictReader(path.read_text("utf-8").splitlines()):
                    p, cost = int(row["p"]), int(row["opt_or_best_known"])
                    known[row["instance"]] = known.get(row["instance"], {}) | {p: cost}
            except (KeyError, TypeError, ValueError):
                rule = "expected columns instance, p and opt_or_best_known, whole numbers"
                raise GraphFileError(path, rule) from None
        return known

    def _problems_in(self, folder: Path) -> Iterator[tuple[str, dict[int, int | None]]]:
        """The p of each of OR-Library's files in a folder, and its optimum: as `OPTIMA` states it,
        else the published one if the file is the library's own.
        """
        path, stated = folder / OPTIMA, dict[str, str]()
        if path.is_file():
            stated = dict(re.findall(r"(?m)^\s*(\w+)\s+([0-9]{1,15})\s*$", read_text(path)))
            if not stated:
                raise GraphFileError(path, "expected lines such as 'pmed1 5819'")
        named = re.compile(self.prefix + r"([1-9][0-9]?)" + re.escape(self.ending) + r"(\.gz)?")
        numbers = (named.fullmatch(p.name) for p in folder.iterdir())
        for number in sorted({int(found[1]) for found in numbers if found}):
            name = f"{self.prefix}{number}"
            file = self.file(folder, name)
            assert file is not None
            info = datasets.describe(name) if name in datasets.names() else None
            own = info and hashlib.sha256(read_bytes(file)).hexdigest() in info.sha256
            best = int(stated[name]) if name in stated else info.optimum if info and own else None
            yield name, {read_pmed_p(file): best}

    def names(self, text: str) -> list[str]:
        """Names from a list such as ``rl1304,fl1400`` or ``1-5,40``."""
        found: list[str] = []
        for part in (part.strip() for part in text.split(",")):
            ends = re.fullmatch(r"([0-9]{1,3})\s*(?:-\s*([0-9]{1,3}))?", part)
            if self.prefix and ends:
                numbers = range(int(ends[1]), int(ends[2] or ends[1]) + 1)
                found += [f"{self.prefix}{number}" for number in numbers]
            else:
                found.append(part)
        return list(dict.fromkeys(found))

    def file(self, folder: Path | None, name: str) -> Path | None:
        """The file of an instance in the folder, gzipped or not; without a folder it is fetched."""
        if folder is None:
            info = datasets.describe(name)
            if not info.file.endswith(self.ending):
                raise InputError(f"{info.name} is no instance of {self.name}")
            return datasets.fetch(name)
        paths = (folder / f"{name}{self.ending}{packed}" for packed in ("", ".gz"))
        return next((path for path in paths if path.is_file()), None)

    def measure(self, args: Namespace) -> Report:
        """Solve the instances that the command line names, and compare costs; Ctrl-C ends
        it early.
        """
        start = time.perf_counter()
        folder = None if args.folder is None else Path(args.folder)
        if folder is not None and not folder.is_dir():
            raise InputError(f"{folder} is not a folder")
        known = self.best(folder)
        names = self.names(args.instances) if args.instances is not None else list(known)
        if folder is not None:
            present = [name for name in names if self.file(folder, name) is not None]
            if len(present) < len(names) and (args.instances is not None or not present):
                missing = next(name for name in names if name not in present)
                raise InputError(f"{folder} has no {missing[:40]}{self.ending}")
            names = present
        tasks = [(name, q) for name in names for q in args.p or sorted(known.get(name, {}))]
        if not tasks:
            missing = f"no cost is known of {', '.join(names)}: give -p"
            raise InputError(missing if names else f"{folder} has no file of {self.name}")
        options = ("effort", "certificate", "exact", "time_limit", "seed")
        asked = {name: getattr(args, name) for name in options}
        step = partial(self._measured, folder=folder, known=known, asked=asked, kept={})
        rows, unfinished = gathered(step, tasks, label=self.name, unit="problem")
        settings = {"instances": names, "p": args.p, **asked}
        return Report(self.name, settings, _COLUMNS, rows, *summary(rows, start), unfinished)

    def _measured(
        self,
        task: tuple[str, int],
        *,
        folder: Path | None,
        known: Costs,
        asked: dict[str, Any],
        kept: dict[str, Metric],
    ) -> Iterator[dict[str, Any]]:
        """Solve one problem; `kept` caches the last instance."""
        name, p = task
        if name not in kept:
            path = self.file(folder, name)
            assert path is not None
            kept.clear()
            kept[name] = self.read(path)
        metric = kept[name]
        start = time.perf_counter()
        result = mdp.k_median(metric, k=p, **asked)
        seconds = time.perf_counter() - start
        cost = float(metric.nearest(result.centers)[1].sum())
        best = known.get(name, {}).get(p)
        whole = 0.0 if cost == best else None  # of a best cost of 0, and of none
        yield {
            "instance": name,
            "n": len(metric),
            "p": p,
            "best_known": best,
            **({"k": p, "optimum": best} if self.prefix else {}),  # their names until 0.1.0
            "cost": cost,
            "gap_percent": 100 * (cost / best - 1) if best else whole,
            "lower_bound": result.lower_bound,
            "proven_percent": None if result.gap is None else 100 * result.gap,
            "seconds": seconds,
        }


LIBRARIES = {
    "pmed": Library("pmed", ".txt", partial(mdp.read_graph, format="pmed"), "pmed"),
    "tsplib": Library(
        "tsplib", ".tsp", lambda path: mdp.PrecomputedMetric(rounded_down(read_points(path)))
    ),
}


def summary(rows: list[dict[str, Any]], start: float) -> tuple[dict[str, Any], list[str]]:
    """Summary of all rows, as values and in words."""
    known = [row for row in rows if row["gap_percent"] is not None]
    gaps = [row["gap_percent"] for row in known]
    proven = [row["proven_percent"] for row in rows if row["proven_percent"] is not None]
    met = sum(gap <= EXACT for gap in gaps)
    said: dict[str, Any] = {
        "problems": len(rows),
        "with_known_value": len(known),
        "at_best_known": met,
        "optimal": met,  # its name until 0.1.0
        "within_0.1_percent": sum(gap <= NEAR for gap in gaps),
        "mean_gap_percent": sum(gaps) / len(gaps) if gaps else None,
        "worst_gap_percent": max(gaps, default=None),
        "proven_optimal": sum(gap == 0 for gap in proven),
        "worst_proven_percent": max(proven, default=None),
        "solver_seconds": sum(row["seconds"] for row in rows),
        "total_seconds": time.perf_counter() - start,
    }
    lines = [f"{len(rows)} problems, the best cost is known of {len(known)}"]
    if known:
        lines += [
            f"at the best known: {met}; within {NEAR} %: {said['within_0.1_percent']}",
            f"gap: mean {said['mean_gap_percent']:.4f} %, worst {said['worst_gap_percent']:.4f} %",
        ]
    if proven:
        worst = f"worst proven gap {said['worst_proven_percent']:.4f} %"
        lines.append(f"proven optimal: {said['proven_optimal']} of {len(proven)}; {worst}")
    lines.append(
        f"time: {said['solver_seconds']:.1f} s in the solver, {said['total_seconds']:.1f} s in all"
    )
    below = [row["instance"] for row in known if row["gap_percent"] < -EXACT]
    return said, lines + [f"{name}: the cost is below the best that is stated" for name in below]
