"""p-median without privacy, by the packages that planners use: OR-Library's instances.

    python -m benchmarks planners [--instances 1,10,20,30,40] [--time-limit 300]

Each package gets what it needs: the graph, or a matrix of distances, whose making does not count.
Seconds of the processor, after a small call that compiles. Needs METRICDP_DATA and
``pip install spopt highspy kmedoids``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import metricdp as mdp
from metricdp.universe import read_pmed_p

_Answer = tuple[float, str]


def quick(metric: Any, matrix: np.ndarray, k: int, limit: float) -> _Answer:
    """With default arguments."""
    found = mdp.k_median(metric, k=k)
    return matrix[metric.positions(found.centers)].min(axis=0).sum(), ""


def proven(metric: Any, matrix: np.ndarray, k: int, limit: float) -> _Answer:
    """Until the optimum is proved."""
    found = mdp.k_median(metric, k=k, exact=True, time_limit=limit)
    cost = matrix[metric.positions(found.centers)].min(axis=0).sum()
    return cost, "proved" if found.gap == 0 else f"gap {found.gap:.2%}"


def spopt(metric: Any, matrix: np.ndarray, k: int, limit: float) -> _Answer:
    """The model of spopt, solved by HiGHS through PuLP."""
    import pulp
    from spopt.locate import PMedian

    model = PMedian.from_cost_matrix(matrix, np.ones(len(matrix)), p_facilities=k)
    try:
        model.solve(pulp.HiGHS(msg=False, timeLimit=limit))
    except RuntimeError:
        return np.nan, "nothing"
    value = model.problem.objective.value()
    return (
        (np.nan, "nothing")
        if value is None
        else (value, pulp.LpSolution[model.problem.sol_status].lower())
    )


def fasterpam(metric: Any, matrix: np.ndarray, k: int, limit: float) -> _Answer:
    """FasterPAM from its default start."""
    import kmedoids

    return float(kmedoids.fasterpam(matrix.astype(np.float32), k, random_state=0).loss), ""


PACKAGES: dict[str, Callable[..., _Answer]] = {
    "metricdp": quick,
    "metricdp exact": proven,
    "kmedoids (FasterPAM)": fasterpam,
    "spopt + HiGHS": spopt,
}


def main() -> None:
    """Print a row for each instance and package."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", default="1,10,20,30,40")
    parser.add_argument("--time-limit", type=float, default=300)
    asked = parser.parse_args()
    small = mdp.GraphMetric(nx.grid_2d_graph(6, 6), weight=None)
    for solve in PACKAGES.values():
        solve(small, small.distance_rows(np.arange(36)), 3, 10)
    print("| instance | n | k | package | cost above the best | seconds | |")
    print("| --- | ---: | ---: | --- | ---: | ---: | --- |")
    for number in map(int, asked.instances.split(",")):
        path = Path(os.environ["METRICDP_DATA"]) / "pmed" / f"pmed{number}.txt"
        metric, k = mdp.read_graph(path), read_pmed_p(path)
        matrix = metric.distance_rows(np.arange(len(metric)))
        rows = []
        for name, solve in PACKAGES.items():
            start = time.process_time()
            cost, reported = solve(metric, matrix, k, asked.time_limit)
            rows.append((name, cost, time.process_time() - start, reported))
        best = min(cost for _, cost, _, _ in rows if np.isfinite(cost))
        for name, cost, seconds, reported in rows:
            above = f"{cost / best - 1:.2%}" if np.isfinite(cost) else "-"
            reported = f"{name} | {above} | {seconds:.2f} | {reported}"
            print(f"| pmed{number} | {len(metric)} | {k} | {reported} |")


if __name__ == "__main__":
    main()
