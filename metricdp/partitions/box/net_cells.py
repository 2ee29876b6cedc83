"""Partitions of a box given by partitions of a public net of its points."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.metrics.space import EuclideanSpace
from metricdp.protocols import trusted


@trusted
class NetCells:
    """A partition of a box: a point belongs to the part of its nearest net point.

    `tree`: a partition of the net, which is a finite universe of points of the box.
    """

    def __init__(self, space: EuclideanSpace, tree: Any) -> None:
        self.universe = space
        self._net = tree.universe
        self._parts = tree.encode(np.arange(len(self._net)))
        self.n_parts = tree.n_parts

    def encode(self, records: Floats) -> Ints:
        """Part of each point, shape (n,)."""
        return self._parts[self._net.snap(records)]
