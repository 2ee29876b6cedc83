"""The figure of the paper, from the benchmark's own file: python paper/figures.py

It is drawn from benchmarks/private_graphs.csv, which ``python -m benchmarks private_graphs --quick
--write`` measures. Nothing is typed in by hand. Needs the extra ``plots``.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

HERE = Path(__file__).resolve().parent
CSV = HERE.parent / "benchmarks" / "private_graphs.csv"
COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
"""Told apart by color-blind readers too."""


def means(rows: list[dict[str, str]]) -> dict[tuple[str, str, str], dict[str, float]]:
    """Mean ratio by graph, records and epsilon, then by method."""
    found: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for row in rows:
        if row["ratio"]:
            kind = row["graph"], row["records"], row["epsilon"]
            found.setdefault(kind, {}).setdefault(row["method"], []).append(float(row["ratio"]))
    return {
        kind: {method: sum(all_) / len(all_) for method, all_ in by.items()}
        for kind, by in found.items()
    }


def drawn(rows: list[dict[str, str]]) -> Figure:
    """A panel a graph: the methods' cost above the best known, by records and epsilon."""
    told = means(rows)
    graphs = list(dict.fromkeys(kind[0] for kind in told))
    methods = list(dict.fromkeys(row["method"] for row in rows if row["method"] != "uniform"))
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    panels: Any = figure.subplots(1, len(graphs), sharey=True, squeeze=False)[0]
    for panel, graph in zip(panels, graphs):
        kinds = [kind for kind in told if kind[0] == graph]
        for number, method in enumerate(methods):
            at = [i for i, kind in enumerate(kinds) if method in told[kind]]
            up = [100 * (told[kinds[i]][method] - 1) for i in at]
            color, mark = COLORS[number % len(COLORS)], "osv^DPX*"[number % 8]
            panel.plot(at, up, mark, color=color, label=method)
        blind = [100 * (told[kind]["uniform"] - 1) for kind in kinds]
        panel.plot(range(len(kinds)), blind, "_", color="black", markersize=22, label="uniform")
        panel.set_xticks(
            range(len(kinds)), [f"{int(n):,}\nε = {e}" for _, n, e in kinds], fontsize=8
        )
        panel.set_title(graph, fontsize=10)
        panel.set_yscale("symlog", linthresh=2)
        panel.set_ylim(-0.5, 100)
        panel.set_yticks(marks := [0, 1, 2, 5, 10, 20, 50], [str(mark) for mark in marks])
        panel.grid(axis="y", alpha=0.3)
    panels[0].set_ylabel("cost above the best known, %")
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8
    )
    return figure


def main() -> None:
    """Read the CSV and draw."""
    with CSV.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    drawn(rows).savefig(HERE / "private_graphs.png", dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
