"""Exhibits of papers 3 to 5 as PNG files: one picture an exhibit that has curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metricdp.bench.exhibits import Curves, Exhibit
from metricdp.bench.paper2_figures import _figure, _saved, checked_folder

__all__ = ["checked_folder", "draw"]

_COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "black")
_MARKERS = "os^DvX*"
"""Colors and marks that are told apart by color-blind readers too."""


def draw(
    suite: str, exhibits: Sequence[Exhibit], rows: Sequence[dict[str, Any]], folder: Path
) -> list[Path]:
    """Draw each exhibit with curves that was measured.

    Parameters
    ----------
    suite : str
    exhibits : sequence of Exhibit
    rows : sequence of dict
    folder : Path
        There already. Files of earlier runs with the same names are replaced.

    Returns
    -------
    list of Path
        ``SUITE_EXHIBIT.png`` each.
    """
    drawn = []
    for each in exhibits:
        here = [row for row in rows if row["exhibit"] == each.key]
        if each.curves is not None and here:
            drawn.append(_picture(each.curves, each, here, folder / f"{suite}_{each.key}.png"))
    return drawn


def _picture(curves: Curves, each: Exhibit, rows: list[dict[str, Any]], path: Path) -> Path:
    panels = list(dict.fromkeys(row[curves.panel] for row in rows)) if curves.panel else [None]
    figure, axes = _figure(1, len(panels))
    figure.set_size_inches(max(figure.get_size_inches()[0], 6.4), figure.get_size_inches()[1])
    headings = {column.key: column.heading for column in each.columns}
    names = sorted({str(row[curves.by]) for row in rows}, key=_by_number)
    for axis, value in zip(axes[0], panels):
        here = [row for row in rows if curves.panel is None or row[curves.panel] == value]
        for name, color, mark in zip(names, _COLORS, _MARKERS):
            some = [
                (row[curves.x], row[curves.y])
                for row in here
                if str(row[curves.by]) == name and row.get(curves.y) is not None
            ]
            axis.plot(*zip(*sorted(some)), label=name, color=color, marker=mark) if some else None
        if "x" in curves.logarithmic:
            axis.set_xscale("log")
        if "y" in curves.logarithmic:
            axis.set_yscale("log")
        axis.set_xlabel(headings.get(curves.x, curves.x))
        axis.grid(alpha=0.25)
        if curves.panel:
            axis.set_title(f"{headings.get(curves.panel, curves.panel)} = {value}", fontsize=10)
    axes[0][0].set_ylabel(headings.get(curves.y, curves.y))
    return _saved(figure, axes[0][0], path)


def _by_number(text: str) -> tuple[float, str]:
    """Numbers by size, names after them."""
    try:
        return float(text), ""
    except ValueError:
        return float("inf"), text
