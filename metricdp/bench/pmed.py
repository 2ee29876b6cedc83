"""OR-Library's 40 uncapacitated p-median instances, against their optima (Beasley 1985)."""

from __future__ import annotations

import hashlib
import re
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricdp.arrays import Ints
from metricdp.bench.report import Column, Report, costs_in_all, gathered, times
from metricdp.errors import GraphFileError, InputError

if TYPE_CHECKING:
    from metricdp.metrics import GraphMetric

OPTIMA = "pmedopt.txt"
LAST = 40
METHODS = ("partition", "uniform")
NEAR = 0.1
EXACT = 1e-7
"""Percent above the optimum that the summary counts as near, and as none."""

_INSTANCE = [Column("instance", "instance"), Column("n", "n", "d"), Column("k", "k", "d")]
_PUBLIC = [
    *_INSTANCE,
    Column("optimum", "optimum", "d"),
    Column("cost", "cost", ".10g"),
    Column("gap_percent", "gap %", ".3f"),
    Column("seconds", "seconds", ".2f"),
]
_PRIVATE = [
    *_INSTANCE,
    Column("method", "method"),
    Column("records", "records", "d"),
    Column("reference", "reference", ".10g"),
    Column("mean_ratio", "mean ratio", ".3f"),
    Column("worst_ratio", "worst ratio", ".3f"),
    Column("seconds", "seconds", ".2f"),
]


@dataclass(frozen=True)
class Instance:
    """One instance: its name, its graph file and its proven optimum, if it is known."""

    name: str
    path: Path
    optimum: int | None


@dataclass(frozen=True)
class Privacy:
    """How private methods are measured; see `run` for the fields."""

    epsilon: str
    methods: tuple[str, ...]
    repeats: int
    records: int | None
    hot_spots: bool


def measure(args: Namespace) -> Report:
    """Run the suite as the command line asks."""
    given = [
        name
        for name in ("method", "repeats", "records", "hot_spots")
        if getattr(args, name) is not None
    ]
    if args.epsilon is None and given:
        raise InputError(
            f"--{given[0].replace('_', '-')} is about private methods: give --epsilon E too"
        )
    options = {name: getattr(args, name) for name in given if name != "method"}
    if args.method is not None:
        options["methods"] = [name.strip() for name in args.method.split(",")]
    return run(
        args.folder,
        instances=args.instances,
        seed=args.seed,
        time_limit=args.time_limit,
        epsilon=args.epsilon,
        **options,
    )


def run(
    folder: str | Path | None = None,
    *,
    instances: str | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    epsilon: Any = None,
    methods: Sequence[str] = METHODS,
    repeats: int = 10,
    records: int | None = None,
    hot_spots: bool = False,
) -> Report:
    """Solve the instances and compare.

    **Privacy.** Made-up demand is public, so exact costs are told.
    """
    import metricdp as mdp

    start = time.perf_counter()
    private = None if epsilon is None else _checked(epsilon, methods, repeats, records, hot_spots)
    chosen = list(_found(folder, instances))
    names = [instance.name for instance in chosen]
    settings: dict[str, Any] = {"instances": names, "seed": seed, "time_limit": time_limit}
    solver = partial(mdp.k_median, time_limit=time_limit)
    if private is None:
        rows, unfinished = _rows(chosen, partial(_solved, solver=solver, seed=seed))
        return Report("pmed", settings, _PUBLIC, rows, *_public_summary(rows, start), unfinished)
    settings |= {"epsilon": private.epsilon, "methods": list(private.methods)}
    settings |= {"repeats": private.repeats}
    settings |= {"records": private.records or "one a vertex", "hot_spots": private.hot_spots}
    rows, unfinished = _rows(chosen, partial(_released, solver=solver, private=private, seed=seed))
    return Report(
        "pmed", settings, _PRIVATE, rows, *_private_summary(rows, private, start), unfinished
    )


def _checked(
    epsilon: Any, methods: Sequence[str], repeats: int, records: int | None, hot_spots: bool
) -> Privacy:
    """Refuse bad arguments before anything is read."""
    import metricdp as mdp

    mdp.Ledger(epsilon)  # its rules
    for method in methods:
        if method not in mdp.METHODS:
            raise InputError(f"method must be one of {', '.join(mdp.METHODS)}; got {method!r}")
    if not methods or repeats < 1:
        raise InputError(
            f"repeats must be at least 1, and one method at least; got {repeats} and {len(methods)}"
        )
    if records is not None and records < 1:
        raise InputError(f"records must be at least 1, got {records}")
    if hot_spots and records is None:
        raise InputError("hot spots need a number of records (--records N)")
    return Privacy(str(epsilon), tuple(dict.fromkeys(methods)), repeats, records, hot_spots)


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


def _rows(instances: list[Instance], measured: Any) -> tuple[list[dict[str, Any]], str]:
    """Read and measure each instance, up to Ctrl-C."""
    import metricdp as mdp
    from metricdp.universe import read_pmed_p

    def rows(instance: Instance) -> Iterator[dict[str, Any]]:
        metric = mdp.read_graph(instance.path, format="pmed")
        k = read_pmed_p(instance.path)
        for row in measured(metric, k, instance.optimum):
            yield {"instance": instance.name, "n": len(metric), "k": k, **row}

    return gathered(rows, instances, label="pmed", unit="instance")


def _solved(
    metric: GraphMetric, k: int, optimum: int | None, *, solver: Any, seed: int
) -> Iterator[dict[str, Any]]:
    """The non-private solver on one instance."""
    start = time.perf_counter()
    centers = solver(metric, k=k, seed=seed).centers
    seconds = time.perf_counter() - start
    cost = float(metric.nearest(centers)[1].sum())
    ratio = None if optimum is None else _ratio(cost, optimum)
    gap = None if ratio is None else 100 * (ratio - 1)
    yield {"optimum": optimum, "cost": cost, "gap_percent": gap, "seconds": seconds}


def _released(
    metric: GraphMetric, k: int, optimum: int | None, *, solver: Any, private: Privacy, seed: int
) -> Iterator[dict[str, Any]]:
    """Each private method on one instance, repeated, against a non-private solution."""
    import metricdp as mdp

    counts = _demand(metric, private, seed)
    if private.records is None and optimum is not None:
        reference = float(optimum)
        kind = "optimum"
    else:
        reference = _cost(metric, solver(metric, k=k, weights=counts, seed=seed).centers, counts)
        kind = "solver"
    demand = mdp.PrivateDemand(
        metric, [metric.ids[i] for i in range(len(metric)) for _ in range(counts[i])]
    )
    for method in private.methods:
        answers = []
        start = time.perf_counter()
        for repeat in range(private.repeats):
            asked = {"epsilon": private.epsilon, "method": method, "seed": seed + repeat}
            answers.append(solver(metric, demand, k, **asked).centers)
        seconds = (time.perf_counter() - start) / private.repeats
        ratios = [_ratio(_cost(metric, centers, counts), reference) for centers in answers]
        known = [r for r in ratios if r is not None]
        whole = len(known) == len(ratios)
        yield {
            "method": method,
            "records": int(counts.sum()),
            "reference": reference,
            "reference_is": kind,
            "mean_ratio": sum(known) / len(known) if whole else None,
            "worst_ratio": max(known) if whole else None,
            "ratios": ratios,
            "seconds": seconds,
        }


def _demand(metric: GraphMetric, private: Privacy, seed: int) -> Ints:
    from metricdp.bench import demands

    if private.records is None:
        return demands.one_each(metric)
    return (demands.hot_spots if private.hot_spots else demands.uniform)(
        metric, private.records, seed
    )


def _cost(metric: GraphMetric, centers: Any, counts: Ints) -> float:
    """Cost of centers for a public demand."""
    return float(metric.nearest(centers)[1] @ counts)


def _ratio(cost: float, reference: float) -> float | None:
    """Cost over reference; 1 if both are 0, None if only the reference is."""
    if reference > 0:
        return cost / reference
    return 1.0 if cost == 0 else None


def _public_summary(rows: list[dict[str, Any]], start: float) -> tuple[dict[str, Any], list[str]]:
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


def _private_summary(
    rows: list[dict[str, Any]], private: Privacy, start: float
) -> tuple[dict[str, Any], list[str]]:
    by_method = {}
    lines = []
    for method in private.methods:
        own = [row for row in rows if row["method"] == method and row["mean_ratio"] is not None]
        mean = sum(row["mean_ratio"] for row in own) / len(own) if own else None
        worst = max((row["worst_ratio"] for row in own), default=None)
        seconds = sum(row["seconds"] for row in rows if row["method"] == method) * private.repeats
        by_method[method] = {
            "instances": len(own),
            "mean_ratio": mean,
            "worst_ratio": worst,
            "seconds": seconds,
        }
        told = f"mean ratio {mean:.3f}, worst {worst:.3f}" if own else "no ratio"
        lines.append(
            f"{method}: {told}, {len(own)} instances × {private.repeats} releases of epsilon "
            f"{private.epsilon}, {seconds:.1f} s"
        )
    total = time.perf_counter() - start
    lines.append(f"time: {total:.1f} s in all; the demand is made up, so exact costs may be told")
    if not private.hot_spots:
        lines.append(
            "the demand is even, which flatters every method: try --records 10000 --hot-spots"
        )
    return {"methods": by_method, "total_seconds": total}, lines
