"""Cost of the adaptive default over the best non-private search, where demand sits in few places.

python -m benchmarks adaptive [--draws 5] [--one-round-draws 5] [--only NAME] [--epsilons 1]
    [--seed 7] [--cache FOLDER] [--json FILE]

Prints a row an instance, k and epsilon: mean (largest) ratio of one round, as the default was
before it counted more often, and of the default. Noise comes from the operating system, so figures
vary from run to run; instances and solvers are seeded. No hint of the number of records.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import metricdp as mdp
from benchmarks.sets.graphs import Instance, heavy, members, spots
from metricdp.methods.finite import partition, rounds
from metricdp.solvers.kmedian import solve

INSTANCES: dict[str, tuple[Callable[[int | None], Instance], tuple[int, ...], tuple[float, ...]]]
INSTANCES = {
    "rome_osm 50,000": (lambda seed: spots("rome_osm", 50_000, seed or 7), (50,), (0.1, 0.25, 1.0)),
    "rome_osm 5,000": (lambda seed: spots("rome_osm", 5000, seed or 7), (20,), (0.1, 0.25, 1.0)),
    "liechtenstein 1,000": (
        lambda seed: spots("liechtenstein", 1000, seed or 7),
        (30,),
        (0.1, 0.25, 1.0),
    ),
    "liechtenstein 10,000": (
        lambda seed: spots("liechtenstein", 10_000, seed or 7),
        (30,),
        (0.1, 0.25, 1.0),
    ),
    "rome_osm heavy 3,000": (
        lambda seed: heavy("rome_osm", 3000, seed or 7),
        (10,),
        (0.1, 0.25, 1.0),
    ),
    "liechtenstein heavy 3,000": (
        lambda seed: heavy("liechtenstein", 3000, seed or 7),
        (10,),
        (0.1, 0.25, 1.0),
    ),
    "email-Enron": (lambda seed: members("email-Enron", seed=seed or 9), (5, 20), (0.25, 1.0)),
    "lastfm_asia": (lambda seed: members("lastfm_asia", seed=seed or 9), (5, 20), (0.25, 1.0)),
    "facebook": (lambda seed: members("facebook_combined", seed=seed or 9), (5, 20), (0.25, 1.0)),
}
"""Instance, numbers of centers, epsilons."""
ONE, NEW = "one round", "default"


def reference(metric: Any, weights: np.ndarray, k: int, cache: Path | None, name: str) -> float:
    """Best of two non-private searches of five starts each, kept in a file if a folder is given."""
    kept = cache / f"{name}-{k}.npz" if cache else None
    if kept and kept.exists():
        return float(np.load(kept)["cost"])
    cost = min(solve(metric, weights, k, seed=seed, starts=5).cost for seed in range(2))
    if kept:
        np.savez(kept, cost=cost)
    return cost


def before() -> Any:
    """One round of parts that nothing was known of, as the default was once."""
    return mock.patch.multiple(
        partition, planned=lambda *asked: rounds.ONE, few_in_plane=lambda *asked: False
    )


def reported(one: list[float], new: list[float]) -> str:
    """Means (largest) of one round and of the default, and what is left of the excess."""
    if not one:
        return f"| {np.mean(new):.3f} ({max(new):.3f}) |"
    left = (np.mean(new) - 1) / max(np.mean(one) - 1, 1e-9)
    return (
        f"{np.mean(one):.3f} ({max(one):.3f}) | {np.mean(new):.3f} ({max(new):.3f}) "
        f"| {100 * left:.0f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--one-round-draws", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", help="in place of the usual ones")
    parser.add_argument("--only", action="append", help="an instance by name (may be repeated)")
    parser.add_argument("--seed", type=int, help="of the demand, in place of the usual ones")
    parser.add_argument("--cache", type=Path, help="folder that keeps the best non-private costs")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    table: dict[str, dict[str, list[float]]] = {}
    for name in options.only or INSTANCES:
        make, ks, epsilons = INSTANCES[name]
        metric, positions = make(options.seed)
        weights = np.bincount(positions, minlength=len(metric)).astype(float)
        demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in positions.tolist()])
        key = f"{name}-{options.seed}"
        costs = {k: reference(metric, weights, k, options.cache, key) for k in ks}
        blind = {
            k: float(weights @ metric.nearest_to(solve(metric, np.ones(len(metric)), k).centers)[1])
            for k in ks
        }
        for epsilon in options.epsilons or epsilons:
            found: dict[tuple[int, str], list[float]] = {(k, ONE): [] for k in ks}
            start = time.perf_counter()
            for draw in range(max(options.draws, options.one_round_draws)):
                for how, draws in ((ONE, options.one_round_draws), (NEW, options.draws)):
                    if draw >= draws:
                        continue
                    with before() if how == ONE else nullcontext():
                        release = mdp.release(metric, demand, epsilon=epsilon)
                    for k in ks:
                        centers = metric.positions(release.k_median(k).centers)
                        cost = float(weights @ metric.nearest_to(centers)[1])
                        found.setdefault((k, how), []).append(cost / costs[k])
            for k in ks:
                for how in (ONE, NEW):
                    table[f"{name}, k={k}, epsilon={epsilon:g}, {how}"] = found[k, how]
                print(
                    f"| {name} | {k} | {epsilon:g} | {blind[k] / costs[k]:.2f} "
                    f"| {reported(found[k, ONE], found[k, NEW])} |",
                    flush=True,
                )
            if options.json:
                options.json.write_text(json.dumps(table))
            print(f"  {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
