"""Sentences about the accuracy of private answers, for `metricdp.plan` and warnings."""

import math
from collections.abc import Sequence
from typing import Any

NEGLIGIBLE = 0.01
"""Share of the cost that is too small to choose a privacy level by."""
USELESS = 0.8
"""A level is of no use if its loss is more than this share of the loss of centers without data."""


def remark(epsilons: Sequence[Any], forecasts: Sequence[Any], blind: Any) -> str:
    """A sentence on how accuracy depends on epsilon; empty where the table says enough.

    `epsilons`: rising; `forecasts`: of the relative loss at each, with ``median`` and ``high``;
    `blind`: that of centers chosen without data.
    """
    if len(epsilons) < 2 or len(epsilons) != len(forecasts):
        return ""
    best = forecasts[-1]
    top = f"ε = {float(epsilons[-1]):g}"
    if best.median > max(USELESS * blind.median, NEGLIGIBLE):
        return (
            f"Too few records for this k: even at {top} the centers serve hardly better than "
            f"those that know nothing of the demand."
        )
    if best.median == float("inf"):
        return ""
    enough = next(
        i
        for i, f in enumerate(forecasts)
        if f.median - best.median <= NEGLIGIBLE and f.high - best.high <= 2 * NEGLIGIBLE
    )
    if enough == len(epsilons) - 1:
        return ""
    least = f"ε = {float(epsilons[enough]):g}"
    subject = "At this size epsilon" if enough == 0 else f"More than {least}"
    where = f"at {least} already" if enough == 0 else "there"
    return (
        f"{subject} buys almost nothing: half of the runs cost at most "
        f"{percent(forecasts[enough].median)} more than the best {where}, and at most "
        f"{percent(best.median)} more at {top}."
    )


def too_few(records: float, k: int, name: str = "k") -> str:
    """A warning that the noisy number of records is too small for k centers; else empty."""
    if records >= 2 * k:
        return ""
    return (
        f"the noisy number of records, {max(records, 0.0):.0f}, is too small for {name}={k}: the "
        "centers mean little"
    )


def not_distinguished(places: int, k: int, name: str = "k") -> str:
    """A warning that a release in a box distinguishes fewer places than k centers; else empty."""
    if places >= k:
        return ""
    known = (
        "all differences: the centers stand around one mean"
        if places < 2
        else f"all but {places:,} places: the other centers mean little"
    )
    return (
        f"the noise hides {known}; for {name}={k} give a delta such as 1e-6, more epsilon or "
        f"records, or fewer features"
    )


def percent(share: float) -> str:
    """A share in percent, as text."""
    if math.isnan(share):
        return "–"
    if not math.isfinite(share):
        return "∞"
    value = 100 * share
    return (
        f"{value:,.0f} %"
        if abs(value) >= 10
        else f"{value + 0.0 if abs(value) >= 0.05 else 0.0:.1f} %"
    )
