"""A finite universe cut by a public label of every point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricdp.arrays import Ints
from metricdp.protocols import Finite


@dataclass(frozen=True, eq=False)
class LabelParts:
    """Parts that are given by the label of a record's own point.

    `labels` (n_points,): part of every point, 0 … n_parts - 1: public.
    """

    universe: Finite
    labels: Ints
    n_parts: int

    @classmethod
    def of(cls, universe: Finite) -> LabelParts:
        """Every point a part of its own."""
        return cls(universe, np.arange(len(universe)), len(universe))

    def encode(self, records: Ints) -> Ints:
        """Label of each position, shape (n,)."""
        return self.labels[records]
