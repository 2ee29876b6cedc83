"""Table 1 of "Differentially private clustering via maximum coverage", whose bounds are measured
here: the paper has no experiments.

References
----------
M. Jones, H. L. Nguyen, T. D. Nguyen, AAAI 2021.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.frame.exhibits import Curves, Exhibit, Rows, Scale, add_options, measure_exhibits
from metricdp.bench.p_median import Column, Report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REPEATS = 5
EPSILON, DELTA = "1", "1e-6"
RECORDS = 2_000
PRINTED = "max-coverage, as printed"
GUPTA = "Gupta et al. 2010"
_EPILOG = """\
examples:
  python -m benchmarks paper4 --quick                       small universes, two repetitions
  python -m benchmarks paper4 --middle --plots figures
  python -m benchmarks paper4 --only algorithm1

The paper states bounds and has no experiments. Measured are what its Table 1 bounds: cost over the
best known, and the additive error (cost - best known) in units of the largest distance, as k and n
grow; and how much Algorithm 1 covers beside greedy choice without privacy. Universes are random
points of the plane with 2,000 records in eight hot spots, and mixtures of Gaussians. epsilon = 1,
delta = 1e-6. Noise has no seed: figures vary from run to run."""


def register(suites: Any) -> ArgumentParser:
    """Add the suite to ``python -m benchmarks``."""
    parser: ArgumentParser = suites.add_parser(
        "paper4",
        usage="python -m benchmarks paper4 [--only LIST] [--plots DIR] [option ...]",
        help="clustering by maximum coverage: the paper's table of bounds, measured",
        description="Measure what Table 1 of Jones et al. (AAAI 2021) bounds, beside the methods "
        "that it compares with.",
        epilog=_EPILOG,
    )
    add_options(parser, EXHIBITS, REPEATS)
    parser.set_defaults(measure=measure)
    return parser


def measure(args: Namespace) -> Report:
    """Run the suite as the command line asks."""
    return measure_exhibits("paper4", EXHIBITS, args, REPEATS)


class _Plane(NamedTuple):
    """Random points, and records at some of them."""

    metric: Any
    weights: NDArray[np.float64]
    demand: Any


@lru_cache(maxsize=1)
def _plane(n: int, seed: int) -> _Plane:
    import numpy as np

    import metricdp as mdp
    from benchmarks.sets.graphs import hot_spots

    points = np.random.default_rng([seed, 71]).random((n, 2))
    metric = mdp.EuclideanMetric(points)
    places = hot_spots(metric, RECORDS, seed=seed)
    weights = np.bincount(places, minlength=n).astype(float)
    return _Plane(metric, weights, mdp.PrivateDemand(metric, places))


def _medians_methods() -> dict[str, Any]:
    from benchmarks.methods.printed_coverage import PrintedCoverage
    from metricdp import methods

    return {
        GUPTA: methods.LocalSearch(steps=20, start="random"),
        PRINTED: PrintedCoverage(),
        "max-coverage": "max-coverage",
        "partition": "partition",
    }


def _medians(case: Any, scale: Scale) -> Iterator[dict[str, Any]]:
    """Costs on one universe."""
    import numpy as np

    import metricdp as mdp
    from metricdp.solvers.kmedian import solve

    n, k = case
    metric, weights, demand = _plane(n, scale.seed)
    best = solve(metric, weights, k, seed=scale.seed, starts=5).cost
    far = metric.diameter_bound()
    for name, method in _medians_methods().items():
        costs = []
        for run in range(scale.repeats):
            asked: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "seed": run}
            centers = mdp.k_median(metric, demand, k, method=method, **asked).centers
            costs.append(float(weights @ metric.nearest(centers)[1]))
        yield _row(n, k, name, costs, best) | {"additive": (float(np.mean(costs)) - best) / far}


def _row(n: int, k: int, method: str, costs: list[float], best: float) -> dict[str, Any]:
    import numpy as np

    ratios = [cost / best for cost in costs]
    row = {"n": n, "k": k, "method": method, "reference": best, "costs": costs}
    return row | {"ratio": float(np.mean(ratios)), "worst": max(ratios)}


def _growth(rows: Rows) -> Iterator[str]:
    """Exponent of k in the additive error, at the largest n."""
    import numpy as np

    largest = max(row["n"] for row in rows)
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        some = [(row["k"], row["additive"]) for row in mine if row["n"] == largest]
        some = [(k, extra) for k, extra in some if extra > 0]
        worst = max(row["ratio"] for row in mine)
        reported = f"{method}: cost at most {worst:.2f} times the best known"
        if len(some) > 2:
            logs = np.log(np.array(some))
            slope = np.polyfit(logs[:, 0], logs[:, 1], 1)[0]
            reported += f"; additive error grows as k^{slope:.1f} at n = {largest:,}"
        yield reported


class _Box(NamedTuple):
    points: NDArray[np.float64]
    space: Any
    demand: Any


@lru_cache(maxsize=1)
def _box(d: int, n: int, seed: int) -> _Box:
    import metricdp as mdp
    from benchmarks.sets.point_sets import gaussian_mixture

    points = gaussian_mixture(n, d, 8, 0.05, 7 + seed)
    space = mdp.EuclideanSpace([-1] * d, [1] * d)
    return _Box(points, space, mdp.PrivateDemand(space, points))


def _means_methods() -> dict[str, Any]:
    from benchmarks.methods.balcan import Balcan
    from benchmarks.methods.printed_coreset import PrintedCoreset
    from benchmarks.methods.printed_coverage import PrintedCoverage

    return {
        "Feldman et al. 2017": PrintedCoreset(),
        "Balcan et al. 2017": Balcan(radius=1.0),
        PRINTED: PrintedCoverage(),
        "max-coverage": "max-coverage",
        "partition": "partition",
    }


def _means(case: Any, scale: Scale) -> Iterator[dict[str, Any]]:
    """Costs in one box."""
    import numpy as np

    import metricdp as mdp
    from benchmarks.frame.costs import best_known, cost

    d, n, k = case
    points, space, demand = _box(d, n, scale.seed)
    best = cost(points, best_known(points, k, 2, scale.seed, 4), 2)
    for name, method in _means_methods().items():
        asked: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "method": method}
        costs = [
            cost(points, mdp.k_means(space, demand, k, seed=run, **asked).centers, 2)
            for run in range(scale.repeats)
        ]
        yield _row(n, k, name, costs, best) | {"d": d, "additive": float(np.mean(costs)) - best}


def _ratios(rows: Rows) -> Iterator[str]:
    import numpy as np

    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row["ratio"] for row in rows if row["method"] == method]
        reported = f"{method}: mean ratio {np.mean(mine):.2f}"
        yield f"{reported}, largest {max(mine):.2f}, of {len(mine)} cells"


def _covered(case: Any, scale: Scale) -> Iterator[dict[str, Any]]:
    """Records that m selected balls cover, beside greedy choice without privacy."""
    import numpy as np

    import metricdp as mdp
    from benchmarks.methods.printed_coverage import printed_part
    from metricdp.accounting import Cost

    n, m, radius = case
    metric, weights, demand = _plane(n, scale.seed)
    inside = np.stack([row <= radius for row in metric.distance_rows(np.arange(n))])
    greedy = _greedily(inside, weights, m)
    total = weights.sum()
    price = Cost.of(EPSILON, DELTA)
    printed = price.epsilon * printed_part(price, m, "add-remove", 1)
    for name, epsilon in (("as printed", printed), ("exact exponent", EPSILON)):
        found = []
        for _ in range(scale.repeats):
            sets = [np.flatnonzero(row).tolist() for row in inside]  # ids are numbers
            asked: dict[str, Any] = {"epsilon": epsilon, "delta": DELTA}
            chosen = mdp.max_coverage(sets, demand, m, **asked).sets
            found.append(float(weights[inside[list(chosen)].any(axis=0)].sum()))
        row = {"n": n, "m": m, "radius": radius, "method": name, "covered": found}
        row |= {"share": float(np.mean(found)) / total, "greedy": greedy / total}
        yield row | {"ratio": float(np.mean(found)) / greedy}


def _greedily(inside: NDArray[np.bool_], weights: NDArray[np.float64], m: int) -> float:
    """Records that m balls cover, each the best of what is left."""
    import numpy as np

    left = weights.copy()
    for _ in range(m):
        left[inside[int(np.argmax(inside @ left))]] = 0
    return float(weights.sum() - left.sum())


def _coverage(rows: Rows) -> Iterator[str]:
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row["ratio"] for row in rows if row["method"] == method]
        yield f"{method}: {min(mine):.3f} to {max(mine):.3f} of what greedy choice covers"


def _forty(scale: Scale) -> list[Any]:
    sizes = scale.choose((300,), (500, 1_000, 2_000), (500, 1_000, 2_000, 4_000, 8_000))
    ks = scale.choose((5, 20), (5, 10, 20, 40), (5, 10, 20, 40))
    return [(n, k) for n in sizes for k in ks]


def _boxes(scale: Scale) -> list[Any]:
    n = scale.choose(4_000, 50_000, 100_000)
    ds = scale.choose((2,), (2, 4, 10), (2, 4, 10))
    return [(d, n, k) for d in ds for k in scale.choose((8,), (8, 20), (8, 20))]


def _loops(scale: Scale) -> list[Any]:
    n = scale.choose(200, 1_000, 2_000)
    return [(n, m, r) for m in scale.choose((4,), (4, 8, 16), (4, 8, 16, 32)) for r in (0.05, 0.1)]


_COSTS = (
    Column("n", "n", ",d"),
    Column("k", "k", "d"),
    Column("method", "method"),
    Column("ratio", "cost / best", ".3f"),
    Column("worst", "worst", ".3f"),
    Column("additive", "additive error", ".1f"),
)

EXHIBITS = (
    Exhibit(
        "table1-k-medians",
        "Table 1, k-medians. Cost over the best known; additive error in largest distances",
        "Gupta et al. and Kaplan & Stemmer: O(1) times the best and O(k log n)² or O(k log n)^1.5 "
        "largest distances more; the paper's: O(1) and O(k log n).",
        "Constants that bounds hide are what is seen here. Gupta et al. with 20 steps, since each "
        "of their 6 k log n would have a hundredth of epsilon; eta = 1/2 as printed. The method "
        "of Kaplan & Stemmer is not built for finite universes.",
        _COSTS,
        _forty,
        _medians,
        _growth,
        Curves("k", "ratio", "method", "n", "x"),
    ),
    Exhibit(
        "table1-k-means",
        "Table 1, Euclidean k-means. Cost over the best known; additive error in squared length",
        "O(k log n) times the best for Feldman et al. 2017, O(log³ n) for Balcan et al. 2017, O(1) "
        "for Kaplan & Stemmer and for the paper's, with additive errors of k² + d, and k + √d, up "
        "to logarithms.",
        "The candidates of Kaplan & Stemmer are the paper's own first step (Section 5). Mixtures "
        "of eight Gaussians: clusters that all methods can find.",
        (Column("d", "d", "d"), *_COSTS[:-1], Column("additive", "additive error", ".1f")),
        _boxes,
        _means,
        _ratios,
        Curves("k", "ratio", "method", "d", "y"),
    ),
    Exhibit(
        "algorithm1",
        "Algorithm 1. Records covered by m balls, beside greedy choice without privacy",
        "at least (1 - 1/e) of the best, less O(m log(n) log(1/delta)) records; exponent "
        "epsilon / (2 ln(e/delta)).",
        "Here the exponent is the largest that the exact bound of the loop allows: a few times the "
        "printed one.",
        (
            Column("n", "balls", ",d"),
            Column("m", "m", "d"),
            Column("radius", "radius", "g"),
            Column("method", "exponent"),
            Column("share", "covered", ".3f"),
            Column("greedy", "greedy", ".3f"),
            Column("ratio", "of greedy", ".3f"),
        ),
        _loops,
        _covered,
        _coverage,
    ),
)
"""Table 1, and the algorithm that all of it rests on."""
