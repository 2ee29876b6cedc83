"""Private k-means of points in a box, of this package and of others, in one table: costs and times
over scikit-learn's.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.frame import options
from benchmarks.frame.tables import RatioReport, gathered_rows, timed
from benchmarks.paper1 import World
from benchmarks.sets.point_sets import POINT_SETS, chosen_sets
from metricdp.bench.p_median import Report, gathered
from metricdp.errors import InputError, MissingExtraError

SETS = ("gm", "gw", "digits")
EPSILONS = "0.25,0.5,1,2"
DELTA = "1e-6"
REPEATS = 5
QUICK = {"sets": "gm-d2-k8", "repeats": 2, "records": 20_000, "epsilons": "1"}
PLAIN = "sklearn"
DEFAULT = "partition"
OWN = (DEFAULT, "quadtree", "lsh", "lloyd", "k-variates", "balcan")
PEERS = {
    "google": "google's LSH coreset (differential-privacy, learning/clustering; not on PyPI)",
    "diffprivlib": "IBM's diffprivlib (does not import with scikit-learn 1.9; does with 1.5)",
}
ELSEWHERE = {
    "OpenDP's k-means": "no released version has it",
    "PE-means, FastLloyd, DPM, EMMC": "research scripts, on no package index",
}
RUNNER = Path(__file__).with_name("peer_runner.py")
TIMEOUT = 1800.0
"""Seconds that a peer may take for one fit."""

DEFAULTS = {
    "sets": ",".join(SETS),
    "repeats": REPEATS,
    "epsilons": EPSILONS,
    "delta": DELTA,
    "records": "all",
    "methods": ",".join((*OWN, *PEERS)),
}
_EPILOG = """\
examples:
  python -m benchmarks peers --quick                          a small mixture, two repetitions
  python -m benchmarks peers --peer-python ~/peers/bin/python with the peers of that Python
  METRICDP_DATA=data python -m benchmarks peers --sets s1,skin,shuttle --epsilons 1

A Python for peers, apart from this one: python3.11 -m venv peers; peers/bin/pip install
diffprivlib "scikit-learn<1.6". google's code is used if that Python imports it as "clustering"
(PYTHONPATH=…/differential-privacy/learning).

sklearn is KMeans(n_init="auto"), not private: the unit of time. All costs are over the best of
ten runs of KMeans. All are given the same public bounds, and those that take a radius the same
radius. lsh, lloyd, k-variates and balcan are this package's versions of what others do. Noise has
no seed: figures vary from run to run."""


@dataclass(frozen=True)
class Cell:
    """One repetition of one set and epsilon."""

    name: str
    epsilon: str
    repeat: int


@dataclass(frozen=True)
class Plan:
    """What is measured; see `run` for the fields."""

    delta: str
    seed: int
    records: int | None
    methods: tuple[str, ...]
    python: str


def register(suites: Any) -> ArgumentParser:
    """Add the suite to ``python -m benchmarks``."""
    parser: ArgumentParser = suites.add_parser(
        "peers",
        usage="python -m benchmarks peers [--sets LIST] [--peer-python PATH] [option ...]",
        help="private k-means of points in a box, beside other packages",
        description="Costs and times of private k-means over scikit-learn's, of this package "
        "and of those that are installed.",
        epilog=_EPILOG,
    )
    options.add_options(parser, DEFAULTS, plots=False)
    parser.add_argument(
        "--peer-python",
        metavar="PATH",
        help="the Python that runs other packages (default: this one)",
    )
    parser.set_defaults(measure=measure)
    return parser


def measure(args: Namespace) -> Report:
    """Run the suite as the command line asks."""
    chosen = options.given(args, DEFAULTS, QUICK)
    return run(**chosen, peer_python=args.peer_python, seed=args.seed)


def run(
    sets: str | None = None,
    *,
    repeats: int = REPEATS,
    epsilons: str = EPSILONS,
    delta: Any = DELTA,
    records: int | None = None,
    methods: str | None = None,
    peer_python: str | None = None,
    seed: int = 0,
) -> Report:
    """Measure this package's methods and those of other packages that can be imported.

    Parameters
    ----------
    sets : str, optional
        Names of `benchmarks.sets.point_sets.POINT_SETS`, commas between; k is the set's.
    repeats : int
    epsilons : str
        Commas between.
    delta : int, float, str, Decimal or Fraction
    records : int, optional
    methods : str, optional
        Of `OWN` and `PEERS`, commas between.
    peer_python : str, optional
        Path of the Python that runs other packages; this one by default.
    seed : int
        Public coins. Noise is never seeded.

    Returns
    -------
    Report
        A row a set, epsilon and method. Peers that are not there have rows that say so.

    Raises
    ------
    InputError
        A bad argument, or nothing to measure.
    MissingExtraError
        scikit-learn is not installed.
    """
    start = time.perf_counter()
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtraError("python -m benchmarks peers", "sklearn") from None
    wanted, skipped = chosen_sets(sets, SETS)
    budgets = options.epsilons(epsilons)
    plan = Plan(
        str(delta),
        seed,
        records,
        (PLAIN, *options.named(methods, (*OWN, *PEERS), "methods")),
        peer_python or sys.executable,
    )
    _check(plan, repeats)
    there = {
        name: found
        for name, found in _asked(plan.python, {"peer": None}).items()
        if name in plan.methods
    }
    cells = [Cell(name, e, i) for name in wanted for e in budgets for i in range(repeats)]
    draws, unfinished = gathered(_Bench(plan, there).measured, cells, label="peers", unit="cell")
    asked = {
        "sets": wanted,
        "repeats": repeats,
        "epsilons": budgets,
        "delta": plan.delta,
        "records": records,
    }
    asked |= {"methods": list(plan.methods), "seed": seed, "peers": there}
    return _report(asked, draws, there, skipped, unfinished, time.perf_counter() - start)


def _check(plan: Plan, repeats: int) -> None:
    """Refuse bad arguments before anything is made."""
    import metricdp as mdp

    mdp.Ledger(1, plan.delta)  # its rules
    options.check_numbers(repeats=repeats, records=plan.records)
    if not Path(plan.python).is_file():
        raise InputError(f"--peer-python {plan.python} is no file")


def _asked(python: str, request: dict[str, Any]) -> dict[str, Any]:
    """What the runner answers in another Python.

    Raises
    ------
    InputError
        It does not answer at all.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "request.json"
        path.write_text(json.dumps(request))
        try:
            ran = subprocess.run(
                [python, str(RUNNER), str(path)], capture_output=True, text=True, timeout=TIMEOUT
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"no answer in {TIMEOUT:.0f} s"}
        except OSError:
            ran = None
    lines = [] if ran is None else ran.stdout.strip().splitlines()
    if not lines or not lines[-1].startswith("{"):
        raise InputError(f"{python} cannot run {RUNNER.name}: is it a Python with numpy?")
    reported: dict[str, Any] = json.loads(lines[-1])
    return reported


class _Bench:
    """Loads sets as they come up, and keeps the last, its file for peers and its reference."""

    def __init__(self, plan: Plan, there: dict[str, Any]) -> None:
        self._plan = plan
        self._there = there
        self._world: Any = None
        self._reference = 0.0
        self._folder: Any = None

    def measured(self, cell: Cell) -> Iterator[dict[str, Any]]:
        """One draw a method; none of a peer that is not there, and of one that fails, why."""
        k = POINT_SETS[cell.name].k
        if self._world is None or self._world.name != cell.name:
            self._load(cell.name, k)
        place = {
            "setting": f"{cell.name}/{cell.epsilon}",
            "k": k,
            "repeat": cell.repeat,
            "reference": self._reference,
        }
        for method in self._plan.methods:
            if method in PEERS and not self._there[method]["there"]:
                continue
            found = self._answered(method, cell, k)
            if "failed" in found:
                yield {**place, "method": method, "seconds": 0.0, "failed": found["failed"]}
            else:
                yield {
                    **place,
                    "method": method,
                    "seconds": found["seconds"],
                    "final": self._world.cost(found["centers"], 2),
                }

    def _load(self, name: str, k: int) -> None:
        import numpy as np
        from sklearn.cluster import KMeans

        self._world = None
        world = World.of(name, self._plan.records, self._plan.seed)
        self._folder = tempfile.TemporaryDirectory()
        np.save(Path(self._folder.name) / "points.npy", world.points)
        self._reference = float(
            KMeans(k, n_init=10, random_state=self._plan.seed).fit(world.points).inertia_
        )
        self._world = world

    def _answered(self, method: str, cell: Cell, k: int) -> dict[str, Any]:
        import numpy as np

        import metricdp as mdp

        world = self._world
        plan = self._plan
        coins = 1000 * plan.seed + cell.repeat
        if method in PEERS:
            radius = world.radius or world.space.diameter_bound() / 2
            asked = {
                "peer": method,
                "points": str(Path(self._folder.name) / "points.npy"),
                "k": k,
                "epsilon": _number(cell.epsilon),
            }
            asked |= {
                "delta": _number(plan.delta),
                "low": float(world.space.lower[0]),
                "high": float(world.space.upper[0]),
            }
            reported = _asked(plan.python, {**asked, "radius": radius})
            return (
                reported
                if "failed" in reported
                else {**reported, "centers": np.array(reported["centers"])}
            )
        start = time.process_time()
        if method == PLAIN:
            from sklearn.cluster import KMeans

            centers = (
                KMeans(k, n_init="auto", random_state=coins).fit(world.points).cluster_centers_
            )
        else:
            named = world.method(method)
            centers = mdp.k_means(
                world.space,
                world.demand,
                k,
                epsilon=cell.epsilon,
                delta=plan.delta,
                method=named,
                seed=coins,
            ).centers
        return {"centers": centers, "seconds": time.process_time() - start}


def _number(text: str) -> float:
    from metricdp.accounting import exact

    return float(exact(text))


def _report(
    settings: dict[str, Any],
    draws: list[dict[str, Any]],
    there: dict[str, Any],
    skipped: list[str],
    unfinished: str,
    seconds: float,
) -> Report:
    failed = {(d["method"], d["setting"]): d["failed"] for d in draws if "failed" in d}
    rows = gathered_rows(draw for draw in draws if "failed" not in draw)
    timed(rows, PLAIN)
    places = list(dict.fromkeys((row["setting"], row["k"]) for row in rows))
    for name, found in there.items():
        for setting, k in places if not found["there"] else []:
            rows.append(
                {
                    "setting": setting,
                    "k": k,
                    "method": name,
                    "ratios": {},
                    "seconds": [],
                    "absent": found["reason"],
                }
            )
    heading = (
        "k-means cost over the best of ten runs of scikit-learn's KMeans: mean ± standard error "
        "over repetitions. Settings are "
    )
    summary: dict[str, Any] = {
        "heading": f"{heading}SET/EPSILON.",
        "times": "CPU time of one fit over that of KMeans(n_init='auto'):",
    }
    summary |= {"peers": there, "skipped": skipped, "total_seconds": seconds}
    lines = [f"{PEERS[name]}: {_state(found)}" for name, found in there.items()]
    lines += [f"{name}: absent, {reason}" for name, reason in ELSEWHERE.items()]
    lines += [
        f"{method} failed on {setting}: {reason}" for (method, setting), reason in failed.items()
    ]
    lines += [
        *skipped,
        f"time: {seconds:.0f} s in all; the points are public, so exact costs may be reported",
    ]
    return RatioReport("peers", settings, (), rows, summary, lines, unfinished)


def _state(found: dict[str, Any]) -> str:
    return (
        f"present {found['version']}".strip() if found["there"] else f"absent ({found['reason']})"
    )
