"""Synthetic points beside the plain histogram's, and beside masked ones.

    python -m benchmarks synthetic [--draws 3] [--worlds 150] [--python PYTHON] [--only NAME]

1. *Distance.* On networks with demand in few places: the Wasserstein distance on the graph (exact,
   by assignment) from the records, as 2,000 points of them at equal steps, to 2,000 synthetic
   points of a release, and to points spread evenly in the parts of the plain histogram (one cut by
   the universe alone, negative counts to zero, same epsilon); and what k-median on either costs on
   the truth. *Densities* (``--only densities``): the distance between the weights themselves,
   records and release, exactly, as the cheapest flow over the edges: what is left when the sampling
   of points, which costs both sides the same, is taken away. *Law*: that of the distribution by
   which the records were drawn, which knows nothing of who was. By OR-Tools where it is installed,
   in seconds; else as a linear program, in minutes.
2. *Membership.* A person lives far from all others of 120, in Liechtenstein. The attacker knows
   everybody else, is shown points, and says whether the person is among the records, by how many
   points lie within 1,000 m of the home: on half of the worlds the best threshold is chosen, on
   the other half it is tried. Advantage: right when there, less wrong when not. Of
   epsilon-DP no attack has more than (e^epsilon - 1) / (e^epsilon + 1). Masks are those of maskmypy
   (donut, 100 to 1,000 m; street, 20 to 30 vertices): ``--python`` names a Python that has it;
   without, that part is skipped, and said so.

Data: METRICDP_DATA.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import csr_array, hstack

import metricdp as mdp
from benchmarks.sets.graphs import members, road_network, spots
from metricdp.methods.demand_release import drawn
from metricdp.methods.finite.rounds import number_of_parts
from metricdp.partitions.finite.ward import hierarchy
from metricdp.privacy import HistogramQuery, measure

SHOWN, K = 2000, 20
INSTANCES = {
    "liechtenstein": (lambda n: spots("liechtenstein", n), 10_000),
    "rome_osm": (lambda n: spots("rome_osm", n), 20_000),
    "lastfm_asia": (lambda n: members("lastfm_asia", n), 3000),
    "facebook": (lambda n: members("facebook_combined", n), 3000),
    "ca-GrQc": (lambda n: members("ca-GrQc", n), 3000),
}
"""Of each, what draws so many records by one distribution, and how many are drawn."""
LAW = 3_000_000
"""Records that stand for the distribution itself."""
OTHERS, HOME_SEED = 120, 3
DONUT, STREET = (100, 1000), (20, 30)


def wasserstein(metric, some, others):
    """Mean distance of the cheapest pairing of as many positions."""
    rows, row = np.unique(some, return_inverse=True)
    columns, column = np.unique(others, return_inverse=True)
    far = np.array(metric.distance_rows(rows))[:, columns]
    cost = far[row][:, column]
    return float(cost[linear_sum_assignment(cost)].mean())


def flow(metric, some, others):
    """Exact Wasserstein distance of two weightings of a graph's vertices, without drawing points:
    the cheapest flow over its edges that turns one into the other.
    """
    graph = metric.graph
    tails = np.repeat(np.arange(len(metric)), np.diff(graph.indptr))
    once = tails < graph.indices
    ends = tails[once], graph.indices[once]
    lengths = graph.lengths[once]
    gap = some / some.sum() - others / others.sum()
    cheapest = by_program if find_spec("ortools") is None else by_network
    return cheapest(gap, ends, lengths / lengths.mean()) * float(lengths.mean())


def by_network(gap, ends, lengths, weight=10**7, unit=10**4):
    """Cost of the cheapest flow, with weights and lengths as integers."""
    from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

    solver = SimpleMinCostFlow()
    tails, heads = (np.concatenate(pair).astype(np.int32) for pair in (ends, ends[::-1]))
    price = np.tile(np.round(lengths * unit).astype(np.int64), 2)
    solver.add_arcs_with_capacity_and_unit_cost(tails, heads, np.full(len(price), weight), price)
    supply = np.diff(np.round(np.cumsum(gap) * weight), prepend=0).astype(np.int64)
    supply[-1] -= supply.sum()
    solver.set_nodes_supplies(np.arange(len(gap), dtype=np.int32), supply)
    if solver.solve() != solver.OPTIMAL:
        raise SystemExit("no flow found")
    return solver.optimal_cost() / weight / unit


def by_program(gap, ends, lengths):
    """The same as a linear program."""
    m = len(lengths)
    signs = np.repeat([1.0, -1.0], m)
    shape = len(gap), m
    arcs = csr_array((signs, (np.concatenate(ends), np.tile(np.arange(m), 2))), shape=shape)
    scale = 1e4  # of weight: near 1, the solver's tolerances are too coarse
    price = np.tile(lengths, 2)
    found = linprog(price, A_eq=hstack([arcs, -arcs]), b_eq=scale * gap, method="highs-ds")
    if not found.success:
        raise SystemExit(found.message)
    return float(found.fun / scale)


def densities(draws, only):
    """Distance of the weights themselves."""
    print("| instance | distribution | epsilon | release | plain | of plain |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (make, size) in INSTANCES.items():
        if only not in name:
            continue
        metric, at = make(size)
        truth = np.bincount(at, minlength=len(metric)).astype(float)
        distribution = flow(
            metric, truth, np.bincount(make(LAW)[1], minlength=len(metric)).astype(float)
        )
        demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in at])
        for epsilon in (0.25, 1):
            both = []
            for _ in range(draws):
                released = mdp.release(metric, demand, epsilon=str(epsilon)).weights
                simple = plain(metric, demand, len(at), epsilon)
                both.append([flow(metric, truth, released), flow(metric, truth, simple)])
            w, w0 = np.mean(both, axis=0)
            reported = f"{epsilon} | {w:.4g} | {w0:.4g} | {w / w0:.2f}"
            print(f"| {name} | {distribution:.4g} | {reported} |", flush=True)


def plain(metric, demand, size, epsilon):
    """Weights of the plain histogram: one cut by the universe, counts below zero to zero."""
    cut = hierarchy(metric).cut(number_of_parts(size, 1 / epsilon))
    price = str(epsilon)
    counts = measure(demand, HistogramQuery(cut), price, mdp.Ledger(price).charge(price)).values
    return cut.spread(np.maximum(counts, 0).astype(float))


def distances(draws, only):
    """W1 and cost of both, by instance and epsilon."""
    print("| instance | epsilon | W1 | plain | of plain | k-median cost | plain |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (make, size) in INSTANCES.items():
        if only not in name:
            continue
        metric, at = make(size)
        truth = np.bincount(at, minlength=len(metric)).astype(float)
        best = mdp.k_median(metric, k=K, weights=truth).centers
        least = float(metric.nearest(best)[1] @ truth)
        records = drawn(metric, truth, SHOWN, np.random.default_rng(99))
        for epsilon in (0.25, 1):
            found = []
            for draw in range(draws):
                demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in at])
                weights = mdp.release(metric, demand, epsilon=epsilon).weights
                row = []
                for each in (weights, plain(metric, demand, len(at), epsilon)):
                    points = drawn(metric, each, SHOWN, np.random.default_rng(draw))
                    row.append(wasserstein(metric, records, points))
                    counts = np.bincount(points, minlength=len(metric)).astype(float)
                    centers = mdp.k_median(metric, k=K, weights=counts).centers
                    row.append(float(metric.nearest(centers)[1] @ truth) / least)
                found.append(row)
            w, cost, w0, cost0 = np.mean(found, axis=0)
            print(
                f"| {name} | {epsilon} | {w:.4g} | {w0:.4g} | {w / w0:.2f} | {cost:.3f} "
                f"| {cost0:.3f} |",
                flush=True,
            )


def advantage(there, gone):
    """Of the best threshold on the even worlds, tried on the odd ones, and its standard error."""
    there, gone = np.asarray(there, float), np.asarray(gone, float)
    known, tried = (there[::2], gone[::2]), (there[1::2], gone[1::2])
    limits = np.unique(np.concatenate(known))
    best = max(limits, key=lambda t: (known[0] >= t).mean() - (known[1] >= t).mean())
    rates = [(x >= best).mean() for x in tried]
    error = math.sqrt(sum(r * (1 - r) / len(x) for r, x in zip(rates, tried)))
    return rates[0] - rates[1], error


def meters(points, home):
    """Distances on the ground, for a small country."""
    offset = (np.asarray(points) - home) * [math.cos(math.radians(home[1])), 1]
    return np.hypot(*offset.T) * 111_195


def membership(worlds, python):
    """Advantages against masks and synthetic points."""
    metric = road_network("liechtenstein")
    _, at = spots("liechtenstein", OTHERS, seed=11)
    places = np.asarray(metric.coordinates, float)
    home = int(np.argmax(metric.nearest_to(np.unique(at))[1]))
    print(f"home: {metric.nearest_to(np.unique(at))[1].max():,.0f} m from the nearest record")
    graph = metric.graph
    sources = np.repeat(np.arange(len(metric)), np.diff(graph.indptr))
    ways = [
        [int(u), int(v), float(w)]
        for u, v, w in zip(sources, graph.indices, graph.lengths)
        if u < v
    ]
    given = {
        "vertices": places.tolist(),
        "ways": ways,
        "donut": DONUT,
        "street": STREET,
        "meters": "epsg:2056",
        "at": [*at.tolist(), *[home] * worlds],
    }
    script = Path(__file__).with_name("masking.py")
    reported = subprocess.run(
        [python, str(script)], input=json.dumps(given), capture_output=True, text=True, check=False
    )
    masked = (
        json.loads(reported.stdout.splitlines()[-1])
        if reported.stdout
        else {"missing": reported.stderr}
    )
    print("| points | epsilon | advantage | bound |")
    print("| --- | --- | --- | --- |")
    if "missing" in masked:
        print(f"| masks | | skipped: {masked['missing'].strip()[-120:]} | |")
    else:
        for name, moved in masked.items():
            near = meters(moved, places[home]) <= DONUT[1]
            others = int(near[:OTHERS].sum())  # masked once: they live far away
            there = others + near[OTHERS:].astype(int)
            gone = np.full(worlds, others)
            found, error = advantage(there, gone)
            print(f"| {name} mask | none | {found:.2f} ± {2 * error:.2f} | none |", flush=True)
    close = meters(places, places[home]) <= DONUT[1]
    for epsilon in (1, 4):
        points, weights = [], []
        for who in ([*at, home], at):
            shown = [[], []]
            for _ in range(worlds):
                demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in who])
                release = mdp.release(metric, demand, epsilon=epsilon)
                found = metric.positions(list(release.sample(OTHERS)))
                shown[0].append(int(close[found].sum()))
                shown[1].append(float(release.weights[close].sum()))
            points.append(shown[0])
            weights.append(shown[1])
        most = math.tanh(epsilon / 2)
        for name, both in (("synthetic points", points), ("the release itself", weights)):
            found, error = advantage(*both)
            reported = f"{found:.2f} ± {2 * error:.2f} | {most:.2f}"
            print(f"| {name} | {epsilon} | {reported} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--worlds", type=int, default=150)
    parser.add_argument("--python", default=sys.executable)
    what = "an instance, or: membership, or: densities, densities:INSTANCE"
    parser.add_argument("--only", default="", help=what)
    options = parser.parse_args()
    kind, _, name = options.only.partition(":")
    if options.only == "" or kind == "densities":
        densities(options.draws, name)
    if options.only != "membership" and kind != "densities":
        distances(options.draws, options.only)
    if options.only in ("", "membership"):
        membership(options.worlds, options.python)


if __name__ == "__main__":
    main()
