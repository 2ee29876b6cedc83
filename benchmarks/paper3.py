"""Figures 3 to 7 and Table 2 of "Coresets for differentially private k-means clustering and
applications to privacy in mobile sensor networks".

References
----------
D. Feldman, C. Xiang, R. Zhu, D. Rus, IPSN 2017, Section 5.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from benchmarks.frame.exhibits import Curves, Exhibit, Rows, Scale, add_options, measure_exhibits
from metricdp.bench.p_median import Column, Report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REPEATS = 10
DELTA = "1/1000000"
GRID_SIDE = 128
TABLE2 = {100_000: (0.02, 0.8, 3.5), 500_000: (0.01, 0.3, 1.0), 1_000_000: (0.007, 0.15, 0.6)}
"""The least epsilon with which the paper's program ran, for k = 1, 5, 10."""
OURS = "default"
PRINTED = "published"
STOC = "exponential grid"
_EPILOG = """\
examples:
  python -m benchmarks paper3 --quick                       made-up pick-ups: a look
  METRICDP_DATA=data python -m benchmarks paper3 --middle --plots figures
  METRICDP_DATA=data python -m benchmarks paper3 --only figure7

Pick-ups are demand/deckgl_uber_pickup_nyc.json.gz of the folder METRICDP_DATA, those in the paper's
box, drawn with replacement and jittered to n records; without it, a made-up mixture. "published" is
the paper's Algorithm 1 (radii by an exponential mechanism), "default" this package's
method="coreset". Neighbors are replace-one, delta is 1e-6 for the published rounds. Errors are
(cost - best known) / best known, squared distances. Noise has no seed: figures vary."""

_DATA = (
    "Data are Uber pick-ups of the same city drawn with replacement, not the taxi trips of January "
    "2015, which are not at hand."
)


def register(suites: Any) -> ArgumentParser:
    """Add the suite to ``python -m benchmarks``."""
    parser: ArgumentParser = suites.add_parser(
        "paper3",
        usage="python -m benchmarks paper3 [--only LIST] [--plots DIR] [option ...]",
        help="private coresets of pick-ups: the paper's figures",
        description="Reproduce Figures 3 to 7 and Table 2 of Feldman et al. (IPSN 2017), the "
        "package's coreset beside the paper's.",
        epilog=_EPILOG,
    )
    add_options(parser, EXHIBITS, REPEATS)
    parser.set_defaults(measure=measure)
    return parser


def measure(args: Namespace) -> Report:
    """Run the suite as the command line asks."""
    return measure_exhibits("paper3", EXHIBITS, args, REPEATS)


class _World:
    """Records of one size, public and behind the gate, and costs of the best known centers."""

    def __init__(self, points: NDArray[np.float64]) -> None:
        import metricdp as mdp

        d = points.shape[1]
        self.points = points
        self.space = mdp.EuclideanSpace([0] * d, [1] * d)
        self.demand = mdp.PrivateDemand(self.space, points)
        self._best: dict[int, float] = {}

    def cost(self, centers: NDArray[np.float64]) -> float:
        """Sum of squared distances, exact: the records are public here."""
        from benchmarks.frame.costs import cost

        return cost(self.points, centers, 2)

    def best(self, k: int) -> float:
        """k-means without privacy: the best of eight starts on 100,000 records, improved on all."""
        import numpy as np

        from metricdp.solvers.lloyd import converged, lloyd

        if k not in self._best:
            sample = self.points[:100_000]
            start = lloyd(sample, np.ones(len(sample)), k, starts=8, seed=1)
            self._best[k] = self.cost(converged(self.points, np.ones(len(self.points)), start))
        return self._best[k]

    def error(self, centers: NDArray[np.float64], k: int) -> float:
        """Relative to the best known, which a private answer may undercut by a little."""
        return self.cost(centers) / self.best(k) - 1

    def answered(self, name: str, k: int, epsilon: Any) -> tuple[NDArray[np.float64], int, float]:
        """Centers, points of the coreset, and CPU seconds of one private answer."""
        import numpy as np

        import metricdp as mdp
        from benchmarks.methods.printed_coreset import PrintedCoreset

        ledger = mdp.Ledger(epsilon, DELTA, neighboring="replace-one")
        start = time.process_time()
        if name == STOC:
            from benchmarks.sets.exponential_grid import coreset
            from metricdp.solvers.lloyd import lloyd

            points, weights = coreset(self.space, self.demand, k, epsilon, ledger)
            centers = lloyd(points, np.maximum(weights, 0), k, starts=8)
            return centers, len(points), time.process_time() - start
        published = name.startswith(PRINTED)
        cells = GRID_SIDE**2 if "128" in name else None
        chunk = 10_000 if "chunks" in name else None
        result = mdp.k_means(
            self.space,
            self.demand,
            k,
            epsilon=epsilon,
            delta=DELTA if published and chunk is None else 0,
            ledger=ledger,
            method=PrintedCoreset(cells=cells, chunk=chunk) if published else "coreset",
        )
        spent = time.process_time() - start
        if name == f"{OURS}, small":
            small = result.release.coreset(k)
            return result.release.k_means(k=k).centers, len(small.weights), spent
        return result.centers, len(result.release.coreset().weights), spent


@lru_cache(maxsize=1)
def _world(n: int, dimensions: int, made_up: bool) -> _World:
    from benchmarks.sets.point_sets import pickups, trips

    return _World((pickups if dimensions == 2 else trips)(n, made_up=made_up))


def _of(n: int, scale: Scale, dimensions: int = 2) -> _World:
    return _world(n, dimensions, scale.size == "quick")


def _times(case: Any, scale: Scale) -> Iterator[dict[str, Any]]:
    """Least CPU seconds of some calls: of what is the same work, the rest is the machine's."""
    n, k, dimensions, epsilon = case
    world = _of(n, scale, dimensions)
    methods = (PRINTED, OURS) if dimensions == 2 else (f"{PRINTED}, chunks", OURS)
    for name in methods:
        spent = [world.answered(name, k, epsilon)[2] for _ in range(min(scale.repeats, 3))]
        curve = f"{name}, k = {k}"
        yield {"n": n, "k": k, "method": name, "curve": curve, "seconds": min(spent)}


def _growth(rows: Rows) -> Iterator[str]:
    """Exponent of n for each curve."""
    import numpy as np

    for curve in dict.fromkeys(row["curve"] for row in rows):
        some = [(row["n"], row["seconds"]) for row in rows if row["curve"] == curve]
        if len({n for n, _ in some}) > 1:
            n, seconds = np.log(np.array(some, dtype=float)).T
            slope = np.polyfit(n, seconds, 1)[0]
            most = max(some)
            yield f"{curve}: seconds grow as n^{slope:.2f}; {most[1]:.2f} s at n = {most[0]:,}"


def _errors(case: Any, scale: Scale) -> Iterator[dict[str, Any]]:
    import numpy as np

    n, k, epsilon, methods, *rest = case
    world = _of(n, scale)
    for name in methods:
        found = [world.answered(name, k, epsilon) for _ in range(scale.repeats)]
        errors = [world.error(centers, k) for centers, _, _ in found]
        row = {"n": n, "k": k, "epsilon": epsilon, "method": name, "curve": f"{name}, n = {n:,}"}
        row |= {"error": float(np.mean(errors)), "worst": max(errors), "errors": errors}
        row["points"] = int(np.median([size for _, size, _ in found]))
        if rest:
            row["least"] = rest[0]
        yield row


def _falls(rows: Rows) -> Iterator[str]:
    """How often more budget or more records mean less error."""
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        pairs = [
            (a["error"], b["error"])
            for a in mine
            for b in mine
            if (a["n"], a["k"]) == (b["n"], b["k"]) and a["epsilon"] < b["epsilon"]
        ]
        if pairs:
            fell = sum(b <= a for a, b in pairs)
            sizes = [row["points"] for row in mine]
            yield (
                f"{method}: error falls with epsilon in {fell} of {len(pairs)} pairs; coresets of "
                f"{min(sizes):,} to {max(sizes):,} points"
            )


def _rises(rows: Rows) -> Iterator[str]:
    """Error of the largest k over that of the smallest."""
    for curve in dict.fromkeys(row["curve"] for row in rows):
        mine = sorted((row["k"], row["error"]) for row in rows if row["curve"] == curve)
        (few, low), (many, high) = mine[0], mine[-1]
        yield f"{curve}: {low:.4f} at k = {few}, {high:.4f} at k = {many}"


def _compared(rows: Rows) -> Iterator[str]:
    """The other coreset's error and size over the published rounds'."""
    for n in sorted({row["n"] for row in rows}):
        by = {row["method"]: row for row in rows if row["n"] == n}
        if STOC in by and PRINTED in by:
            larger = by[STOC]["points"] / by[PRINTED]["points"]
            yield (
                f"n = {n:,}: {STOC} {larger:.0f} times the points of {PRINTED}, error "
                f"{by[STOC]['error']:.4f} against {by[PRINTED]['error']:.4f} and "
                f"{by[OURS]['error']:.4f} by default"
            )


def _feasible(rows: Rows) -> Iterator[str]:
    ran = {(row["n"], row["k"]) for row in rows}
    yield f"all {len(ran)} of the paper's limits run"


def _sizes(scale: Scale) -> tuple[int, ...]:
    return scale.choose((4_000, 16_000), (25_000, 100_000, 400_000), (125_000, 500_000, 1_000_000))


def _thirty(scale: Scale) -> Iterable[Any]:
    return [(n, k, 2, "0.8") for n in _sizes(scale) for k in (1, 5)]


def _forty(scale: Scale) -> Iterable[Any]:
    sizes = scale.choose(
        (4_000, 16_000), (20_000, 40_000, 80_000), (40_000, 80_000, 160_000, 320_000)
    )
    return [(n, k, 4, "1") for n in sizes for k in (1, 5)]


def _fifty(scale: Scale) -> Iterable[Any]:
    sizes = scale.choose((20_000,), (100_000,), (100_000, 500_000, 1_000_000))
    budgets = scale.choose(("0.5", "2"), ("0.1", "0.5", "2"), ("0.1", "0.2", "0.5", "1", "2"))
    ks = scale.choose((5,), (1, 5, 10), (1, 5, 10))
    methods = (PRINTED, OURS)
    return [(n, k, float(e), methods) for n in sizes for k in ks for e in budgets]


def _table(scale: Scale) -> Iterable[Any]:
    sizes = scale.choose((100_000,), (100_000, 500_000), tuple(TABLE2))
    return [
        (n, k, least, (PRINTED, OURS), least)
        for n in sizes
        for k, least in zip((1, 5, 10), TABLE2[n])
    ]


def _sixty(scale: Scale) -> Iterable[Any]:
    n = scale.choose(20_000, 400_000, 1_000_000)
    ks = scale.choose((1, 10), (1, 2, 5, 10, 20), (1, 2, 3, 5, 10, 15, 20))
    return [(n, k, e, (PRINTED, OURS)) for k in ks for e in (0.5, 2.0)]


def _seventy(scale: Scale) -> Iterable[Any]:
    return [(n, 5, 0.5, (STOC, PRINTED, OURS)) for n in _sizes(scale)]


_SECONDS = (
    Column("n", "n", ",d"),
    Column("k", "k", "d"),
    Column("method", "method"),
    Column("seconds", "CPU seconds", ".3f"),
)
_ERROR = (
    Column("n", "n", ",d"),
    Column("k", "k", "d"),
    Column("epsilon", "epsilon", "g"),
    Column("method", "method"),
    Column("error", "error", ".4f"),
    Column("worst", "worst", ".4f"),
    Column("points", "points", ",d"),
)

EXHIBITS = (
    Exhibit(
        "figure3",
        "Figure 3. Running time against n, two dimensions, epsilon = 0.8",
        "seconds grow as n^1.6 (k = 1) and n^1.7 (k = 5), in steps where the grid doubles; 10^6 "
        "records in about 40 s on twelve cores.",
        f"{_DATA} One core. A selection looks at the centers of a public lattice by a summed-area "
        "table, not at every record: growth is that of the grid.",
        _SECONDS,
        lambda scale: list(_thirty(scale)),
        _times,
        _growth,
        Curves("n", "seconds", "curve"),
    ),
    Exhibit(
        "figure4",
        "Figure 4. Running time against n, four dimensions, epsilon = 1",
        "about linear on a log-log plot; k = 1 as in two dimensions. Records are divided into "
        "chunks of 10,000, whose outputs are united.",
        "Drop-offs are not at hand: a record is a pick-up beside another, independent one. The "
        "default has no chunks and needs none.",
        _SECONDS,
        lambda scale: list(_forty(scale)),
        _times,
        _growth,
        Curves("n", "seconds", "curve"),
    ),
    Exhibit(
        "figure5",
        "Figure 5. Error and points of the coreset against epsilon",
        "error falls as epsilon or n grows (not everywhere at k = 1, where coresets have fewer "
        "than ten points); points grow with n, k and epsilon. Printed as curves without numbers.",
        f"{_DATA} Rounds end at 3 % of the records in place of a threshold by epsilon, so points "
        "hardly depend on it. The default counts cells once and keeps thousands of points.",
        _ERROR,
        lambda scale: list(_fifty(scale)),
        _errors,
        _falls,
        Curves("epsilon", "error", "method", "k", "xy"),
    ),
    Exhibit(
        "table2",
        "Table 2. The least epsilon with which the program runs",
        "; ".join(
            f"n = {n:,}: {', '.join(f'k = {k}: {e:g}' for k, e in zip((1, 5, 10), least))}"
            for n, least in TABLE2.items()
        )
        + ".",
        "RecConcave, for whose promise the paper's program stops, is an exponential mechanism "
        "here, which any epsilon will do for: errors at the paper's limits.",
        _ERROR,
        lambda scale: list(_table(scale)),
        _errors,
        _feasible,
    ),
    Exhibit(
        "figure6",
        "Figure 6. Error against k",
        "error grows with k, faster for the smaller epsilon (n = 10^6); curves without numbers.",
        _DATA,
        _ERROR,
        lambda scale: list(_sixty(scale)),
        _errors,
        lambda rows: _rises(
            [{**r, "curve": f"{r['method']}, epsilon {r['epsilon']:g}"} for r in rows]
        ),
        Curves("k", "error", "method", "epsilon", "y"),
    ),
    Exhibit(
        "figure7",
        "Figure 7. Beside the private coreset of Feldman et al. (STOC 2009), k = 5, epsilon = 0.5",
        "the other coreset has 20 to 40 times the points, some of negative weight, and a clearly "
        "larger error at every n; curves without numbers.",
        "The program compared with was never published. Here: rough centers with half of epsilon "
        "(this package's, better than theirs), cells of exponential grids around them counted with "
        "the other half, negative counts as 0 when centers are sought. It asks two "
        "questions of the records where the rounds ask ninety.",
        _ERROR,
        lambda scale: list(_seventy(scale)),
        _errors,
        _compared,
        Curves("n", "error", "method"),
    ),
)
"""What the paper shows but for Figures 1 and 2 (drawings), and 8 (screenshots of its application:
`metricdp explore` makes such a page)."""
