"""What a public 2-HST is good for: private initial centers, and starts of the solver.

python -m benchmarks hst_init initial|starts [--draws 10] [--only NAME]

Costs over the best of some non-private searches, means over draws and k. Noise comes from the
operating system, so figures vary from run to run; instances, trees and solvers are seeded.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import metricdp as mdp
from benchmarks.methods.hst_subtrees import hst_init
from benchmarks.methods.tree_dp import solve_on_tree
from benchmarks.methods.tree_hst import TreeHST
from benchmarks.sets.graphs import MAIN
from metricdp.methods.question import Question
from metricdp.solvers.kmedian import solve

KS, EPSILONS, TREES = (2, 5, 10, 15, 20), (0.1, 1.0), 5
DPHST = mdp.methods.DPHST


def reference(metric, weights, k) -> float:
    """Best of two non-private searches of five starts."""
    return min(solve(metric, weights, k, seed=seed, starts=5).cost for seed in range(2))


def initial(metric, weights, records, draws) -> None:
    """Cost of the first centers, by the rule of the levels' budgets and beside starts that ignore
    the demand.
    """
    demand, n = mdp.PrivateDemand(metric, records), len(metric)
    best = {k: reference(metric, weights, k) for k in KS}
    trees = [mdp.build_hst(metric, seed) for seed in range(TREES)]

    def cost(centers, k):
        return weights @ metric.nearest_to(np.asarray(centers))[1] / best[k]

    def private(options, epsilon, draw):
        method = TreeHST(tree=trees[draw % TREES], **options)
        result = mdp.k_median(metric, demand, 1, epsilon=epsilon, method=method).release
        return lambda k: result.search(result, Question.checked(metric, k, 1, seed=draw))

    rows = {
        "DP-rand": lambda e, draw: (
            lambda k: np.random.default_rng(draw).choice(n, k, replace=False)
        ),
        "DP-kmedian++": lambda e, draw: (
            lambda k: metric.seed_centers(k, np.ones(n), np.random.default_rng(draw))[0]
        ),
        "NDP-HST": lambda e, draw: (
            lambda k: hst_init(trees[draw % TREES], trees[draw % TREES].sums(weights), k)
        ),
    }
    for budget in ("geometric", "uniform", "rising"):
        for levels in (8, None):
            options = {"budget": budget, "levels": levels, "centers": "initial"}
            rows[f"DP-HST {budget} {levels or 'auto'}"] = lambda e, draw, options=options: private(
                options, e, draw
            )
    rows["hst, tree optimum"] = lambda e, draw: private({"centers": "tree"}, e, draw)
    rows["hst, solver"] = lambda e, draw: private({"centers": "solver"}, e, draw)
    for name, centers in rows.items():
        shown = []
        for epsilon in EPSILONS:
            found = [
                [cost(ask(k), k) for k in KS]
                for ask in (centers(epsilon, draw) for draw in range(draws))
            ]
            mean, error = np.mean(found), np.std(np.mean(found, axis=1)) / np.sqrt(draws)
            shown.append(f"{mean:.3f} ± {error:.3f}")
        print(f"  {name:24s}", "   ".join(shown), flush=True)


def starts(metric, weights, records, draws) -> None:
    """One search from k-median++ and one from the tree: cost at the start, at the end, and
    seconds.
    """
    ks = (5, 20, 50)
    best = {k: reference(metric, weights, k) for k in ks}
    solve(metric, weights, 5, starts=1)
    found: dict[str, list[tuple[float, float, float]]] = {}
    for draw in range(draws):
        tree = mdp.build_hst(metric, draw)
        below = tree.sums(weights)
        ways = {
            "k-median++": lambda k, draw=draw: metric.seed_centers(
                k, weights, np.random.default_rng(draw)
            )[0],
            "NDP-HST": lambda k, tree=tree, below=below: hst_init(tree, below, k),
            "optimum on the tree": lambda k, tree=tree: solve_on_tree(tree, weights, k).centers,
        }
        for name, way in ways.items():
            for k in ks:
                first, begin = way(k), time.perf_counter()
                cost = solve(metric, weights, k, first=first, starts=1, seed=draw).cost
                seconds = time.perf_counter() - begin
                found.setdefault(name, []).append(
                    (weights @ metric.nearest_to(first)[1] / best[k], cost / best[k], seconds)
                )
    for name, rows in found.items():
        before, after, seconds = np.mean(rows, axis=0)
        print(f"  {name:24s} start {before:.3f}   end {after:.4f}   {seconds:.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("initial", "starts"))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--only", action="append", help="an instance by name (may be repeated)")
    options = parser.parse_args()
    part = {"initial": initial, "starts": starts}[options.part]
    for name in options.only or MAIN:
        metric, positions = MAIN[name]()
        weights = np.bincount(positions, minlength=len(metric)).astype(float)
        print(name, flush=True)
        part(metric, weights, [metric.ids[i] for i in positions], options.draws)


if __name__ == "__main__":
    main()
