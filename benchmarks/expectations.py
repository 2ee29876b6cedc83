"""Cost over the best non-private search with what the public expects, and without.

python -m benchmarks expectations [--draws 5] [--only NC] [--k 10 30] [--records 500 5000]

Demand on voting districts and block groups (``population/`` in METRICDP_DATA): population times a
tilt of twelve regions (lognormal, .9) and of every vertex (lognormal, .5). What is expected is
right (the density that records are drawn from), population alone, or random (population of other
vertices). Without records, centers are of what is expected alone.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from benchmarks.sets.graphs import DATA
from metricdp.solvers.kmedian import solve
from metricdp.universe import build_graph

STATES = {"GA": "vtd_GA", "NC": "vtd_NC", "AR": "bg2020_AR"}
SEEDS = {"GA": 101, "NC": 103, "AR": 107}
REGIONS, REGIONAL, LOCAL = 12, 0.9, 0.5
Array = NDArray[np.float64]


def state(name: str) -> tuple[mdp.GraphMetric, Array]:
    """The districts of a state that touch, and their population."""
    tables = []
    for kind in ("nodes", "edges"):
        with gzip.open(DATA / "population" / f"{STATES[name]}_{kind}.csv.gz", "rt") as file:
            tables.append(list(csv.DictReader(file)))
    nodes, edges = tables
    graph = build_graph(
        np.array([int(edge["u"]) for edge in edges]),
        np.array([int(edge["v"]) for edge in edges]),
        np.array([float(edge.get("length_m", 1.0)) for edge in edges]),
        ids=[int(node["id"]) for node in nodes],
        directed=False,
        largest_component=True,
        name=name,
    )
    people = {int(node["id"]): float(node["pop"]) for node in nodes}
    return mdp.GraphMetric(graph), np.array([people[i] for i in graph.ids])


def tilted(metric: mdp.GraphMetric, people: Array, rng: np.random.Generator) -> Array:
    """The density that records are drawn from."""
    middles = rng.choice(len(metric), REGIONS, replace=False)
    region = metric.nearest_to(middles)[0]
    tilt = np.exp(rng.normal(0, REGIONAL, len(metric)))[region]
    density = people * tilt * np.exp(rng.normal(0, LOCAL, len(metric)))
    return density / density.sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--demands", type=int, default=2)
    parser.add_argument("--only", choices=STATES, action="append")
    parser.add_argument("--k", type=int, nargs="+", default=[10, 30])
    parser.add_argument("--records", type=int, nargs="+", default=[500, 5000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.25])
    options = parser.parse_args()
    for name in options.only or STATES:
        metric, people = state(name)
        for records in options.records:
            found: dict[tuple[float, int, str], list[float]] = defaultdict(list)
            for demand in range(options.demands):
                measure(metric, people, records, SEEDS[name] + demand, options, found)
            for epsilon in options.epsilons:
                for k in options.k:
                    print(row(name, records, epsilon, k, found), flush=True)


def measure(
    metric: mdp.GraphMetric, people: Array, records: int, seed: int, options: Any, found: Any
) -> None:
    """Add the ratios of one demand, by epsilon, k and what is expected."""
    rng = np.random.default_rng(seed)
    density = tilted(metric, people, rng)
    at = rng.choice(len(metric), records, p=density)
    counts = np.bincount(at, minlength=len(metric)).astype(float)
    demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in at.tolist()])
    expected = {
        "without": None,
        "right": density,
        "population": people,
        "random": rng.permutation(people),
    }

    def cost(centers: Any) -> float:
        return float(counts @ metric.nearest_to(np.asarray(centers))[1])

    best = {
        k: min(solve(metric, counts, k, seed=s, starts=5).cost for s in range(2)) for k in options.k
    }
    for what, weights in expected.items():
        for epsilon in options.epsilons:
            for k in options.k if weights is not None else ():
                alone = cost(solve(metric, weights, k, starts=3).centers) / best[k]
                found[epsilon, k, f"{what} alone"].append(alone)
            for _ in range(options.draws):
                release = mdp.release(metric, demand, epsilon=epsilon, expected=weights)
                for k in options.k:
                    centers = metric.positions(release.k_median(k).centers)
                    found[epsilon, k, what].append(cost(centers) / best[k])


def row(name: str, records: int, epsilon: float, k: int, found: Any) -> str:
    """A line of the table: means, and of what is expected alone."""
    cells = [f"{np.mean(found[epsilon, k, 'without']):.3f}"]
    for what in ("right", "population", "random"):
        with_it, alone = (np.mean(found[epsilon, k, f"{what}{end}"]) for end in ("", " alone"))
        cells.append(f"{with_it:.3f} ({alone:.3f})")
    return f"| {name}, {records:,}, {k} | {epsilon:g} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
