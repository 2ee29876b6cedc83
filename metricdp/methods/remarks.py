"""What the predictions of `metricdp.plan` say in words: shares, and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

LITTLE = 0.01
"""A share of the cost that nobody chooses a privacy level for."""
BLIND = 0.8
"""As large a share of what centers without any data lose, and a level tells hardly more."""


def remark(epsilons: Sequence[Any], forecasts: Sequence[Any], blind: Any) -> str:
    """What epsilon buys at this size, in a sentence; empty where the table says it best."""
    if len(epsilons) < 2 or len(epsilons) != len(forecasts):
        return ""
    best = forecasts[-1]
    top = f"ε = {float(epsilons[-1]):g}"
    if best.median > max(BLIND * blind.median, LITTLE):
        return (
            f"Too few records for this k: even at {top} the centers serve hardly better than "
            f"those that know nothing of the demand."
        )
    if best.median == float("inf"):
        return ""
    enough = next(
        i
        for i, f in enumerate(forecasts)
        if f.median - best.median <= LITTLE and f.high - best.high <= 2 * LITTLE
    )
    if enough == len(epsilons) - 1:
        return ""
    least = f"ε = {float(epsilons[enough]):g}"
    begun = "At this size epsilon" if enough == 0 else f"More than {least}"
    where = f"at {least} already" if enough == 0 else "there"
    return (
        f"{begun} buys almost nothing: half of the runs cost less than "
        f"{percent(forecasts[enough].median)} more than the best {where}, and less than "
        f"{percent(best.median)} more at {top}."
    )


def too_few(records: float, k: int, name: str = "k") -> str:
    """That so few records, by their noisy number, say little of k centers; empty where they do."""
    if records >= 2 * k:
        return ""
    return (
        f"the noisy number of records, {max(records, 0.0):.0f}, is too small for {name}={k}: the "
        "centers mean little"
    )


def not_distinguished(places: int, k: int, name: str = "k") -> str:
    """That a release in a box knows fewer places than the centers asked for; else empty."""
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
    """A share as people read it."""
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
