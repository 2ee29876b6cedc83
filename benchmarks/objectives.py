"""Objectives against published optima, enumerated ones and HiGHS, and on a large road graph.

    METRICDP_DATA=… python -m benchmarks objectives pmed | stores | road SIDE | full SITES K
    METRICDP_DATA=… python -m benchmarks objectives private [DRAWS]
    python -m benchmarks objectives dear [FIRST LAST]
    python -m benchmarks objectives coverage | opening | capacities [FIRST LAST [SITES]]

Prints one line an instance and a summary. Random instances are drawn by number (their seed): points
uniform in a square or in five clusters, weights 1 to 49, Euclidean distances. HiGHS gets each as a
plain integer program, for at most `HIGHS_SECONDS`; with SITES all instances have so many.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import time
from collections.abc import Iterable
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, eye_array, hstack, kron

import metricdp as mdp

DATA = Path(os.environ.get("METRICDP_DATA", "../shared/data"))
HIGHS_SECONDS = 30.0
LARGEST = {"coverage": 500, "opening": 200, "capacities": 50}
"""Sites at most, where no size is asked for: beyond, HiGHS alone rarely ends in time."""
o = mdp.objectives
Compared = tuple[float, tuple[float, bool] | None, float]
"""Our value, HiGHS' and whether it is settled, our gap."""


def asked_of(described: str | None, names: Iterable[str]) -> tuple[str, list[int]]:
    """The measurement that the command line names, and its numbers."""
    parser = argparse.ArgumentParser(
        description=described, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=names)
    parser.add_argument("numbers", nargs="*", type=int)
    asked = parser.parse_args()
    return asked.what, asked.numbers


def pmed() -> None:
    """p-centers of OR-Library's 40 p-median instances."""
    rows = (DATA / "pmed/kcenteropt.txt").read_text().split("\n")
    best = {row.split()[0]: float(row.split()[1]) for row in rows if row.strip()}
    exact = 0
    for i in range(1, 41):
        path = DATA / f"pmed/pmed{i}.txt"
        k = int(path.read_text().split()[2])
        start = time.process_time()
        plan = mdp.solve(mdp.read_graph(path), o.PCenter(k))
        seconds = time.process_time() - start
        exact += plan.value == best[f"pmed{i}"] and plan.gap == 0
        print(f"pmed{i} k={k} {plan.value:g} {best[f'pmed{i}']:g} {plan.gap} {seconds:.1f} s")
    print(f"exact and proven: {exact} of 40")


def stores() -> None:
    """San Francisco: 205 tracts × 16 stores, against enumerated optima."""
    folder = DATA / "plan/facilities"
    name = "SF_network_distance_candidateStore_16_censusTract_205_new.csv"
    rows = list(csv.DictReader((folder / name).open()))
    sites = sorted({row["name"] for row in rows})
    tracts = sorted({row["DestinationName"] for row in rows})
    costs = np.zeros((len(sites), len(tracts)))
    for row in rows:
        at = sites.index(row["name"]), tracts.index(row["DestinationName"])
        costs[at] = float(row["distance"])
    people = {row["DestinationName"]: float(row["demand"]) for row in rows}
    table = mdp.CostTable(costs, sites=sites, clients=tracts)
    exact = 0
    optima = list(csv.DictReader((folder / "SF_pmedian_optima_enumerated.csv").open()))
    for row in optima:
        p, best = int(row["p"]), float(row["optimal_weighted_distance_POP2000"])
        plan = mdp.solve(table, o.KMedian(p), weights=people)
        same = abs(plan.value - best) <= 1e-9 * best and plan.gap == 0
        exact += same
        print(f"p={p} {plan.value:.4f} {best:.4f} {same}")
    center = mdp.solve(table, o.PCenter(4), weights=people)
    print(f"exact: {exact} of {len(optima)}; p-center, p=4: {center.value:.4f}, gap {center.gap}")


def instance(
    kind: str, seed: int, sites: int | None = None
) -> tuple[np.random.Generator, mdp.EuclideanMetric, np.ndarray, int]:
    """Coins, universe, weights and k of a random instance."""
    rng = np.random.default_rng(seed)
    n = int(np.exp(rng.uniform(np.log(20), np.log(LARGEST[kind])))) if sites is None else sites
    k = int(rng.integers(2, max(3, min(n // 4, 40))))
    middles = rng.random((5, 2))
    points = (
        rng.random((n, 2))
        if seed % 2
        else middles[rng.integers(0, 5, n)] + rng.normal(0, 0.08, (n, 2))
    )
    return rng, mdp.EuclideanMetric(points * 1000), rng.integers(1, 50, n).astype(float), k


def highs(
    cost: np.ndarray, rules: list[LinearConstraint], m: int, gap: float = 0.0
) -> tuple[float, bool] | None:
    """Cost of the best point found of a program whose first m variables are whole, and whether it
    is settled; None if none was found.
    """
    whole = np.r_[np.ones(m), np.zeros(len(cost) - m)]
    limits = {"time_limit": HIGHS_SECONDS, "mip_rel_gap": gap}
    found = milp(cost, constraints=rules, integrality=whole, bounds=Bounds(0, 1), options=limits)
    return None if found.x is None else (float(found.fun), found.status == 0)


def served(m: int, n: int) -> list[LinearConstraint]:
    """Every client is served once, by open sites."""
    once = hstack([csr_array((n, m)), kron(np.ones((1, m)), eye_array(n))], format="csr")
    link = hstack([kron(eye_array(m), np.ones((n, 1))), -eye_array(m * n)], format="csr")
    return [LinearConstraint(once, 1, 1), LinearConstraint(link, 0, np.inf)]


def coverage(seed: int, sites: int | None = None) -> Compared:
    """Ours, HiGHS' and our gap."""
    rng, metric, weights, k = instance("coverage", seed, sites)
    rows = metric.distance_rows(np.arange(len(metric)))
    limit = float(np.quantile(rows, rng.uniform(0.01, 0.15)))
    plan = mdp.solve(metric, o.MaxCoverage(k, limit), weights=weights)
    m = len(metric)
    near = csr_array((rows <= limit * (1 + 1e-9)).astype(float))
    link = LinearConstraint(hstack([near, -eye_array(m)], format="csr"), 0, np.inf)
    count = LinearConstraint(csr_array(np.r_[np.ones(m), np.zeros(m)][None]), k, k)
    best = highs(-np.r_[np.zeros(m), weights], [link, count], m)
    return plan.value, None if best is None else (-best[0], best[1]), plan.gap


def opening(seed: int, sites: int | None = None) -> Compared:
    """Ours, HiGHS' and our gap."""
    rng, metric, weights, k = instance("opening", seed, sites)
    m = len(metric)
    rows = metric.distance_rows(np.arange(m))
    prices = rng.uniform(0.5, 1.5, m) * weights.sum() * rows.mean() / k**1.5
    prices *= rng.choice([0.05, 0.2, 0.5])
    plan = mdp.solve(metric, o.FacilityLocation(prices), weights=weights)
    best = highs(np.r_[prices, (rows * weights).ravel()], served(m, m), m)
    return plan.value, best, plan.gap


def capacities(seed: int, sites: int | None = None) -> Compared:
    """Ours, HiGHS' (to 0.01 %) and our gap."""
    rng, metric, weights, k = instance("capacities", seed, sites)
    m = len(metric)
    rows = metric.distance_rows(np.arange(m))
    room = rng.uniform(0.5, 1.5, m)
    room *= weights.sum() * rng.uniform(1.05, 2.0) / np.sort(room)[::-1][:k].sum()
    plan = mdp.solve(metric, o.Capacitated(k, room), weights=weights)
    assert all(load <= room[site] * (1 + 1e-8) for site, load in plan.loads.items()), (
        "a capacity is not kept"
    )
    full = hstack([csr_array(np.diag(-room)), kron(eye_array(m), weights[None])], format="csr")
    count = csr_array(np.r_[np.ones(m), np.zeros(m * m)][None])
    rules = [LinearConstraint(full, -np.inf, 0), LinearConstraint(count, k, k), *served(m, m)]
    best = highs(np.r_[np.zeros(m), (rows * weights).ravel()], rules, m, 1e-4)
    return plan.value, best, plan.gap


def against_highs(name: str, first: int, last: int, sites: int | None = None) -> None:
    """Random instances by number; how much worse than HiGHS' best point, settled or not."""
    ask = {"coverage": coverage, "opening": opening, "capacities": capacities}[name]
    settled, left, gaps = [], [], []
    for seed in range(first, last):
        start = time.process_time()
        value, best, gap = ask(seed, sites)
        gaps.append(gap)
        shown = "-"
        if best is not None:
            worse = (best[0] - value if name == "coverage" else value - best[0]) / best[0]
            (settled if best[1] else left).append(worse)
            shown = f"{worse:.2e}{'' if best[1] else ' (not settled)'}"
        own = time.process_time() - start
        print(f"{name} {seed} worse by {shown} gap {gap:.2e} {own:.1f} s", flush=True)
    for found, what in ((settled, "settled"), (left, "not settled")):
        off = np.array(found)
        if len(off):
            print(
                f"{name}: {len(off)} {what} by HiGHS: worse by more than 1e-6 in "
                f"{(off > 1e-6).sum()}, worst {off.max():.2e}, best {off.min():.2e}"
            )
    proven = (np.array(gaps) <= 1e-9).sum()
    print(f"{name}: {last - first} instances, {proven} proven by ourselves, gap {max(gaps):.2e}")


def private(draws: int = 5) -> None:
    """Manhattan's directed times, 20,000 records, epsilon 1, k = 20: cost and coverage from
    releases beside those of the records themselves, and how often true loads are within their
    intervals.
    """
    from directed import K, manhattan

    metric, records = manhattan("to-center")
    true = np.bincount(records, minlength=len(metric)).astype(float)
    ids = [metric.ids[i] for i in records]
    room = 1.2 * len(records) / K
    least = mdp.solve(metric, o.KMedian(K), weights=true).value
    print(f"k-median of the records: {least:,.0f}", flush=True)
    near = {}
    for minutes in (2, 3, 5):
        best = mdp.solve(metric, o.MaxCoverage(K, 60.0 * minutes), weights=true)
        near[minutes] = best.value / len(records)
        print(
            f"within {minutes} min, of the records: {near[minutes]:.4f}, gap {best.gap:.1e}",
            flush=True,
        )
    held, above, wide, lost = [], [], [], {minutes: [] for minutes in near}
    costs, overs, margins = [], [], []
    for draw in range(draws):
        release = mdp.release(metric, mdp.PrivateDemand(metric, ids), epsilon=1, seed=draw)
        found = release.solve(o.KMedian(K)).centers
        costs.append(float(true @ metric.nearest_to(metric.positions(found))[1]) / least)
        for minutes, most in near.items():
            plan = release.solve(o.MaxCoverage(K, 60.0 * minutes))
            own = metric.nearest_to(metric.positions(plan.centers))[1] <= 60.0 * minutes * (
                1 + 1e-9
            )
            lost[minutes].append(100 * (most - float(true @ own) / len(records)))
        plan = release.solve(o.Capacitated(K, room))
        reported = plan.load_intervals(level=0.95)
        served = _served(plan, metric, true)
        held += list((reported.low <= served) & (served <= reported.high))
        above += list(served <= reported.high)
        wide += list((reported.high - np.array(list(plan.loads.values()))) / room)
        assert max(plan.loads.values()) <= room * (1 + 1e-8), "a noisy load exceeds its capacity"
        overs.append(100 * ((served / room).max() - 1))
        margins.append(100 * ((reported.high / room).max() - 1))
        print(
            f"draw {draw}: cost {costs[-1]:.4f}; points lost "
            f"{[round(x[-1], 2) for x in lost.values()]}; true loads over capacity by at most "
            f"{overs[-1]:.1f} %, told at most {margins[-1]:.1f} %",
            flush=True,
        )
    worst = {minutes: round(max(points), 2) for minutes, points in lost.items()}
    print(
        f"directed cost: mean {np.mean(costs):.4f}, worst {max(costs):.4f} of the records' own "
        f"search; true loads over capacity: worst {max(overs):.1f} %, told {max(margins):.1f} %"
    )
    print(
        f"points of coverage lost, worst of {draws}: {worst}; loads of {len(held)} sites: "
        f"{np.mean(held):.3f} inside, {np.mean(above):.3f} not above; high end over the noisy "
        f"load by {100 * np.mean(wide):.1f} % of the capacity on average"
    )


def _served(plan: mdp.Solution, metric: mdp.Metric, true: np.ndarray) -> np.ndarray:
    """What each site of a plan serves of other weights; points without noisy demand by label."""
    frame = plan.to_frame(assignments=True).dropna(subset=["center"])
    at = {center: i for i, center in enumerate(plan.centers)}
    points = metric.positions(list(frame["vertex"]))
    sites = frame["center"].map(at).to_numpy()
    found = np.bincount(sites, true[points] * frame["share"].to_numpy(), len(at))
    others = np.setdiff1d(np.flatnonzero(true), points)
    label = metric.nearest_to(metric.positions(plan.centers))[0][others]
    return found + np.bincount(label, true[others], len(at))


def road(side: int) -> None:
    """A made-up road grid of side × side vertices, k = 20: coverage, p-center and equity; sites
    that can be full up to 200,000 vertices.
    """
    rng = np.random.default_rng(1)
    n = side * side
    at = np.arange(n).reshape(side, side)
    tails = np.r_[at[:, :-1].ravel(), at[:-1].ravel()]
    heads = np.r_[at[:, 1:].ravel(), at[1:].ravel()]
    lengths = rng.integers(50, 200, len(tails)).astype(float)
    kept = rng.random(len(tails)) < 0.8
    matrix = csr_array((lengths[kept], (tails[kept], heads[kept])), shape=(n, n))
    metric = mdp.GraphMetric(matrix + matrix.T, largest_component=True)
    start = time.process_time()
    for _ in range(3):
        metric.distance_rows(np.array([0]))
    one = (time.process_time() - start) / 3
    plans = {"k-median": o.KMedian(20)}
    if len(metric) <= 200_000:
        plans["capacities"] = o.Capacitated(20, 1.1 * len(metric) / 20)
    plans["equity"] = o.Equity(20)
    plans["max-coverage"] = o.MaxCoverage(20, side * 12.0)
    plans["p-center"] = o.PCenter(20)
    for name, objective in plans.items():
        start = time.process_time()
        plan = mdp.solve(metric, objective)
        seconds = time.process_time() - start
        full = ""
        if isinstance(objective, o.Capacitated):
            full = f", fullest {max(plan.loads.values()) / objective.capacities:.6f}"
        print(
            f"{len(metric):,} vertices, {name}: {plan.value:.6g}, gap {plan.gap}, {seconds:.1f} s, "
            f"{seconds / one:.0f} Dijkstras{full}",
            flush=True,
        )


def dear(first: int = 0, last: int = 5) -> None:
    """Facility location as UflLib's GapA, GapB and GapC have it: of 100 sites ten serve each of 100
    clients (A), each serves ten (B), or both (C), at costs of 0 to 4; all else is far too dear; a
    site costs 3,000.
    """
    n, few = 100, 10
    for kind, seed in product("ABC", range(first, last)):
        rng = np.random.default_rng(seed)
        near = np.zeros((n, n), bool)
        for _ in range(few if kind == "C" else 0):
            sites = rng.permutation(n)
            while (taken := np.flatnonzero(near[sites, np.arange(n)])).size:
                other = rng.integers(n)
                sites[[taken[0], other]] = sites[[other, taken[0]]]
            near[sites, np.arange(n)] = True
        for row in near.T if kind == "A" else near if kind == "B" else []:
            row[rng.choice(n, few, replace=False)] = True
        near[rng.integers(n, size=n), np.arange(n)] |= ~near.any(axis=0)
        costs = np.where(near, rng.integers(0, 5, (n, n)), 1e6)
        start = time.process_time()
        plan = mdp.solve(mdp.CostTable(costs), o.FacilityLocation(3000))
        print(
            f"{kind} {seed}: {plan.value:.0f}, {len(plan.centers)} sites, bound {plan.bound:.0f}, "
            f"gap {100 * plan.gap:.2f} %, {time.process_time() - start:.1f} s, "
            f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB",
            flush=True,
        )


def full(n: int, k: int) -> None:
    """Sites that can be full: coverage, p-center, minimum loads and sizes of n uniform points."""
    rng = np.random.default_rng(1)
    metric = mdp.EuclideanMetric(rng.random((n, 2)))
    weights = rng.integers(1, 20, n).astype(float)
    room = 1.15 * weights.sum() / k
    sizes = [o.Size(0.7 * room), o.Size(1.6 * room, cost=0.005 * weights.sum(), most=k // 2)]
    for whole in (False, True):
        plans: dict[str, mdp.objectives.Objective] = {
            "coverage": o.MaxCoverage(k, 0.12, room, whole),
            "p-center": o.PCenter(k, capacities=room, single_source=whole),
            "minimum": o.Capacitated(k, room, None, whole, minimum=0.9 * weights.sum() / k),
            "sizes": o.Capacitated(k, sizes, None, whole),
        }
        for name, objective in plans.items():
            start = time.process_time()
            plan = mdp.solve(metric, objective, weights=weights, time_limit=60)
            spent = time.process_time() - start
            shared = "whole" if whole else "shared"
            print(f"{n}, {k}, {name}, {shared}: {plan.value:.6g}, gap {plan.gap}, {spent:.1f} s")


if __name__ == "__main__":
    runs = {"pmed": pmed, "stores": stores, "road": road, "full": full, "private": private}
    runs["dear"] = dear
    what, numbers = asked_of(__doc__, [*runs, *LARGEST])
    if what in LARGEST:
        against_highs(what, *(numbers or [0, 100]))
    else:
        runs[what](*numbers)
