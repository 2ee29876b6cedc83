"""The explore page of a large made-up road network: how big it is, how soon it shows, how fast the
slider answers.

    # needs playwright (PyPI) and chromium on the path
    python -m benchmarks explore 300000

Prints a JSON line for each size and each screen. Times are of the browser's own clock.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

import metricdp as mdp
from metricdp.metrics.graph import GraphMetric
from metricdp.universe.graph import build_graph

SCREENS = {
    "desktop": {"viewport": {"width": 1280, "height": 820}},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "device_scale_factor": 2,
        "is_mobile": True,
        "has_touch": True,
    },
}
MOVES = 24


def roads(n_points: int, seed: int = 0) -> GraphMetric:
    """A network in the shape of roads: a jittered lattice, drawn together in towns, of which a
    random spanning tree and an eighth of the other streets stay (1.13 edges a vertex, many dead
    ends; Coquimbo has 1.27).
    """
    rng, side = np.random.default_rng(seed), int(np.sqrt(n_points))
    at = np.arange(side * side).reshape(side, side)
    place = np.c_[np.tile(np.arange(side), side), np.repeat(np.arange(side), side)] + rng.uniform(
        -0.35, 0.35, (side * side, 2)
    )
    place /= side
    for town, reach in zip(rng.random((9, 2)), rng.uniform(0.04, 0.15, 9)):
        away = place - town
        place = town + away * (
            1 - 0.45 * np.exp(-((np.linalg.norm(away, axis=1, keepdims=True) / reach) ** 2))
        )
    a, b = np.r_[at[:, :-1].ravel(), at[:-1].ravel()], np.r_[at[:, 1:].ravel(), at[1:].ravel()]
    length = np.linalg.norm(place[a] - place[b], axis=1)
    tree = minimum_spanning_tree(
        coo_array(
            (length * rng.uniform(0.5, 1.5, len(a)), (a, b)), shape=2 * (side * side,)
        ).tocsr()
    ).tocoo()
    more = rng.random(len(a)) < 0.13
    ends = np.unique(
        np.sort(np.r_[np.c_[tree.row, tree.col], np.c_[a[more], b[more]]].astype(np.int64), axis=1),
        axis=0,
    )
    lonlat = np.array([-71.5, -30.5]) + place * [1.0, 0.86]
    meters = 111_200 * np.linalg.norm((lonlat[ends[:, 0]] - lonlat[ends[:, 1]]) * [0.86, 1], axis=1)
    where = {"coordinates": lonlat, "coordinate_system": "lonlat"}
    meters = np.round(meters, 1) + 0.1
    return GraphMetric(
        build_graph(
            *ends.T,
            meters,
            ids=list(range(side**2)),
            directed=False,
            name="a made-up road network",
            **where,
        )
    )


def hot_spots(metric: GraphMetric, records: int, seed: int = 0) -> list[int]:
    """Records around eight random places."""
    rng = np.random.default_rng(seed)
    away: NDArray[np.float64] = metric.nearest_to(rng.choice(len(metric), 8))[1]
    density = np.exp(-10 * away / away.max())
    return rng.choice(len(metric), records, p=density / density.sum()).tolist()


def measured(page: Path, screen: dict[str, object]) -> dict[str, object]:
    """First paint, first map, controls ready, and the slider's answers, in milliseconds."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_context(**screen).new_page()
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-ready=all]", state="attached", timeout=300_000)
        paint = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        marks = dict(
            tab.evaluate("performance.getEntriesByType('mark').map((m) => [m.name, m.startTime])")
        )
        tab.focus("#level")
        clock = tab.context.new_cdp_session(tab)
        clock.send("Performance.enable", {"timeDomain": "threadTicks"})
        before = busy(clock)
        for i in range(MOVES):
            tab.keyboard.press("ArrowRight" if i % 6 < 3 else "ArrowLeft")
            tab.wait_for_timeout(250)
        spent = busy(clock) - before
        moves = np.array(
            tab.evaluate("performance.getEntriesByName('metricdp-level').map((m) => m.duration)")
        )
        browser.close()
    return {
        "first_paint_ms": round(paint),
        "first_map_ms": round(marks["metricdp-first"]),
        "controls_ready_ms": round(marks["metricdp-ready"]),
        "slider_median_ms": round(float(np.median(moves))),
        "slider_90_ms": round(float(np.quantile(moves, 0.9))),
        "slider_max_ms": round(float(moves.max())),
        "main_thread_ms": round(1000 * spent / MOVES),
        "load": round(os.getloadavg()[0], 1),
    }


def busy(clock: Any) -> float:
    """Seconds of processor time that the page's main thread has spent in tasks."""
    return next(
        m["value"]
        for m in clock.send("Performance.getMetrics")["metrics"]
        if m["name"] == "TaskDuration"
    )


def main(sizes: list[int]) -> None:
    """Make a page of each size and measure it."""
    for size in sizes:
        metric = roads(size)
        demand = mdp.PrivateDemand(metric, hot_spots(metric, 20_000))
        start = time.process_time()
        levels = mdp.explore(metric, demand, ["0.1", "0.5", 1, 2], 10, repeats=0)
        released = time.process_time() - start
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            page = levels.write(Path(folder) / "page.html")
            facts = {
                "vertices": len(metric),
                "edges": len(metric.graph.indices) // 2,
                "megabytes": round(page.stat().st_size / 1e6, 2),
                "release_cpu_s": round(released, 1),
                "page_cpu_s": round(time.process_time() - start, 1),
            }
            sys.stdout.write(json.dumps(facts) + "\n")
            for name, screen in SCREENS.items():
                sys.stdout.write(json.dumps({"screen": name, **measured(page, screen)}) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "sizes",
        nargs="*",
        type=int,
        default=[300_000],
        help="vertices of each network (default: 300000)",
    )
    main(parser.parse_args().sizes)
