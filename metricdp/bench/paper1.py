"""Figures 2 and 3 of "Scalable Differentially Private Clustering via Hierarchically Separated
Trees", in shape.

References
----------
V. Cohen-Addad, A. Epasto, S. Lattanzi, V. Mirrokni, A. Muñoz Medina, D. Saulpic, C. Schwiegelshohn,
S. Vassilvitskii, KDD 2022, Section 6.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from typing import Any

from metricdp.bench.paper1_terms import METHODS, PLAIN, Cell, Plan
from metricdp.bench.report import Report, gathered
from metricdp.errors import InputError

SETS = ("skin", "shuttle", "s1", "digits", "covertype", "higgs")
KS = (5, 10, 20, 30, 40)
REPEATS = 10
EPSILON = "0.5"
DELTA = "1e-6"
QUICK = {"sets": "gm-d2-k8", "k": (5, 20), "repeats": 2, "records": 20_000}
_EPILOG = """\
examples:
  metricdp bench paper1 --quick          a made-up mixture, two values of k, two repetitions
  METRICDP_DATA=data metricdp bench paper1 --sets skin,shuttle --plots figures
  METRICDP_DATA=data metricdp bench paper1 --epsilons 0.25,0.5,1 --repeats 3 --output paper1.json

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
    """Add the suite to ``metricdp bench``."""
    parser: ArgumentParser = suites.add_parser(
        "paper1",
        usage="metricdp bench paper1 [--sets LIST] [--plots DIR] [option ...]",
        help="private k-median of points in a box: the paper's figures",
        description="Reproduce Figures 2 and 3 of Cohen-Addad et al. (KDD 2022), the default "
        "method beside those compared there.",
        epilog=_EPILOG,
    )
    parser.add_argument(
        "--sets", metavar="LIST", help=f"names with commas between (default: {','.join(SETS)})"
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
        help=f"repetitions: public coins and noise anew (default: {REPEATS})",
    )
    parser.add_argument(
        "-e",
        "--epsilons",
        metavar="LIST",
        default=EPSILON,
        help="budgets of each answer (default: %(default)s)",
    )
    parser.add_argument(
        "-d",
        "--delta",
        metavar="D",
        default=DELTA,
        help="for methods to which it is of use (default: %(default)s)",
    )
    parser.add_argument(
        "--power",
        metavar="Z",
        type=int,
        default=1,
        help="1: k-median; 2: k-means (default: %(default)s)",
    )
    parser.add_argument(
        "--records",
        metavar="N",
        type=int,
        help="so many of each set, drawn by public coins (default: all)",
    )
    parser.add_argument(
        "--methods", metavar="LIST", help=f"with commas between (default: {','.join(METHODS)})"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a small made-up set and two repetitions, where nothing else is said",
    )
    parser.add_argument("--plots", metavar="DIR", help="write the figures into this folder, as PNG")
    parser.set_defaults(measure=measure)
    return parser


def measure(args: Namespace) -> Report:
    """Run the suite as the command line asks, and draw."""
    from metricdp.bench import paper1_figures
    from metricdp.bench.paper2 import _numbers

    chosen: dict[str, Any] = dict(QUICK) if args.quick else {}
    if args.k is not None:
        chosen["k"] = _numbers(args.k)
    chosen |= {
        name: value
        for name in ("sets", "repeats", "records")
        if (value := getattr(args, name)) is not None
    }
    folder = None if args.plots is None else paper1_figures.checked_folder(args.plots)
    given = {
        name: getattr(args, name) for name in ("epsilons", "delta", "power", "methods", "seed")
    }
    report = run(**chosen, **given)
    if folder is not None:
        report.lines.extend(f"wrote {path}" for path in paper1_figures.draw(report, folder))
    return report


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
        Names of `metricdp.bench.point_sets.POINT_SETS`, commas between.
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
    **Privacy.** The points are public, so exact costs are told.
    """
    from metricdp.bench import paper1_tables
    from metricdp.bench import ratios as shared
    from metricdp.bench.point_sets import chosen_sets

    start = time.perf_counter()
    wanted, skipped = chosen_sets(sets, SETS)
    budgets = shared.epsilons(epsilons)
    plan = Plan(str(delta), power, seed, records, _methods(methods))
    _check(plan, k, repeats)
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
    return paper1_tables.report(asked, draws, skipped, unfinished, time.perf_counter() - start)


def _methods(text: str | None) -> tuple[str, ...]:
    """Methods that a list names, in the table's order; the one without privacy is always among
    them.
    """
    named = set(METHODS) if text is None else {part.strip() for part in text.split(",")}
    if unknown := sorted(named - set(METHODS)):
        raise InputError(f"methods must be of {', '.join(METHODS)}; got {unknown[0][:40]!r}")
    return tuple(m for m in METHODS if m in named or m == PLAIN)


def _check(plan: Plan, k: Sequence[int], repeats: int) -> None:
    """Refuse bad arguments before anything is made."""
    import metricdp as mdp
    from metricdp.methods.question import NET_POINTS

    mdp.Ledger(1, plan.delta)  # its rules
    if plan.power not in (1, 2):
        raise InputError(f"power must be 1 (k-median) or 2 (k-means), got {plan.power}")
    for name, value in (("repeats", repeats), ("records", plan.records)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    most = min(NET_POINTS, plan.records or NET_POINTS)
    if not k or min(k) < 1 or max(k) > most:
        raise InputError(
            f"k must be numbers from 1 to {most:,}, got {', '.join(map(str, k)) or 'none'}"
        )


class _Bench:
    """Loads sets as they come up, and keeps the last and its reference."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._world: Any = None
        self._reference: tuple[Any, float] | None = None

    def measured(self, cell: Cell) -> Iterator[dict[str, Any]]:
        """One draw a method."""
        from metricdp.bench.paper1_methods import World

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
