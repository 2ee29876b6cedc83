"""Private local search: its time and memory on a large road graph, and its cost by settings, as
multiples of the best non-private cost.

    python -m benchmarks local_search speed [--vertices N] [--graph FILE]
    python -m benchmarks local_search settings [--repeats R] [--output FILE]

Times are CPU time of all threads, in medians of `scipy.sparse.csgraph.dijkstra` searches from one
source on the same graph, measured in the same process in between. Real graphs come from
METRICDP_DATA.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import metricdp as mdp
from benchmarks.graph_solver import delaunay_roads
from benchmarks.methods.tree_hst import TreeHST
from benchmarks.sets.graphs import MAIN, Instance, hot_spots
from metricdp.methods import DPHST, LocalSearch, Partition, Uniform
from metricdp.methods.question import Question
from metricdp.privacy import exact_cost
from metricdp.records.scores import Scale, Served, SwapCosts

PAPER = {"steps": 20, "share": "1/2", "final": True}
INITIAL = TreeHST()


# Time


def speed(vertices: int, file: Path | None, records: int = 1000, k: int = 20) -> None:
    """One run of the paper's T = 20 for each start and power, on uniform demand and on hot
    spots.
    """
    metric = mdp.read_graph(file) if file else mdp.GraphMetric(delaunay_roads(vertices))
    n = len(metric)
    metric.diameter_bound()  # a public fact that every method asks for once
    matrix = csr_array(
        (metric.graph.lengths, metric.graph.indices, metric.graph.indptr), shape=(n, n)
    )
    rng = np.random.default_rng(0)

    def single() -> float:
        sources = rng.integers(n, size=7)
        return float(np.median([_cpu(lambda s=s: dijkstra(matrix, indices=s))[0] for s in sources]))

    print(
        f"{metric.name}: {n:,} vertices, {len(metric.csr[1]):,} arcs, {records:,} records, k = "
        f"{k}, T = 20"
    )
    demands = {
        "uniform": rng.choice(n, records, replace=False),
        "hot spots": hot_spots(metric, records),
    }
    small = mdp.GraphMetric(delaunay_roads(500))
    mdp.k_median(
        small, mdp.PrivateDemand(small, [1, 2, 3]), 3, epsilon=1, method=LocalSearch(**PAPER)
    )  # compiles
    for what, at in demands.items():
        demand = mdp.PrivateDemand(metric, at)
        for name, start in (
            ("k-median++", "k-median++"),
            ("random", "random"),
            ("DP-HST initialization", INITIAL),
        ):
            for ask in (mdp.k_median, mdp.k_means) if start == "k-median++" else (mdp.k_median,):
                before = single()
                method = LocalSearch(start=start, **PAPER)
                seconds, _ = _cpu(
                    lambda m=method, d=demand, a=ask: a(metric, d, k, epsilon=1, method=m)
                )
                one = (before + single()) / 2
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
                used = f"{seconds / one:.0f} Dijkstras of {1000 * one:.0f} ms, peak {peak:.2f} GB"
                print(f"{what}, {ask.__name__}, {name}: {used}", flush=True)
        _stages(metric, at, k, single())


def _stages(metric: mdp.GraphMetric, at: np.ndarray, k: int, one: float) -> None:
    """The first scores, and those after swaps drawn at random, in Dijkstras."""
    rng, n = np.random.default_rng(1), len(metric)
    centers = metric.seed_centers(k, np.ones(n), rng)[0]
    costs, spent = SwapCosts(metric, *np.unique(at, return_counts=True), Scale.of(metric, 1)), []
    for _ in range(21):
        labels, served = _cpu(lambda c=centers: Served.by(metric, c))
        spent.append((labels / one, _cpu(lambda s=served: costs.serve(s))[0] / one))
        centers = centers.copy()
        centers[rng.integers(k)] = rng.choice(np.setdiff1d(np.arange(n), centers))
    (_, first), later = spent[0], np.mean(spent[1:], axis=0)
    print(
        f"  of which: first scores {first:.1f}, repair after a swap {later[1]:.1f}, two nearest "
        f"centers of all vertices {later[0]:.1f}"
    )


def _cpu(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


# Cost


def settings() -> Iterator[tuple[str, Any]]:
    """(name, method): every one is one row of the table."""
    yield "uniform", Uniform()
    yield "partition", Partition()
    yield "hst", DPHST()
    for name, start in (
        ("random", "random"),
        ("k-median++", "k-median++"),
        ("DP-HST initialization", INITIAL),
        ("hst", "hst"),
    ):
        yield f"{name}, T=20, final (paper)", LocalSearch(start=start, **PAPER)
        yield f"{name}, T=0", LocalSearch(start=start, steps=0, final=False)
        for steps in (1, 2, 4, 8):
            yield f"{name}, T={steps}", LocalSearch(start=start, steps=steps, final=False)
            yield f"{name}, T={steps}, final", LocalSearch(start=start, steps=steps, final=True)
    for name, first in (
        ("DP-HST initialization", INITIAL),
        ("hst", "hst"),
        ("partition", Partition()),
    ):
        for steps in (1, 2):
            yield (
                f"{name}, T={steps}, final, share 3/4",
                LocalSearch(start=first, steps=steps, final=True, share="3/4"),
            )


def measure(repeats: int, output: Path | None, epsilon: float = 1.0) -> None:
    """All settings on all instances, in interleaved order; prints means of cost / best non-private
    cost.
    """
    rows: dict[tuple[str, str], list[float]] = {}
    for name in (
        "clusters r=1 imbalanced",
        "clusters r=100 imbalanced",
        "clusters r=100 balanced",
        "Coquimbo 500",
        "Coquimbo 5,000",
    ):
        metric, at = MAIN[name]()
        for k in (5, 15):
            _instance(f"{name}, k={k}", (metric, at), k, repeats, epsilon, rows)
            if output:
                output.write_text(json.dumps([[*key, values] for key, values in rows.items()]))
    _table(rows)


def _instance(
    name: str,
    instance: Instance,
    k: int,
    repeats: int,
    epsilon: float,
    rows: dict[tuple[str, str], list[float]],
) -> None:
    metric, at = instance
    weights = np.bincount(at, minlength=len(metric)).astype(float)
    best = Question.checked(metric, k, 1).answer(weights)
    demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in at])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        least = exact_cost(demand, [metric.ids[i] for i in best])
        for repeat in range(repeats):
            for kind, method in settings():
                found = mdp.k_median(
                    metric, demand, k, epsilon=epsilon, method=method, seed=repeat
                ).centers
                rows.setdefault((kind, name), []).append(exact_cost(demand, found) / least)


def _table(rows: dict[tuple[str, str], list[float]]) -> None:
    kinds, names = list(dict.fromkeys(k for k, _ in rows)), list(dict.fromkeys(n for _, n in rows))
    print("| | " + " | ".join(names) + " | mean |\n|---|" + "---|" * (len(names) + 1))
    for kind in kinds:
        means = [float(np.mean(rows[kind, name])) for name in names]
        print(
            f"| {kind} | "
            + " | ".join(f"{m:.2f}" for m in means)
            + f" | {np.exp(np.mean(np.log(means))):.3f} |"
        )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("speed", "settings"))
    parser.add_argument("--vertices", type=int, default=300_000)
    parser.add_argument("--graph", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.what == "speed":
        speed(options.vertices, options.graph)
    else:
        measure(options.repeats, options.output)


if __name__ == "__main__":
    main()
