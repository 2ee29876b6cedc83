"""Directed travel: what a private release costs on Manhattan's one-way times, and how long the
directed search takes beside the undirected one. Results are in ``graph_solver.md``.

    METRICDP_DATA=../shared/data python -m benchmarks directed private [--draws 5]
    METRICDP_DATA=../shared/data python -m benchmarks directed time [--side 1000]

Manhattan's street graph and pick-ups are in ``METRICDP_DATA`` (`roads/manhattan`,
`demand/deckgl_uber_pickup_nyc.json.gz`), as is the 9th DIMACS challenge's San Francisco Bay.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

import metricdp as mdp
from metricdp.metrics.graph import GraphMetric
from metricdp.solvers.kmedian import solve
from metricdp.universe.graph import build_graph

DATA = Path(os.environ.get("METRICDP_DATA", "../shared/data"))
RECORDS, K = 20_000, 20
HOUR = 8
"""Column of week.csv: of 24, after the id."""


def manhattan(direction: str) -> tuple[GraphMetric, np.ndarray]:
    """The directed universe and 20,000 records (positions), pick-ups moved to the nearest corner.

    The data's travel times of one hour; of the 9,452 arcs some take no time.
    """
    folder = DATA / "roads" / "manhattan"
    arcs = np.loadtxt(folder / "edges.csv", delimiter=",")[:, 1:].astype(int) - 1
    points = np.loadtxt(folder / "points.csv", delimiter=",")[:, [2, 1]]
    times = np.loadtxt(folder / "week.csv", delimiter=",")[:, HOUR]
    graph = build_graph(
        arcs[:, 0],
        arcs[:, 1],
        times,
        ids=range(1, len(points) + 1),
        directed=True,
        one_way=True,
        coordinates=points,
        coordinate_system="lonlat",
        name="manhattan",
    )
    with gzip.open(DATA / "demand" / "deckgl_uber_pickup_nyc.json.gz") as file:
        pickups = np.array(json.load(file), float)
    inside = ((pickups[:, :2] >= points.min(0)) & (pickups[:, :2] <= points.max(0))).all(axis=1)
    stretch = np.array([np.cos(np.radians(40.75)), 1.0])
    at = cKDTree(points * stretch).query(pickups[inside, :2] * stretch)[1]
    weight = pickups[inside, 2]
    records = np.random.default_rng(1).choice(at, RECORDS, p=weight / weight.sum())
    return GraphMetric(graph, directed=True, direction=direction), records


def private(draws: int) -> None:
    """True directed cost of private centers over that of the non-private directed search."""
    for direction in ("to-center", "from-center", "round-trip"):
        metric, records = manhattan(direction)
        weights = np.bincount(records, minlength=len(metric)).astype(float)
        costs = metric.distance_rows(np.arange(len(metric)))

        def cost(
            centers: object, costs: np.ndarray = costs, weights: np.ndarray = weights
        ) -> float:
            return float(weights @ costs[np.asarray(centers) - 1].min(axis=0))

        best = cost(mdp.k_median(metric, k=K, weights=weights).centers)
        bound = metric.symmetric
        row = [f"{cost(mdp.k_median(bound, k=K, weights=weights).centers) / best:.3f}"]
        row.append(f"{cost(mdp.k_median(metric, k=K).centers) / best:.3f}")
        demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in records])
        for epsilon in ("1", "0.25"):
            found = [
                cost(mdp.k_median(metric, demand, k=K, epsilon=epsilon, seed=draw).centers) / best
                for draw in range(draws)
            ]
            row.append(f"{np.mean(found):.4f} ({min(found):.4f}–{max(found):.4f})")
        print(f"| {direction} | {best:,.0f} | {' | '.join(row)} |", flush=True)


def town(side: int) -> tuple[csr_array, str]:
    """Arcs of a grid of side² corners: a tenth of the streets is missing, a fifth is one-way, and
    each direction has a time of its own, up to half as long again.
    """
    rng = np.random.default_rng(5)
    at = np.arange(side * side).reshape(side, side)
    edges = np.concatenate(
        [
            np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()]),
            np.column_stack([at[:-1].ravel(), at[1:].ravel()]),
        ]
    )
    edges = edges[rng.random(len(edges)) < 0.9]
    return _roughened(edges, rng.integers(50, 150, len(edges)), side * side, rng), f"{side}²"


def bay() -> tuple[csr_array, str]:
    """San Francisco Bay, made one-way in the same manner, a twentieth of the streets: of a fifth, a
    third of the city would be left strongly connected.
    """
    path = DATA / "roads" / "dimacs" / "USA-road-d.BAY.gr.gz"
    graph = mdp.read_graph(path).graph
    pairs = graph.pairs()
    lengths = csr_array((graph.lengths, graph.indices, graph.indptr), shape=(len(graph),) * 2)
    rng = np.random.default_rng(5)
    found = np.asarray(lengths[pairs[:, 0], pairs[:, 1]]).ravel()
    return _roughened(pairs, found, len(graph), rng, 0.05), "San Francisco Bay"


def _roughened(
    edges: np.ndarray, lengths: np.ndarray, n: int, rng: np.random.Generator, one_way: float = 0.2
) -> csr_array:
    both = rng.random(len(edges)) >= one_way
    t, h = np.r_[edges[:, 0], edges[both, 1]], np.r_[edges[:, 1], edges[both, 0]]
    w = np.ceil(np.r_[lengths, lengths[both]] * (1 + rng.random(len(t)) / 2))
    arcs = csr_array((w, (t, h)), shape=(n, n))
    label = connected_components(arcs, connection="strong")[1]
    inside = np.flatnonzero(label == np.bincount(label).argmax())
    return arcs[inside][:, inside].tocsr()


def timed(side: int, rounds: int) -> None:
    """Processor seconds of directed and undirected k-median on the same roads, in turn."""
    for arcs, name in (bay(), town(side)):
        made = {}
        for kind, options in (
            ("undirected", {"symmetrize": True}),
            ("directed", {"directed": True}),
        ):
            start = time.process_time()
            made[kind] = GraphMetric(arcs, **options)
            print(f"{name}: {kind} universe {time.process_time() - start:.1f} s", flush=True)
        weights = np.ones(arcs.shape[0])
        for starts in (3, None):
            spent: dict[str, list[float]] = {kind: [] for kind in made}
            cost = {}
            for seed in range(rounds):
                for kind, metric in made.items():
                    start = time.process_time()
                    found = solve(metric, weights, K, seed=seed, starts=starts)
                    spent[kind].append(time.process_time() - start)
                    cost[kind] = found.cost
            shown = ", ".join(f"{kind} {np.median(s):.1f} s" for kind, s in spent.items())
            ratio = np.median(spent["directed"]) / np.median(spent["undirected"])
            print(f"{name}, {len(weights):,} vertices, starts={starts}: {shown}, {ratio:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("private", "time"))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--side", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.what == "private":
        private(given.draws)
    else:
        timed(given.side, given.rounds)
