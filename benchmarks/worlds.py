"""Random boxes of any dimensions: each method's cost over the best non-private search.

    python -m benchmarks worlds                        worlds 0 to 39, four draws of each method
    python -m benchmarks worlds --first 600 --last 680 --methods partition
    python -m benchmarks worlds --k-means --delta 1e-6
    python -m benchmarks worlds --dimensions 1 2 3 --records 300 1000 3000

A world's number draws one of the dimensions and numbers of records, k, epsilon and one of ten
shapes of demand, so two versions of the package are compared by running both on the same worlds.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from benchmarks.frame.costs import cost
from metricdp.solvers.lloyd import lloyd

Array = NDArray[np.float64]
DIMENSIONS = (4, 5, 6, 8, 10, 15, 20)
RECORDS = (500, 3_000, 20_000, 100_000)
CENTERS = (2, 5, 10, 30)
EPSILONS = ("0.1", "0.25", "1", "4")
SAMPLE = 20_000
"""Records that the search without privacy starts from."""


def clusters(width: float, power: float = 0.0) -> Callable[..., Array]:
    """Gaussian clusters, up to 59, the j-th with a weight of j to the minus `power`."""

    def drawn(n: int, d: int, coins: np.random.Generator) -> Array:
        middles = coins.random((int(coins.integers(3, 60)), d))
        weight = np.arange(1.0, len(middles) + 1) ** -power
        label = coins.choice(len(middles), n, p=weight / weight.sum())
        return middles[label] + coins.normal(size=(n, d)) * width

    return drawn


def curve(n: int, d: int, coins: np.random.Generator) -> Array:
    """A closed curve of as many frequencies as there are dimensions."""
    at = 2 * np.pi * coins.random(n)
    waves = [np.sin((i + 1) * at + i) for i in range(d)]
    return 0.5 + 0.45 * np.stack(waves, axis=1) + coins.normal(size=(n, d)) * 0.005


def plane(n: int, d: int, coins: np.random.Generator) -> Array:
    """A thick plane."""
    axes = coins.normal(size=(2, d))
    return 0.5 + coins.normal(size=(n, 2)) @ axes * 0.1 + coins.normal(size=(n, d)) * 0.02


SHAPES: dict[str, Callable[[int, int, np.random.Generator], Array]] = {
    "even": lambda n, d, coins: coins.random((n, d)),
    "lattice": lambda n, d, coins: (coins.integers(0, 8, (n, d)) + 0.5) / 8,
    "clusters": clusters(0.04),
    "tight clusters": clusters(0.005),
    "wide clusters": clusters(0.12),
    "unequal clusters": clusters(0.02, 1.5),
    "curve": curve,
    "plane": plane,
    "long tails": lambda n, d, coins: 0.5 + coins.standard_t(1.5, size=(n, d)) * 0.02,
    "one spot": lambda n, d, coins: 0.1 + 0.8 * coins.random(d) + 0.01 * coins.random((n, d)),
}


class World(NamedTuple):
    """Records in the unit box, and what is asked."""

    shape: str
    points: Array
    k: int
    epsilon: str


def world(number: int, records: Sequence[int], dimensions: Sequence[int]) -> World:
    coins = np.random.default_rng([1, number])
    shape = str(coins.choice(list(SHAPES)))
    n, d = (int(coins.choice(each)) for each in (records, dimensions))
    points = np.clip(SHAPES[shape](n, d, coins), 0.0, 1.0)
    return World(shape, points, int(coins.choice(CENTERS)), str(coins.choice(EPSILONS)))


def best(given: World, power: int) -> float:
    """Cost of the better of two searches without privacy."""
    found = []
    for seed in range(2):
        coins = np.random.default_rng(seed)
        n = len(given.points)
        some = given.points[coins.choice(n, min(n, SAMPLE), replace=False)]
        centers = lloyd(some, np.ones(len(some)), given.k, power=power, seed=seed, starts=4)
        found.append(cost(given.points, centers, power))
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=40)
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--methods", nargs="+", default=["partition", "quadtree", "uniform"])
    parser.add_argument("--k-means", action="store_true")
    parser.add_argument("--delta", default=0)
    parser.add_argument("--records", type=int, nargs="+", default=RECORDS)
    parser.add_argument("--dimensions", type=int, nargs="+", default=DIMENSIONS)
    args = parser.parse_args()
    power = 2 if args.k_means else 1
    ask = mdp.k_means if args.k_means else mdp.k_median
    ratios: dict[str, list[float]] = defaultdict(list)
    print("| world | shape | d | records | k | epsilon |", " | ".join(args.methods), "|")
    for number in range(args.first, args.last):
        given = world(number, args.records, args.dimensions)
        n, d = given.points.shape
        space = mdp.EuclideanSpace([0.0] * d, [1.0] * d)
        demand = mdp.PrivateDemand(space, given.points)
        least = best(given, power)
        asked = {"k": given.k, "epsilon": given.epsilon, "delta": args.delta}
        for method in args.methods:
            found = [ask(space, demand, **asked, method=method) for _ in range(args.draws)]
            costs = [cost(given.points, each.centers, power) for each in found]
            ratios[method].append(float(np.mean(costs)) / least)
        row = [f"{ratios[method][-1]:.3f}" for method in args.methods]
        facts = (number, given.shape, d, n, given.k, given.epsilon, *row)
        print("|", " | ".join(map(str, facts)), "|", flush=True)
    for method, each in ratios.items():
        print(f"{method}: geometric mean {np.exp(np.mean(np.log(each))):.4f}")


if __name__ == "__main__":
    main()
