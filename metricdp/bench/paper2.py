"""Figures 2, 4, 5 and 6 of "k-Median Clustering via Metric Embedding: Towards Better Initialization
with Differential Privacy".

References
----------
C. Fan, P. Li and X. Li, NeurIPS 2023: Section 5, Appendices A and C.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricdp.bench.report import Report, gathered
from metricdp.errors import InputError

if TYPE_CHECKING:
    from metricdp.bench.paper2_methods import Trial
    from metricdp.bench.universes import Classified

UNIVERSES = ("graph-r1", "graph-r100", "mnist-l2", "mnist-l1")
DEMANDS = ("balanced", "imbalanced")
SETTINGS = tuple(f"{universe}/{demand}" for universe in UNIVERSES for demand in DEMANDS)
KS = (2, 5, 10, 15, 20)
REPEATS = 10
RECORDS = 500
STEPS = 20
QUICK = {"settings": "graph-r1", "k": (5, 20), "repeats": 2}
NO_MNIST = (
    "mnist: skipped, METRICDP_DATA names no folder with t10k-images-idx3-ubyte and "
    "t10k-labels-idx1-ubyte (perhaps .gz)"
)

_EPILOG = """\
examples:
  one graph, two values of k, two repetitions:
  metricdp bench paper2 --quick
  the half of the paper that needs no data:
  metricdp bench paper2 --settings graph --plots figures
  all of it:
  METRICDP_DATA=data metricdp bench paper2 --output paper2.json

Settings are UNIVERSE/DEMAND: graph-r1, graph-r100, mnist-l2 or mnist-l1, and balanced or
imbalanced; "graph" or "mnist-l2" stands for all that begin so. MNIST is read from points/mnist,
mnist or the top of the folder METRICDP_DATA.

NDP-… are local search from random centers, k-median++ and the 2-HST; DP-… the paper's private
ones, from DP-HST twice: DP-HST-printed is Algorithm 6 as printed, DP-HST makes its counts
consistent and stops where they sink into the noise, which is ours and costs less. Beside them
this package's own, with their defaults: counts of the tree and a solver (hst), private local
search (local-search), the default method (partition), and centers of the universe that ignore the
demand (uniform). The demand is made up, so exact costs may be told. Noise has no seed: figures
vary from run to run."""


@dataclass(frozen=True)
class Cell:
    """One repetition of one setting for one k."""

    universe: str
    demand: str
    repeat: int
    k: int


@dataclass(frozen=True)
class Plan:
    """What is measured; see `run` for the fields."""

    epsilon: str
    power: int
    seed: int
    points: int
    records: int
    steps: int
    half_search: bool = False


def register(suites: Any) -> ArgumentParser:
    """Add the suite to ``metricdp bench``."""
    parser: ArgumentParser = suites.add_parser(
        "paper2",
        usage="metricdp bench paper2 [--settings LIST] [--plots DIR] [option ...]",
        help="k-median by 2-HST and private local search: the paper's figures",
        description="Reproduce Figures 2, 4, 5 and 6 of Fan, Li and Li (NeurIPS 2023): the "
        "paper's six methods, DP-HST as printed and with consistent counts, and our own beside "
        "them.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--settings", metavar="LIST", help="names with commas between (default: all)"
    )
    parser.add_argument(
        "-k",
        dest="k",
        metavar="LIST",
        help=f"numbers of centers (default: {','.join(map(str, KS))})",
    )
    parser.add_argument(
        "--repeats",
        metavar="R",
        type=int,
        help=f"repetitions: demand, tree and noise anew (default: {REPEATS})",
    )
    parser.add_argument(
        "-e",
        "--epsilon",
        metavar="E",
        default="1",
        help="privacy budget of each answer (default: %(default)s)",
    )
    parser.add_argument(
        "--power",
        metavar="Z",
        type=int,
        default=1,
        help="1: k-median; 2: k-means, Appendix C (default: %(default)s)",
    )
    parser.add_argument(
        "--records",
        metavar="N",
        type=int,
        default=RECORDS,
        help="of the private demand (default: %(default)s)",
    )
    parser.add_argument(
        "--points", metavar="N", type=int, default=None, help="vertices of a graph (default: 3000)"
    )
    half = (
        "DP-rand and DP-kmedian++ search with half of epsilon, as DP-HST must (default: with all "
        "of it, as their starts are public)"
    )
    parser.add_argument("--half-search", action="store_true", help=half)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one graph, k = 5 and 20, two repetitions, where nothing else is said",
    )
    parser.add_argument("--plots", metavar="DIR", help="write the figures into this folder, as PNG")
    parser.set_defaults(measure=measure)
    return parser


def measure(args: Namespace) -> Report:
    """Run the suite as the command line asks, and draw."""
    from metricdp.bench import paper2_figures

    chosen: dict[str, Any] = dict(QUICK) if args.quick else {}
    if args.k is not None:
        chosen["k"] = _numbers(args.k)
    chosen |= {
        name: value
        for name in ("settings", "repeats", "points")
        if (value := getattr(args, name)) is not None
    }
    folder = None if args.plots is None else paper2_figures.checked_folder(args.plots)
    given = {
        name: getattr(args, name) for name in ("epsilon", "power", "records", "half_search", "seed")
    }
    report = run(**chosen, **given)
    if folder is not None:
        report.lines.extend(f"wrote {path}" for path in paper2_figures.draw(report, folder))
    return report


def run(
    settings: str | None = None,
    *,
    k: Sequence[int] = KS,
    repeats: int = REPEATS,
    epsilon: Any = 1,
    power: int = 1,
    records: int = RECORDS,
    points: int | None = None,
    steps: int = STEPS,
    half_search: bool = False,
    seed: int = 0,
) -> Report:
    """Measure the paper's methods and this package's own.

    Parameters
    ----------
    settings : str, optional
        Names of `SETTINGS`, or what several begin with, commas between; all by default.
    k : sequence of int
    repeats : int
        Repetitions with another demand, tree, public coins and noise each. The universe stays.
    epsilon : int, float, str, Decimal or Fraction
        Budget of each private answer.
    power : {1, 2}
        k-median or k-means.
    records : int
        Distinct points of demand.
    points : int, optional
        Vertices of each graph; 3000 by default.
    steps : int
        Of local search: at most so many without privacy, exactly so many with it.
    half_search : bool
        Searches from public starts have half of epsilon, as that from DP-HST, and leave the rest.
        (The paper does not say which it did.)
    seed : int
        Public: universes, demand, trees, solvers. Noise is never seeded.

    Returns
    -------
    Report
        A row a setting, k and method: costs and ratios of all repetitions. Ctrl-C ends the run;
        what was measured by then is in it.

    Raises
    ------
    InputError
        A bad argument, or nothing to measure.

    Notes
    -----
    **Privacy.** Made-up demand is public, so exact costs are told: of all that a run of private
    local search has visited, too.
    """
    from metricdp.bench import paper2_tables
    from metricdp.bench.universes import POINTS

    start = time.perf_counter()
    plan = Plan(
        str(epsilon), power, seed, POINTS if points is None else points, records, steps, half_search
    )
    wanted, skipped = _available(_settings(settings))
    _check(plan, k, repeats)
    ks = sorted(set(k))
    cells = [
        Cell(u, d, i, j)
        for u in UNIVERSES
        for i in range(repeats)
        for d in DEMANDS
        if f"{u}/{d}" in wanted
        for j in ks
    ]
    draws, unfinished = gathered(_Bench(plan).measured, cells, label="paper2", unit="cell")
    asked = {
        "settings": wanted,
        "k": ks,
        "repeats": repeats,
        "epsilon": plan.epsilon,
        "power": power,
        "records": records,
    }
    asked |= {"points": plan.points, "steps": steps, "half_search": half_search, "seed": seed}
    return paper2_tables.report(asked, draws, skipped, unfinished, time.perf_counter() - start)


def _settings(text: str | None) -> list[str]:
    """Settings that a list names.

    Examples
    --------
    >>> _settings("graph-r1/imbalanced, mnist-l1")
    ['graph-r1/imbalanced', 'mnist-l1/balanced', 'mnist-l1/imbalanced']
    """
    if text is None:
        return list(SETTINGS)
    chosen: set[str] = set()
    for name in (part.strip() for part in text.split(",")):
        named = {s for s in SETTINGS if s == name or s.startswith((f"{name}-", f"{name}/"))}
        if not named:
            raise InputError(
                f"settings must be of {', '.join(SETTINGS)}, or what several begin with; got "
                f"{name[:40]!r}"
            )
        chosen |= named
    return [s for s in SETTINGS if s in chosen]


def _available(settings: list[str]) -> tuple[list[str], list[str]]:
    """Settings whose data is there, and why others are skipped."""
    from metricdp.bench.universes import mnist_folder

    if mnist_folder() is not None or not any(s.startswith("mnist") for s in settings):
        return settings, []
    there = [s for s in settings if not s.startswith("mnist")]
    if not there:
        raise InputError(f"nothing to measure; {NO_MNIST}")
    return there, [NO_MNIST]


def _check(plan: Plan, k: Sequence[int], repeats: int) -> None:
    """Refuse bad arguments before anything is made."""
    import metricdp as mdp

    mdp.Ledger(plan.epsilon)  # its rules
    if plan.power not in (1, 2):
        raise InputError(f"power must be 1 (k-median) or 2 (k-means), got {plan.power}")
    for name, value in (
        ("repeats", repeats),
        ("records", plan.records),
        ("points", plan.points),
        ("steps", plan.steps),
    ):
        if value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    if not k or min(k) < 1 or max(k) > plan.points:
        raise InputError(
            f"k must be numbers from 1 to {plan.points:,}, got {', '.join(map(str, k)) or 'none'}"
        )


def _numbers(text: str) -> list[int]:
    """Whole numbers with commas between."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
        raise InputError(
            f"k must be whole numbers with commas between, such as 5,20; got {text[:40]!r}"
        )
    return [int(part) for part in parts]


class _Bench:
    """Makes universes and demands as they come up and keeps the last of each."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._universe: tuple[str, Classified] | None = None
        self._trial: tuple[Any, Trial] | None = None

    def measured(self, cell: Cell) -> Iterator[dict[str, Any]]:
        """One draw a method."""
        from metricdp.bench.paper2_methods import measured

        key = (cell.universe, cell.repeat, cell.demand)
        if self._trial is None or self._trial[0] != key:
            self._trial = None
            self._trial = key, self._drawn(cell)
        place = {"setting": f"{cell.universe}/{cell.demand}", "k": cell.k, "repeat": cell.repeat}
        for method, costs in measured(self._trial[1], cell.k):
            yield {**place, "method": method, **costs}

    def _drawn(self, cell: Cell) -> Trial:
        from metricdp.bench.paper2_methods import Trial

        if self._universe is None or self._universe[0] != cell.universe:
            self._universe = None  # its matrix makes room for the next
            self._universe = cell.universe, _universe(cell.universe, self._plan)
        plan = self._plan
        return Trial.drawn(
            self._universe[1],
            records=plan.records,
            imbalanced=cell.demand == "imbalanced",
            power=plan.power,
            epsilon=plan.epsilon,
            steps=plan.steps,
            seed=plan.seed,
            repeat=cell.repeat,
            half_search=plan.half_search,
        )


def _universe(name: str, plan: Plan) -> Classified:
    """A universe by name; distances as a matrix, for the thousands of questions that follow."""
    import numpy as np

    from metricdp.bench import universes
    from metricdp.metrics import PrecomputedMetric

    if name.startswith("graph-r"):
        graph, clusters = universes.clustered_graph(
            float(name.removeprefix("graph-r")), plan.seed, points=plan.points
        )
        return universes.Classified(
            name, PrecomputedMetric(graph.distance_rows(np.arange(len(graph)))), clusters, (0, 1)
        )
    folder: Path | None = universes.mnist_folder()
    if folder is None:
        raise InputError(NO_MNIST)
    return universes.Classified(name, *universes.mnist(folder, int(name[-1])), universes.DIGITS)
