"""What the suites on points in a box share: costs, references without privacy, and tables of ratios
with one column a method.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.bench.paper2_tables import shown
from metricdp.bench.report import Column, Report, aligned
from metricdp.errors import InputError
from metricdp.kernels.points import nearest_centers
from metricdp.solvers.lloyd import seeding, settled

Points = NDArray[np.float64]
SMOOTH = 1e-3
"""Weiszfeld's steps count distances below this part of the points' extent as so much."""


def cost(points: Points, centers: Points, power: int) -> float:
    """Sum over the points of the distance to the nearest center, or of its square: O(n · k · d)."""
    return float((nearest_centers(points, np.ascontiguousarray(centers))[1] ** (power / 2)).sum())


def improved(points: Points, centers: Points, power: int, steps: int) -> Points:
    """Centers after so many of Lloyd's (Weiszfeld's) steps without privacy."""
    smooth = SMOOTH * float(np.ptp(points, axis=0).max())
    return settled(points, np.ones(len(points)), centers, power=power, smooth=smooth, steps=steps)


def best_known(
    points: Points, k: int, power: int, seed: int, starts: int, steps: int = 100
) -> Points:
    """The best of some greedy seedings with many steps each, without privacy."""
    rng = np.random.default_rng([seed, 43])
    ones = np.ones(len(points))
    found = [
        improved(points, seeding(points, ones, k, rng, power), power, steps) for _ in range(starts)
    ]
    return min(found, key=lambda centers: cost(points, centers, power))


def epsilons(text: str) -> list[str]:
    """Budgets with commas between, as they were written.

    Raises
    ------
    InputError
        One of them is no budget.

    Examples
    --------
    >>> epsilons("1/2, 1")
    ['1/2', '1']
    """
    import metricdp as mdp

    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        mdp.Ledger(part)  # its rules
    if not parts or len(set(parts)) < len(parts):
        raise InputError(
            f"epsilons must be different numbers with commas between; got {text[:40]!r}"
        )
    return parts


class RatioReport(Report):
    """One table of cost ratios and one of CPU times: a line a setting and k, a column a method."""

    def table(self) -> str:
        """The tables, then the summary in words."""
        text = [str(self.summary["heading"])]
        text += ["", *self._lines("final"), "", str(self.summary["times"]), "", *self._lines("cpu")]
        return "\n".join([*text, "", *self.lines]) + "\n"

    def _lines(self, what: str) -> list[str]:
        cells: dict[tuple[str, int], dict[str, Any]] = {}
        for row in self.rows:
            line = cells.setdefault(
                (row["setting"], row["k"]), {"setting": row["setting"], "k": row["k"]}
            )
            values = row["ratios"].get("final") if what == "final" else row.get("cpu")
            if "absent" in row:
                line[row["method"]] = "absent"
            elif values is not None:
                line[row["method"]] = shown(*values) if what == "final" else f"{values:.2f}"
        methods = [
            m
            for m in dict.fromkeys(row["method"] for row in self.rows)
            if any(m in line for line in cells.values())
        ]
        columns = [
            Column("setting", "setting"),
            Column("k", "k", "d"),
            *(Column(m, m, ">") for m in methods),
        ]
        return aligned(columns, cells.values())


def timed(rows: Sequence[dict[str, Any]], unit: str | None = None) -> None:
    """Put median CPU seconds into every row as ``cpu``, or their ratio to those of method `unit` on
    the same set.
    """
    base: dict[tuple[str, int], list[float]] = {}
    for row in rows:
        if row["method"] == unit:
            base.setdefault((row["setting"].split("/")[0], row["k"]), []).extend(row["seconds"])
    for row in rows:
        whole = 1.0 if unit is None else median(base[row["setting"].split("/")[0], row["k"]])
        row["cpu"] = median(row["seconds"]) / max(whole, 1e-9)
