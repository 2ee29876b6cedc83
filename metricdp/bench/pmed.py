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
from typing import TYPE_CHECKING, Any

from metricdp.arrays import Ints
from metricdp.bench import demands
from metricdp.bench.report import Column, Report, costs_in_all, gathered, times
from metricdp.errors import GraphFileError, InputError

if TYPE_CHECKING:
    from metricdp.metrics import GraphMetric

OPTIMA = "pmedopt.txt"
LAST = 40
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
    """How private methods are measured: by `repeats` releases each, for made-up `records`, which
    are one a vertex if None. Refuses bad options before anything is read.
    """

    epsilon: str
    method: str = "partition,uniform"
    repeats: int = 10
    records: int | None = None
    hot_spots: bool = False

    def __post_init__(self) -> None:
        import metricdp as mdp

        mdp.Ledger(self.epsilon)  # its rules
        for method in self.methods:
            if method not in mdp.METHODS:
                raise InputError(f"method must be one of {', '.join(mdp.METHODS)}; got {method!r}")
        for name in ("repeats", "records"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise InputError(f"{name} must be at least 1, got {value}")
        if self.hot_spots and self.records is None:
            raise InputError("hot spots need a number of records (--records N)")

    @property
    def methods(self) -> list[str]:
        """Each once, in order."""
        return list(dict.fromkeys(name.strip() for name in self.method.split(",")))

    def demand(self, metric: GraphMetric, seed: int) -> Ints:
        """Counts, shape (n_points,)."""
        if self.records is None:
            return demands.one_each(metric)
        made_up = demands.hot_spots if self.hot_spots else demands.uniform
        return made_up(metric, self.records, seed)


def measure(args: Namespace) -> Report:
    """Run the suite as the command line asks."""
    names = ("method", "repeats", "records", "hot_spots")
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if args.epsilon is None and given:
        name = next(iter(given)).replace("_", "-")
        raise InputError(f"--{name} is about private methods: give --epsilon E too")
    private = None if args.epsilon is None else Privacy(args.epsilon, **given)
    return run(args.folder, args.instances, args.seed, args.time_limit, private)


def run(
    folder: str | Path | None = None,
    instances: str | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    private: Privacy | None = None,
) -> Report:
    """Solve the instances and compare, up to Ctrl-C.

    **Privacy.** Made-up demand is public, so exact costs are told.
    """
    import metricdp as mdp
    from metricdp.universe import read_pmed_p

    start = time.perf_counter()
    chosen = list(_found(folder, instances))
    solver = partial(mdp.k_median, time_limit=time_limit)
    settings: dict[str, Any] = {"instances": [instance.name for instance in chosen]}
    settings |= {"seed": seed, "time_limit": time_limit}
    if private is not None:
        names = ("epsilon", "methods", "repeats", "records", "hot_spots")
        settings |= {name: getattr(private, name) for name in names}
        settings["records"] = private.records or "one a vertex"

    def measured(instance: Instance) -> Iterator[dict[str, Any]]:
        metric = mdp.read_graph(instance.path, format="pmed")
        k = read_pmed_p(instance.path)
        rows = (
            _solved(metric, k, instance.optimum, solver, seed)
            if private is None
            else _released(metric, k, instance.optimum, solver, seed, private)
        )
        return ({"instance": instance.name, "n": len(metric), "k": k, **row} for row in rows)

    rows, unfinished = gathered(measured, chosen, label="pmed", unit="instance")
    if private is None:
        columns, (summary, lines) = _PUBLIC, _public_summary(rows, start)
    else:
        columns, (summary, lines) = _PRIVATE, _private_summary(rows, private, start)
    return Report("pmed", settings, columns, rows, summary, lines, unfinished)


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


def _solved(
    metric: GraphMetric, k: int, optimum: int | None, solver: Any, seed: int
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
    metric: GraphMetric, k: int, optimum: int | None, solver: Any, seed: int, private: Privacy
) -> Iterator[dict[str, Any]]:
    """Each private method on one instance, repeated, against a non-private solution."""
    import metricdp as mdp

    counts = private.demand(metric, seed)

    def cost(centers: Any) -> float:
        return float(metric.nearest(centers)[1] @ counts)

    proven = private.records is None and optimum is not None
    reference = float(optimum or 0)
    if not proven:
        reference = cost(solver(metric, k=k, weights=counts, seed=seed).centers)
    places = [metric.ids[i] for i, count in enumerate(counts) for _ in range(count)]
    demand = mdp.PrivateDemand(metric, places)
    for method in private.methods:
        start = time.perf_counter()
        answers = [
            solver(metric, demand, k, epsilon=private.epsilon, method=method, seed=seed + repeat)
            for repeat in range(private.repeats)
        ]
        seconds = (time.perf_counter() - start) / private.repeats
        ratios = [_ratio(cost(answer.centers), reference) for answer in answers]
        known = [r for r in ratios if r is not None]
        whole = len(known) == len(ratios)
        yield {
            "method": method,
            "records": int(counts.sum()),
            "reference": reference,
            "reference_is": "optimum" if proven else "solver",
            "mean_ratio": sum(known) / len(known) if whole else None,
            "worst_ratio": max(known) if whole else None,
            "ratios": ratios,
            "seconds": seconds,
        }


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
