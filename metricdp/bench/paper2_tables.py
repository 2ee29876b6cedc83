"""What ``metricdp bench paper2`` says: ratios with standard errors, and whether the paper's
statements hold in this run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from metricdp.bench.report import Column, Report, aligned

NON_PRIVATE = ("NDP-rand", "NDP-kmedian++", "NDP-HST")
PRIVATE = ("DP-rand", "DP-kmedian++", "DP-HST", "DP-HST-printed")
"""The last starts from Algorithm 6 as printed; "DP-HST" from the same tree, budgets and scores on
consistent counts down to the noise, and public medians: this package's.
"""
OWN = ("hst", "local-search", "partition", "uniform")
METHODS = (*NON_PRIVATE, *PRIVATE, *OWN)
"""The paper's, and this package's own, by the names of `metricdp.METHODS`."""
DEFAULT = "partition"
SEARCHED = "DP-HST"
AIM = 0.7

MEASURES = {
    "initial": ("initial cost (Figures 2 and 4, left)", (*NON_PRIVATE, *PRIVATE)),
    "final": ("final cost: the centers that are returned (Figures 2 and 4, right)", METHODS),
    "average": ("average cost of the T iterations", PRIVATE),
    "best": ("cost of the best of the T iterations (Figure 6)", PRIVATE),
}
"""Costs by key: what they are, and the methods that have them."""
ITERATIONS = "iterations"
WINDOW = 5
"""Of the moving average whose least value ends the iterations that count."""
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


_BOTH = ("balanced", "imbalanced")
CLAIMS = (
    Claim(
        "DP-HST starts below DP-kmedian++ and DP-rand, imbalanced",
        "initial",
        "DP-HST",
        PRIVATE[:2],
        _BOTH[1:],
    ),
    Claim(
        "DP-HST starts below DP-kmedian++ and DP-rand, balanced",
        "initial",
        "DP-HST",
        PRIVATE[:2],
        _BOTH[:1],
    ),
    Claim(
        "DP-HST as printed starts below DP-kmedian++ and DP-rand, imbalanced",
        "initial",
        "DP-HST-printed",
        PRIVATE[:2],
        _BOTH[1:],
    ),
    Claim(
        "DP-HST as printed starts below DP-kmedian++ and DP-rand, balanced",
        "initial",
        "DP-HST-printed",
        PRIVATE[:2],
        _BOTH[:1],
    ),
    Claim(
        "NDP-HST starts below NDP-kmedian++ and NDP-rand",
        "initial",
        "NDP-HST",
        NON_PRIVATE[:2],
        _BOTH,
    ),
    Claim(
        "DP-HST ends below DP-kmedian++ and DP-rand, imbalanced",
        "final",
        "DP-HST",
        PRIVATE[:2],
        _BOTH[1:],
    ),
    Claim(
        "DP-HST ends below DP-kmedian++ and DP-rand, balanced",
        "final",
        "DP-HST",
        PRIVATE[:2],
        _BOTH[:1],
    ),
    Claim(
        "DP-HST as printed ends below DP-kmedian++ and DP-rand, imbalanced",
        "final",
        "DP-HST-printed",
        PRIVATE[:2],
        _BOTH[1:],
    ),
    Claim(
        "DP-HST as printed ends below DP-kmedian++ and DP-rand, balanced",
        "final",
        "DP-HST-printed",
        PRIVATE[:2],
        _BOTH[:1],
    ),
    Claim(
        "… on average of the T iterations, imbalanced", "average", "DP-HST", PRIVATE[:2], _BOTH[1:]
    ),
    Claim(
        "… on average of the T iterations, balanced", "average", "DP-HST", PRIVATE[:2], _BOTH[:1]
    ),
    Claim(
        "the best of DP-HST's iterations is below the others' (Fig. 6), imbalanced",
        "best",
        "DP-HST",
        PRIVATE[:2],
        _BOTH[1:],
    ),
    Claim(
        "DP-HST needs fewer iterations (Fig. 5), imbalanced",
        ITERATIONS,
        "DP-HST",
        PRIVATE[:2],
        _BOTH[1:],
    ),
)


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


def iterations(costs: Sequence[float]) -> int:
    """Iterations up to the least moving average of costs, one an iteration (the paper's Appendix
    A.3): the end of the first such window.

    Examples
    --------
    >>> iterations([9, 5, 5, 5, 5, 5, 9, 1])
    6
    """
    width = min(WINDOW, len(costs))
    sums = [sum(costs[i : i + width]) for i in range(len(costs) - width + 1)]
    return sums.index(min(sums)) + width


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
        for measure in MEASURES:
            if draw.get(measure) is not None:
                row["costs"].setdefault(measure, []).append(draw[measure])
    ordered = sorted(rows.values(), key=lambda row: row["k"])  # stable
    settings = list(dict.fromkeys(row["setting"] for row in rows.values()))
    ordered.sort(key=lambda row: settings.index(row["setting"]))
    for row in ordered:
        row["ratios"] = {m: mean_error(values) for m in row["costs"] if (values := _ratios(row, m))}
    return ordered


def _ratios(row: dict[str, Any], measure: str) -> list[float]:
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
            _values(by_cell.get((setting, k, m)), claim.measure)
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


def _values(row: dict[str, Any] | None, measure: str) -> list[float]:
    if row is None or (measure != ITERATIONS and measure not in row["costs"]):
        return []
    return _ratios(row, measure)


def over_searched(
    rows: Sequence[dict[str, Any]],
    begin: str = "graph",
    lower: str = DEFAULT,
    other: str = SEARCHED,
) -> dict[str, Any]:
    """Mean over settings and k of the default's mean final cost over that of DP-HST with local
    search.
    """
    told = [row for row in rows if row["setting"].startswith(begin) and "final" in row["ratios"]]
    finals = {(row["setting"], row["k"], row["method"]): row["ratios"]["final"][0] for row in told}
    cells = [(s, k) for s, k, method in finals if method == lower and (s, k, other) in finals]
    ratios = {f"{s} k={k}": finals[s, k, lower] / finals[s, k, other] for s, k in cells}
    return {"mean": sum(ratios.values()) / len(ratios) if ratios else None, "cells": ratios}


def report(
    settings: dict[str, Any],
    draws: Sequence[dict[str, Any]],
    skipped: Sequence[str],
    unfinished: str,
    seconds: float,
) -> Report:
    """Rows, tables and judgements of what was drawn."""
    rows = gathered_rows(draws)
    verdicts = [verdict for claim in CLAIMS if (verdict := judged(claim, rows))["cells"]]
    aim = over_searched(rows)
    means = _means(rows)
    summary: dict[str, Any] = {
        "mean_final_ratio": means,
        "claims": verdicts,
        "default_over_dp_hst_on_graphs": aim,
    }
    summary |= {"skipped": list(skipped), "total_seconds": seconds}
    lines = [_told(verdict) for verdict in verdicts]
    lines += [
        f"mean final ratio on {group}: " + ", ".join(f"{m} {v:.3f}" for m, v in of.items())
        for group, of in means.items()
    ]
    if aim["mean"] is not None:
        met = "met" if aim["mean"] <= AIM else "missed"
        lines.append(
            f"default ({DEFAULT}) over {SEARCHED} + local search, mean on the graphs: "
            f"{aim['mean']:.3f}; aim at most {AIM}: {met}"
        )
    lines += [
        *skipped,
        f"time: {seconds:.0f} s in all; the demand is made up, so exact costs may be told",
    ]
    return PaperReport("paper2", settings, (), rows, summary, lines, unfinished)


def _means(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean final ratio of each method, on graphs and on MNIST."""
    means: dict[str, dict[str, float]] = {}
    for group in ("graph", "mnist"):
        for method in METHODS:
            own = [r for r in rows if r["method"] == method and r["setting"].startswith(group)]
            some = [r["ratios"]["final"][0] for r in own if "final" in r["ratios"]]
            if some:
                means.setdefault(group, {})[method] = sum(some) / len(some)
    return means


def _told(verdict: dict[str, Any]) -> str:
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


class PaperReport(Report):
    """One table a measure: a line a setting and k, a column a method."""

    def table(self) -> str:
        """Tables of ratios to the best non-private cost and of iterations, then the summary in
        words.
        """
        text = [
            "Costs over the best non-private one known for the same demand: mean ± standard error."
        ]
        for measure, (title, methods) in MEASURES.items():
            text += self._section(title, measure, methods)
        text += self._section("iterations to a local optimum (Figure 5)", ITERATIONS, PRIVATE)
        return "\n".join([*text, "", *self.lines]) + "\n"

    def _section(self, title: str, measure: str, methods: Sequence[str]) -> list[str]:
        cells: dict[tuple[str, int], dict[str, Any]] = {}
        for row in self.rows:
            values = _values(row, measure)
            if values and row["method"] in methods:
                line = cells.setdefault(
                    (row["setting"], row["k"]), {"setting": row["setting"], "k": row["k"]}
                )
                line[row["method"]] = shown(
                    *mean_error(values), digits=1 if measure == ITERATIONS else 3
                )
        there = [m for m in methods if any(m in line for line in cells.values())]
        columns = [
            Column("setting", "setting"),
            Column("k", "k", "d"),
            *(Column(m, m, ">") for m in there),
        ]
        return ["", f"{title}:", *aligned(columns, cells.values())] if cells else []


def shown(mean: float, error: float | None, digits: int = 3) -> str:
    """A mean and its error.

    Examples
    --------
    >>> shown(1.23456, 0.012), shown(1.5, None)
    ('1.235 ± 0.012', '1.500')
    """
    return f"{mean:.{digits}f}" if error is None else f"{mean:.{digits}f} ± {error:.{digits}f}"
