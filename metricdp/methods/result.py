"""Checks of a clustering call's public arguments, and the former name of its result."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints, count
from metricdp.errors import InputError
from metricdp.methods.solution import Solution
from metricdp.metrics.base import Metric
from metricdp.options import numbers

Result = Solution
"""The same class, by the name that it had until 0.1.0 for `k_median` and `k_means`."""

LARGEST = 1e30
"""Largest weight: sums of weights times powers of distances (1e18, e**600) are finite."""


def site_positions(universe: Metric, ids: Any) -> Ints:
    """Positions of named sites, ascending, without repeats; a text is one name."""
    if str(getattr(ids, "dtype", "")).startswith("bool"):
        raise InputError("sites are named by their ids, not by a mask")
    return np.unique(universe.site_positions([ids] if isinstance(ids, str) else ids))


def checked_candidates(
    universe: Metric, k: int, candidates: Any, opened: Ints | None = None
) -> Ints | None:
    """Positions where centers may be (None: anywhere), after a check of these and of k."""
    allowed = None if candidates is None else site_positions(universe, candidates)
    most = (
        len(universe.sites)
        if allowed is None
        else len(np.union1d(allowed, [] if opened is None else opened))
    )
    everywhere = "points" if universe.sites is universe.ids else "sites"
    count(k, "k", 1, most, f"the number of {everywhere if allowed is None else 'candidates'}")
    return allowed


def public_weights(
    metric: Metric, weights: Any, name: str = "weights", *, signed: bool = False
) -> Floats:
    """Public weights of all points, shape (n_points,), 1 each by default."""
    if weights is None:
        return np.ones(len(metric))
    least, number = ("", "weight") if signed else (", none negative", "number")
    rule = (
        f"{name} must be {len(metric):,} finite numbers{least}, of at most {LARGEST:g}, one a "
        f"point in the order of metric.ids, or a mapping from id to {number}"
    )
    array = numbers(weights, metric.positions, len(metric), rule)
    if not (np.abs(array) <= LARGEST).all() or not (signed or (array >= 0).all()):
        raise InputError(rule)
    return array
