"""Make generated_pmed.txt, a p-median instance in OR-Library's format, and prove its optimum.

Random graphs as J. E. Beasley's, "A note on solving large p-median problems", European Journal of
Operational Research 21 (1985): n vertices, n^2/50 edges between random vertices, integer costs
uniform in 1..100. Here a random path through all vertices makes the graph connected. Edges may
repeat with differing costs, as in the library, where the last cost counts. The optimum is proven by
HiGHS on the usual integer program.

    python graphs/make_pmed.py

takes some seconds and prints the optimum and its medians, which index.toml records.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array, eye_array, hstack, kron, vstack
from scipy.sparse.csgraph import dijkstra

N, P, SEED = 200, 10, 1985


def instance() -> list[tuple[int, int, int]]:
    """Edges (i, j, cost), 1-based, in file order."""
    rng = np.random.default_rng(SEED)
    path = rng.permutation(N) + 1
    ends = [(int(a), int(b)) for a, b in pairwise(path)]
    while len(ends) < N * N // 50:
        a, b = rng.integers(1, N + 1, 2).tolist()
        if a != b:
            ends.append((a, b))
    return [(a, b, int(cost)) for (a, b), cost in zip(ends, rng.integers(1, 101, len(ends)))]


def distances(edges: list[tuple[int, int, int]]) -> np.ndarray:
    """All shortest paths, the last cost of each edge counting: (N, N)."""
    cost = {(min(a, b) - 1, max(a, b) - 1): c for a, b, c in edges}
    i, j = np.array(list(cost)).T
    return dijkstra(
        csr_array((np.array(list(cost.values()), float), (i, j)), shape=(N, N)), directed=False
    )


def prove(d: np.ndarray) -> tuple[int, list[int]]:
    """Optimal cost and medians (1-based) of the integer program: x[i, j] assigns vertex i to median
    j, y[j] opens j.
    """
    n = len(d)
    assigned = hstack([kron(eye_array(n), np.ones((1, n))), coo_array((n, n))])
    opened = hstack([eye_array(n * n), -kron(np.ones((n, 1)), eye_array(n))])
    exactly = coo_array(np.r_[np.zeros(n * n), np.ones(n)][None, :])
    rules = vstack([assigned, opened, exactly]).tocsr()
    low, high = np.r_[np.ones(n), np.full(n * n, -np.inf), P], np.r_[np.ones(n), np.zeros(n * n), P]
    found = milp(
        np.r_[d.ravel(), np.zeros(n)],
        constraints=LinearConstraint(rules, low, high),
        integrality=np.r_[np.zeros(n * n), np.ones(n)],
        bounds=Bounds(0, 1),
        options={"mip_rel_gap": 0.0},
    )
    if found.status != 0 or found.mip_gap > 0:
        raise SystemExit(f"not proven: {found.message}")
    medians = np.flatnonzero(found.x[n * n :] > 0.5)
    cost = int(d[:, medians].min(axis=1).sum())
    if abs(found.mip_dual_bound - cost) >= 0.5:
        raise SystemExit("the proven bound and the medians' cost differ")
    return cost, (medians + 1).tolist()


def main() -> None:
    """Write the instance, then prove and print its optimum."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=Path(__file__).parent, help="folder to write to"
    )
    parser.add_argument("--no-proof", action="store_true", help="write the file only")
    arguments = parser.parse_args()
    edges = instance()
    lines = [f"{N} {len(edges)} {P}", *(f"{a} {b} {c}" for a, b, c in edges)]
    (arguments.output / "generated_pmed.txt").write_text("\n".join(lines) + "\n")
    if not arguments.no_proof:
        optimum, medians = prove(distances(edges))
        print(f"optimum = {optimum}\noptimal_medians = {medians}")  # noqa: T201


if __name__ == "__main__":
    main()
