"""Partitions of a finite universe by a public label of every point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metricdp.arguments import Ints
from metricdp.protocols import Finite


@dataclass(frozen=True, eq=False)
class LabelParts:
    """A partition by public `labels` of the points, shape (n_points,), 0 … n_parts - 1."""

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
