"""Is the epsilon that a plan names for a target enough? Many plans, each checked on demand that it
did not see.

    python -m benchmarks plan_target [--plans 100] [--only NAME]

A plan of seed s says which epsilon keeps nine draws in ten within the target. What share of draws a
budget really keeps there is measured on a grid of budgets, by a hundred fresh demands of each shape
(seeds that no plan has), and interpolated between two of the grid in the logarithm of epsilon. A
plan is right if that share is at least nine tenths at what it named.
"""

from __future__ import annotations

import argparse

import networkx as nx
import numpy as np

import metricdp as mdp
from metricdp.universe import sample_path

GRID = ("0.05", "0.07", "0.1", "0.14", "0.2", "0.3", "0.5", "0.7", "1", "1.4", "2", "3")
FRESH = 1_000_000
"""The seed of the demands that plans are checked on."""


def instances():
    """(name, universe, records, k, target)"""
    yield "grid of 12 × 12", mdp.GraphMetric(nx.grid_2d_graph(12, 12), weight=None), 1_000, 3, 1.05
    social = nx.barabasi_albert_graph(600, 3, seed=2)
    yield "random social graph", mdp.GraphMetric(social, weight=None), 3_000, 5, 1.03
    roads, places = sample_path("coquimbo.csv.gz"), sample_path("coquimbo_nodes.csv.gz")
    city = mdp.read_graph(roads, nodes=places, symmetrize=True, largest_component=True)
    yield "sample network", city, 5_000, 20, 1.05


def kept(metric, records, k, target, repeats):
    """The share of fresh draws within the target at every budget of the grid."""
    asked = {"records": records, "k": k, "epsilons": GRID, "repeats": repeats, "seed": FRESH}
    reported = mdp.plan(metric, **asked)
    return (reported.cost <= target * reported.reference).mean(axis=(1, 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=100, help="fresh demands of each shape")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    sizes = np.log([float(epsilon) for epsilon in GRID])
    print("| instance | plans | right | share kept, median | least | epsilon, median | best |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, metric, records, k, target in instances():
        if args.only not in name:
            continue
        share = kept(metric, records, k, target, args.repeats)
        named = [
            mdp.plan(metric, records=records, k=k, target=target, seed=seed).epsilon
            for seed in range(args.plans)
        ]
        reported = np.array([epsilon for epsilon in named if epsilon is not None])
        real = np.interp(np.log(reported), sizes, share)
        best = np.exp(np.interp(0.9, np.maximum.accumulate(share), sizes))
        print(
            f"| {name} | {len(reported)} of {args.plans} | {(real >= 0.9).sum()} | "
            f"{np.median(real):.3f} | {real.min():.3f} | {np.median(reported):.2g} | {best:.2g} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
