"""Which method when: the table of docs/which-method.md, from measurements.

    python -m benchmarks which_method                        print the table
    python -m benchmarks which_method --write                and put it into the page
    python -m benchmarks which_method --repeats 10

Made-up demand, so exact costs may be reported: eight spots of unequal weight. A cell is the mean,
over repetitions with fresh noise, of a method's exact cost over the best that is known without
privacy; the best of a row, and those within 2 % of it, are bold.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.universe import sample_path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "which-method.md"
K = 10
EPSILONS = ("0.1", "1")
RECORDS = (500, 20_000)
FINITE = ("partition", "hst", "local-search", "max-coverage", "uniform")
BOX = ("partition", "quadtree", "coreset", "lsh", "lloyd", "uniform")
CLOSE = 0.02


def roads() -> mdp.Metric:
    """A network in the plane, lengths as the crow flies."""
    graph = nx.random_geometric_graph(1_000, 0.06, seed=1)
    graph = graph.subgraph(max(nx.connected_components(graph), key=len)).copy()
    at = nx.get_node_attributes(graph, "pos")
    for u, v in graph.edges:
        graph.edges[u, v]["length"] = float(np.hypot(*np.subtract(at[u], at[v])))
    return mdp.GraphMetric(graph, weight="length")


def social() -> mdp.Metric:
    """The sample social graph: hops."""
    return mdp.read_graph(sample_path("generated_social.csv.gz"))


FINITE_UNIVERSES: dict[str, Callable[[], mdp.Metric]] = {"road network": roads, "social": social}
DIMENSIONS = {"box, 2 dimensions": 2, "box, 10 dimensions": 10}


def people(metric: mdp.Metric, records: int, coins: np.random.Generator) -> np.ndarray:
    """Positions of records: density falls with the rank of the distance to a spot."""
    spots = coins.choice(len(metric), 8, replace=False)
    away = metric.distances([metric.ids[i] for i in spots])
    rank = away.argsort(axis=1).argsort(axis=1)
    weights = coins.dirichlet(np.full(8, 2.0)) @ np.exp(-rank / (0.03 * len(metric)))
    return coins.choice(len(metric), records, p=weights / weights.sum())


def finite_rows(repeats: int) -> Iterator[dict[str, Any]]:
    """One row a universe, number of records and epsilon."""
    for name, make in FINITE_UNIVERSES.items():
        metric = make()
        for records in RECORDS:
            at = people(metric, records, np.random.default_rng(records))
            counts = np.bincount(at, minlength=len(metric)).astype(float)
            demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in at])
            known = mdp.k_median(metric, k=K, weights=counts, effort="thorough")
            least = float(counts @ metric.nearest(known.centers)[1])

            def cost(centers: Any, counts: Any = counts, metric: Any = metric) -> float:
                return float(counts @ metric.nearest(centers)[1])

            for epsilon in EPSILONS:
                asked = (mdp.k_median, metric, demand, epsilon, FINITE, cost, repeats)
                yield {"universe": name, "records": records, **ratios(least, *asked)}


def box_rows(repeats: int) -> Iterator[dict[str, Any]]:
    """The same in boxes, for k-means."""
    from sklearn.cluster import KMeans

    for name, d in DIMENSIONS.items():
        space = mdp.EuclideanSpace(np.full(d, -1.0), np.full(d, 1.0))
        for records in RECORDS:
            coins = np.random.default_rng(records + d)
            middles = coins.uniform(-0.7, 0.7, (8, d))
            points = middles[coins.choice(8, records, p=coins.dirichlet(np.full(8, 2.0)))]
            points = np.clip(points + coins.normal(0, 0.08, points.shape), -1, 1)
            demand = mdp.PrivateDemand(space, points)
            least = float(KMeans(K, n_init=10, random_state=0).fit(points).inertia_)

            def cost(centers: Any, points: Any = points) -> float:
                return float(((points[:, None] - centers) ** 2).sum(2).min(1).sum())

            for epsilon in EPSILONS:
                asked = (mdp.k_means, space, demand, epsilon, BOX, cost, repeats)
                yield {"universe": name, "records": records, **ratios(least, *asked)}


def ratios(
    least: float,
    solve: Callable[..., Any],
    universe: Any,
    demand: mdp.PrivateDemand,
    epsilon: str,
    methods: tuple[str, ...],
    cost: Callable[[Any], float],
    repeats: int,
) -> dict[str, Any]:
    """Mean ratio of every method; None where it refuses."""
    row: dict[str, Any] = {"epsilon": epsilon}
    for method in methods:
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [
                    cost(solve(universe, demand, K, epsilon=epsilon, method=method, seed=s).centers)
                    for s in range(repeats)
                ]
            row[method] = float(np.mean(found)) / least
        except InputError:
            row[method] = None
        print(method, row[method], f"{time.perf_counter() - start:.1f} s", file=sys.stderr)
    return row


def table(rows: list[dict[str, Any]], methods: tuple[str, ...]) -> str:
    """Markdown; the best of a row bold."""
    heads = ["universe", "records", "ε", *methods]
    lines = ["| " + " | ".join(heads) + " |", "| --- | ---: | ---: |" + " ---: |" * len(methods)]
    for row in rows:
        best = min(row[m] for m in methods if row[m] is not None)
        cells = [shown(row[m], best) for m in methods]
        reported = [row["universe"], f"{row['records']:,}", row["epsilon"], *cells]
        lines.append("| " + " | ".join(reported) + " |")
    return "\n".join(lines)


def shown(ratio: float | None, best: float) -> str:
    """A cell: how many times the best known cost."""
    if ratio is None:
        return "-"
    text = f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"
    return f"**{text}**" if ratio <= best * (1 + CLOSE) else text


def placed(page: str, name: str, text: str) -> str:
    """The page with a table between its marks."""
    marks = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
    changed, times = re.subn(marks, lambda m: f"{m[1]}\n{text}\n\n{m[2]}", page, flags=re.DOTALL)
    assert times == 1, f"{PAGE.name} has no marks for {name}"
    return changed


def main() -> None:
    """Measure, print, and perhaps write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    asked = parser.parse_args()
    tables = {
        "finite": table(list(finite_rows(asked.repeats)), FINITE),
        "box": table(list(box_rows(asked.repeats)), BOX),
    }
    print(*tables.values(), sep="\n\n")
    if asked.write:
        page = PAGE.read_text("utf-8")
        for name, text in tables.items():
            page = placed(page, name, text)
        PAGE.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
