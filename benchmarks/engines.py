"""Counting large demand: this machine's embedded engine, Dask and Spark, against a plain group-by;
and k-means of 11 M x 28 points.

    # writes the files first, 2.8 GB for 10^8 rows
    python -m benchmarks engines rows --sizes 1e6 1e7 1e8 --folder /tmp/rows
    python -m benchmarks engines points --sizes 1e5 1e6 1.1e7 --folder /tmp/points

Every figure comes from a process of its own: seconds of the clock, CPU seconds and peak memory of
it and its children together.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

VERTICES, PART, DIMENSION = 265_000, 2_500_000, 28
CASES = (
    "group-by vertex",
    "vertices",
    "group-by cell",
    "points: check",
    "points: grid",
    "points: 4 levels",
)


def write_rows(folder: Path, n: int) -> None:
    """Parquet files of vertex, x, y: a skewed choice of vertices, and 50 clusters."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    centers = rng.random((50, 2)) * 100
    for i, start in enumerate(range(0, n, PART)):
        m = min(PART, n - start)
        points = centers[rng.integers(0, 50, m)] + rng.normal(0, 1.5, (m, 2))
        columns = {
            "vertex": (VERTICES * rng.random(m) ** 2).astype(np.int64),
            "x": points[:, 0],
            "y": points[:, 1],
        }
        pq.write_table(pa.table(columns), folder / f"part-{i:04d}.parquet", row_group_size=250_000)


def write_points(path: Path, n: int) -> None:
    """An .npy file of float32: ten clusters in 28 dimensions, within (-8, 8) nearly all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(2)
    centers = rng.normal(0, 2, (10, DIMENSION))
    array = np.lib.format.open_memmap(path, "w+", np.float32, (n, DIMENSION))
    for start in range(0, n, 500_000):
        m = min(500_000, n - start)
        array[start : start + m] = centers[rng.integers(0, 10, m)] + rng.normal(
            0, 1, (m, DIMENSION)
        )
    del array


class Watch:
    """Clock, CPU and peak memory of this process and its children."""

    def __init__(self) -> None:
        import psutil

        self.process, self.peak, self.done = psutil.Process(), 0, threading.Event()
        threading.Thread(target=self._look, daemon=True).start()
        self.mark()

    def mark(self) -> tuple[float, float]:
        """Seconds and CPU seconds since the last mark."""
        now, cpu = time.perf_counter(), self._cpu()
        last = getattr(self, "last", (now, cpu))
        self.last = now, cpu
        return now - last[0], cpu - last[1]

    def _cpu(self) -> float:
        total = 0.0
        for p in [self.process, *self.process.children(recursive=True)]:
            with suppress(Exception):
                times = p.cpu_times()
                total += times.user + times.system
        return total

    def _look(self) -> None:
        while not self.done.wait(0.05):
            total = 0
            for p in [self.process, *self.process.children(recursive=True)]:
                with suppress(Exception):
                    total += p.memory_info().rss
            self.peak = max(self.peak, total)


class Levels:
    """Cells of a quadtree at one depth, hashed to 4,096 numbers."""

    n_parts = 4096

    def __init__(self, tree, depth):
        self.universe, self.tree, self.depth = tree.space, tree, depth

    def encode(self, records):
        return (self.tree.cells(records, self.depth)[:, -1] % np.uint64(self.n_parts)).astype(
            np.int64
        )


def counted(engine: str, case: str, pattern: str) -> None:
    """Run one case and print what it took."""
    watch = Watch()
    figures = run(engine, case, pattern, watch)
    watch.done.set()
    print(json.dumps({**figures, "peak": watch.peak}))


def run(engine: str, case: str, pattern: str, watch: Watch) -> dict:
    import metricdp as mdp
    from benchmarks.methods.grid import Grid
    from metricdp.partitions.box.quadtree import ShiftedQuadtree
    from metricdp.privacy import HistogramQuery, Ledger, LevelsQuery, PrivateDemand, measure

    if case.startswith("group-by"):
        import duckdb

        connection = duckdb.connect()
        connection.execute("SET memory_limit = '1GB'")
        key = (
            "vertex"
            if case.endswith("vertex")
            else "floor((x + 10) / 0.46875) * 256 + floor((y + 10) / 0.46875)"
        )
        watch.mark()
        connection.sql(
            f"SELECT {key} AS k, count(*) FROM read_parquet('{pattern}') GROUP BY 1"
        ).fetchnumpy()
        return dict(zip(("seconds", "cpu"), watch.mark()))
    started(engine)
    watch.mark()
    if case == "vertices":
        universe = mdp.EuclideanMetric(np.random.default_rng(0).random((VERTICES, 2)))
        watch.mark()
        PrivateDemand.from_frame(universe, pattern, engine=engine)
        return dict(zip(("seconds", "cpu"), watch.mark()))
    box = mdp.EuclideanSpace([-10, -10], [110, 110])
    demand = PrivateDemand.from_frame(box, pattern, x="x", y="y", engine=engine)
    took = watch.mark()
    if case != "points: check":
        query = HistogramQuery(Grid(box, 65536))
        if case == "points: 4 levels":
            tree = ShiftedQuadtree(box, 16, seed=1)
            query = LevelsQuery([HistogramQuery(Levels(tree, depth)) for depth in (4, 8, 12, 16)])
        budget = Ledger(1).charge(1)
        watch.mark()
        measure(demand, query, 1, budget)
        took = watch.mark()
    return dict(zip(("seconds", "cpu"), took))


def started(engine: str) -> None:
    """An engine of two workers, warm."""
    if engine == "dask":
        from distributed import Client, LocalCluster

        client = Client(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))
        client.run(lambda: __import__("metricdp.records.engines.opening"))
    if engine == "spark":
        from pyspark.sql import SparkSession

        os.environ["PYSPARK_PYTHON"] = sys.executable
        builder = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "1g")
        )
        builder.config("spark.driver.host", "127.0.0.1").config(
            "spark.sql.shuffle.partitions", "2"
        ).getOrCreate().range(10).count()


def clustered(case: str, path: str, k: int = 10) -> None:
    """k-means of points in a file: ours, or one pass of scikit-learn's mini-batches."""
    watch = Watch()
    points = np.load(path, mmap_mode="r")
    if case.startswith("MiniBatchKMeans"):
        from sklearn.cluster import MiniBatchKMeans

        batch = int(case.split()[-1])
        solver = MiniBatchKMeans(
            k, batch_size=batch, n_init=1, random_state=0, compute_labels=False
        )
        solver.partial_fit(points[:2000])
        watch.mark()
        for start in range(0, len(points), batch):
            solver.partial_fit(points[start : start + batch])
        took, centers = watch.mark(), solver.cluster_centers_
    else:
        import metricdp as mdp

        box = mdp.EuclideanSpace([-8] * DIMENSION, [8] * DIMENSION)
        mdp.k_means(
            box, mdp.PrivateDemand(box, points[:2000]), k, epsilon=1, delta=1e-6
        )  # compiles
        watch.mark()
        demand = mdp.PrivateDemand.from_frame(box, path)
        checked = watch.mark()
        centers = mdp.k_means(box, demand, k, epsilon=1, delta=1e-6).centers
        took = tuple(a + b for a, b in zip(checked, watch.mark()))
    watch.done.set()
    some = np.asarray(points[:: max(1, len(points) // 200_000)], dtype=float)
    cost = float(((some[:, None] - np.asarray(centers)[None]) ** 2).sum(2).min(1).mean())
    print(json.dumps({"seconds": took[0], "cpu": took[1], "peak": watch.peak, "cost": cost}))


def one(*arguments: str) -> dict:
    """Run this file in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr[-400:]}
    return json.loads(done.stdout.splitlines()[-1])


def shown(figures: dict) -> str:
    if "failed" in figures:
        return figures["failed"]
    cost = f"  cost {figures['cost']:.4f}" if "cost" in figures else ""
    return (
        f"{figures['seconds']:9.2f} s {figures['cpu']:9.2f} CPU s {figures['peak'] / 2**30:6.2f} "
        f"GiB{cost}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("rows", "points", "count", "cluster"))
    parser.add_argument("arguments", nargs="*")
    parser.add_argument("--sizes", nargs="+", type=float, default=[1e6])
    parser.add_argument("--folder", type=Path, default=Path("/tmp/metricdp-rows"))
    parser.add_argument("--engines", nargs="+", default=["embedded", "dask", "spark"])
    parser.add_argument("--cases", nargs="+", default=CASES)
    args = parser.parse_args()
    if args.what == "count":
        return counted(*args.arguments)
    if args.what == "cluster":
        return clustered(*args.arguments)
    for n in map(int, args.sizes):
        if args.what == "rows":
            folder = args.folder / str(n)
            if not folder.exists():
                write_rows(folder, n)
            for engine in args.engines:
                for case in args.cases:
                    if engine == "embedded" or not case.startswith("group-by"):
                        print(
                            f"{n:12,} {engine:9} {case:20} "
                            f"{shown(one('count', engine, case, f'{folder}/*.parquet'))}",
                            flush=True,
                        )
        else:
            path = args.folder / f"{n}.npy"
            if not path.exists():
                write_points(path, n)
            for case in (
                args.cases
                if args.cases != CASES
                else ("MiniBatchKMeans 1024", "MiniBatchKMeans 100000", "metricdp")
            ):
                print(f"{n:12,} {case:30} {shown(one('cluster', case, str(path)))}", flush=True)


if __name__ == "__main__":
    main()
