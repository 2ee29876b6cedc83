"""The public benchmark of private clustering on graphs: who compares a method, compares with it.

    python -m benchmarks private_graphs --quick             the two shipped graphs, some minutes
    python -m benchmarks private_graphs                     and five by name (docs/datasets.md)
    python -m benchmarks private_graphs --quick --write     into private_graphs.csv and its page
    python -m benchmarks private_graphs --page              the page's table, from the CSV alone

An instance is a graph by name, a number of records, and a seed: `people` draws the demand. A method
gets the graph, the demand, k and epsilon, and answers with k vertices. What is compared is the
exact sum of distances to the nearest of them over that of a thorough search without privacy. A row
of the CSV is one answer, with the versions that gave it.
"""

from __future__ import annotations

import argparse
import csv
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import metricdp as mdp
from benchmarks.which_method import people, placed
from metricdp.errors import InputError
from metricdp.universe import sample_path

HERE = Path(__file__).resolve().parent
CSV, PAGE = HERE / "private_graphs.csv", HERE / "private_graphs.md"
SAMPLES = ("coquimbo", "generated_social")
NAMED = ("pmed40", "rome99", "facebook_combined", "ca-GrQc", "lastfm_asia")
K = 10
EPSILONS = ("0.25", "1")
RECORDS = (1_000, 20_000)
DELTA = "1e-6"
VERSIONS = ("metricdp", "numpy", "scipy", "numba", "opendp")
FIELDS = (
    "graph",
    "vertices",
    "records",
    "seed",
    "k",
    "epsilon",
    "delta",
    "method",
    "trust",
    "cost",
    "best_known",
    "ratio",
    "seconds",
    "python",
    *VERSIONS,
)


def universe(name: str) -> mdp.GraphMetric:
    """A graph by its name: a shipped sample, or one that `metricdp.datasets` knows."""
    if name == "coquimbo":
        at = {"nodes": sample_path("coquimbo_nodes.csv.gz")}
        file = sample_path("coquimbo.csv.gz")
        return mdp.read_graph(file, symmetrize=True, largest_component=True, **at)
    if name == "generated_social":
        return mdp.read_graph(sample_path("generated_social.csv.gz"))
    metric = mdp.datasets.load(name).metric
    assert isinstance(metric, mdp.GraphMetric)
    return metric


class Instance:
    """A graph, records by seed, and the best centers that are known without privacy.

    Attributes
    ----------
    metric : GraphMetric
    positions : ndarray of int64, shape (records,)
    counts : ndarray of float64, shape (n_points,)
    demand : PrivateDemand
    best : float
        Cost of the best centers known.
    """

    def __init__(self, metric: mdp.GraphMetric, records: int, seed: int, k: int) -> None:
        self.metric, self.k, self.seed = metric, k, seed
        self.positions = people(metric, records, np.random.default_rng([seed, records]))
        self.counts = np.bincount(self.positions, minlength=len(metric)).astype(float)
        self.demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in self.positions])
        known = mdp.k_median(metric, k=k, weights=self.counts, effort="thorough")
        self.best = self.cost(known.centers)

    def cost(self, centers: Any) -> float:
        """Exact sum of distances of the records to their nearest center."""
        return float(self.counts @ self.metric.nearest(list(dict.fromkeys(centers)))[1])


Answer = Callable[[Instance, str, int], Any]


def on_graph(method: str, delta: str | None = None) -> Answer:
    """A method of `metricdp.METHODS` that knows distances in the graph."""

    def answer(instance: Instance, epsilon: str, draw: int) -> Any:
        spend = {"epsilon": epsilon, "delta": delta or 0, "method": method}
        ask = (instance.metric, instance.demand, instance.k)
        return mdp.k_median(*ask, **spend, seed=draw).centers

    return answer


def in_plane(method: str) -> Answer:
    """A method that knows points in a box: it gets the coordinates, and its centers go to the
    nearest vertex.
    """

    def answer(instance: Instance, epsilon: str, draw: int) -> Any:
        points = plane(instance.metric)
        space = mdp.EuclideanSpace(points.min(axis=0), points.max(axis=0))
        demand = mdp.PrivateDemand(space, points[instance.positions])
        spend = {"epsilon": epsilon, "method": method, "seed": draw}
        centers = mdp.k_median(space, demand, instance.k, **spend).centers
        return [instance.metric.ids[i] for i in cKDTree(points).query(centers)[1]]

    return answer


def plane(metric: mdp.GraphMetric) -> np.ndarray:
    """Coordinates of the vertices in the plane, degrees of equal length in both directions.

    Raises
    ------
    InputError
        The graph has no coordinates.
    """
    if metric.coordinates is None:
        raise InputError("the method needs coordinates, and this graph has none")
    points = np.array(metric.coordinates, float)
    if metric.coordinate_system == "lonlat":
        points[:, 0] *= np.cos(np.radians(points[:, 1].mean()))
    return points


def one_message(trust: str) -> Answer:
    """One message a user: noise on each device, or a shuffler that is trusted to mix."""

    def answer(instance: Instance, epsilon: str, draw: int) -> Any:
        users = len(instance.positions)
        pub = mdp.local.public_parameters(
            instance.metric, epsilon, users=users, k=instance.k, trust=trust, seed=draw
        )
        items = [instance.metric.ids[i] for i in instance.positions]
        messages = mdp.local.simulated_messages(pub, items)
        decoded = mdp.local.Decoder(pub).fit(messages)
        return decoded.k_median(metric=instance.metric, k=instance.k).centers

    return answer


METHODS: dict[str, tuple[str, str, Answer]] = {
    "partition": ("curator", "0", on_graph("partition")),
    "uniform": ("curator", "0", on_graph("uniform")),
    "paper 1: quadtree": ("curator", "0", in_plane("quadtree")),
    "paper 2: hst": ("curator", "0", on_graph("hst")),
    "paper 2: local-search": ("curator", "0", on_graph("local-search")),
    "paper 3: coreset": ("curator", "0", in_plane("coreset")),
    "paper 4: max-coverage": ("curator", DELTA, on_graph("max-coverage", DELTA)),
    "paper 5: local": ("local", "0", one_message("one_round_local")),
    "paper 5: shuffle": ("shuffle", DELTA, one_message("one_round_shuffle")),
}
"""By name: whom it trusts, the delta that it spends, and how it answers."""


def measured(names: Iterable[str], seeds: int, methods: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Rows of the CSV."""
    versions = {"python": platform.python_version(), **{n: version(n) for n in VERSIONS}}
    for name in names:
        metric = universe(name)
        for records in RECORDS:
            for seed in range(seeds):
                instance = Instance(metric, records, seed, K)
                known = {"graph": name, "vertices": len(metric), "records": records, "seed": seed}
                for method in methods:
                    for epsilon in EPSILONS:
                        row = one(instance, method, epsilon)
                        print(name, records, seed, epsilon, method, row, file=sys.stderr)
                        yield {**known, "k": K, "epsilon": epsilon, **row, **versions}


def one(instance: Instance, method: str, epsilon: str) -> dict[str, Any]:
    """One answer; without a cost where the method refuses the instance."""
    trust, delta, answer = METHODS[method]
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cost = instance.cost(answer(instance, epsilon, instance.seed))
        reported = {"cost": f"{cost:.6g}", "ratio": f"{cost / instance.best:.4f}"}
    except InputError:
        reported = {"cost": "", "ratio": ""}
    seconds = f"{time.perf_counter() - start:.2f}"
    spent = {"method": method, "trust": trust, "delta": delta, "seconds": seconds}
    return {**spent, **reported, "best_known": f"{instance.best:.6g}"}


def table(rows: list[dict[str, str]]) -> str:
    """Markdown: mean ratio of each method at each epsilon; a row an instance's kind."""
    methods = [m for m in METHODS if any(row["method"] == m for row in rows)]
    lines = ["| graph | records | " + " | ".join(methods) + " |"]
    lines += ["| --- | ---: |" + " ---: |" * len(methods)]
    ratios: dict[tuple[str, str, str, str], list[float]] = {}
    for row in rows:
        if row["ratio"]:
            key = (row["graph"], row["records"], row["method"], row["epsilon"])
            ratios.setdefault(key, []).append(float(row["ratio"]))
    for graph, records in dict.fromkeys((row["graph"], row["records"]) for row in rows):
        cells = [graph, f"{int(records):,}"]
        for method in methods:
            found = [ratios.get((graph, records, method, epsilon)) for epsilon in EPSILONS]
            cells.append(", ".join(f"{np.mean(one):.3f}" for one in found if one) or "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def written(rows: list[dict[str, Any]]) -> None:
    """Put rows into the CSV: newlines are the same everywhere."""
    with CSV.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read() -> list[dict[str, str]]:
    """Rows of the CSV."""
    with CSV.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    """Measure or read, print, and perhaps write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the shipped graphs alone")
    parser.add_argument("--graphs", help="names with commas between")
    parser.add_argument("--methods", help="names with commas between")
    parser.add_argument("--seeds", type=int, default=2, help="demands of each kind (default 2)")
    parser.add_argument("--write", action="store_true", help="write the CSV and the page's table")
    parser.add_argument("--page", action="store_true", help="measure nothing: table from the CSV")
    asked = parser.parse_args()
    names = asked.graphs.split(",") if asked.graphs else (*SAMPLES, *(() if asked.quick else NAMED))
    methods = asked.methods.split(",") if asked.methods else tuple(METHODS)
    if asked.page:
        rows = read()
    else:
        rows = list(measured(names, asked.seeds, methods))
        if asked.write:
            written(rows)
    print(table(rows))
    if asked.write or asked.page:
        page = placed(PAGE.read_text("utf-8"), "table", table(rows))
        PAGE.write_text(page, "utf-8", newline="\n")


if __name__ == "__main__":
    main()
