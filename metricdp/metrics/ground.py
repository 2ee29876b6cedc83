"""GroundSet: a universe without geometry."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from metricdp.arguments import Floats, Ints, listed
from metricdp.errors import InputError
from metricdp.metrics.base import checked_ids
from metricdp.metrics.by_rows import RowMetric


class GroundSet(RowMetric):
    """A universe without geometry: distinct ids, any two of them at distance 1.

    Parameters
    ----------
    ids : sequence of hashable

    Examples
    --------
    >>> GroundSet(["bread", "milk"]).distances(["bread"])
    array([[0., 1.]])
    """

    unit = 1.0
    on_grid = True

    def __init__(self, ids: Sequence[Hashable]) -> None:
        known = listed(ids, "ids")
        if not known:
            raise InputError("the universe has no points")
        self.ids = checked_ids(known, len(known))
        self.name = f"{len(self.ids):,} elements"

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """0 to itself, 1 to all others."""
        return self.grid_rows(sources, targets).astype(np.float64)

    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """The same as integers."""
        there = np.arange(len(self)) if targets is None else np.asarray(targets)
        return (np.asarray(sources)[:, None] != there).astype(np.int64)

    def diameter_bound(self) -> float:
        """1, or 0 for a single point."""
        return float(len(self) > 1)
