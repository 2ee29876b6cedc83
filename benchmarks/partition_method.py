"""Cost of the private default over the best non-private local search, with the package's own
mechanisms, beside three plain methods.

python -m benchmarks partition_method [--draws 6] [--plain-draws 2] [--only NAME] [--json FILE]

Prints one row an instance and method: mean (largest) ratio at epsilon 0.1, 0.25 and 1 over k = 5,
10, 20 and all draws. Noise comes from the operating system, so figures vary from run to run;
instances and solvers are seeded.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import metricdp as mdp
from benchmarks.sets.graphs import MAIN
from metricdp.methods.finite.partition import COUNT_SHARE
from metricdp.methods.finite.rounds import number_of_parts
from metricdp.partitions.finite.ward import PartitionTree
from metricdp.privacy import CountQuery, HistogramQuery, measure
from metricdp.solvers.graph_search import GraphSearch
from metricdp.solvers.kmedian import solve

EPSILONS, KS = (0.1, 0.25, 1.0), (5, 10, 20)


def reference(metric: mdp.GraphMetric, weights: np.ndarray, k: int) -> float:
    """Best of four non-private searches of five starts each, two of them swept over all
    vertices.
    """
    best = np.inf
    for seed in range(4):
        found = solve(metric, weights, k, seed=seed, starts=5)
        best = min(best, found.cost)
        if len(metric) > 5000 and seed < 2:
            search = GraphSearch(metric, weights, found.centers)
            search.sweep(np.random.default_rng(seed))
            best = min(best, search.cost)
    return best


def flat(metric: mdp.GraphMetric, labels: np.ndarray, parts: int) -> PartitionTree:
    """A partition without a hierarchy that matters."""
    sizes = np.bincount(labels, minlength=parts).astype(float)
    return PartitionTree(metric, labels.astype(np.int32), np.zeros((parts - 1, 2), np.int64), sizes)


def per_vertex(
    metric: mdp.GraphMetric, demand: mdp.PrivateDemand, epsilon: float, draw: int
) -> np.ndarray:
    """Signed noisy count of every vertex."""
    every = flat(metric, np.arange(len(metric)), len(metric))
    return measure(
        demand, HistogramQuery(every), epsilon, mdp.Ledger(epsilon).charge(epsilon)
    ).values.astype(float)


def voronoi(
    metric: mdp.GraphMetric, demand: mdp.PrivateDemand, epsilon: float, draw: int
) -> np.ndarray:
    """Signed noisy counts of the cells of M k-median++ vertices, spread evenly; M by the default's
    rule.
    """
    budget = mdp.Ledger(epsilon).charge(epsilon)
    count = measure(demand, CountQuery(), budget.left * COUNT_SHARE, budget).values[0]
    parts = min(number_of_parts(float(count), 1 / float(budget.left)), len(metric))
    label = metric.seed_centers(parts, np.ones(len(metric)), np.random.default_rng(draw))[1]
    cells = flat(metric, label, parts)
    return cells.spread(
        measure(demand, HistogramQuery(cells), budget.left, budget).values.astype(float)
    )


def default(
    metric: mdp.GraphMetric, demand: mdp.PrivateDemand, epsilon: float, draw: int
) -> np.ndarray:
    """The package's default."""
    return mdp.release(metric, demand, epsilon=epsilon).weights


METHODS = {"partition": default, "Voronoi, signed": voronoi, "per vertex, signed": per_vertex}


def ratios(metric, demand, weights, costs, method, epsilon, draws):
    """Cost ratios of all draws and k."""
    found = []
    for draw in range(draws):
        noisy = METHODS[method](metric, demand, epsilon, draw)
        for k in KS:
            centers = solve(metric, noisy, k, seed=draw).centers
            found.append(float(weights @ metric.nearest_to(centers)[1] / costs[k]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--plain-draws", type=int, default=2)
    parser.add_argument("--only", action="append", help="an instance by name (may be repeated)")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table: dict[str, dict[str, dict[float, list[float]]]] = {}
    for name in options.only or MAIN:
        metric, positions = MAIN[name]()
        weights = np.bincount(positions, minlength=len(metric)).astype(float)
        demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in positions])
        costs = {k: reference(metric, weights, k) for k in KS}
        uniform = [
            float(
                weights
                @ metric.nearest_to(solve(metric, np.ones(len(metric)), k).centers)[1]
                / costs[k]
            )
            for k in KS
        ]
        rows = {"uniform": dict.fromkeys(EPSILONS, uniform)}
        for method in METHODS:
            draws = options.draws if method == "partition" else options.plain_draws
            if draws:
                rows[method] = {
                    e: ratios(metric, demand, weights, costs, method, e, draws) for e in EPSILONS
                }
        table[name] = rows
        for method, row in rows.items():
            print(
                f"{name:26s} {method:19s}",
                "  ".join(f"{np.mean(row[e]):.4f} ({max(row[e]):.3f})" for e in EPSILONS),
                flush=True,
            )
        if options.json:
            options.json.write_text(json.dumps(table))
    for method in rows:
        means = [np.mean([np.mean(rows[method][e]) for rows in table.values()]) for e in EPSILONS]
        print(f"{'MEAN':26s} {method:19s}", "  ".join(f"{m:.4f}" for m in means))


if __name__ == "__main__":
    main()
