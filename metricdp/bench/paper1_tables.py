"""What ``metricdp bench paper1`` says: ratios with standard errors, and whether the paper's
statements hold in this run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metricdp.bench.paper1_terms import DEFAULT, METHODS, PLAIN, TREE
from metricdp.bench.paper2_tables import Claim, _told, gathered_rows, judged
from metricdp.bench.ratios import RatioReport, timed
from metricdp.bench.report import Report

SAID = (
    ("HST costs less than Balcan et al.", TREE, "balcan"),
    ("the LSH coreset costs less than Balcan et al.", "lsh", "balcan"),
    ("HST costs less than private Lloyd", TREE, "lloyd"),
    ("HST costs less than k-variates++", TREE, "k-variates"),
    ("HST costs less than the LSH coreset", TREE, "lsh"),
    ("the default method costs less than HST", DEFAULT, TREE),
    ("the default method costs less than the LSH coreset", DEFAULT, "lsh"),
)
"""Statements of Section 6 in words, and as who is below whom; the last two are ours."""


def report(
    settings: dict[str, Any],
    draws: Sequence[dict[str, Any]],
    skipped: Sequence[str],
    unfinished: str,
    seconds: float,
) -> Report:
    """Rows, tables and judgements of what was drawn."""
    draws = _over_best(draws)
    rows = gathered_rows(draws)
    timed(rows)
    claims = [
        Claim(text, "final", lower, (other,), tuple(settings["epsilons"]))
        for text, lower, other in SAID
    ]
    verdicts = [verdict for claim in claims if (verdict := judged(claim, rows))["cells"]]
    means = _means(rows)
    what = "k-median" if settings["power"] == 1 else "k-means"
    heading = (
        f"{what} cost over the best known without privacy: mean ± standard error over "
        f"repetitions. Settings are SET/EPSILON."
    )
    summary: dict[str, Any] = {
        "heading": heading,
        "times": "CPU seconds of one answer:",
        "mean_ratio": means,
        "claims": verdicts,
    }
    summary |= {"skipped": list(skipped), "total_seconds": seconds}
    lines = [_told(verdict) for verdict in verdicts]
    lines += [
        f"mean ratio on {group}: " + ", ".join(f"{m} {v:.3f}" for m, v in of.items())
        for group, of in means.items()
    ]
    lines += [
        *skipped,
        f"time: {seconds:.0f} s in all; the points are public, so exact costs may be told",
    ]
    return RatioReport("paper1", settings, (), rows, summary, lines, unfinished)


def _over_best(draws: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The draws, where the runs of the method without privacy count for the reference too."""
    best: dict[tuple[str, int], float] = {}
    for draw in draws:
        key = draw["setting"].split("/")[0], draw["k"]
        own = (
            (draw["reference"], draw["final"]) if draw["method"] == PLAIN else (draw["reference"],)
        )
        best[key] = min(best.get(key, float("inf")), *own)
    return [{**draw, "reference": best[draw["setting"].split("/")[0], draw["k"]]} for draw in draws]


def _means(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Mean ratio of each method in each setting, over k."""
    means: dict[str, dict[str, float]] = {}
    for setting in dict.fromkeys(row["setting"] for row in rows):
        for method in METHODS:
            some = [
                r["ratios"]["final"][0]
                for r in rows
                if r["method"] == method and r["setting"] == setting and "final" in r["ratios"]
            ]
            if some:
                means.setdefault(setting, {})[method] = sum(some) / len(some)
    return means
