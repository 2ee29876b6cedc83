"""max-coverage beside the other methods: cost over the best non-private, and time on a large road
network.

python -m benchmarks max_coverage [--draws 3] [--epsilon 1] [--only NAME] [--json FILE]
python -m benchmarks max_coverage --road
python -m benchmarks max_coverage --space
python -m benchmarks max_coverage --sizes [--method NAME]

Prints one row an instance: mean (largest) ratio over the draws, for k = 5 and 20, of every method
at that epsilon and delta = 1e-6. Noise comes from the operating system, so figures vary from run to
run; instances and solvers are seeded. Needs METRICDP_DATA for road networks.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

import metricdp as mdp
from benchmarks.methods.printed_coverage import PrintedCoverage
from benchmarks.sets.graphs import DATA, Instance, clustered, coquimbo, hot_spots
from metricdp.solvers.kmedian import solve

KS = (5, 20)
METHODS: dict[str, Callable[[], object]] = {
    "partition": lambda: "partition",
    "hst": lambda: "hst",
    "local-search": lambda: "local-search",
    "max-coverage": lambda: "max-coverage",
    "as published": PrintedCoverage,
}


def clusters(r: float, imbalanced: bool, size: int) -> Instance:
    """Paper 2's graph with `size` vertices: distinct while there are as many, else with repeats."""
    metric, _ = clustered(r, imbalanced)
    pool = (
        np.flatnonzero(np.random.default_rng(3).integers(0, 10, 3000) < 2)
        if imbalanced
        else np.arange(3000)
    )
    return metric, np.random.default_rng(5).choice(pool, size, replace=size > len(pool))


def tight(size: int) -> Instance:
    """Coquimbo, three hot spots in which demand falls by half every hundredth of the way."""
    metric, _ = coquimbo(1)
    return metric, hot_spots(metric, size, 3, 60.0)


def town(size: int) -> Instance:
    """Coquimbo, all demand among the 400 vertices nearest to one."""
    metric, _ = coquimbo(1)
    rng = np.random.default_rng(11)
    near = np.argsort(metric.distance_rows(np.array([rng.integers(len(metric))]))[0])[:400]
    return metric, rng.choice(near, size)


INSTANCES: dict[str, Callable[[], Instance]] = {
    "clusters r={} {} {:,}".format(
        r, "imbalanced" if imbalanced else "balanced", size
    ): lambda r=r, b=imbalanced, s=size: clusters(float(r), b, s)
    for size in (500, 2400, 20000)
    for r in (1, 100)
    for imbalanced in (False, True)
}
INSTANCES |= {f"Coquimbo {size:,}": lambda s=size: coquimbo(s) for size in (500, 5000)}
INSTANCES |= {
    f"Coquimbo, three spots, {size:,}": lambda s=size: tight(s) for size in (500, 2000, 5000)
}
INSTANCES |= {f"Coquimbo, one town, {size:,}": lambda s=size: town(s) for size in (500, 2000, 5000)}


def row(
    name: str, epsilon: float, draws: int, methods: list[str]
) -> dict[str, dict[int, list[float]]]:
    """Cost ratios of all methods and k on one instance."""
    metric, positions = INSTANCES[name]()
    weights = np.bincount(positions, minlength=len(metric)).astype(float)
    demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in positions])
    found: dict[str, dict[int, list[float]]] = {}
    for k in KS:
        best = min(solve(metric, weights, k, seed=seed, starts=5).cost for seed in range(2))
        for method in methods:
            for draw in range(draws):
                centers = mdp.k_median(
                    metric,
                    demand,
                    k,
                    epsilon=epsilon,
                    delta=1e-6,
                    method=METHODS[method](),
                    seed=draw % 2,
                ).centers
                found.setdefault(method, {}).setdefault(k, []).append(
                    float(weights @ metric.nearest(centers)[1] / best)
                )
    return found


def grid(side: int) -> csr_array:
    """A road-like graph: a grid without a third of its edges, lengths from 0.5 to 2; the largest
    component.
    """
    rng = np.random.default_rng(0)
    index = np.arange(side * side).reshape(side, side)
    ends = [
        np.c_[index[:, :-1].ravel(), index[:, 1:].ravel()],
        np.c_[index[:-1].ravel(), index[1:].ravel()],
    ]
    edges = np.concatenate(ends)[rng.random(2 * side * (side - 1)) > 0.35]
    graph = coo_array(
        (rng.uniform(0.5, 2.0, len(edges)), edges.T), shape=(side * side,) * 2
    ).tocsr()
    graph = graph + graph.T
    keep = np.flatnonzero(
        (label := connected_components(graph, directed=False)[1]) == np.bincount(label).argmax()
    )
    return graph[keep][:, keep].tocsr()


def sizes(epsilon: float, draws: int, methods: list[str], k: int = 10, records: int = 2000) -> None:
    """Cost over the best non-private on road-like grids of growing size, 2,000 records in eight hot
    spots.
    """
    print("| vertices |", " | ".join(methods), "|")
    for side in (58, 100, 183, 321, 570):
        metric = mdp.GraphMetric(grid(side))
        positions = hot_spots(metric, records)
        weights, demand = (
            np.bincount(positions, minlength=len(metric)).astype(float),
            mdp.PrivateDemand(metric, positions),
        )
        best = min(solve(metric, weights, k, seed=seed, starts=5).cost for seed in range(2))
        cells = []
        for method in methods:
            asked = {"epsilon": epsilon, "delta": 1e-6, "method": METHODS[method]()}
            found = [
                mdp.k_median(metric, demand, k, seed=draw % 2, **asked).centers
                for draw in range(draws)
            ]
            ratios = [weights @ metric.nearest(centers)[1] / best for centers in found]
            cells.append(f"{np.mean(ratios):.3f} ({max(ratios):.2f})")
        print("|", f"{len(metric):,}", "|", " | ".join(cells), "|", flush=True)


def road(records: int = 10_000, k: int = 10) -> None:
    """Time of one call on a road-like grid of about 100,000 vertices, in SciPy Dijkstra searches,
    and peak memory.
    """
    graph = grid(321)
    started = time.process_time()
    for source in range(5):
        dijkstra(graph, indices=source)
    search = (time.process_time() - started) / 5
    metric = mdp.GraphMetric(graph)
    positions = hot_spots(metric, records)
    demand = mdp.PrivateDemand(metric, positions)
    for method in ("partition", "max-coverage"):
        fresh = mdp.GraphMetric(graph)
        demand = mdp.PrivateDemand(fresh, positions)
        for call in ("first call", "next call"):
            started = time.process_time()
            mdp.k_median(fresh, demand, k, epsilon=1, delta=1e-6, method=method)
            spent = time.process_time() - started
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            took = (
                f"{spent:.1f} s of processor, {spent / search:.0f} searches of {search:.3f} s, "
                f"peak {peak:.2f} GB"
            )
            print(f"{len(metric):,} vertices, {method}, {call}: {took}", flush=True)


def mixture(n: int, d: int, k: int = 8, std: float = 0.05, seed: int = 7) -> np.ndarray:
    """Rows in the unit ball from a mixture of k Gaussians of unequal weights."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d))
    centers *= 0.8 * rng.random((k, 1)) ** (1 / d) / np.linalg.norm(centers, axis=1, keepdims=True)
    points = centers[rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 5.0)))] + std * rng.normal(
        size=(n, d)
    )
    return points / np.maximum(1.0, np.linalg.norm(points, axis=1))[:, None]


def space(draws: int) -> None:
    """k-means in boxes: cost over scikit-learn's, of the default method, of this one on a public
    net, and by hashing.
    """
    from scipy.spatial.distance import cdist
    from sklearn.cluster import KMeans

    data = {
        f"mixture, {n:,} points, d = {d}": (mixture(n, d), -np.ones(d), np.ones(d), 8)
        for n in (20_000, 100_000)
        for d in (2, 4, 10)
    }
    data |= {
        name: (np.loadtxt(DATA / f"points/sipu/{name}.data.gz"), np.zeros(2), np.full(2, 1e6), 15)
        for name in ("s1", "s3")
    }
    ours = mdp.methods.MaxCoverage
    methods = {
        "partition": "partition",
        "on a net": ours(net_dimensions=99),
        "by hashing": ours(net_dimensions=0),
        "as published": PrintedCoverage(),
    }
    print("| data |", " | ".join(methods), "|")
    for name, (points, lower, upper, k) in data.items():
        universe = mdp.EuclideanSpace(lower, upper)
        demand, best = (
            mdp.PrivateDemand(universe, points),
            KMeans(k, n_init=5, random_state=0).fit(points).inertia_,
        )
        cells = []
        for method in methods.values():
            found = [
                mdp.k_means(
                    universe, demand, k, epsilon=1, delta=1e-6, method=method, seed=draw
                ).centers
                for draw in range(draws)
            ]
            ratios = [
                cdist(points, centers, "sqeuclidean").min(axis=1).sum() / best for centers in found
            ]
            cells.append(f"{np.mean(ratios):.2f} ({max(ratios):.2f})")
        print("|", name, "|", " | ".join(cells), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument(
        "--only", action="append", help="an instance whose name has this in it (may be repeated)"
    )
    parser.add_argument(
        "--method", action="append", choices=METHODS, help="may be repeated; all by default"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--road", action="store_true")
    parser.add_argument("--space", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    options = parser.parse_args()
    if options.road:
        return road()
    if options.space:
        return space(options.draws)
    methods = [m for m in options.method or METHODS if m == "as published" or m in mdp.METHODS]
    if options.sizes:
        return sizes(options.epsilon, options.draws, methods)
    print("| instance |", " | ".join(f"{method}, k = {k}" for method in methods for k in KS), "|")
    table = {}
    for name in INSTANCES:
        if options.only and not any(text in name for text in options.only):
            continue
        table[name] = row(name, options.epsilon, options.draws, methods)
        cells = [
            f"{np.mean(table[name][m][k]):.3f} ({max(table[name][m][k]):.2f})"
            for m in methods
            for k in KS
        ]
        print("|", name, "|", " | ".join(cells), "|", flush=True)
        if options.json:
            options.json.write_text(json.dumps(table))
    return None


if __name__ == "__main__":
    main()
