"""People with many records: shares, samples of m records and caps, on Manhattan's travel times.

    python -m benchmarks users [--draws 3] [--epsilons 1,0.25] [--only NAME]

Real pick-ups (METRICDP_DATA) are given to 5,000 made-up people, by public coins: a heavy-tailed
number of records each (mean 17, at most 1,500), half of them at three places of their own. Cost of
the private centers over that of the best found without privacy: on all records, and per person (the
mean over people of each one's mean distance): mean and, in parentheses, largest draw.
"""

from __future__ import annotations

import argparse
from fractions import Fraction

import numpy as np

import metricdp as mdp
from benchmarks.sets.graphs import manhattan

PEOPLE, MEAN, MOST = 5000, 17.0, 1500
BOUNDS = {
    "share": ({"weighting": "share"}, {}),
    "m = 1": ({"max_contributions": 1}, {}),
    "m = 5": ({"max_contributions": 5}, {}),
    "caps 20 x 1, delta 1e-6": ({"caps": mdp.Caps(20, 1)}, {"delta": "1e-6"}),
    "caps 20 x 1": ({"caps": mdp.Caps(20, 1)}, {}),
    "m chosen": ("chosen", {}),
}
CHOICE = "0.05"
"""Of epsilon 1, for the choice of m: a twentieth of what there is."""


def people(pool):
    """Users and positions of their records."""
    coins = np.random.default_rng(21)
    sizes = np.ceil(coins.pareto(1.15, PEOPLE) * 4)
    sizes = np.clip(np.ceil(sizes * MEAN / np.minimum(sizes, MOST).mean()), 1, MOST).astype(int)
    users = np.repeat(np.arange(PEOPLE), sizes)
    own = coins.choice(pool, (PEOPLE, 3))
    at_own = own[users, coins.integers(0, 3, len(users))]
    return users, np.where(coins.random(len(users)) < 0.5, at_own, coins.choice(pool, len(users)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--epsilons", default="1,0.25")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    metric, pool = manhattan(100_000)
    users, at = people(pool)
    ids = [metric.ids[i] for i in at]
    n = len(metric)
    records = np.bincount(at, minlength=n).astype(float)
    each = np.bincount(at, 1.0 / np.bincount(users)[users], minlength=n)
    print(f"{len(at):,} records, largest {np.bincount(users).max():,}", flush=True)
    weights = {"records": records, "people": each}
    best = {
        (k, name): float(metric.nearest(mdp.k_median(metric, k=k, weights=w).centers)[1] @ w)
        for k in (10, 20)
        for name, w in weights.items()
    }
    for epsilon in options.epsilons.split(","):
        for bound, (given, asked) in BOUNDS.items():
            if options.only not in bound:
                continue
            found = {10: [], 20: []}
            chosen = []
            for _ in range(options.draws):
                left = Fraction(epsilon)
                kept = given
                if given == "chosen":
                    price = left * Fraction(CHOICE)
                    reported = mdp.contributions(users, epsilon=price, quantile="0.5")
                    kept, left = {"max_contributions": reported.max_contributions}, left - price
                    chosen.append(reported.max_contributions)
                demand = mdp.PrivateDemand(metric, ids, user=users, **kept)
                release = mdp.release(metric, demand, epsilon=left, **asked)
                for k, ratios in found.items():
                    far = metric.nearest(release.k_median(k).centers)[1]
                    ratios.append([float(far @ w) / best[k, n] for n, w in weights.items()])
            for k, ratios in found.items():
                (a, b), (c, d) = np.mean(ratios, axis=0), np.max(ratios, axis=0)
                reported = f"{a:.3f} ({c:.3f}) | {b:.3f} ({d:.3f})"
                note = f" {chosen}" if chosen else ""
                print(f"| {k} | {epsilon} | {bound}{note} | {reported} |", flush=True)


if __name__ == "__main__":
    main()
