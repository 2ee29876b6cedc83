"""Tables of ratios with standard errors, and whether the statements of a paper hold in a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from metricdp.bench.p_median import Column, Report, aligned

ITERATIONS = "iterations"
COSTS = ("initial", "final", "average", "best")
"""What a draw may have costs of."""


CLEAR = 2.0
"""Standard errors beyond which a difference is not by chance."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper: `lower` has less of `measure` than each of `others` where the
    demand is one of `demands`.
    """

    text: str
    measure: str
    lower: str
    others: tuple[str, ...]
    demands: tuple[str, ...]


def mean_error(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean, and its standard error; None for a single value.

    Examples
    --------
    >>> mean_error([1.0, 2.0, 3.0])
    (2.0, 0.5773502691896257)
    """
    n = len(values)
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n) if n > 1 else None


def gathered_rows(draws: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a setting, k and method from one draw each repetition, in order of appearance.

    A row holds ``costs[measure]``, a list; ``ratios[measure]``, costs over the reference of the
    same repetition as (mean, standard error); ``references``, ``iterations`` and ``seconds``
    likewise.
    """
    rows: dict[tuple[str, int, str], dict[str, Any]] = {}
    for draw in draws:
        key = draw["setting"], draw["k"], draw["method"]
        lists: dict[str, Any] = {
            "repeats": [],
            "references": [],
            "costs": {},
            "iterations": [],
            "seconds": [],
        }
        row = rows.setdefault(key, {**dict(zip(("setting", "k", "method"), key)), **lists})
        row["repeats"].append(draw["repeat"])
        row["references"].append(draw["reference"])
        row["seconds"].append(draw["seconds"])
        if draw.get(ITERATIONS) is not None:
            row["iterations"].append(draw[ITERATIONS])
        for measure in COSTS:
            if draw.get(measure) is not None:
                row["costs"].setdefault(measure, []).append(draw[measure])
    ordered = sorted(rows.values(), key=lambda row: row["k"])  # stable
    settings = list(dict.fromkeys(row["setting"] for row in rows.values()))
    ordered.sort(key=lambda row: settings.index(row["setting"]))
    for row in ordered:
        row["ratios"] = {m: mean_error(values) for m in row["costs"] if (values := ratios(row, m))}
    return ordered


def ratios(row: dict[str, Any], measure: str) -> list[float]:
    """Over the reference of the same repetition, none if one of these is 0; iterations are as they
    are.
    """
    if measure == ITERATIONS:
        return [float(v) for v in row["iterations"]]
    if min(row["references"]) <= 0:
        return []
    return [
        cost / reference
        for cost, reference in zip(row["costs"][measure], row["references"], strict=True)
    ]


def judged(claim: Claim, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """In how many settings (means over k) and cells (setting and k) a claim holds, and where it
    does not.

    The margin of a cell is the mean difference, repetition by repetition, to the best of the
    others, in units of the reference (iterations: as they are): positive where the claim holds. A
    cell is clear if that is more than two standard errors from 0.
    """
    by_cell = {(row["setting"], row["k"], row["method"]): row for row in rows}
    margins: dict[tuple[str, int], tuple[float, float | None]] = {}
    for setting, k, method in by_cell:
        values = [
            ratios_of(by_cell.get((setting, k, m)), claim.measure)
            for m in (claim.lower, *claim.others)
        ]
        if method == claim.lower and setting.split("/")[1] in claim.demands and all(values):
            best = min(values[1:], key=lambda v: sum(v) / len(v))
            margins[setting, k] = mean_error(
                [other - own for other, own in zip(best, values[0], strict=True)]
            )
    by_setting: dict[str, list[float]] = {}
    for (setting, _), (margin, _) in margins.items():
        by_setting.setdefault(setting, []).append(margin)
    return {
        "claim": claim.text,
        "settings": len(by_setting),
        "holds_in_settings": sum(sum(m) > 0 for m in by_setting.values()),
        "cells": len(margins),
        "holds_in_cells": sum(margin > 0 for margin, _ in margins.values()),
        "fails": [
            {
                "setting": setting,
                "k": k,
                "margin": margin,
                "error": error,
                "clear": error is not None and -margin > CLEAR * error,
            }
            for (setting, k), (margin, error) in margins.items()
            if not margin > 0
        ],
        "margins": {setting: sum(m) / len(m) for setting, m in by_setting.items()},
    }


def reported(verdict: dict[str, Any]) -> str:
    """A verdict in one line."""
    text = (
        f"{verdict['claim']}: in {verdict['holds_in_settings']} of {verdict['settings']} settings, "
        f"{verdict['holds_in_cells']} of {verdict['cells']} cells"
    )
    if not verdict["fails"]:
        return text
    clear = [
        f"{f['setting']} k={f['k']} by {-f['margin']:.2g}" for f in verdict["fails"] if f["clear"]
    ]
    return f"{text}; clearly not in " + (", ".join(clear) if clear else "any")


def shown(mean: float, error: float | None, digits: int = 3) -> str:
    """A mean and its error.

    Examples
    --------
    >>> shown(1.23456, 0.012), shown(1.5, None)
    ('1.235 ± 0.012', '1.500')
    """
    return f"{mean:.{digits}f}" if error is None else f"{mean:.{digits}f} ± {error:.{digits}f}"


def ratios_of(row: dict[str, Any] | None, measure: str) -> list[float]:
    if row is None or (measure != ITERATIONS and measure not in row["costs"]):
        return []
    return ratios(row, measure)


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
