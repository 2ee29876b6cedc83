"""TSPLIB's point sets (Reinelt, ORSA Journal on Computing 3, 1991) as p-median problems with
distances rounded down, against the best known values, which stand in ``datasets.toml``.
"""

from __future__ import annotations

import csv
import io
import os
import time
from argparse import Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from metricdp.arrays import Floats
from metricdp.bench.report import Column, Report, costs_in_all, gathered, times
from metricdp.errors import GraphFileError, InputError

TABLE = "pmedian_best_known.csv"
"""A file in the folder that states more values: columns instance, p and opt_or_best_known."""
_FOLDERS = ("", "tsplib", "plan/tsplib")
"""Where in METRICDP_DATA the points may be. Without a folder they are fetched by name."""
_EXACT = 1e-7  # relative: rounding of sums of square roots
_COLUMNS = [
    Column("instance", "instance"),
    Column("n", "n", "d"),
    Column("p", "p", "d"),
    Column("best_known", "best known", "d"),
    Column("cost", "cost", ".10g"),
    Column("gap_percent", "gap %", ".4f"),
    Column("lower_bound", "bound", ".10g"),
    Column("proven_percent", "proven %", ".4f"),
    Column("seconds", "seconds", ".1f"),
]


def measure(args: Namespace) -> Report:
    """Solve the instances that the command line asks for, and compare."""
    start = time.perf_counter()
    where = _folder(args.folder)
    known = _known(where)
    names = _names(where, known, args.instances)
    numbers = None if args.p is None else _numbers(args.p)
    tasks = [(name, q) for name in names for q in numbers or sorted(known.get(name, {}))]
    if not tasks:
        raise InputError(f"no value is known of {', '.join(names)}: give -p")
    seconds = args.effort.replace(".", "", 1).isdecimal()
    options = ("certificate", "exact", "time_limit", "seed")
    asked: dict[str, Any] = {"effort": float(args.effort) if seconds else args.effort}
    asked |= {name: getattr(args, name) for name in options}
    step = partial(_solved, where=where, known=known, asked=asked, kept={})
    rows, unfinished = gathered(step, tasks, label="tsplib", unit="problem")
    settings = {"instances": names, "p": numbers, **asked}
    return Report("tsplib", settings, _COLUMNS, rows, *_summary(rows, start), unfinished)


def _folder(folder: str | Path | None) -> Path | None:
    """Where the points are; None to fetch them by name."""
    if folder is not None:
        if not Path(folder).is_dir():
            raise InputError(f"{folder} is not a folder with TSPLIB files")
        return Path(folder)
    data = os.environ.get("METRICDP_DATA")
    if not data:
        return None
    for part in _FOLDERS:
        found = Path(data) / part
        if any(found.glob("*.tsp")):
            return found
    raise InputError(
        f"METRICDP_DATA={data} has no .tsp files: give their folder, or unset it to download them"
    )


def _known(folder: Path | None) -> dict[str, dict[int, int]]:
    """Best values by instance and p: the published ones, and those the folder states."""
    from metricdp import datasets

    every = map(datasets.describe, datasets.names())
    known = {info.name: dict(info.best) for info in every if info.best}
    if folder is None:
        return known
    path = folder / TABLE
    if path.is_file():
        try:
            for row in csv.DictReader(io.StringIO(path.read_text("utf-8"))):
                value = int(row["opt_or_best_known"])
                known.setdefault(row["instance"], {})[int(row["p"])] = value
        except (KeyError, TypeError, ValueError):
            raise GraphFileError(
                path, "expected columns instance, p and opt_or_best_known, whole numbers"
            ) from None
    return known


def _names(
    folder: Path | None, known: dict[str, dict[int, int]], instances: str | None
) -> list[str]:
    if folder is None:
        asked = sorted(known) if instances is None else instances.split(",")
        return [_point_set(name.strip()) for name in asked]
    there = sorted(path.stem for path in folder.glob("*.tsp"))
    if instances is None:
        found = [name for name in there if name in known]
        if not found:
            raise InputError(f"{folder} has no TSPLIB file of which a value is known")
        return found
    names = [name.strip() for name in instances.split(",")]
    for name in names:
        if name not in there:
            raise InputError(f"{folder} has no {name[:40]}.tsp")
    return names


def _point_set(name: str) -> str:
    """Name of a point set that can be fetched."""
    from metricdp import datasets

    info = datasets.describe(name)
    if info.edges:
        raise InputError(f"{info.name} is a graph, not one of TSPLIB's point sets")
    return info.name


def _points_of(where: Path | None, name: str) -> Floats:
    from metricdp import datasets
    from metricdp.universe.formats.tsplib import read_points

    return read_points(datasets.fetch(name) if where is None else where / f"{name}.tsp")


def _numbers(text: str) -> list[int]:
    """Numbers of sites."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 0 < len(part) < 8 for part in parts):
        raise InputError(f"-p must be whole numbers with commas between, got {text[:40]!r}")
    return sorted({int(part) for part in parts})


def rounded_down(points: Floats) -> Floats:
    """Euclidean distances rounded down, shape (n, n)."""
    import numpy as np

    x, y = points.T
    return np.floor(np.sqrt(np.subtract.outer(x, x) ** 2 + np.subtract.outer(y, y) ** 2))


def _solved(
    task: tuple[str, int],
    *,
    where: Path | None,
    known: dict[str, dict[int, int]],
    asked: dict[str, Any],
    kept: dict[str, Any],
) -> Iterator[dict[str, Any]]:
    """One problem; `kept` holds the matrix of the last instance."""
    import metricdp as mdp

    name, p = task
    if name not in kept:
        kept.clear()
        kept[name] = mdp.PrecomputedMetric(rounded_down(_points_of(where, name)))
    metric = kept[name]
    start = time.perf_counter()
    result = mdp.k_median(metric, k=p, **asked)
    seconds = time.perf_counter() - start
    cost = float(metric.nearest(result.centers)[1].sum())
    best = known.get(name, {}).get(p)
    yield {
        "instance": name,
        "n": len(metric),
        "p": p,
        "best_known": best,
        "cost": cost,
        "gap_percent": None if not best else 100 * (cost / best - 1),
        "lower_bound": result.lower_bound,
        "proven_percent": None if result.gap is None else 100 * result.gap,
        "seconds": seconds,
    }


def _summary(rows: list[dict[str, Any]], start: float) -> tuple[dict[str, Any], list[str]]:
    gaps = [row["gap_percent"] for row in rows if row["gap_percent"] is not None]
    proven = [row["proven_percent"] for row in rows if row["proven_percent"] is not None]
    summary: dict[str, Any] = {
        "problems": len(rows),
        "with_known_value": len(gaps),
        "at_best_known": sum(gap <= _EXACT for gap in gaps),
        "proven_optimal": sum(gap == 0 for gap in proven),
        "worst_proven_percent": max(proven, default=None),
        **costs_in_all(rows, start),
    }
    lines = [f"{len(rows)} problems, a value is known of {len(gaps)}"]
    if gaps:
        lines.append(
            f"at the best known: {summary['at_best_known']}; gap: mean "
            f"{summary['mean_gap_percent']:.4f} %, worst {summary['worst_gap_percent']:.4f} %"
        )
    if proven:
        lines.append(
            f"proven optimal: {summary['proven_optimal']} of {len(proven)}; worst proven gap "
            f"{summary['worst_proven_percent']:.4f} %"
        )
    return summary, [*lines, times(summary)]
