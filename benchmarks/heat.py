"""Heat maps: how far private ones are from exact ones, and whether an attacker who inverts the
kernel finds a person.

    python -m benchmarks.heat --draws 5 --data ../shared/data/roads
    python -m benchmarks.heat --trials 400 --data ../shared/data/roads

The attack: a coin decides whether one person more is at a vertex where nobody else is. The map is
made, and shows its bandwidth. The attacker inverts the kernel (pseudoinverse) and says that the
person is there where the solution at the vertex exceeds a threshold. A second attacker knows all
others, subtracts their map, and matches the rest with what the person would add. Each half of the
trials has the threshold that did best in the other half.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from benchmarks.mean_intervals import demand_about, networks
from metricdp.solvers.estimate.smoothing import Smoothing

RECORDS = {"Coquimbo": 5_000, "Rome": 20_000, "Chicago": 20_000}
EPSILONS = (0.25, 0.5, 1.0, 2.0)

Floats = NDArray[np.float64]


def errors(metric: mdp.GraphMetric, n: int, draws: int) -> list[str]:
    """Rows of the first table."""
    centers = mdp.k_median(metric, k=10).centers
    at = demand_about(metric, centers, n, 0.0)
    demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in at.tolist()])
    weights = np.bincount(at, minlength=len(metric)).astype(float)
    rows = []
    for epsilon in EPSILONS:
        found = []
        for _ in range(draws):
            heat = mdp.release(metric, demand, epsilon=epsilon).heatmap()
            exact = mdp.heatmap(metric, weights, bandwidth=heat.bandwidth)
            off = np.abs(heat.density - exact.density)
            held = off[at] <= 2 * heat.standard_error[at]
            relative = np.median(off[at] / exact.density[at])
            found.append((heat.bandwidth, relative, off @ heat.lengths / n / 2, held.mean()))
        width, relative, moved, held = np.median(found, axis=0)
        rows.append(
            f"| {n:,} | {epsilon:g} | {width:,.0f} | {100 * relative:.0f} % | {100 * moved:.0f} % "
            f"| {100 * held:.0f} % |"
        )
    return rows


def success(scores: Floats, there: NDArray[np.bool_]) -> float:
    """Share of right answers, of each half by the best threshold of the other."""
    right = 0
    for half in (0, 1):
        seen, known = scores[1 - half :: 2], there[1 - half :: 2]
        tried = np.unique(np.r_[seen, -np.inf, np.inf])
        best = tried[int(np.argmax([((seen > t) == known).mean() for t in tried]))]
        right += int(((scores[half::2] > best) == there[half::2]).sum())
    return right / len(scores)


def attacked(metric: mdp.GraphMetric, n: int, epsilon: float | None, trials: int) -> str:
    """A row of the second table."""
    coins = np.random.default_rng(7)
    at = demand_about(metric, mdp.k_median(metric, k=10).centers, n, 0.0)
    others = np.bincount(at, minlength=len(metric)).astype(float)
    places = coins.choice(np.flatnonzero(others == 0), trials)
    there = coins.random(trials) < 0.5
    width = mdp.heatmap(metric, others).bandwidth
    if epsilon is not None:
        demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in at.tolist()])
        width = mdp.release(metric, demand, epsilon=epsilon).heatmap().bandwidth
    matrix = Smoothing(metric).density(np.eye(len(metric)), width)
    inverse = np.linalg.pinv(matrix, rcond=1e-13)
    scores = np.empty((trials, 2))
    for i, place in enumerate(places.tolist()):
        weights = others + there[i] * (np.arange(len(metric)) == place)
        if epsilon is None:
            heat = mdp.heatmap(metric, weights, bandwidth=width)
        else:
            ids = [metric.ids[j] for j in np.repeat(np.arange(len(weights)), weights.astype(int))]
            release = mdp.release(metric, mdp.PrivateDemand(metric, ids), epsilon=epsilon)
            heat = release.heatmap(bandwidth=width)
        scores[i] = (
            inverse[place] @ heat.density,
            (heat.density - matrix @ others) @ matrix[:, place],
        )
    named = "none" if epsilon is None else f"{epsilon:g}"
    limit = 1.0 if epsilon is None else 1 / (1 + np.exp(-epsilon))
    rates = " | ".join(f"{100 * success(s, there):.0f} %" for s in scores.T)
    return f"| {n:,} | {named} | {width:,.1f} | {rates} | {100 * limit:.0f} % |"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--trials", type=int, default=0)
    parser.add_argument("--only", nargs="+", help="networks, by name")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/roads"))
    asked = parser.parse_args()
    chosen = {k: m for k, m in networks(asked.data).items() if k in (asked.only or RECORDS)}
    if asked.trials:
        print("| records | epsilon | bandwidth | inverts | knows all others | epsilon allows |")
        print("| --- | --- | --- | --- | --- | --- |")
        for epsilon in (None, 1.0, 0.25):
            print(attacked(chosen["Chicago"], 300, epsilon, asked.trials), flush=True)
        return
    print("| network | records | epsilon | bandwidth | error, median | moved | within 2 errors |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, metric in chosen.items():
        for row in errors(metric, RECORDS[name], asked.draws):
            print(f"| {name} {row}", flush=True)


if __name__ == "__main__":
    main()
