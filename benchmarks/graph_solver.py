"""The solver without a distance matrix on road graphs: cost and time against its peers, on a
million vertices, and how its time grows.

    python -m benchmarks graph_solver compare|large|points|growth|rows [--output DIR] [--quick]

Times are wall-clock, on all processors; "Dijkstras" are multiples of one
`scipy.sparse.csgraph.dijkstra` search from one source on the same graph, timed in between. Real
graphs come from METRICDP_DATA. Needs kmedoids, onebatch, scikit-learn and matplotlib (or plotly).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree
from scipy.spatial import Delaunay
from scipy.spatial.distance import cdist

import metricdp as mdp
from metricdp.audit.patch import patched
from metricdp.solvers import graph_search
from metricdp.solvers.kmedian import Found, solve
from metricdp.universe.graph import Graph, build_graph

DATA = Path(os.environ.get("METRICDP_DATA", "../shared/data"))
Row = dict[str, Any]


# Graphs


def delaunay_roads(n: int, seed: int = 0, edges_each: float = 1.4) -> Graph:
    """Delaunay triangulation of uniform points, thinned to 1.4·n edges (a shortest spanning tree
    stays), with detours of up to 30 %.
    """
    rng = np.random.default_rng(seed)
    points = rng.random((n, 2)) * 100 * np.sqrt(n)
    corners = Delaunay(points).simplices
    sides = np.vstack([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]).astype(np.int64)
    edges = np.unique(np.sort(sides, axis=1), axis=0)
    straight = np.hypot(*(points[edges[:, 0]] - points[edges[:, 1]]).T)
    tree = minimum_spanning_tree(coo_array((straight, edges.T), shape=(n, n)).tocsr()).tocoo()
    low, high = np.sort(np.vstack([tree.row, tree.col]).astype(np.int64), axis=0)
    spanning = np.isin(edges[:, 0] * n + edges[:, 1], low * n + high)
    others = rng.permutation(np.flatnonzero(~spanning))[: int(edges_each * n) - (n - 1)]
    kept = np.r_[np.flatnonzero(spanning), others]
    lengths = np.round(straight[kept] * rng.uniform(1, 1.3, len(kept)), 1)
    name = f"Delaunay roads, {n:,}"
    return build_graph(
        edges[kept, 0],
        edges[kept, 1],
        lengths,
        ids=range(n),
        directed=False,
        name=name,
        coordinates=points,
    )


def real(path: str, **options: Any) -> Graph:
    return mdp.read_graph(DATA / path, largest_component=True, **options).graph


def coquimbo() -> Graph:
    return real("roads/coquimbo/links.csv", weight="length_m", symmetrize=True)


def liechtenstein() -> Graph:
    at = "roads/liechtenstein/liechtenstein_"
    return real(f"{at}edges.csv.gz", nodes=DATA / f"{at}nodes.csv.gz", symmetrize=True)


def bay() -> Graph:
    return real("roads/dimacs/USA-road-d.BAY.gr.gz")


# Measuring


def matrix(graph: Graph) -> csr_array:
    return csr_array((graph.lengths, graph.indices, graph.indptr), shape=(len(graph), len(graph)))


def dijkstra_seconds(graph: Graph, times: int = 5) -> list[float]:
    """Seconds of single searches from places all over the graph."""
    found = []
    for i in range(times):
        start = time.perf_counter()
        dijkstra(matrix(graph), indices=i * len(graph) // times)
        found.append(time.perf_counter() - start)
    return found


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Result, wall-clock seconds, processor seconds of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def warm_up() -> None:
    """Compile or load every kernel."""
    for n in (5_000, 70_000):
        metric = mdp.GraphMetric(delaunay_roads(n))
        for k in (5, 400):
            solve(metric, np.ones(n), k)


def ours(graph: Graph, k: int, seed: int, power: int = 1) -> Found:
    """Everything that a user pays for with the graph in hand, the reordering included."""
    return solve(
        mdp.GraphMetric(graph), np.ones(len(graph)), k, power=power, seed=seed, starts=None
    )


def cost(metric: mdp.GraphMetric, centers: Any) -> float:
    return float(metric.nearest_to(np.asarray(centers, np.int64))[1].sum())


# Peers


def all_distances(graph: Graph) -> np.ndarray:
    """Square float32 matrix in the layout that is best for FasterPAM (columns)."""
    n = len(graph)
    full = np.empty((n, n), np.float32, order="F")
    for start in range(0, n, 500):
        full[:, start : start + 500] = dijkstra(
            matrix(graph), indices=np.arange(start, min(start + 500, n))
        ).T
    return full


def faster_pam_on_sample(graph: Graph, k: int, size: int, seed: int) -> np.ndarray:
    import kmedoids

    sample = np.random.default_rng(seed).choice(len(graph), size, replace=False)
    rows = mdp.GraphMetric(graph).distance_rows(sample, sample).astype(np.float32)
    return sample[
        kmedoids.fasterpam(
            np.asfortranarray(rows), k, random_state=seed, n_cpu=os.cpu_count()
        ).medoids
    ]


def one_batch(graph: Graph, k: int, seed: int, size: int = 2000) -> np.ndarray:
    from onebatch import OneBatchPAM

    batch = np.random.default_rng(seed).choice(len(graph), size, replace=False)
    rows = np.empty((len(graph), size), np.float32)
    for start in range(0, size, 100):
        rows[:, start : start + 100] = dijkstra(matrix(graph), indices=batch[start : start + 100]).T
    return (
        OneBatchPAM(n_medoids=k, distance="precomputed", random_state=seed, max_iter=100_000)
        .fit(rows)
        .medoid_indices_
    )


def compare(quick: bool) -> list[Row]:
    """Against FasterPAM on the whole matrix, where it fits, and OneBatchPAM with 2,000 demand
    points.
    """
    import kmedoids

    graphs: list[Callable[[], Graph]] = [
        lambda: delaunay_roads(10_000),
        coquimbo,
        liechtenstein,
        lambda: delaunay_roads(50_000),
    ]
    rows, runs = [], 1 if quick else 3
    for make in graphs[: 1 if quick else None]:
        graph = make()
        metric, full = mdp.GraphMetric(graph), None
        if len(graph) <= 16_000:
            full, seconds, _ = timed(partial(all_distances, graph))
            rows.append(
                {
                    "graph": graph.name,
                    "n": len(graph),
                    "tool": "the matrix alone",
                    "seconds": seconds,
                }
            )
        for k in (20, 90):
            tools: dict[str, Callable[[int], Any]] = {
                "metricdp": lambda seed, g=graph, k=k: ours(g, k, seed).centers,
                "OneBatchPAM × 2,000": partial(one_batch, graph, k),
                "FasterPAM on 600": partial(faster_pam_on_sample, graph, k, 600),
            }
            if full is not None:
                tools["FasterPAM on the matrix"] = lambda seed, f=full, k=k: (
                    kmedoids.fasterpam(f, k, random_state=seed, n_cpu=2).medoids
                )
            for tool, work in tools.items():
                slow = len(graph) > 12_000 and tool in ("OneBatchPAM × 2,000", "FasterPAM on 600")
                found = [timed(partial(work, seed)) for seed in range(1 if slow else runs)]
                costs, seconds = (
                    [cost(metric, f[0]) for f in found],
                    float(np.median([f[1] for f in found])),
                )
                row = {
                    "graph": graph.name,
                    "n": len(graph),
                    "k": k,
                    "tool": tool,
                    "cost": float(np.mean(costs)),
                    "costs": costs,
                }
                rows.append(row | {"seconds": seconds})
                show(rows[-1])
    return rows


# A million vertices


def large(quick: bool) -> list[Row]:
    """Dijkstras, memory, cost against the best found with twenty times the time, and against
    FasterPAM on a sample.
    """
    rows = []
    for graph in [delaunay_roads(100_000)] if quick else [bay(), delaunay_roads(1_000_000)]:
        metric = mdp.GraphMetric(graph)
        for k in (20, 200):
            units, found, spent = dijkstra_seconds(graph), [], 0.0
            runs = 2 if quick or k == 200 else (20 if len(graph) < 500_000 else 5)
            while len(found) < runs:
                solution, wall, cpu = timed(partial(ours, graph, k, len(found)))
                found.append((solution.cost, wall, cpu))
                units += dijkstra_seconds(graph, 1)
                spent += wall
            unit, costs = float(np.median(units)), [f[0] for f in found]
            row = {
                "graph": graph.name,
                "n": len(graph),
                "arcs": len(graph.indices),
                "k": k,
                "Dijkstra seconds": unit,
            }
            row |= {
                "seconds": float(np.median([f[1] for f in found])),
                "processor seconds": float(np.median([f[2] for f in found])),
            }
            row |= {
                "Dijkstras": row["seconds"] / unit,
                "processor seconds in Dijkstras": row["processor seconds"] / unit,
                "runs": runs,
            }
            row |= {
                "cost": costs[0],
                "median / best": float(np.median(costs)) / min(costs),
                "worst / best": max(costs) / min(costs),
            }
            sampled = [cost(metric, faster_pam_on_sample(graph, k, 600, seed)) for seed in range(1)]
            row |= {
                "FasterPAM on 600 / median": float(np.mean(sampled) / np.median(costs)),
                **memory(graph, k),
            }
            rows.append(row)
            show(row)
    return rows


def memory(graph: Graph, k: int) -> Row:
    """Peak memory of a fresh process that reads the graph and solves, and of one that only reads
    it.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.npz"
        np.savez(path, lengths=graph.lengths, indices=graph.indices, indptr=graph.indptr)
        peaks = []
        for times in (0, k):
            command = [sys.executable, __file__, "child", "--graph", str(path), "--k", str(times)]
            peaks.append(
                float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            )
    return {"MB before": peaks[0], "MB": peaks[1]}


def child(path: str, k: int) -> None:
    parts = np.load(path)
    n = len(parts["indptr"]) - 1
    metric = mdp.GraphMetric(
        csr_array((parts["lengths"], parts["indices"], parts["indptr"]), shape=(n, n))
    )
    if k:
        solve(metric, np.ones(n), k)
    status = Path("/proc/self/status")  # where there is one: getrusage remembers the parent's peak
    peaks = (
        [
            float(line.split()[1])
            for line in status.read_text().splitlines()
            if line.startswith("VmHWM")
        ]
        if status.exists()
        else []
    )
    print((peaks[0] if peaks else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024)


# Other metrics


def points(quick: bool) -> list[Row]:
    """50,000 points of Gaussian mixtures: against FasterPAM on samples, and k-means snapped to
    points for squared distances.
    """
    import kmedoids
    from sklearn.cluster import KMeans

    rows, n = [], 6_000 if quick else 50_000
    for d in (2, 10):
        rng = np.random.default_rng(d)
        middle = rng.random((60, d)) * 10
        cloud = middle[rng.integers(0, 60, n)] + rng.normal(0, 0.6, (n, d))

        def paid(centers: Any, power: int, cloud: np.ndarray = cloud) -> float:
            return float(
                (mdp.EuclideanMetric(cloud).nearest_to(np.asarray(centers))[1] ** power).sum()
            )

        def sampled(k: int, size: int, cloud: np.ndarray = cloud) -> np.ndarray:
            sample = np.random.default_rng(0).choice(len(cloud), size, replace=False)
            block = np.asfortranarray(cdist(cloud[sample], cloud[sample]).astype(np.float32))
            return sample[kmedoids.fasterpam(block, k, random_state=0, n_cpu=2).medoids]

        def snapped(k: int, cloud: np.ndarray = cloud) -> np.ndarray:
            return mdp.EuclideanMetric(cloud).snap(
                KMeans(k, n_init=10, random_state=0).fit(cloud).cluster_centers_
            )

        for k in (20, 90):
            tools: dict[str, tuple[int, Callable[[], Any]]] = {
                f"metricdp, power {p}": (
                    p,
                    lambda k=k, p=p, c=cloud: (
                        solve(mdp.EuclideanMetric(c), np.ones(len(c)), k, power=p).centers
                    ),
                )
                for p in (1, 2)
            }
            for size in (2_000, min(8_000, n)):
                tools[f"FasterPAM on {size:,}"] = (1, lambda k=k, size=size: sampled(k, size))
            tools["k-means × 10, snapped"] = (2, lambda k=k: snapped(k))
            for tool, (power, work) in tools.items():
                centers, seconds, cpu = timed(work)
                rows.append(
                    {
                        "n": n,
                        "d": d,
                        "k": k,
                        "tool": tool,
                        "power": power,
                        "cost": paid(centers, power),
                        "seconds": seconds,
                    }
                )
                rows[-1]["processor seconds"] = cpu
                show(rows[-1])
    return rows


# Growth


def growth(quick: bool) -> list[Row]:
    """Time over n at fixed k, and over k at fixed n; exponents are slopes of log time over log n or
    log k.
    """
    sizes = [10_000, 30_000] if quick else [10_000, 30_000, 100_000, 300_000, 1_000_000]
    rows: list[Row] = []
    for n, ks in [(n, [20, 200]) for n in sizes] + [
        (30_000 if quick else 100_000, [5, 10, 20, 50, 100, 200, 500])
    ]:
        graph = delaunay_roads(n)
        units = dijkstra_seconds(graph)
        for k in ks:
            found = [
                timed(partial(ours, graph, k, seed))
                for seed in range(1 if quick or n > 100_000 else 3)
            ]
            seconds, cpu = (float(np.median([f[i] for f in found])) for i in (1, 2))
            over = "k" if len(ks) > 2 else f"n, k = {k}"
            row = {
                "n": n,
                "k": k,
                "over": over,
                "seconds": seconds,
                "processor seconds": cpu,
                "Dijkstra seconds": float(np.median(units)),
            }
            rows.append(row)
            show(rows[-1])
    return rows


# Many rows of distances


def rows_of_distances(quick: bool) -> list[Row]:
    """Processor seconds of elimination and, for each of 128 sources, of a search and of sweeps; and
    of k-median with few centers, with sweeps and by searches alone.
    """
    roads = [delaunay_roads(10_000)] if quick else [coquimbo(), liechtenstein(), bay()]
    rows: list[Row] = []
    for graph in [*roads, real("roads/rome99/rome99.gr", symmetrize=True)]:
        metric = mdp.GraphMetric(graph)
        sources = np.random.default_rng(0).choice(len(metric), 128, replace=False)
        order, _, elimination = timed(lambda metric=metric: metric.elimination)
        swept, _, sweeps = timed(partial(metric.grid_rows, sources))
        found, _, searches = timed(
            lambda m=metric, at=sources: np.vstack([m.grid_rows([s]) for s in at])
        )
        assert order is None or np.array_equal(swept, found)
        row: Row = {"graph": graph.name, "n": len(graph), "eliminated": order is not None}
        row |= {"elimination": elimination, "a sweep": sweeps / 128, "a search": searches / 128}
        for k in (3, 5, 10, 20):
            solved = partial(solve, metric, np.ones(len(metric)), k, starts=None)
            for visit in (graph_search._VISIT, 0):
                with patched(graph_search, "_VISIT", visit):
                    found, _, row[f"k = {k}, {'sweeps' if visit else 'searches'}"] = timed(solved)
                assert visit or np.isclose(found.cost, row["cost"], rtol=1e-9)
                row["cost"] = found.cost
        rows.append(row)
        show(row)
    return rows


def exponents(rows: list[Row]) -> dict[str, float]:
    fitted = {}
    for over in dict.fromkeys(row["over"] for row in rows):
        series = [row for row in rows if row["over"] == over]
        at = np.log([row["k" if over == "k" else "n"] for row in series])
        for what in ("seconds", "processor seconds"):
            fitted[f"{what} over {over}"] = float(
                np.polyfit(at, np.log([row[what] for row in series]), 1)[0]
            )
    return fitted


def plot(rows: list[Row], folder: Path) -> Path:
    """Both curves in one file: PNG by matplotlib, else a page by plotly."""
    groups = {
        over: [row for row in rows if row["over"] == over]
        for over in dict.fromkeys(row["over"] for row in rows)
    }
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        import plotly.graph_objects as go

        figure = go.Figure(
            layout={"xaxis_type": "log", "yaxis_type": "log", "yaxis_title": "processor seconds"}
        )
        for over, series in groups.items():
            x = [row["k" if over == "k" else "n"] for row in series]
            figure.add_scatter(
                x=x, y=[row["processor seconds"] for row in series], name=f"over {over}"
            )
        figure.write_html(folder / "growth.html")
        return folder / "growth.html"
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    for over, series in groups.items():
        by_k = over == "k"
        x = [row["k" if by_k else "n"] for row in series]
        y = [row["processor seconds"] for row in series]
        slope = np.polyfit(np.log(x), np.log(y), 1)[0]
        label = f"n = {series[0]['n']:,}" if by_k else over.split(", ")[1]
        axes[int(by_k)].loglog(x, y, "o-", label=f"{label}: exponent {slope:.2f}")
    for axis, name in zip(axes, ("vertices", "k")):
        axis.set_xlabel(name)
        axis.legend()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("processor seconds")
    figure.tight_layout()
    figure.savefig(folder / "growth.png", dpi=120)
    return folder / "growth.png"


def show(row: Row) -> None:
    print(
        " | ".join(
            f"{key} {value:.6g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in row.items()
        ),
        flush=True,
    )


MEASURES = {
    "compare": compare,
    "large": large,
    "points": points,
    "growth": growth,
    "rows": rows_of_distances,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=[*MEASURES, "child"])
    parser.add_argument(
        "--output", type=Path, default=Path(), help="folder for the JSON and the plot"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small instances, one run of each: a trial of the script itself",
    )
    parser.add_argument("--graph", help=argparse.SUPPRESS)
    parser.add_argument("--k", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.what == "child":
        child(given.graph, given.k)
        return
    given.output.mkdir(parents=True, exist_ok=True)
    warm_up()
    rows = MEASURES[given.what](given.quick)
    result: dict[str, Any] = {"rows": rows}
    if given.what == "growth":
        result["exponents"] = exponents(rows)
        print(json.dumps(result["exponents"], indent=1), plot(rows, given.output))
    (given.output / f"graph_solver_{given.what}.json").write_text(
        json.dumps(result, indent=1), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
