"""Private evaluation: how often its 95 % intervals cover, and how wide they are.

    python -m benchmarks evaluation [--runs 1000] [--only NAME] [--relation NAME] [--by-area]

Six instances, both relations, records and users; every run draws fresh noise through the gate. The
demands, centers and distances asked about are fixed by public seeds. Each line tells, per figure,
how many of the runs' intervals held the truth. Fewer than `fewest` do so by chance once in 10^6
runs of the whole table. Intervals are taken from 2^13 public draws of the noise in place of 2^16,
for speed: they are a little wider, as those draws are fewer. With `--by-area` finite instances are
asked by six areas (the points nearest to each of six public ones), against the first center alone.
"""

from __future__ import annotations

import argparse

import networkx as nx
import numpy as np
from scipy.stats import binom

import metricdp as mdp
from metricdp.solvers.estimate import intervals
from metricdp.universe import sample_path

RELATIONS = ("add-remove", "replace-one")
BY_AREA = ("records", "mean", "relative")
FIGURES = ("records", "mean", "median", "p90", "clipped", "share", "loads")


def sample_network():
    roads, places = sample_path("coquimbo.csv.gz"), sample_path("coquimbo_nodes.csv.gz")
    return mdp.read_graph(roads, nodes=places, symmetrize=True, largest_component=True)


def near_spots(metric, n, spots, coins):
    """Records around a few points: half of them within the nearest hundredth of the universe."""
    middles = coins.choice(len(metric), spots)
    near = metric.distances([metric.ids[i] for i in middles])
    order = np.argsort(np.asarray(near), axis=1)
    reach = np.minimum(coins.geometric(100 / len(metric), n), len(metric)) - 1
    return order[coins.integers(0, spots, n), reach]


def instances(coins):
    """(name, universe, records, users or None, centers, limits)"""
    city = sample_network()
    for n in (500, 5000, 20_000):
        at = near_spots(city, n, 12, coins)
        centers = mdp.k_median(city, k=20, weights=np.bincount(at, minlength=len(city))).centers
        yield f"sample network, {n:,}", city, [city.ids[i] for i in at], None, centers, [500, 1000]
    hops = mdp.GraphMetric(nx.barabasi_albert_graph(3000, 3, seed=2), weight=None)
    at = near_spots(hops, 3000, 3, coins)
    centers = mdp.k_median(hops, k=5).centers
    yield "random social graph, 3,000", hops, [hops.ids[i] for i in at], None, centers, [1, 2]
    box = mdp.EuclideanSpace([0, 0, 0], [10, 10, 10])
    points = coins.normal(4, 1, (8000, 3))
    yield "box of R^3, 8,000", box, points, None, [[3, 3, 3], [5, 5, 5.0]], [1.5]
    plane = mdp.EuclideanSpace([0, 0], [10, 10])
    users = coins.zipf(1.6, 4000) % 900
    points = coins.normal(users[:, None] % 7 + 1, 0.3, (4000, 2))
    yield "plane, 900 users of many records", plane, points, users, [[2, 2], [6, 6.0]], [1]


def truth(universe, records, centers, limits, clip):
    if isinstance(universe, mdp.EuclideanSpace):
        rows = np.linalg.norm(universe.clip(records)[:, None] - np.array(centers), axis=2)
        label, distance = rows.argmin(axis=1), rows.min(axis=1)
    else:
        at = universe.positions(records)
        label, distance = (np.asarray(part)[at] for part in universe.nearest(centers))
    return {
        "records": len(records),
        "mean": np.minimum(distance, clip).mean(),
        "median": np.quantile(distance, 0.5, method="inverted_cdf"),
        "p90": np.quantile(distance, 0.9, method="inverted_cdf"),
        "clipped": (distance > clip).mean(),
        "share": np.array([(distance <= limit).mean() for limit in limits]),
        "loads": np.bincount(label, minlength=len(centers)),
    }


def areas_of(universe):
    """Six public areas: the number of the nearest of six points."""
    six = [universe.ids[i] for i in np.linspace(0, len(universe) - 1, 6).astype(int)]
    return [f"area {i}" for i in np.asarray(universe.nearest(six)[0]).tolist()]


def by_area(universe, records, centers, by):
    """The same of each area, in the order of their names."""
    at = universe.positions(records)
    label = np.array(by)[at]
    away, theirs = (np.asarray(universe.nearest(c)[1])[at] for c in (centers, centers[:1]))
    here = [label == name for name in sorted(set(by))]
    with np.errstate(invalid="ignore"):
        return {
            "records": np.array([which.sum() for which in here]),
            "mean": np.array([away[which].sum() / which.sum() for which in here]),
            "relative": np.array([away[which].sum() / theirs[which].sum() for which in here]),
        }


def main_by_area(runs, epsilon, only) -> None:
    print("| instance | " + " | ".join(BY_AREA) + " | mean ± | relative ± |")
    print("| --- " * (len(BY_AREA) + 3) + "|")
    for name, universe, records, _users, centers, _limits in instances(np.random.default_rng(11)):
        if only not in name or isinstance(universe, mdp.EuclideanSpace):
            continue
        by = areas_of(universe)
        exact = by_area(universe, records, centers, by)
        held, width = {}, []
        for _ in range(runs):
            demand = mdp.PrivateDemand(universe, records)
            asked = {"epsilon": epsilon, "by": by, "against": centers[:1]}
            reported = mdp.evaluate(universe, demand, centers, **asked).areas
            for figure in BY_AREA:
                found = worst(getattr(reported, figure), exact[figure]) | np.isnan(exact[figure])
                held[figure] = held.get(figure, 0) + found
            width.append([reported.mean.half_width / exact["mean"], reported.relative.half_width])
        cells = " | ".join(str(int(np.min(held[f]))) for f in BY_AREA)
        mean, relative = np.nanmedian(np.median(width, axis=0), axis=1)
        print(f"| {name} | {cells} | {100 * mean:.1f} % | {relative:.3f} |", flush=True)


def worst(interval, exact):
    """Whether each entry is held."""
    slack = 1e-9 * (1 + np.abs(exact))
    return np.atleast_1d((interval.low <= exact + slack) & (exact - slack <= interval.high))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--only", default="")
    parser.add_argument("--relation", choices=("add-remove", "replace-one"))
    parser.add_argument("--by-area", action="store_true")
    options = parser.parse_args()
    intervals._DRAWS = 1 << 13
    runs, coins = options.runs, np.random.default_rng(11)
    fewest = int(binom.ppf(1e-6 / 500, runs, 0.95))
    print(f"{runs} runs, epsilon {options.epsilon}; fewest allowed: {fewest}\n")
    if options.by_area:
        main_by_area(runs, options.epsilon, options.only)
        return
    print("| instance | relation | " + " | ".join(FIGURES) + " | mean ± | share ± |")
    print("| --- " * (len(FIGURES) + 4) + "|")
    for name, universe, records, users, centers, limits in instances(coins):
        if options.only not in name:
            continue
        own = {} if users is None else {"user": users, "max_contributions": 1}
        kept = None
        for relation in [options.relation] if options.relation else RELATIONS:
            held, widths, shares = {}, [], []
            first = mdp.PrivateDemand(universe, records, **own)
            release = mdp.release(universe, first, epsilon=1)
            for _ in range(runs):
                if (
                    users is not None
                ):  # one record a user, known here: the truth is about those kept
                    kept = np.sort(np.unique(users, return_index=True)[1])
                    some = np.asarray(records)[kept]
                else:
                    some = records
                demand = mdp.PrivateDemand(
                    universe, some, **({} if users is None else {"user": range(len(some))})
                )
                ledger = mdp.Ledger(1, neighboring=relation)
                report = mdp.evaluate(
                    universe,
                    demand,
                    centers,
                    epsilon=options.epsilon,
                    ledger=ledger,
                    within=limits,
                    release=release,
                )
                exact = truth(universe, some, centers, limits, report.clip)
                for figure in FIGURES:
                    found = worst(getattr(report, figure), exact[figure])
                    held[figure] = held.get(figure, 0) + found
                widths.append(report.mean.half_width / exact["mean"])
                shares.append(report.share.half_width.max())
            cells = " | ".join(str(int(np.min(held[f]))) for f in FIGURES)
            print(
                f"| {name} | {relation} | {cells} | {100 * np.median(widths):.1f} % | "
                f"{100 * np.median(shares):.1f} points |",
                flush=True,
            )


if __name__ == "__main__":
    main()
