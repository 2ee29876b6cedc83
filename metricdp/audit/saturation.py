"""Scores of more records than sums of integers hold: what one record more moves them by."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from metricdp.audit.report import Check, Finding, weighed
from metricdp.metrics import PrecomputedMetric
from metricdp.privacy import SwapQuery
from metricdp.records.engines import Tally

CHECK = "score by score"
FAR = 671_088_640.0
"""Of 2^63 costs of this size one more is too many: 13,743,895,347 fit into int64."""


def saturation_checks() -> Iterator[Check]:
    """The check."""
    yield Check.of("swaps of very many records", True, _swaps)


def _swaps(name: str, quick: bool) -> Finding:
    """No score may move by more than the query says, and none may wrap."""
    universe = PrecomputedMetric([[0.0, FAR, FAR], [FAR, 0.0, FAR], [FAR, FAR, 0.0]])
    query = SwapQuery(universe, [1])
    claim = query.sensitivity("add-remove", 1)
    worst = 0
    for n in (0, 2**31, 13_743_895_346, 13_743_895_347, 2**40, 2**60):
        some: Iterator[Any] = (Tally(np.array([0]), np.array([size])) for size in (n, n + 1))
        one, more = (np.concatenate(list(query.blocks(held))).tolist() for held in some)
        worst = max(worst, *(abs(a - b) for a, b in zip(one, more)))
        if max(*one, *more) > 0:
            worst = max(worst, *one, *more)
    share = worst / claim if claim else math.inf
    said = f"a score moves by {claim:,} at most"
    return weighed(name, said, f"{worst:,}", CHECK, share)
