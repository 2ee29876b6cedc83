"""Cells of a box that are cut in the middle: the shape of its hierarchy by halving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metricdp.partitions.box.quadtree import OpenedCells
from metricdp.protocols import trusted


@trusted
@dataclass(frozen=True, eq=False, repr=False)
class Halves(OpenedCells):
    """The top of a tree of boxes, each cut in the middle of its longest side."""

    def open(self, cells: ArrayLike) -> Halves:
        """These closed cells opened too, in the middle."""
        found: Any = super().open(cells)
        first = np.arange(len(self.level), len(found.level), 2)
        at = found.parent[first]
        axis = self.tree.axes[self.level[at]]
        half = self.size[at, axis] // np.uint64(2)
        found.cut[at] = self.low[at, axis] + half
        found.low[first + 1, axis] = self.low[at, axis] + half
        found.size[first, axis] = half
        found.size[first + 1, axis] = self.size[at, axis] - half
        return found
