"""Time, memory, stretch and domination of 2-HSTs, in single-source Dijkstras of SciPy on the same
graph in the same run.

    python -m benchmarks hst [grid delaunay social BAY coquimbo berlin facebook vectors] [--repeats
    5]
    python -m benchmarks hst usa            # 24 M vertices: needs some 12 GB

Prints the tables of ``hst.md``. Real graphs come from METRICDP_DATA. Each line is a process of its
own, so that memory is its own too.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import time

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import metricdp as mdp
from benchmarks.sets.graphs import DATA
from metricdp.metrics import GraphMetric
from metricdp.universe import build_graph


def grid(width: int, height: int, kept: float = 0.75, seed: int = 0) -> GraphMetric:
    """Streets: a grid of perturbed points, a quarter of its edges missing, lengths the distances in
    whole units (100 to a block).
    """
    rng, at = (
        np.random.default_rng(seed),
        np.arange(width * height, dtype=np.int32).reshape(height, width),
    )
    tails = np.r_[at[:, :-1].ravel(), at[:-1].ravel()]
    heads = np.r_[at[:, 1:].ravel(), at[1:].ravel()]
    keep = rng.random(len(tails)) < kept
    tails, heads = tails[keep], heads[keep]
    places = np.stack(np.divmod(np.arange(width * height), width), axis=1) * 100.0 + rng.uniform(
        -40, 40, (width * height, 2)
    )
    lengths = np.ceil(np.hypot(*(places[tails] - places[heads]).T))
    graph = build_graph(
        tails,
        heads,
        lengths,
        ids=range(width * height),
        directed=False,
        largest_component=True,
        name="perturbed grid",
    )
    return GraphMetric(graph)


def delaunay(n: int = 10**6, kept: float = 0.45, seed: int = 0) -> GraphMetric:
    """Streets: Delaunay edges of random points in random order, part of them missing."""
    from scipy.spatial import Delaunay

    rng = np.random.default_rng(seed)
    points = rng.random((n, 2)) * math.sqrt(n) * 100
    edges = Delaunay(points).simplices[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    edges = np.unique(np.sort(edges, axis=1), axis=0)
    edges = edges[rng.random(len(edges)) < kept]
    lengths = np.ceil(np.hypot(*(points[edges[:, 0]] - points[edges[:, 1]]).T))
    return GraphMetric(
        build_graph(
            *edges.T, lengths, ids=range(n), directed=False, largest_component=True, name="Delaunay"
        )
    )


def social(n: int = 10**6, m: int = 3, seed: int = 0) -> GraphMetric:
    """Barabási–Albert: each new vertex is joined to m ends of earlier edges; lengths uniform in
    1..100.
    """
    rng = np.random.default_rng(seed)
    picks = rng.random((n, m))
    ends = np.empty(2 * m * n, np.int64)
    attach(picks, ends)
    tails, heads = ends[0::2], ends[1::2]
    graph = build_graph(
        tails,
        heads,
        rng.integers(1, 101, len(tails)),
        ids=range(n),
        directed=False,
        name="Barabási–Albert",
    )
    return GraphMetric(graph)


def attach(picks: np.ndarray, ends: np.ndarray) -> None:
    from numba import njit

    @njit
    def grow(picks: np.ndarray, ends: np.ndarray) -> None:
        count = 0
        for v in range(picks.shape[0]):
            before = count
            for j in range(picks.shape[1]):
                ends[count] = v
                ends[count + 1] = ends[int(picks[v, j] * before)] if before else 0
                count += 2

    grow(picks, ends)


GRAPHS = {
    "grid": lambda: grid(1000, 1000),
    "delaunay": delaunay,
    "social": social,
    "BAY": lambda: mdp.read_graph(DATA / "roads/dimacs/USA-road-d.BAY.gr.gz"),
    "coquimbo": lambda: mdp.read_graph(
        DATA / "roads/coquimbo/links.csv",
        weight="length_m",
        symmetrize=True,
        largest_component=True,
    ),
    "berlin": lambda: mdp.read_graph(
        DATA / "roads/berlin_center/berlin-center_net.tntp.gz",
        symmetrize=True,
        largest_component=True,
    ),
    "facebook": lambda: mdp.read_graph(DATA / "social/facebook_combined.txt"),
    "usa": lambda: grid(6000, 4000, kept=0.607),
}


def timed(work) -> tuple[float, float]:
    cpu, start = time.process_time(), time.perf_counter()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def measure(name: str, repeats: int) -> None:
    """One line: medians over interleaved runs, and ratios of them."""
    start = time.perf_counter()
    metric = GRAPHS[name]()
    ready = time.perf_counter() - start
    print(
        f"{name}: read or made in {ready:.0f} s; load {os.getloadavg()[0]:.1f}",
        file=sys.stderr,
        flush=True,
    )
    mdp.build_hst(
        mdp.GraphMetric(build_graph([0, 1], [1, 2], [1, 2], ids=range(3), directed=False))
    )  # compiles
    graph, n = metric.graph, len(metric)
    matrix = csr_array((graph.lengths, graph.indices, graph.indptr), shape=(n, n))
    trees, one, all_ = [], [], []
    for i in range(repeats):
        one += [timed(lambda: dijkstra(matrix, indices=0))]
        all_ += [timed(lambda: trees.append(mdp.build_hst(metric, i)))]  # noqa: B023
        one += [timed(lambda: dijkstra(matrix, indices=0))]
        del trees[:-1]
    tree, (wall, cpu), (unit_wall, unit_cpu) = (
        trees[-1],
        np.median(all_, axis=0),
        np.median(one, axis=0),
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    mean, worst = stretch(metric, tree, sources=12 if n < 5e6 else 2)
    print(
        f"| {name} | {n:,} | {len(graph.indices):,} | {unit_wall:.3f} | {wall:.2f} | "
        f"**{wall / unit_wall:.1f}** | {cpu / unit_cpu:.1f} | "
        f"{tree.n_levels} | {tree.n_nodes / n:.2f} | {peak:.1f} | {mean:.2f} | "
        f"{8 * math.log2(n):.0f} | {worst:.3f} |",
        flush=True,
    )
    print(f"{name}: {len(all_)} trees; load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)


def stretch(
    metric: GraphMetric, tree: mdp.HST, sources: int, targets: int = 200_000
) -> tuple[float, float]:
    """Mean of tree distance / distance over random pairs, and the least, which domination holds at
    1 or more.
    """
    rng = np.random.default_rng(1)
    here, there = rng.integers(0, len(metric), sources), rng.integers(0, len(metric), targets)
    true, ours = metric.distance_rows(here, there), tree.position_distances(here[:, None], there)
    distant = true > 0
    return float((ours[distant] / true[distant]).mean()), float(
        (ours[distant] / true[distant]).min()
    )


def measure_vectors() -> None:
    """Points: time and stretch, with one row of distances as the unit."""
    from scipy.spatial.distance import cdist

    rng = np.random.default_rng(0)
    uniform = {d: rng.random((200_000 if d < 4 else 20_000, d)) for d in (2, 3, 10)}
    raw = (DATA / "points/mnist").glob("*images*") if DATA.is_dir() else []
    images = next((read_images(path) for path in raw), None)
    sets = {f"uniform, d = {d}": points for d, points in uniform.items()} | (
        {} if images is None else {"MNIST": images}
    )
    print(
        "\n| points | n | d | metric | tree, s | rows of distances that takes | mean stretch | 8 "
        "log2 n |\n" + "| --- " * 8 + "|"
    )
    for name, points in sets.items():
        for kind in (mdp.EuclideanMetric, mdp.ManhattanMetric):
            metric, trees = kind(points), []
            mdp.build_hst(kind(points[:50]))
            wall, _ = timed(lambda: trees.append(mdp.build_hst(metric)))  # noqa: B023
            row = np.median([timed(lambda: cdist(points[:1], points))[0] for _ in range(9)])  # noqa: B023
            here, there = rng.integers(0, len(metric), 30), rng.integers(0, len(metric), 5000)
            true, ours = (
                metric.distance_rows(here, there),
                trees[0].position_distances(here[:, None], there),
            )
            ratio = ours[true > 0] / true[true > 0]
            assert (ours >= true).all()
            cells = (
                name,
                f"{len(points):,}",
                points.shape[1],
                kind.__name__,
                f"{wall:.2f}",
                f"{wall / row:,.0f}",
                f"{ratio.mean():.2f}",
            )
            print(
                "| " + " | ".join(map(str, cells)) + f" | {8 * math.log2(len(points)):.0f} |",
                flush=True,
            )


def read_images(path) -> np.ndarray:
    import gzip

    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return np.frombuffer(data, np.uint8, offset=16).reshape(-1, 784).astype(float)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="*", default=[name for name in GRAPHS if name != "usa"])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        measure(args.graphs[0], args.repeats)
        sys.exit()
    heads = (
        "graph | n | arcs | Dijkstra, s | tree, s | tree / Dijkstra | CPU time, likewise | levels "
        "| nodes / n | peak GB | mean stretch"
    )
    print(f"| {heads} | 8 log2 n | least stretch |\n" + "| --- " * 13 + "|", flush=True)
    for graph_name in args.graphs:
        if graph_name != "vectors":
            subprocess.run(
                [sys.executable, __file__, graph_name, "--inside", "--repeats", str(args.repeats)],
                check=True,
            )
    if "vectors" in args.graphs:
        measure_vectors()
