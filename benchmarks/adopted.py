"""Common sites for several times of day, expansion in stages, and service bands: what they cost.

METRICDP_DATA=../shared/data python -m benchmarks.adopted periods --draws 5
METRICDP_DATA=../shared/data python -m benchmarks.adopted nested rome bay pmed
python -m benchmarks.adopted bands --side 1000
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import metricdp as mdp
from benchmarks.sets.graphs import DATA, manhattan
from metricdp.universe import build_graph, read_pmed_p

PERIODS = {"week": (40_000, 1, 1), "sat": (20_000, 3, 1), "sun": (20_000, 1, 3)}
"""Records, and how many times as often they are sampled south and north of the middle."""

Floats = NDArray[np.float64]


def times(hour: int = 9) -> list[mdp.GraphMetric]:
    """Manhattan's travel times at an hour of weekdays, Saturday and Sunday, and averaged."""
    at = DATA / "roads" / "manhattan"
    edges = np.loadtxt(at / "edges.csv", delimiter=",", dtype=int)
    points = np.loadtxt(at / "points.csv", delimiter=",")[:, [2, 1]]
    seconds = [np.loadtxt(at / f"{day}.csv", delimiter=",")[:, hour] for day in PERIODS]
    seconds.append(np.mean(seconds, axis=0))
    return [
        mdp.GraphMetric(
            build_graph(
                edges[:, 1] - 1,
                edges[:, 2] - 1,
                own,
                ids=range(len(points)),
                directed=True,
                symmetrize=True,
                coordinates=points,
                coordinate_system="lonlat",
            )
        )
        for own in seconds
    ]


def pickups(metric: mdp.GraphMetric) -> list[NDArray[np.int64]]:
    """Real pick-ups, sampled for each period."""
    at = manhattan(400_000)[1]
    north = metric.coordinates[at, 1] > np.median(metric.coordinates[at, 1])
    coins = np.random.default_rng(3)
    drawn = []
    for n, south, up in PERIODS.values():
        odds = np.where(north, up, south).astype(float)
        drawn.append(coins.choice(at, n, p=odds / odds.sum()))
    return drawn


def periods(draws: int, worst: int, epsilon: float) -> None:
    """One table: values of common sites, over those of the best without privacy."""
    *metrics, averaged = times()
    held = pickups(metrics[0])
    n, days = len(averaged), len(PERIODS)
    exact = [np.bincount(at, minlength=n).astype(float) for at in held]
    shares = [weights / weights.sum() for weights in exact]
    together = np.mean(shares, axis=0)
    print("| k | scenarios | no privacy | private | averaged times | averaged, private |")
    print("| --- | --- | --- | --- | --- | --- |")
    found = []
    for _ in range(draws):
        demands = [
            mdp.PrivateDemand(metric, [metric.ids[i] for i in at.tolist()])
            for metric, at in zip(metrics, held)
        ]
        own = [mdp.release(m, d, epsilon=f"{epsilon:g}/{days}") for m, d in zip(metrics, demands)]
        found.append((own, _together(averaged, own)))
    for how, drawn in (("mean", found), ("worst", found[:worst])):
        for k in (10, 20) if drawn else ():
            objective, limit = mdp.objectives.KMedian(k), None if how == "mean" else 60.0

            def value(centers: list, how: str = how) -> float:
                each = [s @ m.nearest(centers)[1] for m, s in zip(metrics, shares)]
                return float(np.mean(each) if how == "mean" else np.max(each))

            best = mdp.solve(
                metrics, objective, weights=shares, scenarios=how, time_limit=limit
            ).centers
            plain = mdp.k_median(averaged, k=k, weights=together).centers
            private = [
                value(mdp.solve(own, objective, scenarios=how, time_limit=limit).centers)
                for own, _ in drawn
            ]
            blurred = [value(mdp.k_median(averaged, k=k, weights=w).centers) for _, w in drawn]
            first = min(value(best), *private)
            reported = f"{value(best):.1f} s"
            ranges = [
                f"{np.mean(part) / first:.4f} ({np.max(part) / first:.4f})"
                for part in (private, [value(plain)], blurred)
            ]
            print(f"| {k} | {how} | {reported} | " + " | ".join(ranges) + " |", flush=True)


def _together(metric: mdp.GraphMetric, own: list[mdp.Release]) -> Floats:
    """The same releases as one demand, each of the same total."""
    weights = [np.maximum(release.weights, 0.0) for release in own]
    return np.mean([each / each.sum() for each in weights], axis=0)


def instance(name: str) -> tuple[mdp.Metric, list[int]]:
    """A universe, and the stages that are asked of it."""
    roads, both = DATA / "roads", {"symmetrize": True, "largest_component": True}
    if name == "rome":
        return mdp.read_graph(roads / "rome99" / "rome99.gr", **both), [5, 10, 20]
    if name == "bay":
        return mdp.read_graph(roads / "dimacs" / "USA-road-d.BAY.gr.gz", **both), [5, 10, 20]
    path = DATA / "pmed" / f"{name}.txt"
    metric, p = mdp.read_graph(path, format="pmed"), read_pmed_p(path)
    return metric, sorted({max(1, p // 4), max(1, p // 2), p})


def nested(names: list[str]) -> None:
    """A line an instance: the price of nesting at each stage."""
    print("| instance | vertices | stages | price of nesting at each | seconds |")
    print("| --- | --- | --- | --- | --- |")
    for name in names:
        metric, ks = instance(name)
        start = time.process_time()
        stages = mdp.solve(metric, mdp.objectives.Nested(ks=ks)).stages
        spent = time.process_time() - start
        prices = ", ".join(f"{stage.price:.3f}" for stage in stages)
        print(
            f"| {name} | {len(metric):,} | {', '.join(map(str, ks))} | {prices} | {spent:.0f} |",
            flush=True,
        )


def bands(side: int) -> None:
    """How long bands of a grid take, beside one search."""
    at = np.arange(side * side).reshape(side, side)
    ends = [(at[:-1].ravel(), at[1:].ravel()), (at[:, :-1].ravel(), at[:, 1:].ravel())]
    tails, heads = (np.concatenate(part) for part in zip(*ends))
    lengths = np.random.default_rng(0).integers(50, 150, len(tails)).astype(float)
    matrix = sparse.coo_array((lengths, (tails, heads)), (side**2, side**2))
    metric = mdp.GraphMetric(sparse.csr_array(matrix + matrix.T))
    sites = np.random.default_rng(1).choice(side**2, 50, replace=False).tolist()
    plan = mdp.solve(metric, mdp.objectives.KMedian(len(sites)), candidates=sites)
    metric.nearest(sites)
    start = time.process_time()
    metric.nearest(sites)
    search = time.process_time() - start
    plan.__dict__.pop("_nearest", None)
    start = time.process_time()
    table = plan.bands([2_000, 5_000, 10_000]).to_columns()
    spent = time.process_time() - start
    print(
        f"{side**2:,} vertices: search {search:.2f} s, bands {spent:.2f} s = {spent / search:.1f}"
    )
    print(table["points"], table["demand"])


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["periods", "nested", "bands"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--worst", type=int, default=1, help="draws of the worst period's rows")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--side", type=int, default=1000)
    asked = parser.parse_args()
    if asked.what == "periods":
        periods(asked.draws, asked.worst, asked.epsilon)
    elif asked.what == "nested":
        pmed = [f"pmed{i}" for i in range(1, 41)]
        nested([one for name in asked.names for one in (pmed if name == "pmed" else [name])])
    else:
        bands(asked.side)


if __name__ == "__main__":
    main()
