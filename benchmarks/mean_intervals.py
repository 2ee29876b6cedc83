"""Do intervals of the mean distance hold the true mean? `metricdp.evaluate` on three road networks,
many draws of the noise each: coverage and widths of the mean itself, and of the mean of distances
up to the clip.

    python -m benchmarks mean_intervals --runs 400 --data ../shared/data/roads
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import metricdp as mdp
from metricdp.universe import sample_path

SETTINGS = ((20_000, 1.0, 0.005), (20_000, 1.0, 0.0), (2_000, 0.5, 0.005))
"""Records, epsilon, and the share of the records in the farthest hundredth of the network."""


def networks(folder: Path) -> dict[str, mdp.GraphMetric]:
    """The sample, Rome (DIMACS) and Chicago (TNTP)."""
    both = {"symmetrize": True, "largest_component": True}
    nodes = sample_path("coquimbo_nodes.csv.gz")
    chicago = folder / "chicago_sketch" / "ChicagoSketch_net.tntp"
    return {
        "Coquimbo": mdp.read_graph(sample_path("coquimbo.csv.gz"), nodes=nodes, **both),
        "Rome": mdp.read_graph(folder / "rome99" / "rome99.gr", **both),
        "Chicago": mdp.read_graph(chicago, weight="length", **both),
    }


def demand_about(metric: mdp.GraphMetric, centers: list, n: int, outside: float) -> np.ndarray:
    """Positions of records: most by the vertices' distance to the centers, some anywhere far."""
    coins = np.random.default_rng(0)
    distance = metric.nearest(centers)[1]
    rank = np.argsort(np.argsort(distance)) / len(distance)
    density = np.exp(-rank / 0.3)
    far = rank > 0.99
    shares = (1 - outside) * density / density.sum() + outside * far / far.sum()
    return coins.choice(len(metric), n, p=shares)


def measured(metric: mdp.GraphMetric, n: int, epsilon: float, outside: float, runs: int) -> str:
    """A row of the table."""
    centers = mdp.k_median(metric, k=10).centers
    at = demand_about(metric, centers, n, outside)
    demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in at.tolist()])
    distance = metric.nearest(centers)[1][at]
    hits, widths = np.zeros((runs, 2), bool), np.zeros((runs, 2))
    for run in range(runs):
        report = mdp.evaluate(metric, demand, centers, epsilon=epsilon)
        for j, interval in enumerate((report.mean, report.mean_capped)):
            hits[run, j] = interval.low <= distance.mean() <= interval.high
            widths[run, j] = interval.high - interval.low
    shares = 100 * hits.mean(axis=0)
    wide = 100 * np.median(widths, axis=0) / distance.mean()
    clip = (distance > report.clip).mean()
    return (
        f"| {n:,} | {epsilon:g} | {100 * clip:.2f} % | {shares[0]:.1f} % | {wide[0]:.2f} % | "
        f"{shares[1]:.1f} % | {wide[1]:.2f} % |"
    )


def free(metric: mdp.GraphMetric, n: int, epsilon: float, runs: int) -> str:
    """A row of the second table: the interval that a release's own answer has, at no price."""
    at = demand_about(metric, mdp.k_median(metric, k=10).centers, n, 0.0)
    demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in at.tolist()])
    held, widths = 0, []
    for _ in range(runs):
        plan = mdp.release(metric, demand, epsilon=epsilon).k_median(10)
        mean = float(metric.nearest(plan.centers)[1][at].mean())
        reported = plan.summary().mean
        held += reported.low <= mean <= reported.high
        widths.append((reported.high - reported.low) / mean)
    return f"| {n:,} | {epsilon:g} | {100 * held / runs:.0f} % | {100 * np.median(widths):.1f} % |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--only", nargs="+", help="networks, by name")
    parser.add_argument("--settings", type=int, nargs="+", default=range(len(SETTINGS)))
    parser.add_argument("--data", type=Path, default=Path("../shared/data/roads"))
    parser.add_argument("--free", type=int, default=0, help="releases a row of summary()'s own")
    asked = parser.parse_args()
    settings = [SETTINGS[i] for i in asked.settings]
    chosen = {
        name: metric
        for name, metric in networks(asked.data).items()
        if name in (asked.only or [name])
    }
    if asked.free:
        print("| network | records | epsilon | `summary().mean` holds it | width |")
        print("| --- | --- | --- | --- | --- |")
        for name, metric in chosen.items():
            for n, epsilon in dict.fromkeys((n, epsilon) for n, epsilon, _ in settings):
                print(f"| {name} {free(metric, n, epsilon, asked.free)}", flush=True)
        return
    print("| network | records | epsilon | beyond the clip | mean: holds | width | up to the clip: "
          "holds the mean | width |")  # fmt: skip
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, metric in chosen.items():
        for n, epsilon, outside in settings:
            print(f"| {name} {measured(metric, n, epsilon, outside, asked.runs)}", flush=True)


if __name__ == "__main__":
    main()
