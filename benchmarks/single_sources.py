"""Capacitated k-median of a single source: OR-Library's instances, and clients in blocks of a city
beside HiGHS.

    METRICDP_DATA=… python -m benchmarks single_sources pmedcap [SECONDS]
    python -m benchmarks single_sources blocks SECONDS N [N …]
    python -m benchmarks single_sources clusters SECONDS SEEDS

`pmedcap`: value, best known, bound and processor seconds of all 20, within so many seconds each.
`blocks`: of a city's blocks, most of them with few people and some with many, each is a client and
a place for a site; capacities are 10 to 30 % loose. HiGHS gets the plain integer program for at
most `HIGHS_SECONDS`.
`clusters`: 100 clients in one cluster more than there are sites, capacities 2 to 12 % loose: where
sites go is a matter of how many each cluster gets.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
from scipy.optimize import LinearConstraint
from scipy.sparse import csr_array, eye_array, hstack, kron

import metricdp as mdp
from benchmarks import objectives

DATA = Path(os.environ.get("METRICDP_DATA", "../shared/data"))
HIGHS_SECONDS = 600.0


def pmedcap(seconds: float = 10.0) -> None:
    """Osman and Christofides (1994): distances rounded down, the best known values."""
    text = (DATA / "plan/facilities/pmedcap1.txt").read_text().split()
    numbers, at, met, proven = [float(x) for x in text], 1, 0, 0
    for _ in range(int(numbers[0])):
        best, n, k, room = numbers[at + 1], *(int(x) for x in numbers[at + 2 : at + 5])
        rows = np.array(numbers[at + 5 : at + 5 + 4 * n]).reshape(n, 4)
        at += 5 + 4 * n
        distances = np.linalg.norm(rows[:, None, 1:3] - rows[None, :, 1:3], axis=2)
        table = mdp.CostTable(np.floor(distances + 1e-9), sites=range(n), clients=range(n))
        plan, spent = asked(table, k, room, rows[:, 3], seconds)
        met, proven = met + (plan.value <= best), proven + (plan.gap == 0)
        print(f"{n} sites, k {k}: {plan.value:g} of {best:g}, {plan.bound:g}, {spent:.1f} s")
    print(f"best known met: {met} of 20, proven: {proven}")


def asked(
    metric: mdp.Metric, k: int, room: float, loads: np.ndarray, seconds: float
) -> tuple[mdp.Solution, float]:
    """A plan that keeps its capacities, and processor seconds."""
    start = time.process_time()
    objective = mdp.objectives.Capacitated(k, room, single_source=True)
    plan = mdp.solve(metric, objective, loads=loads, time_limit=seconds)
    spent = time.process_time() - start
    assert max(plan.loads.values()) <= room * (1 + 1e-9), "a capacity is not kept"
    return plan, spent


def city(n: int, seed: int) -> tuple[mdp.EuclideanMetric, np.ndarray, int, float]:
    """Blocks of about 100 m, their people, k, and the capacity of a site."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(1.7 * n)))
    grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2) * 100.0
    places = grid[rng.permutation(len(grid))[:n]] + rng.uniform(-30, 30, (n, 2))
    people = np.maximum(np.round(rng.lognormal(3.2, 0.9, n)), 1.0)
    k = n // int(rng.integers(8, 14))
    room = np.ceil(people.sum() * rng.uniform(1.1, 1.3) / k)
    return mdp.EuclideanMetric(places), people, k, float(max(room, people.max()))


def blocks(seconds: float, *sizes: float) -> None:
    """A city of each size."""
    objectives.HIGHS_SECONDS = HIGHS_SECONDS
    for seed, n in enumerate(int(size) for size in sizes):
        metric, people, k, room = city(n, seed)
        plan, spent = asked(metric, k, room, people, seconds)
        line = f"{n} blocks, k {k}, room {room * k / people.sum():.2f}: {plan.value:.2f}, "
        print(f"{line}gap {100 * plan.gap:.3f} %, {spent:.1f} s", end="", flush=True)
        found = highs(metric, people, k, room)
        more = "nothing" if found is None else f"{100 * (found / plan.value - 1):+.3f} %"
        print(f"; HiGHS: {more}", flush=True)


def highs(metric: mdp.EuclideanMetric, loads: np.ndarray, k: int, room: float) -> float | None:
    """Cost of HiGHS' best point; None if it found none."""
    n = len(metric)
    rows = metric.distance_rows(np.arange(n))
    full = hstack([-room * eye_array(n), kron(eye_array(n), loads[None])], format="csr")
    count = csr_array(np.r_[np.ones(n), np.zeros(n * n)][None])
    rules = [LinearConstraint(full, -np.inf, 0), LinearConstraint(count, k, k)]
    cost = np.r_[np.zeros(n), rows.ravel()]
    best = objectives.highs(cost, [*rules, *objectives.served(n, n)], len(cost), 1e-4)
    return None if best is None else best[0]


def clusters(seconds: float, seeds: float) -> None:
    """Value, gap and processor seconds of each seed's instance."""
    for seed in range(int(seeds)):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(3, 8))
        middles = rng.uniform(0, 1000, (k + 1, 2))
        places = middles[rng.integers(0, k + 1, 100)] + rng.normal(0, 80, (100, 2))
        loads = np.maximum(np.round(rng.lognormal(3.0, 0.9, 100)), 1.0)
        room = float(max(np.ceil(loads.sum() * rng.uniform(1.02, 1.12) / k), loads.max()))
        plan, spent = asked(mdp.EuclideanMetric(places), k, room, loads, seconds)
        line = f"k {k}, room {room * k / loads.sum():.2f}: {plan.value:.2f}"
        print(f"{line}, gap {100 * plan.gap:.2f} %, {spent:.1f} s", flush=True)


if __name__ == "__main__":
    runs = {"pmedcap": pmedcap, "blocks": blocks, "clusters": clusters}
    what, numbers = objectives.asked_of(__doc__, runs)
    runs[what](*numbers)
