"""How often the free intervals of a release hold the truth, and how wide they are.

python -m benchmarks free_intervals [--draws 10] [--only NAME] [--seed 7] [--json FILE]

A row an instance, k and epsilon: the share of draws in which the interval of the mean distance
held the true one of all records; the share of territories whose interval held their true demand;
the median half width of both (of the mean, and of the mean load N / k); and the half width of an
oracle that knows how demand stands inside every part, so that it has only the noise and the
sampling of people to account for. Noise comes from the operating system, so figures vary.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from unittest import mock

import numpy as np

import metricdp as mdp
from benchmarks.euclidean import SETS, box
from benchmarks.sets.graphs import MAIN, Instance, hot_spots, members, road_network, spots
from metricdp.partitions.service import Service
from metricdp.solvers.estimate import credible


def rome_hot_spots(seed: int | None) -> Instance:
    """Demand around eight vertices of Rome."""
    metric = road_network("rome_osm")
    return metric, hot_spots(metric, 5000, seed=seed or 7)


def power_grid(seed: int | None) -> Instance:
    """Demand around six vertices of a network of 4,941 power stations (hops)."""
    return members("power", seed=seed or 9)


CHOSEN = ("Coquimbo 500", "Coquimbo 5,000", "Coquimbo 20,000", "Manhattan 2,000", "facebook 500")
"""Of MAIN, whose usual seeds were used to choose the constants, with the concentrated instances."""
INSTANCES = {name: ((lambda seed, make=make: make()), (10, 20)) for name, make in MAIN.items()} | {
    "liechtenstein 1,000": (lambda seed: spots("liechtenstein", 1000, seed or 7), (30,)),
    "liechtenstein 10,000": (lambda seed: spots("liechtenstein", 10_000, seed or 7), (30,)),
    "lastfm_asia": (lambda seed: members("lastfm_asia", seed=seed or 9), (5, 20)),
    "facebook": (lambda seed: members("facebook_combined", seed=seed or 9), (5, 20)),
    "rome_osm 5,000": (lambda seed: spots("rome_osm", 5000, seed or 7), (20,)),
    "email-Enron": (lambda seed: members("email-Enron", seed=seed or 9), (5, 20)),
    "rome_osm, hot spots": (rome_hot_spots, (20,)),
}
BOXES = tuple(name for name, (make, k, corners) in SETS.items() if "d10" not in name)
"""That demand clusters inside cells was chosen on s1, a3 and unbalance."""


def boxed(name: str, seed: int | None) -> Instance:
    """Points in a public box; with a seed half of them, drawn anew."""
    make, _, corners = SETS[name]
    points = make()
    if seed is not None:
        points = np.random.default_rng(seed).permutation(points)[: len(points) // 2]
    return box(points, *corners, loose=1, away=0), points


INSTANCES |= {
    f"box {name}": ((lambda seed, name=name: boxed(name, seed)), (SETS[name][1],)) for name in BOXES
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--only", action="append", help="an instance by name (may be repeated)")
    parser.add_argument("--seed", type=int, help="of the demand, in place of the usual ones")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table: dict[str, dict[str, list[float]]] = {}
    for name in options.only or INSTANCES:
        make, ks = INSTANCES[name]
        metric, positions = make(options.seed)
        finite = positions.ndim == 1
        named = [metric.ids[i] for i in positions.tolist()] if finite else positions
        demand = mdp.PrivateDemand(metric, named)
        for epsilon in (0.1, 0.25, 1.0):
            found: dict[int, dict[str, list[float]]] = {k: {} for k in ks}
            for _ in range(options.draws):
                release = mdp.release(metric, demand, epsilon=epsilon)
                for k in ks:
                    one(release, metric, positions, k, found[k])
            for k in ks:
                table[f"{name}, k={k}, epsilon={epsilon:g}"] = found[k]
                estimate = {
                    key: (np.mean if "held" in key else np.median)(v) for key, v in found[k].items()
                }
                print(
                    f"| {name} | {k} | {epsilon:g} | {estimate['mean held']:.3f} "
                    f"| ± {100 * estimate['mean']:.1f} % | ± {100 * estimate['oracle']:.1f} % "
                    f"| {estimate['loads held']:.3f} | ± {100 * estimate['loads']:.0f} % "
                    f"| ± {100 * estimate['loads, oracle']:.0f} % "
                    f"| {np.mean(found[k]['off']):+.3f} "
                    f"({np.std(found[k]['off']):.3f}) |",
                    flush=True,
                )
            if options.json:
                options.json.write_text(json.dumps(table))


def one(release, metric, positions, k, found) -> None:
    """Intervals of one release's own centers against the truth."""
    centers = release.k_median(k).centers
    labels, distance = Service(metric, centers).served(positions)
    truth = float(distance.mean())
    loads = np.bincount(labels, minlength=k)
    labels, distance = release._places.served(centers)
    estimate = release._places.credible
    mean = estimate.mean(distance)
    sums = estimate.sums(labels, k)
    known = estimate.shift._replace(either=0.0)
    with mock.patch.object(estimate, "shift", known), mock.patch.object(credible, "UNEVEN", 0.0):
        oracle = estimate.mean(distance)
        oracle_sums = estimate.sums(labels, k)
    each = len(positions) / k
    for key, value in {
        "mean held": mean.low <= truth <= mean.high,
        "mean": mean.half_width / truth,
        "oracle": oracle.half_width / truth,
        "loads held": float(((sums.low <= loads) & (loads <= sums.high)).mean()),
        "loads": float(np.median(sums.half_width)) / each,
        "loads, oracle": float(np.median(oracle_sums.half_width)) / each,
        "off": mean.estimate / truth - 1,
    }.items():
        found.setdefault(key, []).append(float(value))


if __name__ == "__main__":
    main()
