"""Figures 2, 4, 5 and 6 of the paper from the rows of ``metricdp bench paper2``, as PNG files."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from metricdp.atomic import whole_file
from metricdp.bench.paper2_tables import DEFAULT, ITERATIONS, PRIVATE, mean_error
from metricdp.bench.report import Report
from metricdp.errors import InputError, MissingExtraError

_KINDS = {"rand": ("#009E73", "s"), "kmedian++": ("#0072B2", "^"), "HST": ("#D55E00", "o")}
STYLES: dict[str, dict[str, Any]] = {
    f"{world}-{kind}": {
        "color": color,
        "marker": marker,
        "linestyle": line,
        "markerfacecolor": face or color,
    }
    for kind, (color, marker) in _KINDS.items()
    for world, line, face in (("NDP", "--", "white"), ("DP", "-", None))
} | {
    "DP-HST-printed": {"color": "#CC79A7", "linestyle": "-.", "marker": "D"},
    DEFAULT: {"color": "black", "linestyle": ":", "marker": "*"},
}
"""Colors that are told apart by color-blind readers too."""
_TITLES = {
    "graph-r1": "graph, r = 1",
    "graph-r100": "graph, r = 100",
    "mnist-l2": "MNIST, $l_2$",
    "mnist-l1": "MNIST, $l_1$",
}


def checked_folder(path: str) -> Path:
    """The folder for the figures, made if it is not there: before anything is measured.

    Raises
    ------
    MissingExtraError
        matplotlib is not installed.
    InputError
        It is a file, or cannot be made.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("drawing figures", "plots") from None
    folder = Path(path)
    reason = ""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    if reason:
        raise InputError(f"--plots {path} is no folder and cannot be made one: {reason}")
    return folder


def draw(report: Report, folder: Path) -> list[Path]:
    """Draw what the rows hold: initial and final costs of each universe; iterations, and best
    costs, of all.

    Parameters
    ----------
    report : Report
        Of `metricdp.bench.paper2`.
    folder : Path
        There already. Files of earlier runs with the same names are replaced.

    Returns
    -------
    list of Path
        ``paper2_costs_UNIVERSE.png`` (Figures 2 and 4), ``paper2_iterations.png`` (5) and
        ``paper2_best.png`` (6).
    """
    rows = [row for row in report.rows if row["method"] in STYLES]
    power = int(report.settings["power"])
    cost = "k-median cost" if power == 1 else "k-means cost"
    universes = list(dict.fromkeys(row["setting"].split("/")[0] for row in rows))
    written = [
        _costs(rows, universe, cost, folder / f"paper2_costs_{universe}.png")
        for universe in universes
    ]
    uneven = [
        row for row in rows if row["setting"].endswith("/imbalanced") and row["method"] in PRIVATE
    ]
    if uneven:
        for measure, label in ((ITERATIONS, "iterations"), ("best", f"best {cost}")):
            written.append(_side_by_side(uneven, measure, label, folder / f"paper2_{measure}.png"))
    return written


def _costs(rows: Sequence[dict[str, Any]], universe: str, label: str, path: Path) -> Path:
    """Initial cost on the left, final cost on the right; a row a kind of demand."""
    demands = list(
        dict.fromkeys(
            row["setting"].split("/")[1]
            for row in rows
            if row["setting"].startswith(f"{universe}/")
        )
    )
    figure, axes = _figure(len(demands), 2)
    for line, demand in zip(axes, demands):
        own = [row for row in rows if row["setting"] == f"{universe}/{demand}"]
        for panel, measure in zip(line, ("initial", "final")):
            _curves(panel, own, measure, list(STYLES))
            panel.set_title(f"{_TITLES.get(universe, universe)}, {demand}: {measure}", fontsize=10)
        line[0].set_ylabel(label)
    return _saved(figure, axes[0][1], path)


def _side_by_side(rows: Sequence[dict[str, Any]], measure: str, label: str, path: Path) -> Path:
    """A panel a universe."""
    universes = list(dict.fromkeys(row["setting"].split("/")[0] for row in rows))
    figure, axes = _figure(1, len(universes))
    for panel, universe in zip(axes[0], universes):
        _curves(
            panel,
            [row for row in rows if row["setting"].startswith(f"{universe}/")],
            measure,
            PRIVATE,
        )
        panel.set_title(f"{_TITLES.get(universe, universe)}, imbalanced", fontsize=10)
    axes[0][0].set_ylabel(label)
    return _saved(figure, axes[0][0], path)


def _curves(
    panel: Any, rows: Iterable[dict[str, Any]], measure: str, methods: Sequence[str]
) -> None:
    """Means over the repetitions with their standard errors, by k."""
    rows = list(rows)
    least = math.inf
    most = 0.0
    for method in methods:
        points = [
            (row["k"], *mean_error(v))
            for row in rows
            if row["method"] == method and (v := _values(row, measure))
        ]
        if points:
            ks, means, errors = zip(*points)
            bars = [error or 0.0 for error in errors]
            least = min(least, *means)
            most = max(most, *means)
            panel.errorbar(
                ks,
                means,
                bars,
                label=method,
                capsize=2,
                markersize=5,
                linewidth=1.2,
                **STYLES[method],
            )
    panel.set_xlabel("k")
    panel.set_xticks(sorted({row["k"] for row in rows}))
    if least < most / 2 or measure == ITERATIONS:  # else the differences would be thin
        panel.set_ylim(bottom=0, top=21 if measure == ITERATIONS else None)
    panel.grid(alpha=0.25)


def _values(row: dict[str, Any], measure: str) -> list[float]:
    return row["iterations"] if measure == ITERATIONS else row["costs"].get(measure, [])


def _figure(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(0.6 + 3.6 * max(n_columns, 1), 1.0 + 2.6 * n_rows), layout="constrained"
    )
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def _saved(figure: Any, panel: Any, path: Path) -> Path:
    """With one legend below all panels; wholly or not at all."""
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=9, frameon=False)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    with whole_file(path) as file:
        file.write(picture.getvalue())
    return path
