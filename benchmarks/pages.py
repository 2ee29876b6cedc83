"""The map page: how big it is and how soon it shows, of the demo's network and of made-up ones.

    # needs playwright (PyPI) and chromium on the path
    python -m benchmarks pages 16000 300000 --times 7
    python -m benchmarks pages --page map.html --page before.html

Prints a JSON line for each page: medians and ranges over fresh windows, the pages taken in turn.
Times are of the browser's own clock, from navigation to the first picture.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import metricdp as mdp
from benchmarks.explore import SCREENS, busy, hot_spots, roads
from metricdp.report import map_page

_DRAWN = """
new MutationObserver((_, watch) => {
  if (!document.documentElement.dataset.ready) return;
  watch.disconnect();
  requestAnimationFrame(() => { window.shownAfter = performance.now(); });
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["data-ready"] });
"""
_TIMES = """[window.shownAfter,
  performance.getEntriesByName("first-contentful-paint").map((e) => e.startTime)[0]]"""


def written(size: int, folder: Path) -> Path:
    """The map of ten private centers of a made-up network."""
    metric = roads(size)
    demand = mdp.PrivateDemand(metric, hot_spots(metric, 20_000))
    result = mdp.k_median(metric, demand, 10, epsilon=1)
    known = {"weights": result.release.weights, "receipt": result.receipt}
    path = folder / f"{len(metric)}.html"
    path.write_text(map_page(metric, result.centers, **known), "utf-8")
    return path


def opened(browser: Any, page: Path, screen: dict[str, Any]) -> dict[str, float]:
    """Milliseconds until the first text, until the map stands, and of the main thread in all."""
    window = browser.new_context(**screen)
    tab = window.new_page()
    tab.add_init_script(_DRAWN)
    clock = window.new_cdp_session(tab)
    clock.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(page.resolve().as_uri())
    for _ in range(3000):
        shown, paint = tab.evaluate(_TIMES)
        if shown and paint:
            break
        tab.wait_for_timeout(20)
    spent = busy(clock)
    window.close()
    return {"text_ms": paint, "map_ms": shown, "main_thread_ms": 1000 * spent}


def measured(pages: list[Path], screen: dict[str, Any], times: int) -> list[dict[str, Any]]:
    """Median, least and most of each figure, over so many openings of each page, in turn."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = driver.chromium.launch(executable_path=program, args=flags)
        seen: list[list[dict[str, float]]] = [[] for _ in pages]
        for _ in range(times):
            for page, runs in zip(pages, seen):
                runs.append(opened(browser, page, screen))
        browser.close()
    return [
        {
            name: [round(float(f([run[name] for run in runs]))) for f in (np.median, min, max)]
            for name in runs[0]
        }
        for runs in seen
    ]


def main(sizes: list[int], pages: list[str], times: int) -> None:
    """Make and measure pages."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(page) for page in pages]
        paths += [written(size, Path(folder)) for size in sizes]
        for name, screen in SCREENS.items():
            for path, reported in zip(paths, measured(paths, screen, times)):
                megabytes = round(path.stat().st_size / 1e6, 2)
                facts = {"page": path.name, "megabytes": megabytes, "screen": name}
                load = {"load": round(os.getloadavg()[0], 1)}
                sys.stdout.write(json.dumps(facts | reported | load) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", nargs="*", type=int, help="vertices of made-up networks")
    parser.add_argument("--page", action="append", default=[], help="a page that is there already")
    parser.add_argument("--times", type=int, default=7, help="openings (default: %(default)s)")
    asked = parser.parse_args()
    main(asked.sizes, asked.page, asked.times)
