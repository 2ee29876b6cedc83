"""Figure 1 of "Locally private k-means in one round".

References
----------
A. Chang, B. Ghazi, R. Kumar, P. Manurangsi, ICML 2021, Section 5.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from benchmarks.frame.exhibits import Curves, Exhibit, Rows, Scale, add_options, measure_exhibits
from metricdp.bench.p_median import Column, Report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REPEATS = 10
DIMENSION = 100
SEPARATION = 100.0
OURS = "one report a user"
PRINTED = "two, half of epsilon each"
_EPILOG = """\
examples:
  python -m benchmarks paper5 --quick                       two sizes, two repetitions
  python -m benchmarks paper5 --middle --plots figures
  python -m benchmarks paper5 --only figure1-n --repeats 3

Mixtures of k Gaussians in 100 dimensions, centers on the sphere of radius 1 - 1/r, noise of
expected length 1/r, r = 100; figures are the k-means objective over n, which is about 1 for the
origin alone. Every user sends one message, made of public coins and its own; the reports are drawn
by their distribution (benchmarks.methods.printed_local), which tests hold against the device's
encoder. "two, half of epsilon each" is as the paper prints: every user reports its leaf and its
vector. "one report a user" is this package's default: one of the two, with all of epsilon."""


def register(suites: Any) -> ArgumentParser:
    """Add the suite to ``python -m benchmarks``."""
    parser: ArgumentParser = suites.add_parser(
        "paper5",
        usage="python -m benchmarks paper5 [--only LIST] [--plots DIR] [option ...]",
        help="k-means from one message a user: the paper's figure",
        description="Reproduce Figure 1 of Chang et al. (ICML 2021): the normalized k-means "
        "objective as n, epsilon and k vary.",
        epilog=_EPILOG,
    )
    add_options(parser, EXHIBITS, REPEATS)
    parser.set_defaults(measure=measure)
    return parser


def measure(args: Namespace) -> Report:
    """Run the suite as the command line asks."""
    return measure_exhibits("paper5", EXHIBITS, args, REPEATS)


def separated(n: int, d: int, k: int, r: float, seed: int) -> NDArray[np.float64]:
    """The paper's data, shape (n, d): k centers on the sphere of radius 1 - 1/r, Gaussian noise of
    expected length 1/r, moved into the unit ball.

    Examples
    --------
    >>> import numpy as np
    >>> points = separated(1000, 5, 2, 100.0, seed=0)
    >>> bool((np.linalg.norm(points, axis=1) <= 1 + 1e-12).all())
    True
    """
    import numpy as np

    rng = np.random.default_rng([seed, 1])  # a stream of its own: the solver has other coins
    centers = rng.normal(size=(k, d))
    centers *= (1 - 1 / r) / np.linalg.norm(centers, axis=1, keepdims=True)
    points = centers[np.arange(n) % k] + rng.normal(size=(n, d)) / (r * np.sqrt(d))
    return points / np.maximum(1, np.linalg.norm(points, axis=1))[:, None]


def objective(points: NDArray[np.float64], centers: NDArray[np.float64]) -> float:
    """k-means objective over n.

    Examples
    --------
    >>> import numpy as np
    >>> objective(np.array([[0.0], [2.0]]), np.array([[0.0]]))
    2.0
    """
    from benchmarks.frame.costs import cost

    return cost(points, centers, 2) / len(points)


def _measured(case: Any, scale: Scale) -> Iterator[dict[str, Any]]:
    """One row a way of reporting: mean and standard deviation over repetitions, each with its own
    data, coins and noise.
    """
    import numpy as np

    n, k, epsilon = case
    found: dict[str, list[float]] = {OURS: [], PRINTED: []}
    for run in range(scale.repeats):
        points = separated(n, DIMENSION, k, SEPARATION, 1000 * scale.seed + run)
        for name, split in ((OURS, "users"), (PRINTED, "budget")):
            found[name].append(_objective_of(points, k, epsilon, split, run))
    for name, values in found.items():
        row = {"n": n, "k": k, "epsilon": float(epsilon), "method": name, "values": values}
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        row |= {"objective": float(np.mean(values)), "deviation": spread}
        yield row | {"curve": f"{name}, epsilon {epsilon}"}


def _objective_of(points: NDArray[np.float64], k: int, epsilon: str, split: str, run: int) -> float:
    import numpy as np

    import metricdp as mdp
    from benchmarks.methods.printed_local import reporting, simulated_sketch

    space = mdp.EuclideanSpace([-1] * DIMENSION, [1] * DIMENSION)
    public = mdp.local.public_parameters(
        space, epsilon, users=len(points), k=k, radius=1.0, seed=run
    )
    public = reporting(public, split=split)
    sketch = simulated_sketch(public, points, seed=run)
    centers = mdp.local.Decoder(public).decode(sketch).k_means(k).centers
    return objective(points, np.asarray(centers, dtype=float))


def _fewer(rows: Rows) -> Iterator[str]:
    """Whether more users and more budget lower the objective."""
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = [row for row in rows if row["method"] == method]
        for what in ("n", "epsilon"):
            other = "epsilon" if what == "n" else "n"
            pairs = [
                (a["objective"], b["objective"])
                for a in mine
                for b in mine
                if a[other] == b[other] and a[what] < b[what]
            ]
            fell = sum(b <= a for a, b in pairs)
            yield f"{method}: the objective falls with {what} in {fell} of {len(pairs)} pairs"
    yield from _beside(rows)


def _larger(rows: Rows) -> Iterator[str]:
    for curve in dict.fromkeys(row["curve"] for row in rows):
        mine = sorted((row["k"], row["objective"]) for row in rows if row["curve"] == curve)
        reported = ", ".join(f"{value:.3f} at k = {k}" for k, value in mine)
        yield f"{curve}: {reported}"
    yield from _beside(rows)


def _beside(rows: Rows) -> Iterator[str]:
    """The package's default beside the printed way, cell by cell."""
    cells: dict[Any, dict[str, float]] = {}
    for row in rows:
        at = row["n"], row["k"], row["epsilon"]
        cells.setdefault(at, {})[row["method"]] = row["objective"]
    both = [cell for cell in cells.values() if len(cell) == 2]
    lower = sum(cell[OURS] < cell[PRINTED] for cell in both)
    yield f"{OURS} has the lower objective in {lower} of {len(both)} cells"


def _by_n(scale: Scale) -> list[Any]:
    sizes = scale.choose(
        (10_000, 40_000), (10_000, 50_000, 200_000), (10_000, 50_000, 100_000, 500_000, 1_000_000)
    )
    budgets = scale.choose(("1", "4"), ("1", "2", "4", "8"), ("0.5", "1", "2", "4", "8"))
    return [(n, 8, e) for n in sizes for e in budgets]


def _by_k(scale: Scale) -> list[Any]:
    n = scale.choose(20_000, 100_000, 1_000_000)
    ks = scale.choose((2, 8), (2, 4, 8, 16, 32), (2, 4, 8, 16, 32))
    budgets = scale.choose(("4",), ("1", "4"), ("1", "4"))
    return [(n, k, e) for k in ks for e in budgets]


_COLUMNS = (
    Column("n", "n", ",d"),
    Column("k", "k", "d"),
    Column("epsilon", "epsilon", "g"),
    Column("method", "reports"),
    Column("objective", "objective / n", ".4f"),
    Column("deviation", "deviation", ".4f"),
)
_DIFFERS = (
    "The figure is printed as curves without numbers, and its epsilons and depths stand in an "
    "appendix that is not at hand. Hashes are SimHash, as there; the depth of the tree and what "
    "counts as a leaf are this package's, by n, k and epsilon. k-means of the leaves' means pools "
    "the leaves of a cluster by their noise."
)

EXHIBITS = (
    Exhibit(
        "figure1-n",
        "Figure 1, left. Objective over n against n, d = 100, r = 100, k = 8",
        "the origin alone has about 1; ten runs each; the objective falls as n or epsilon grows.",
        _DIFFERS,
        _COLUMNS,
        _by_n,
        _measured,
        _fewer,
        Curves("n", "objective", "epsilon", "method"),
    ),
    Exhibit(
        "figure1-k",
        "Figure 1, right. Objective over n against k, d = 100, r = 100",
        "errors grow with k.",
        _DIFFERS,
        _COLUMNS,
        _by_k,
        _measured,
        _larger,
        Curves("k", "objective", "epsilon", "method"),
    ),
)
"""The paper's only figure, whose panels vary n and k."""
