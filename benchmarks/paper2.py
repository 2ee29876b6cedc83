"""Figures 2, 4, 5 and 6 of "k-Median Clustering via Metric Embedding: Towards Better Initialization
with Differential Privacy".

References
----------
C. Fan, P. Li and X. Li, NeurIPS 2023: Section 5, Appendices A and C.
"""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from benchmarks.frame import options
from benchmarks.frame.best_swaps import best_swaps
from benchmarks.frame.figures import figure, saved
from benchmarks.frame.tables import (
    ITERATIONS,
    Claim,
    gathered_rows,
    judged,
    mean_error,
    ratios_of,
    reported,
    shown,
)
from benchmarks.methods.hst_subtrees import hst_init
from benchmarks.methods.printed_hst import PrintedHST
from benchmarks.methods.tree_hst import TreeHST
from benchmarks.sets import graphs
from benchmarks.sets.graphs import Classified
from metricdp.bench.p_median import Column, Report, aligned, gathered
from metricdp.errors import InputError
from metricdp.methods.asking import Terms
from metricdp.methods.finite.hst import DPHST, splitting_levels
from metricdp.methods.finite.local_search import LocalSearch
from metricdp.methods.question import Question
from metricdp.metrics import PrecomputedMetric
from metricdp.solvers.block import block_search

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

NON_PRIVATE = ("NDP-rand", "NDP-kmedian++", "NDP-HST")
PRIVATE = ("DP-rand", "DP-kmedian++", "DP-HST", "DP-HST-printed")
"""The last starts from Algorithm 6 as printed; "DP-HST" from the same tree, budgets and scores on
consistent counts down to the noise, and public medians: this package's.
"""
OWN = ("hst", "local-search", "partition", "uniform")
METHODS = (*NON_PRIVATE, *PRIVATE, *OWN)
"""The paper's, and this package's own, by the names of `metricdp.METHODS`."""

DEFAULTS = {
    "settings": "all",
    "k": ",".join(map(str, KS)),
    "repeats": REPEATS,
    "epsilon": 1,
    "power": 1,
    "records": RECORDS,
    "points": 3000,
}
_EPILOG = """\
examples:
  one graph, two values of k, two repetitions:
  python -m benchmarks paper2 --quick
  the half of the paper that needs no data:
  python -m benchmarks paper2 --settings graph --plots figures
  all of it:
  METRICDP_DATA=data python -m benchmarks paper2 --output paper2.json

Settings are UNIVERSE/DEMAND: graph-r1, graph-r100, mnist-l2 or mnist-l1, and balanced or
imbalanced; "graph" or "mnist-l2" stands for all that begin so. MNIST is read from points/mnist,
mnist or the top of the folder METRICDP_DATA.

NDP-… are local search from random centers, k-median++ and the 2-HST; DP-… the paper's private
ones, from DP-HST twice: DP-HST-printed is Algorithm 6 as printed, DP-HST makes its counts
consistent and stops where they sink into the noise, which is ours and costs less. Beside them
this package's own, with their defaults: counts of the tree and a solver (hst), private local
search (local-search), the default method (partition), and centers of the universe that ignore the
demand (uniform). The demand is made up, so exact costs may be reported. Noise has no seed: figures
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
    """Add the suite to ``python -m benchmarks``."""
    parser: ArgumentParser = suites.add_parser(
        "paper2",
        usage="python -m benchmarks paper2 [--settings LIST] [--plots DIR] [option ...]",
        help="k-median by 2-HST and private local search: the paper's figures",
        description="Reproduce Figures 2, 4, 5 and 6 of Fan, Li and Li (NeurIPS 2023): the "
        "paper's six methods, DP-HST as printed and with consistent counts, and our own beside "
        "them.",
        epilog=_EPILOG,
    )
    options.add_options(parser, DEFAULTS)
    half = (
        "DP-rand and DP-kmedian++ search with half of epsilon, as DP-HST must (default: with all "
        "of it, as their starts are public)"
    )
    parser.add_argument("--half-search", action="store_true", help=half)
    parser.set_defaults(measure=measure)
    return parser


def measure(args: Namespace) -> Report:
    """Run the suite as the command line asks, and draw."""
    chosen = options.given(args, DEFAULTS, QUICK)
    chosen |= {"half_search": args.half_search, "seed": args.seed}
    return options.with_figures(args, lambda: run(**chosen), draw)


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
    **Privacy.** Made-up demand is public, so exact costs are reported: of all that a run of private
    local search has visited, too.
    """
    start = time.perf_counter()
    plan = Plan(
        str(epsilon),
        power,
        seed,
        graphs.POINTS if points is None else points,
        records,
        steps,
        half_search,
    )
    wanted, skipped = _available(_settings(settings))
    mdp.Ledger(plan.epsilon)  # its rules
    options.check_numbers(power, repeats=repeats, records=records, points=plan.points, steps=steps)
    options.check_k(k, plan.points)
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
    return report(asked, draws, skipped, unfinished, time.perf_counter() - start)


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
    if graphs.mnist_folder() is not None or not any(s.startswith("mnist") for s in settings):
        return settings, []
    there = [s for s in settings if not s.startswith("mnist")]
    if not there:
        raise InputError(f"nothing to measure; {NO_MNIST}")
    return there, [NO_MNIST]


class _Bench:
    """Makes universes and demands as they come up and keeps the last of each."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._universe: tuple[str, Classified] | None = None
        self._trial: tuple[Any, Trial] | None = None

    def measured(self, cell: Cell) -> Iterator[dict[str, Any]]:
        """One draw a method."""
        key = (cell.universe, cell.repeat, cell.demand)
        if self._trial is None or self._trial[0] != key:
            self._trial = None
            self._trial = key, self._drawn(cell)
        place = {"setting": f"{cell.universe}/{cell.demand}", "k": cell.k, "repeat": cell.repeat}
        for method, costs in measured(self._trial[1], cell.k):
            yield {**place, "method": method, **costs}

    def _drawn(self, cell: Cell) -> Trial:
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
    if name.startswith("graph-r"):
        graph, clusters = graphs.clustered_graph(
            float(name.removeprefix("graph-r")), plan.seed, points=plan.points
        )
        return Classified(
            name, PrecomputedMetric(graph.distance_rows(np.arange(len(graph)))), clusters, (0, 1)
        )
    folder: Path | None = graphs.mnist_folder()
    if folder is None:
        raise InputError(NO_MNIST)
    return Classified(name, *graphs.mnist(folder, int(name[-1])), graphs.DIGITS)


LEVELS = 6
PRIVATE_LEVELS = 8
ALPHA = 1e-3
"""The paper's: L of NDP-HST and DP-HST, and the alpha of Algorithm 1."""
REFERENCE_STARTS = 5
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trial:
    """One demand, one tree and their coins.

    Attributes
    ----------
    universe : Classified
    positions : ndarray of int64
        The demand: made up, hence public.
    demand : PrivateDemand
        The same behind the gate.
    tree : HST
    block : ndarray of float64, shape (n_points, n_records)
        Costs of serving each record from each point.
    power, steps, seed : int
    epsilon : str
    half_search : bool
        Whether searches from public starts have half of epsilon, and leave the rest.
    """

    universe: Classified
    positions: Positions
    demand: mdp.PrivateDemand
    tree: mdp.HST
    block: NDArray[np.float64]
    power: int
    steps: int
    seed: int
    epsilon: str
    half_search: bool = False

    @classmethod
    def drawn(
        cls,
        universe: Classified,
        *,
        records: int,
        imbalanced: bool,
        power: int,
        epsilon: str,
        steps: int,
        seed: int,
        repeat: int,
        half_search: bool = False,
    ) -> Trial:
        """The demand and the tree of a repetition."""
        positions = universe.draw(
            records, np.random.default_rng([seed, repeat, imbalanced]), imbalanced=imbalanced
        )
        metric = universe.metric
        demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in positions])
        block = np.ascontiguousarray(metric.distance_rows(positions).T) ** power
        coins = 1000 * seed + repeat
        return cls(
            universe,
            positions,
            demand,
            mdp.build_hst(metric, coins),
            block,
            power,
            steps,
            coins,
            epsilon,
            half_search,
        )

    def cost(self, centers: Positions) -> float:
        """Exact cost of centers, a made-up demand's."""
        return float(self.block[centers].min(axis=0).sum())

    def reference(self, k: int) -> float:
        """Cost of the best of some non-private searches."""
        rng = np.random.default_rng([self.seed, k])
        return float(
            block_search(self.block, np.ones(self.block.shape[1]), k, rng, starts=REFERENCE_STARTS)[
                1
            ]
        )

    def answered(self, k: int, method: Any, share: Fraction = Fraction(1)) -> Positions:
        """Positions of the centers of a private answer from a fresh ledger, for a share of epsilon:
        add-remove neighbors.
        """
        ask = (mdp.k_median, mdp.k_means)[self.power - 1]
        metric = self.universe.metric
        epsilon = Fraction(self.epsilon) * share
        return metric.positions(
            ask(metric, self.demand, k, epsilon=epsilon, method=method, seed=self.seed).centers
        )

    def weights(self) -> NDArray[np.float64]:
        """Records at every point."""
        return np.bincount(self.positions, minlength=len(self.universe.metric)).astype(np.float64)


def measured(trial: Trial, k: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each method's costs: `initial`, `final`, and of private searches `average`, `best` and
    `iterations`, with the `reference`.
    """
    draws = {}
    for method in METHODS:
        start = time.perf_counter()
        found = (_plain if method in NON_PRIVATE else _private if method in PRIVATE else _own)(
            trial, k, method
        )
        draws[method] = {**found, "seconds": time.perf_counter() - start}
    reference = min(trial.reference(k), *(draws[method]["final"] for method in NON_PRIVATE))
    for method, draw in draws.items():
        yield method, {"reference": reference, **draw}


def _plain(trial: Trial, k: int, method: str) -> dict[str, Any]:
    """Algorithm 1 from random centers, k-median++ on the demand (Algorithm 2), or NDP-HST
    (Algorithm 4) on the demand's counts.
    """
    rng = np.random.default_rng([trial.seed, k, NON_PRIVATE.index(method)])
    if method == "NDP-rand":
        begin = rng.choice(len(trial.universe.metric), k, replace=False)
    elif method == "NDP-kmedian++":
        begin = trial.universe.metric.seed_centers(k, trial.weights(), rng, trial.power)[0]
    else:
        begin = hst_begin(trial.tree, trial.weights(), k, trial.power)
    visited = best_swaps(
        trial.universe.metric,
        trial.positions,
        begin,
        power=trial.power,
        alpha=ALPHA,
        steps=trial.steps,
    ).centers
    return {
        "initial": trial.cost(visited[0]),
        "final": trial.cost(visited[-1]),
        "swaps": len(visited) - 1,
    }


def hst_begin(
    tree: mdp.HST, weights: NDArray[np.float64], k: int, power: int, levels: int = LEVELS
) -> Positions:
    """NDP-HST on the first `levels` levels that split a cluster: clusters of the last are not
    split, and end at a public median.
    """
    above = tree.level <= splitting_levels(tree)[:levels][-1]
    return hst_init(tree, np.where(above, tree.sums(weights), -np.inf), k, power=power, known=above)


@dataclass(frozen=True, kw_only=True)
class WatchedSearch(LocalSearch):
    """Private local search that keeps what it has visited: released by its selections, all of
    it.
    """

    seen: list[Positions] = field(default_factory=list)

    def visited(self, terms: Terms, question: Question) -> Generator[Any, Any, list[Positions]]:
        """As the method's."""
        self.seen[:] = yield from super().visited(terms, question)
        return self.seen


def _private(trial: Trial, k: int, method: str) -> dict[str, Any]:
    """Algorithm 7: from a tree's counts (the paper's budgets and L) for half of epsilon, or from a
    public start, which leaves all for the search.
    """
    starts = {"DP-rand": "random", "DP-kmedian++": "k-median++"}
    kind = PrintedHST if method == "DP-HST-printed" else TreeHST
    tree = kind(tree=trial.tree, budget="geometric", levels=PRIVATE_LEVELS)
    search = WatchedSearch(steps=trial.steps, start=starts.get(method, tree))
    final = trial.answered(
        k, search, Fraction(1, 2) if trial.half_search and method in starts else Fraction(1)
    )
    costs = [trial.cost(centers) for centers in search.seen]
    after = costs[1:]
    average = (
        {"average": sum(after) / len(after), "best": min(after), "iterations": iterations(after)}
        if after
        else {}
    )
    return {"initial": costs[0], "final": trial.cost(final), **average}


def _own(trial: Trial, k: int, method: str) -> dict[str, Any]:
    """This package's methods with their defaults; the tree is the repetition's."""
    if method != "uniform":
        options = {"hst": DPHST(tree=trial.tree), "local-search": LocalSearch(tree=trial.tree)}
        return {"final": trial.cost(trial.answered(k, options.get(method, method)))}
    kept = trial.universe.kept
    key = (method, k, trial.power)
    if key not in kept:  # the same for all demand
        kept[key] = trial.answered(k, method)
    return {"final": trial.cost(kept[key])}


DEFAULT = "partition"
SEARCHED = "DP-HST"
AIM = 0.7

MEASURES = {
    "initial": ("initial cost (Figures 2 and 4, left)", (*NON_PRIVATE, *PRIVATE)),
    "final": ("final cost: the centers that are returned (Figures 2 and 4, right)", METHODS),
    "average": ("average cost of the T iterations", PRIVATE),
    "best": ("cost of the best of the T iterations (Figure 6)", PRIVATE),
}
"""Costs by key: what they are, and the methods that have them."""
WINDOW = 5
"""Of the moving average whose least value ends the iterations that count."""


_BOTH = ("balanced", "imbalanced")
CLAIMS = (
    Claim(
        "DP-HST starts below DP-kmedian++ and DP-rand, imbalanced",
        "initial",
        "DP-HST",
        PRIVATE[:2],
        _BOTH[1:],
    ),
    Claim(
        "DP-HST starts below DP-kmedian++ and DP-rand, balanced",
        "initial",
        "DP-HST",
        PRIVATE[:2],
        _BOTH[:1],
    ),
    Claim(
        "DP-HST as printed starts below DP-kmedian++ and DP-rand, imbalanced",
        "initial",
        "DP-HST-printed",
        PRIVATE[:2],
        _BOTH[1:],
    ),
    Claim(
        "DP-HST as printed starts below DP-kmedian++ and DP-rand, balanced",
        "initial",
        "DP-HST-printed",
        PRIVATE[:2],
        _BOTH[:1],
    ),
    Claim(
        "NDP-HST starts below NDP-kmedian++ and NDP-rand",
        "initial",
        "NDP-HST",
        NON_PRIVATE[:2],
        _BOTH,
    ),
    Claim(
        "DP-HST ends below DP-kmedian++ and DP-rand, imbalanced",
        "final",
        "DP-HST",
        PRIVATE[:2],
        _BOTH[1:],
    ),
    Claim(
        "DP-HST ends below DP-kmedian++ and DP-rand, balanced",
        "final",
        "DP-HST",
        PRIVATE[:2],
        _BOTH[:1],
    ),
    Claim(
        "DP-HST as printed ends below DP-kmedian++ and DP-rand, imbalanced",
        "final",
        "DP-HST-printed",
        PRIVATE[:2],
        _BOTH[1:],
    ),
    Claim(
        "DP-HST as printed ends below DP-kmedian++ and DP-rand, balanced",
        "final",
        "DP-HST-printed",
        PRIVATE[:2],
        _BOTH[:1],
    ),
    Claim(
        "… on average of the T iterations, imbalanced", "average", "DP-HST", PRIVATE[:2], _BOTH[1:]
    ),
    Claim(
        "… on average of the T iterations, balanced", "average", "DP-HST", PRIVATE[:2], _BOTH[:1]
    ),
    Claim(
        "the best of DP-HST's iterations is below the others' (Fig. 6), imbalanced",
        "best",
        "DP-HST",
        PRIVATE[:2],
        _BOTH[1:],
    ),
    Claim(
        "DP-HST needs fewer iterations (Fig. 5), imbalanced",
        ITERATIONS,
        "DP-HST",
        PRIVATE[:2],
        _BOTH[1:],
    ),
)


def iterations(costs: Sequence[float]) -> int:
    """Iterations up to the least moving average of costs, one an iteration (the paper's Appendix
    A.3): the end of the first such window.

    Examples
    --------
    >>> iterations([9, 5, 5, 5, 5, 5, 9, 1])
    6
    """
    width = min(WINDOW, len(costs))
    sums = [sum(costs[i : i + width]) for i in range(len(costs) - width + 1)]
    return sums.index(min(sums)) + width


def over_searched(
    rows: Sequence[dict[str, Any]],
    begin: str = "graph",
    lower: str = DEFAULT,
    other: str = SEARCHED,
) -> dict[str, Any]:
    """Mean over settings and k of the default's mean final cost over that of DP-HST with local
    search.
    """
    reported = [
        row for row in rows if row["setting"].startswith(begin) and "final" in row["ratios"]
    ]
    finals = {
        (row["setting"], row["k"], row["method"]): row["ratios"]["final"][0] for row in reported
    }
    cells = [(s, k) for s, k, method in finals if method == lower and (s, k, other) in finals]
    ratios = {f"{s} k={k}": finals[s, k, lower] / finals[s, k, other] for s, k in cells}
    return {"mean": sum(ratios.values()) / len(ratios) if ratios else None, "cells": ratios}


def report(
    settings: dict[str, Any],
    draws: Sequence[dict[str, Any]],
    skipped: Sequence[str],
    unfinished: str,
    seconds: float,
) -> Report:
    """Rows, tables and judgements of what was drawn."""
    rows = gathered_rows(draws)
    verdicts = [verdict for claim in CLAIMS if (verdict := judged(claim, rows))["cells"]]
    aim = over_searched(rows)
    means = _means(rows)
    summary: dict[str, Any] = {
        "mean_final_ratio": means,
        "claims": verdicts,
        "default_over_dp_hst_on_graphs": aim,
    }
    summary |= {"skipped": list(skipped), "total_seconds": seconds}
    lines = [reported(verdict) for verdict in verdicts]
    lines += [
        f"mean final ratio on {group}: " + ", ".join(f"{m} {v:.3f}" for m, v in of.items())
        for group, of in means.items()
    ]
    if aim["mean"] is not None:
        met = "met" if aim["mean"] <= AIM else "missed"
        lines.append(
            f"default ({DEFAULT}) over {SEARCHED} + local search, mean on the graphs: "
            f"{aim['mean']:.3f}; aim at most {AIM}: {met}"
        )
    lines += [
        *skipped,
        f"time: {seconds:.0f} s in all; the demand is made up, so exact costs may be reported",
    ]
    return PaperReport("paper2", settings, (), rows, summary, lines, unfinished)


def _means(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean final ratio of each method, on graphs and on MNIST."""
    means: dict[str, dict[str, float]] = {}
    for group in ("graph", "mnist"):
        for method in METHODS:
            own = [r for r in rows if r["method"] == method and r["setting"].startswith(group)]
            some = [r["ratios"]["final"][0] for r in own if "final" in r["ratios"]]
            if some:
                means.setdefault(group, {})[method] = sum(some) / len(some)
    return means


class PaperReport(Report):
    """One table a measure: a line a setting and k, a column a method."""

    def table(self) -> str:
        """Tables of ratios to the best non-private cost and of iterations, then the summary in
        words.
        """
        text = [
            "Costs over the best non-private one known for the same demand: mean ± standard error."
        ]
        for measure, (title, methods) in MEASURES.items():
            text += self._section(title, measure, methods)
        text += self._section("iterations to a local optimum (Figure 5)", ITERATIONS, PRIVATE)
        return "\n".join([*text, "", *self.lines]) + "\n"

    def _section(self, title: str, measure: str, methods: Sequence[str]) -> list[str]:
        cells: dict[tuple[str, int], dict[str, Any]] = {}
        for row in self.rows:
            costs = ratios_of(row, measure)
            if costs and row["method"] in methods:
                line = cells.setdefault(
                    (row["setting"], row["k"]), {"setting": row["setting"], "k": row["k"]}
                )
                line[row["method"]] = shown(
                    *mean_error(costs), digits=1 if measure == ITERATIONS else 3
                )
        there = [m for m in methods if any(m in line for line in cells.values())]
        columns = [
            Column("setting", "setting"),
            Column("k", "k", "d"),
            *(Column(m, m, ">") for m in there),
        ]
        return ["", f"{title}:", *aligned(columns, cells.values())] if cells else []


_KINDS = {"rand": ("#009E73", "s"), "kmedian++": ("#0072B2", "^"), "HST": ("#D55E00", "o")}
STYLES: dict[str, dict[str, Any]] = {
    f"{world}-{kind}": {
        "color": color,
        "marker": marker,
        "linestyle": line,
        "markerfacecolor": face or color,
    }
    for kind, (color, marker) in _KINDS.items()
    for world, line, face in (("NDP", "--", "white"), ("DP", "-", None))
} | {
    "DP-HST-printed": {"color": "#CC79A7", "linestyle": "-.", "marker": "D"},
    DEFAULT: {"color": "black", "linestyle": ":", "marker": "*"},
}
"""Colors that are distinguished by color-blind readers too."""
_TITLES = {
    "graph-r1": "graph, r = 1",
    "graph-r100": "graph, r = 100",
    "mnist-l2": "MNIST, $l_2$",
    "mnist-l1": "MNIST, $l_1$",
}


def draw(report: Report, folder: Path) -> list[Path]:
    """Draw what the rows hold: initial and final costs of each universe; iterations, and best
    costs, of all.

    Parameters
    ----------
    report : Report
        Of `benchmarks.paper2`.
    folder : Path
        There already. Files of earlier runs with the same names are replaced.

    Returns
    -------
    list of Path
        ``paper2_costs_UNIVERSE.png`` (Figures 2 and 4), ``paper2_iterations.png`` (5) and
        ``paper2_best.png`` (6).
    """
    rows = [row for row in report.rows if row["method"] in STYLES]
    power = int(report.settings["power"])
    cost = "k-median cost" if power == 1 else "k-means cost"
    universes = list(dict.fromkeys(row["setting"].split("/")[0] for row in rows))
    written = [
        _costs(rows, universe, cost, folder / f"paper2_costs_{universe}.png")
        for universe in universes
    ]
    uneven = [
        row for row in rows if row["setting"].endswith("/imbalanced") and row["method"] in PRIVATE
    ]
    if uneven:
        for measure, label in ((ITERATIONS, "iterations"), ("best", f"best {cost}")):
            written.append(_side_by_side(uneven, measure, label, folder / f"paper2_{measure}.png"))
    return written


def _costs(rows: Sequence[dict[str, Any]], universe: str, label: str, path: Path) -> Path:
    """Initial cost on the left, final cost on the right; a row a kind of demand."""
    demands = list(
        dict.fromkeys(
            row["setting"].split("/")[1]
            for row in rows
            if row["setting"].startswith(f"{universe}/")
        )
    )
    picture, axes = figure(len(demands), 2)
    for line, demand in zip(axes, demands):
        own = [row for row in rows if row["setting"] == f"{universe}/{demand}"]
        for panel, measure in zip(line, ("initial", "final")):
            _curves(panel, own, measure, list(STYLES))
            panel.set_title(f"{_TITLES.get(universe, universe)}, {demand}: {measure}", fontsize=10)
        line[0].set_ylabel(label)
    return saved(picture, axes[0][1], path)


def _side_by_side(rows: Sequence[dict[str, Any]], measure: str, label: str, path: Path) -> Path:
    """A panel a universe."""
    universes = list(dict.fromkeys(row["setting"].split("/")[0] for row in rows))
    picture, axes = figure(1, len(universes))
    for panel, universe in zip(axes[0], universes):
        _curves(
            panel,
            [row for row in rows if row["setting"].startswith(f"{universe}/")],
            measure,
            PRIVATE,
        )
        panel.set_title(f"{_TITLES.get(universe, universe)}, imbalanced", fontsize=10)
    axes[0][0].set_ylabel(label)
    return saved(picture, axes[0][0], path)


def _curves(
    panel: Any, rows: Iterable[dict[str, Any]], measure: str, methods: Sequence[str]
) -> None:
    """Means over the repetitions with their standard errors, by k."""
    rows = list(rows)
    least = math.inf
    most = 0.0
    for method in methods:
        points = [
            (row["k"], *mean_error(v))
            for row in rows
            if row["method"] == method and (v := _values(row, measure))
        ]
        if points:
            ks, means, errors = zip(*points)
            bars = [error or 0.0 for error in errors]
            least = min(least, *means)
            most = max(most, *means)
            panel.errorbar(
                ks,
                means,
                bars,
                label=method,
                capsize=2,
                markersize=5,
                linewidth=1.2,
                **STYLES[method],
            )
    panel.set_xlabel("k")
    panel.set_xticks(sorted({row["k"] for row in rows}))
    if least < most / 2 or measure == ITERATIONS:  # else the differences would be thin
        panel.set_ylim(bottom=0, top=21 if measure == ITERATIONS else None)
    panel.grid(alpha=0.25)


def _values(row: dict[str, Any], measure: str) -> list[float]:
    return row["iterations"] if measure == ITERATIONS else row["costs"].get(measure, [])
