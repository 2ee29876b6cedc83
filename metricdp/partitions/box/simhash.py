"""Locality-sensitive hashing by signs of random projections, and its prefix tree; public coins."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from metricdp.arguments import Bools, Floats, Ints
from metricdp.kernels.points import projected
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.tree_cells import SplitNodes
from metricdp.protocols import trusted


class SimHash:
    """Bits of a point x of a box: the signs of ⟨x - middle, u⟩ for random directions u (Charikar,
    STOC 2002).

    `seed`: public coins.
    """

    def __init__(self, space: EuclideanSpace, n_bits: int, seed: int = 0) -> None:
        self.space = space
        self.n_bits = n_bits
        self._directions = np.random.default_rng([seed, 23]).normal(size=(space.dimension, n_bits))
        self._middle = (space.lower + space.upper) / 2

    def bits(self, points: Floats, n_bits: int | None = None) -> Bools:
        """The first bits of every point, shape (n, n_bits), by its own coordinates alone. O(n · d ·
        n_bits).
        """
        directions = self._directions[:, : self.n_bits if n_bits is None else n_bits]
        # not a matrix product: its rounding of one row may depend on the other rows
        return projected(points, self._middle, directions.T) > 0


@trusted
@dataclass(frozen=True, eq=False, repr=False)
class HashCells(SplitNodes):
    """Leaves of the prefix tree of a `SimHash`: a partition for `HistogramQuery`. A split node's
    first child is that of bit 0.
    """

    tree: SimHash
    child: Ints
    level: Ints

    @classmethod
    def whole(cls, hashed: SimHash) -> HashCells:
        """The root alone, as a leaf."""
        return cls(hashed, np.array([-1]), np.array([0]))

    @classmethod
    def complete(cls, hashed: SimHash) -> HashCells:
        """All nodes split: 2**n_bits parts."""
        cells = cls.whole(hashed)
        for _ in range(hashed.n_bits):
            cells = cells.split(cells.leaves)
        return cells

    def split(self, nodes: Ints) -> HashCells:
        """A finer partition: these leaves split; none may be of the last level."""
        child = self.child.copy()
        child[nodes] = len(child) + 2 * np.arange(len(nodes))
        below = np.repeat(self.level[nodes] + 1, 2)
        return replace(
            self, child=np.r_[child, np.full(len(below), -1)], level=np.r_[self.level, below]
        )

    def encode(self, records: Floats) -> Ints:
        """Part of each point, shape (n,)."""
        node = np.zeros(len(records), np.int64)
        for bit in self.tree.bits(records, int(self.level.max())).T:
            below = self.child[node]
            node = np.where(below < 0, node, below + bit)
        return self.part[node]
