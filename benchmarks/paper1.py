"""Figures 2 and 3 of "Scalable Differentially Private Clustering via Hierarchically Separated
Trees", in shape.

References
----------
V. Cohen-Addad, A. Epasto, S. Lattanzi, V. Mirrokni, A. Muñoz Medina, D. Saulpic, C. Schwiegelshohn,
S. Vassilvitskii, KDD 2022, Section 6.
"""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import metricdp as mdp
from benchmarks.frame import options
from benchmarks.frame.costs import Points, best_known, cost, improved
from benchmarks.frame.figures import figure, saved
from benchmarks.frame.tables import Claim, RatioReport, gathered_rows, judged, reported, timed
from benchmarks.methods.balcan import Balcan
from benchmarks.methods.k_variates import KVariates, seeded
from benchmarks.methods.printed_quadtree import PrintedQuadtree
from benchmarks.sets.point_sets import POINT_SETS, chosen_sets
from metricdp.bench.p_median import Report, gathered
from metricdp.methods.question import NET_POINTS

SETS = ("skin", "shuttle", "s1", "digits", "covertype", "higgs")
KS = (5, 10, 20, 30, 40)
REPEATS = 10
EPSILON = "0.5"
DELTA = "1e-6"
QUICK = {"sets": "gm-d2-k8", "k": (5, 20), "repeats": 2, "records": 20_000}
PLAIN = "kmed++"
TREE = "HST"
UNIFORM = "uniform"
DEFAULT = "partition"
PRIVATE = (TREE, "HST-tree", "lsh", "lloyd", "k-variates", "balcan")
METHODS = (PLAIN, *PRIVATE, "quadtree", DEFAULT, UNIFORM)
STARTS = 2
"""Of the reference, beside the runs of `kmed++`."""
STEPS = 10
"""Of Lloyd's in `kmed++`, as in the paper."""


@dataclass(frozen=True)
class Cell:
    """One repetition of one set, k and epsilon."""

    name: str
    k: int
    epsilon: str
    repeat: int


@dataclass(frozen=True)
class Plan:
    """What is measured; see `run` for the fields."""

    delta: str
    power: int
    seed: int
    records: int | None
    methods: tuple[str, ...]


DEFAULTS = {
    "sets": ",".join(SETS),
    "k": ",".join(map(str, KS)),
    "repeats": REPEATS,
    "epsilons": EPSILON,
    "delta": DELTA,
    "power": 1,
    "records": "all",
    "methods": ",".join(METHODS),
}
_EPILOG = """\
examples:
  python -m benchmarks paper1 --quick          a made-up mixture, two values of k, two repetitions
  METRICDP_DATA=data python -m benchmarks paper1 --sets skin,shuttle --plots figures
  python -m benchmarks paper1 --epsilons 0.25,0.5,1 --repeats 3 --output paper1.json

Sets: skin, shuttle, covertype and higgs (points/uci in the folder METRICDP_DATA), s1 … s4, a1 …
a3 and unbalance (points/sipu), digits, and the mixtures gm-d2-k8, gm-d2-k20, gm-d10-k8,
gm-d10-k20 and gw-d10-k8; "gm" stands for all that begin so. Those that are not there are skipped,
and named.

kmed++ is not private: seeding and ten steps. HST is the paper's: its tree, then four private
steps of Lloyd's, a fifth of epsilon each; HST-tree is the tree with all of it. lsh, lloyd,
k-variates and balcan are what it compares with. quadtree, partition (the default) and uniform
(which ignores the demand) are this package's. The records are public here, so exact costs may be
told. Noise has no seed: figures vary from run to run."""


def register(suites: Any) -> ArgumentParser:
    """Add the suite to ``python -m benchmarks``."""
    parser: ArgumentParser = suites.add_parser(
        "paper1",
        usage="python -m benchmarks paper1 [--sets LIST] [--plots DIR] [option ...]",
        help="private k-median of points in a box: the paper's figures",
        description="Reproduce Figures 2 and 3 of Cohen-Addad et al. (KDD 2022), the default "
        "method beside those compared there.",
        epilog=_EPILOG,
    )
    options.add_options(parser, DEFAULTS)
    parser.set_defaults(measure=measure)
    return parser


def measure(args: Namespace) -> Report:
    """Run the suite as the command line asks, and draw."""
    chosen = options.given(args, DEFAULTS, QUICK)
    return options.with_figures(args, lambda: run(**chosen, seed=args.seed), draw)


def run(
    sets: str | None = None,
    *,
    k: Sequence[int] = KS,
    repeats: int = REPEATS,
    epsilons: str = EPSILON,
    delta: Any = DELTA,
    power: int = 1,
    records: int | None = None,
    methods: str | None = None,
    seed: int = 0,
) -> Report:
    """Measure the paper's methods and this package's own.

    Parameters
    ----------
    sets : str, optional
        Names of `benchmarks.sets.point_sets.POINT_SETS`, commas between.
    k : sequence of int
    repeats : int
        Repetitions with other public coins and noise each. The points stay.
    epsilons : str
        Budgets of each private answer, commas between.
    delta : int, float, str, Decimal or Fraction
    power : {1, 2}
        k-median or k-means.
    records : int, optional
    methods : str, optional
        Of `METHODS`, commas between.
    seed : int
        Public coins. Noise is never seeded.

    Returns
    -------
    Report
        A row a set, epsilon, k and method: costs over the best known without privacy, and CPU
        seconds. Ctrl-C ends the run; what was measured by then is in it.

    Raises
    ------
    InputError
        A bad argument, or nothing to measure.

    Notes
    -----
    **Privacy.** The points are public, so exact costs are reported.
    """
    start = time.perf_counter()
    wanted, skipped = chosen_sets(sets, SETS)
    budgets = options.epsilons(epsilons)
    plan = Plan(
        str(delta), power, seed, records, options.named(methods, METHODS, "methods", always=PLAIN)
    )
    mdp.Ledger(1, plan.delta)  # its rules
    options.check_numbers(power, repeats=repeats, records=records)
    options.check_k(k, min(NET_POINTS, records or NET_POINTS))
    ks = sorted(set(k))
    cells = [
        Cell(name, j, e, i) for name in wanted for j in ks for e in budgets for i in range(repeats)
    ]
    draws, unfinished = gathered(_Bench(plan).measured, cells, label="paper1", unit="cell")
    asked = {
        "sets": wanted,
        "k": ks,
        "repeats": repeats,
        "epsilons": budgets,
        "delta": plan.delta,
        "power": power,
        "records": records,
    }
    asked |= {"methods": list(plan.methods), "seed": seed}
    return report(asked, draws, skipped, unfinished, time.perf_counter() - start)


class _Bench:
    """Loads sets as they come up, and keeps the last and its reference."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._world: Any = None
        self._reference: tuple[Any, float] | None = None

    def measured(self, cell: Cell) -> Iterator[dict[str, Any]]:
        """One draw a method."""
        plan = self._plan
        if self._world is None or self._world.name != cell.name:
            self._world = None
            self._world = World.of(cell.name, plan.records, plan.seed)
        if self._reference is None or self._reference[0] != (cell.name, cell.k):
            self._reference = (
                (cell.name, cell.k),
                self._world.reference(cell.k, plan.power, plan.seed),
            )
        place = {
            "setting": f"{cell.name}/{cell.epsilon}",
            "k": cell.k,
            "repeat": cell.repeat,
            "reference": self._reference[1],
        }
        for method in plan.methods:
            begin = time.process_time()
            centers = self._world.answered(method, cell, plan)
            yield {
                **place,
                "method": method,
                "seconds": time.process_time() - begin,
                "final": self._world.cost(centers, plan.power),
            }


@dataclass(frozen=True, eq=False)
class World:
    """A set of points: public, and behind the gate.

    Attributes
    ----------
    name : str
    points : ndarray of float64, shape (n, d)
    space : EuclideanSpace
    demand : PrivateDemand
    radius : float or None
    """

    name: str
    points: Points
    space: mdp.EuclideanSpace
    demand: mdp.PrivateDemand
    radius: float | None

    @classmethod
    def of(cls, name: str, records: int | None, seed: int) -> World:
        """The set of that name, or so many records of it."""
        found = POINT_SETS[name]
        points = np.ascontiguousarray(found.load(records, seed))
        low, high = found.bounds
        space = mdp.EuclideanSpace([low] * points.shape[1], [high] * points.shape[1])
        return cls(name, points, space, mdp.PrivateDemand(space, points), found.radius)

    def cost(self, centers: Points, power: int) -> float:
        """Exact cost, of public points."""
        return cost(self.points, centers, power)

    def reference(self, k: int, power: int, seed: int) -> float:
        """Cost of the best of some runs without privacy."""
        return self.cost(best_known(self.points, k, power, seed, STARTS), power)

    def method(self, name: str) -> Any:
        """A private method by its name in the table, told of the radius if one is known."""
        methods = mdp.methods
        radius = self.radius
        named = {
            "HST": PrintedQuadtree(),
            "HST-tree": PrintedQuadtree(steps=0),
            "lsh": methods.LSHCoreset(radius=radius),
            "lloyd": methods.Lloyd(radius=radius),
            "k-variates": KVariates(radius=radius),
            "balcan": Balcan(radius=radius),
        }
        return named.get(name, name)

    def answered(self, name: str, cell: Cell, plan: Plan) -> Points:
        """Centers by a method: private ones from a fresh ledger, add-remove neighbors."""
        coins = 1000 * plan.seed + cell.repeat
        if name == PLAIN:
            rng = np.random.default_rng([coins, cell.k])
            begin = seeded(self.points, np.ones(len(self.points)), cell.k, plan.power, rng)
            return improved(self.points, begin, plan.power, STEPS)
        ask = (mdp.k_median, mdp.k_means)[plan.power - 1]
        return ask(
            self.space,
            self.demand,
            cell.k,
            epsilon=cell.epsilon,
            delta=plan.delta,
            method=self.method(name),
            seed=coins,
        ).centers


SAID = (
    ("HST costs less than Balcan et al.", TREE, "balcan"),
    ("the LSH coreset costs less than Balcan et al.", "lsh", "balcan"),
    ("HST costs less than private Lloyd", TREE, "lloyd"),
    ("HST costs less than k-variates++", TREE, "k-variates"),
    ("HST costs less than the LSH coreset", TREE, "lsh"),
    ("the default method costs less than HST", DEFAULT, TREE),
    ("the default method costs less than the LSH coreset", DEFAULT, "lsh"),
)
"""Statements of Section 6 in words, and as who is below whom; the last two are ours."""


def report(
    settings: dict[str, Any],
    draws: Sequence[dict[str, Any]],
    skipped: Sequence[str],
    unfinished: str,
    seconds: float,
) -> Report:
    """Rows, tables and judgements of what was drawn."""
    draws = _over_best(draws)
    rows = gathered_rows(draws)
    timed(rows)
    claims = [
        Claim(text, "final", lower, (other,), tuple(settings["epsilons"]))
        for text, lower, other in SAID
    ]
    verdicts = [verdict for claim in claims if (verdict := judged(claim, rows))["cells"]]
    means = _means(rows)
    what = "k-median" if settings["power"] == 1 else "k-means"
    heading = (
        f"{what} cost over the best known without privacy: mean ± standard error over "
        f"repetitions. Settings are SET/EPSILON."
    )
    summary: dict[str, Any] = {
        "heading": heading,
        "times": "CPU seconds of one answer:",
        "mean_ratio": means,
        "claims": verdicts,
    }
    summary |= {"skipped": list(skipped), "total_seconds": seconds}
    lines = [reported(verdict) for verdict in verdicts]
    lines += [
        f"mean ratio on {group}: " + ", ".join(f"{m} {v:.3f}" for m, v in of.items())
        for group, of in means.items()
    ]
    lines += [
        *skipped,
        f"time: {seconds:.0f} s in all; the points are public, so exact costs may be reported",
    ]
    return RatioReport("paper1", settings, (), rows, summary, lines, unfinished)


def _over_best(draws: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The draws, where the runs of the method without privacy count for the reference too."""
    best: dict[tuple[str, int], float] = {}
    for draw in draws:
        key = draw["setting"].split("/")[0], draw["k"]
        own = (
            (draw["reference"], draw["final"]) if draw["method"] == PLAIN else (draw["reference"],)
        )
        best[key] = min(best.get(key, float("inf")), *own)
    return [{**draw, "reference": best[draw["setting"].split("/")[0], draw["k"]]} for draw in draws]


def _means(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean ratio of each method in each setting, over k."""
    means: dict[str, dict[str, float]] = {}
    for setting in dict.fromkeys(row["setting"] for row in rows):
        for method in METHODS:
            some = [
                r["ratios"]["final"][0]
                for r in rows
                if r["method"] == method and r["setting"] == setting and "final" in r["ratios"]
            ]
            if some:
                means.setdefault(setting, {})[method] = sum(some) / len(some)
    return means


STYLES: dict[str, dict[str, Any]] = {
    PLAIN: {"color": "black", "marker": "s", "linestyle": "--", "markerfacecolor": "white"},
    TREE: {"color": "#D55E00", "marker": "o"},
    "lsh": {"color": "#0072B2", "marker": "^"},
    "lloyd": {"color": "#009E73", "marker": "v"},
    "k-variates": {"color": "#CC79A7", "marker": "D"},
    "balcan": {"color": "#E69F00", "marker": "X"},
    DEFAULT: {"color": "black", "marker": "*", "linestyle": ":"},
    UNIFORM: {"color": "#999999", "marker": "", "linestyle": "-."},
}
"""Colors that are distinguished by color-blind readers too."""
FARTHEST = 4.0
"""Ratios beyond it are cut off: they would flatten all others."""


def draw(report: Report, folder: Path) -> list[Path]:
    """Draw ratios by k, a panel a set, a picture an epsilon.

    Parameters
    ----------
    report : Report
        Of `benchmarks.paper1`.
    folder : Path
        There already. Files of earlier runs with the same names are replaced.

    Returns
    -------
    list of Path
        ``paper1_epsilon-E.png`` for each epsilon.
    """
    return [_picture(report.rows, epsilon, folder) for epsilon in report.settings["epsilons"]]


def _picture(rows: Sequence[dict[str, Any]], epsilon: str, folder: Path) -> Path:
    here = [
        row
        for row in rows
        if row["setting"].endswith(f"/{epsilon}")
        and "final" in row["ratios"]
        and row["method"] in STYLES
    ]
    sets = list(dict.fromkeys(row["setting"].split("/")[0] for row in here))
    wide = 2 if len(sets) == 4 else min(max(len(sets), 1), 3)
    picture, axes = figure(max(math.ceil(len(sets) / wide), 1), wide)
    picture.set_size_inches(max(picture.get_size_inches()[0], 6.4), picture.get_size_inches()[1])
    panels = [panel for line in axes for panel in line]
    for panel, name in zip(panels, sets):
        _curves(panel, [row for row in here if row["setting"].startswith(f"{name}/")])
        panel.set_title(f"{name}, ε = {epsilon}", fontsize=10)
    for panel in panels[len(sets) :]:
        panel.set_visible(False)
    axes[0][0].set_ylabel("cost / best known without privacy")
    return saved(
        picture, panels[0], folder / f"paper1_epsilon-{epsilon.replace('/', '-over-')}.png"
    )


def _curves(panel: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Mean ratios over the repetitions with their standard errors, by k."""
    top = 1.1
    for method, style in STYLES.items():
        points = [(row["k"], *row["ratios"]["final"]) for row in rows if row["method"] == method]
        if points:
            ks, means, errors = zip(*points)
            top = max(top, *(mean for mean in means if mean <= FARTHEST), 0)
            panel.errorbar(
                ks,
                means,
                [e or 0.0 for e in errors],
                label=method,
                capsize=2,
                markersize=5,
                linewidth=1.2,
                **style,
            )
    panel.set_ylim(0.95, min(1.05 * top, FARTHEST))
    panel.set_xlabel("k")
    panel.set_xticks(sorted({row["k"] for row in rows}))
    panel.grid(alpha=0.25)
