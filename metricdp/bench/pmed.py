"""OR-Library's 40 uncapacitated p-median instances, against their optima (Beasley 1985)."""

from __future__ import annotations

import hashlib
import re
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from metricdp.bench.report import Column, Report, costs_in_all, gathered, times
from metricdp.errors import GraphFileError, InputError

OPTIMA = "pmedopt.txt"
LAST = 40
NEAR = 0.1
EXACT = 1e-7
"""Percent above the optimum that the summary counts as near, and as none."""

_COLUMNS = [
    Column("instance", "instance"),
    Column("n", "n", "d"),
    Column("k", "k", "d"),
    Column("optimum", "optimum", "d"),
    Column("cost", "cost", ".10g"),
    Column("gap_percent", "gap %", ".3f"),
    Column("seconds", "seconds", ".2f"),
]


@dataclass(frozen=True)
class Instance:
    """One instance: its name, its graph file and its proven optimum, if it is known."""

    name: str
    path: Path
    optimum: int | None


def measure(args: Namespace) -> Report:
    """Run the suite as the command line asks."""
    return run(args.folder, args.instances, args.seed, args.time_limit)


def run(
    folder: str | Path | None = None,
    instances: str | None = None,
    seed: int = 0,
    time_limit: float | None = None,
) -> Report:
    """Solve the instances and compare, up to Ctrl-C."""
    start = time.perf_counter()
    chosen = list(_found(folder, instances))
    asked = {"seed": seed, "time_limit": time_limit}
    rows, unfinished = gathered(
        partial(_solved, asked=asked), chosen, label="pmed", unit="instance"
    )
    settings = {"instances": [instance.name for instance in chosen], **asked}
    return Report("pmed", settings, _COLUMNS, rows, *_summary(rows, start), unfinished)


def _found(folder: str | Path | None, instances: str | None) -> Iterator[Instance]:
    """The instances asked for, in order."""
    from metricdp import datasets
    from metricdp.progress import progress

    wanted = None if instances is None else _numbers(instances)
    if folder is None:
        for number in progress(wanted or range(1, LAST + 1), label="fetching", unit="file"):
            name = f"pmed{number}"
            yield Instance(name, datasets.fetch(name), datasets.describe(name).optimum)
        return
    there = _files(Path(folder))
    missing = [n for n in wanted or () if n not in there]
    if missing:
        raise InputError(f"{folder} has no pmed{missing[0]}.txt")
    stated = _stated(Path(folder) / OPTIMA)
    for number in wanted or sorted(there):
        name = f"pmed{number}"
        yield Instance(
            name, there[number], stated[name] if name in stated else _known(name, there[number])
        )


def _numbers(text: str) -> list[int]:
    """Numbers of a list such as ``1-5,40``, each once, in order."""
    numbers: set[int] = set()
    for part in text.split(","):
        ends = re.fullmatch(r"\s*([0-9]{1,3})\s*(?:-\s*([0-9]{1,3})\s*)?", part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (0, 0)
        if not 1 <= first <= last <= LAST:
            raise InputError(
                f"instances must be numbers and ranges from 1 to {LAST}, such as 1-5,40; got "
                f"{text[:40]!r}"
            )
        numbers.update(range(first, last + 1))
    return sorted(numbers)


def _files(folder: Path) -> dict[int, Path]:
    """Instance files of a folder by number."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder with OR-Library's pmed files")
    names = (
        (re.fullmatch(r"pmed([1-9][0-9]?)\.txt(\.gz)?", path.name), path)
        for path in sorted(folder.iterdir(), reverse=True)
    )
    there = {
        int(name[1]): path for name, path in names if name and int(name[1]) <= LAST
    }  # pmed1.txt before pmed1.txt.gz
    if not there:
        raise InputError(f"{folder} has no file pmed1.txt … pmed{LAST}.txt")
    return there


def _stated(path: Path) -> dict[str, int]:
    """Optima of a file like the library's ``pmedopt.txt``; none if there is no such file."""
    if not path.is_file():
        return {}
    from metricdp.universe.text import read_text

    pairs = re.findall(r"^\s*(pmed[0-9]+)\s+([0-9]{1,15})\s*$", read_text(path), re.MULTILINE)
    if not pairs:
        raise GraphFileError(path, "expected lines such as 'pmed1 5819'")
    return {name: int(value) for name, value in pairs}


def _known(name: str, path: Path) -> int | None:
    """The optimum of a file that is the library's own."""
    from metricdp import datasets
    from metricdp.universe.text import read_bytes

    info = datasets.describe(name)
    return info.optimum if hashlib.sha256(read_bytes(path)).hexdigest() in info.sha256 else None


def _solved(instance: Instance, *, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One row."""
    import metricdp as mdp
    from metricdp.universe import read_pmed_p

    metric, optimum = mdp.read_graph(instance.path, format="pmed"), instance.optimum
    k = read_pmed_p(instance.path)
    start = time.perf_counter()
    centers = mdp.k_median(metric, k=k, **asked).centers
    seconds = time.perf_counter() - start
    cost = float(metric.nearest(centers)[1].sum())
    whole = 0.0 if cost == optimum else None  # of an optimum of 0, and of none
    gap = 100 * (cost / optimum - 1) if optimum else whole
    yield {
        "instance": instance.name,
        "n": len(metric),
        "k": k,
        "optimum": optimum,
        "cost": cost,
        "gap_percent": gap,
        "seconds": seconds,
    }


def _summary(rows: list[dict[str, Any]], start: float) -> tuple[dict[str, Any], list[str]]:
    known = [row for row in rows if row["gap_percent"] is not None]
    gaps = [row["gap_percent"] for row in known]
    summary: dict[str, Any] = {
        "instances": len(rows),
        "with_known_optimum": len(known),
        "optimal": sum(gap <= EXACT for gap in gaps),
        "within_0.1_percent": sum(gap <= NEAR for gap in gaps),
        **costs_in_all(rows, start),
    }
    lines = [f"{len(rows)} instances, the optimum is known of {len(known)}"]
    if known:
        worst = max(known, key=lambda row: row["gap_percent"])
        where = f" ({worst['instance']})" if worst["gap_percent"] > EXACT else ""
        lines += [
            f"exactly optimal: {summary['optimal']}; within {NEAR} %: "
            f"{summary['within_0.1_percent']}",
            f"gap: mean {summary['mean_gap_percent']:.4f} %, worst {worst['gap_percent']:.3f} "
            f"%{where}",
        ]
    lines.append(times(summary))
    below = [row["instance"] for row in known if row["gap_percent"] < -EXACT]
    return summary, lines + [
        f"{name}: the cost is below the stated optimum, which is of another graph" for name in below
    ]
