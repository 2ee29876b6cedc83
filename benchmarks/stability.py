"""How sure sites are of which `stability` says so: has the exact demand a site there?

    METRICDP_DATA=../shared/data python -m benchmarks.stability --draws 70

A draw: demand around ten random vertices, each vertex with a factor of its own (exponential), as
`benchmarks.mean_intervals` has it; a release of it; ten sites, and how sure each is that one stands
within half of the mean distance. It stands if the best sites found for the exact demand have one
there. ``--begun`` is the search that begins at the sites, of demand even inside its parts: what
`stability` was at first.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from benchmarks.mean_intervals import networks
from benchmarks.sets.graphs import manhattan
from metricdp.solvers.kmedian import solve

SETTINGS = {"Chicago": (2_000, 0.5), "Rome": (5_000, 0.5), "Manhattan": (5_000, 1.0)}
"""Records and epsilon."""
ENDS = (0.0, 0.3, 0.6, 0.85, 0.95, 1.0)
K = 10

Floats = NDArray[np.float64]


def drawn(metric: mdp.GraphMetric, n: int, coins: np.random.Generator) -> NDArray[np.int64]:
    """Positions of records."""
    around = [metric.ids[i] for i in coins.choice(len(metric), K, replace=False)]
    rank = np.argsort(np.argsort(metric.nearest(around)[1])) / len(metric)
    density = np.exp(-rank / 0.3) * coins.exponential(size=len(metric))
    return coins.choice(len(metric), n, p=density / density.sum())


def begun(release: mdp.Release, positions: NDArray[np.int64], within: float) -> Floats:
    """How often sites of searches that begin at these are near them."""
    reported, metric = release._credible, release.universe
    near = []
    for counts in reported.draws(24):
        found = solve(metric, reported.spread(counts), len(positions), first=positions, starts=1)
        near.append(metric.nearest_to(found.centers)[1][positions] <= within)
    return np.mean(near, axis=0)


def one(metric: mdp.GraphMetric, n: int, epsilon: float, coins: np.random.Generator, old: bool):
    """How sure each site is, and whether it stands."""
    at = drawn(metric, n, coins)
    exact = np.bincount(at, minlength=len(metric)).astype(float)
    best = solve(metric, exact, K, starts=6).centers
    demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in at.tolist()])
    plan = mdp.release(metric, demand, epsilon=epsilon).k_median(K)
    positions = metric.positions(plan.centers)
    firm = plan.stability()
    stands = metric.nearest_to(best)[1][positions] <= firm.within
    return (begun(plan.release, positions, firm.within) if old else firm.near), stands


def row(name: str, sure: Floats, stands: NDArray[np.bool_]) -> str:
    """Said, stands and number of sites, by how sure they are called."""
    cells = []
    for low, high in pairwise(ENDS):
        mine = (sure >= low) & ((sure < high) | (high == 1.0))
        said, held = 100 * sure[mine].mean(), 100 * stands[mine].mean()
        cells.append(f"{said:.0f} → {held:.0f} % ({mine.sum()})" if mine.any() else "–")
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=70, help="of each network")
    parser.add_argument("--only", nargs="+", help="networks, by name")
    parser.add_argument("--begun", action="store_true")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/roads"))
    asked = parser.parse_args()
    known = networks(asked.data) | {"Manhattan": manhattan(1)[0]}
    print("| network | " + " | ".join(f"{a:g} to {b:g}" for a, b in pairwise(ENDS)) + " |")
    print("| --- |" + " --- |" * (len(ENDS) - 1))
    whole = []
    for i, (name, (n, epsilon)) in enumerate(SETTINGS.items()):
        if name not in (asked.only or SETTINGS):
            continue
        coins = np.random.default_rng([11, i])
        found = [one(known[name], n, epsilon, coins, asked.begun) for _ in range(asked.draws)]
        whole += found
        print(row(name, *(np.concatenate(part) for part in zip(*found))), flush=True)
    print(row("all", *(np.concatenate(part) for part in zip(*whole))))


if __name__ == "__main__":
    main()
