"""Scores of more records than sums of integers hold: what one record more moves them by."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from metricdp.audit.report import Finding

CHECK = "score by score"
FAR = 671_088_640.0
"""Of 2^63 costs of this size one more is too many: 13,743,895,347 fit into int64."""


def saturation_checks() -> Iterator[tuple[str, bool, Callable[[bool], Finding]]]:
    """(name, in the short form, check)."""
    yield "swaps of very many records", True, _swaps
    yield "sums of very many records left", True, _sums


def _swaps(quick: bool) -> Finding:
    """No score may move by more than the query says, and none may wrap."""
    from metricdp.metrics import PrecomputedMetric
    from metricdp.privacy import SwapQuery
    from metricdp.records.engines import Tally

    universe = PrecomputedMetric([[0.0, FAR, FAR], [FAR, 0.0, FAR], [FAR, FAR, 0.0]])
    query = SwapQuery(universe, [1])
    claim = query.sensitivity("add-remove", 1)
    worst = 0
    for n in (0, 2**31, 13_743_895_346, 13_743_895_347, 2**40, 2**60):
        one, more = (
            np.concatenate(list(query.blocks(_records(Tally, size)))).tolist()
            for size in (n, n + 1)
        )
        worst = max(worst, *(abs(a - b) for a, b in zip(one, more)))
        if max(*one, *more) > 0:
            worst = max(worst, *one, *more)
    return Finding(
        "swaps of very many records",
        f"a score moves by {claim:,} at most",
        f"{worst:,}",
        CHECK,
        worst <= claim,
        excess=worst / claim if claim else math.inf,
    )


def _records(kind: type, size: int) -> Any:
    return kind(np.array([0]), np.array([size]))


def _sums(quick: bool) -> Finding:
    """One record more moves number and sum by no more than the query says, and neither wraps."""
    from metricdp.kernels.scores import CAP
    from metricdp.metrics import EuclideanSpace
    from metricdp.partitions.box.grid import Grid
    from metricdp.privacy.balls import PeeledSums
    from metricdp.records.sums.peeling import Peeled, sums_of

    grid = Grid(EuclideanSpace([0.0], [2.0]), 2)
    offsets = np.array([[2], [-2]])
    query = PeeledSums(Peeled(grid), np.array([0, 1]), offsets, bits=1)
    claim = query.sensitivity("add-remove", 1)
    amounts = np.column_stack([np.full(2, 2), offsets])
    alike = query.exact(np.array([[0.5], [0.5], [1.5]])).tolist() == [6, 2]
    worst = 0
    for n in (0, 2**40, 2**60 - 1, 2**60, 2**61 - 1):
        counts = np.array([n, 3])
        one = sums_of(counts, amounts).tolist()
        more = sums_of(counts + np.array([1, 0]), amounts).tolist()
        worst = max(worst, sum(abs(a - b) for a, b in zip(one, more)))
        if min(*one, *more) < (0 if n > 3 else -6) or max(*one, *more) > CAP:
            worst = max(worst, CAP)
    return Finding(
        "sums of very many records left",
        f"number and sum move by {claim:,} at most",
        f"{worst:,}" if alike else "the query sums otherwise",
        CHECK,
        alike and worst <= claim,
        excess=worst / claim if alike else math.inf,
    )
