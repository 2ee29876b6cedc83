"""Figures 2 and 3 of the paper from the rows of ``metricdp bench paper1``, as PNG files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metricdp.bench.paper1_terms import DEFAULT, PLAIN, TREE, UNIFORM
from metricdp.bench.paper2_figures import _figure, _saved, checked_folder
from metricdp.bench.report import Report

__all__ = ["STYLES", "checked_folder", "draw"]

STYLES: dict[str, dict[str, Any]] = {
    PLAIN: {"color": "black", "marker": "s", "linestyle": "--", "markerfacecolor": "white"},
    TREE: {"color": "#D55E00", "marker": "o"},
    "lsh": {"color": "#0072B2", "marker": "^"},
    "lloyd": {"color": "#009E73", "marker": "v"},
    "k-variates": {"color": "#CC79A7", "marker": "D"},
    "balcan": {"color": "#E69F00", "marker": "X"},
    DEFAULT: {"color": "black", "marker": "*", "linestyle": ":"},
    UNIFORM: {"color": "#999999", "marker": "", "linestyle": "-."},
}
"""Colors that are told apart by color-blind readers too."""
FARTHEST = 4.0
"""Ratios beyond it are cut off: they would flatten all others."""


def draw(report: Report, folder: Path) -> list[Path]:
    """Draw ratios by k, a panel a set, a picture an epsilon.

    Parameters
    ----------
    report : Report
        Of `metricdp.bench.paper1`.
    folder : Path
        There already. Files of earlier runs with the same names are replaced.

    Returns
    -------
    list of Path
        ``paper1_epsilon-E.png`` for each epsilon.
    """
    return [_picture(report.rows, epsilon, folder) for epsilon in report.settings["epsilons"]]


def _picture(rows: Sequence[dict[str, Any]], epsilon: str, folder: Path) -> Path:
    here = [
        row
        for row in rows
        if row["setting"].endswith(f"/{epsilon}")
        and "final" in row["ratios"]
        and row["method"] in STYLES
    ]
    sets = list(dict.fromkeys(row["setting"].split("/")[0] for row in here))
    wide = 2 if len(sets) == 4 else min(max(len(sets), 1), 3)
    figure, axes = _figure(max(math.ceil(len(sets) / wide), 1), wide)
    figure.set_size_inches(max(figure.get_size_inches()[0], 6.4), figure.get_size_inches()[1])
    panels = [panel for line in axes for panel in line]
    for panel, name in zip(panels, sets):
        _curves(panel, [row for row in here if row["setting"].startswith(f"{name}/")])
        panel.set_title(f"{name}, ε = {epsilon}", fontsize=10)
    for panel in panels[len(sets) :]:
        panel.set_visible(False)
    axes[0][0].set_ylabel("cost / best known without privacy")
    return _saved(
        figure, panels[0], folder / f"paper1_epsilon-{epsilon.replace('/', '-over-')}.png"
    )


def _curves(panel: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Mean ratios over the repetitions with their standard errors, by k."""
    top = 1.1
    for method, style in STYLES.items():
        points = [(row["k"], *row["ratios"]["final"]) for row in rows if row["method"] == method]
        if points:
            ks, means, errors = zip(*points)
            top = max(top, *(mean for mean in means if mean <= FARTHEST), 0)
            panel.errorbar(
                ks,
                means,
                [e or 0.0 for e in errors],
                label=method,
                capsize=2,
                markersize=5,
                linewidth=1.2,
                **style,
            )
    panel.set_ylim(0.95, min(1.05 * top, FARTHEST))
    panel.set_xlabel("k")
    panel.set_xticks(sorted({row["k"] for row in rows}))
    panel.grid(alpha=0.25)
