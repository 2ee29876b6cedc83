"""Counts of all cells of a quadtree from one reading of the records (Cohen-Addad et al., KDD 2022,
Algorithm 4).

A record's path is a key of one bit a level, up to 64 levels. A cell's count is that of a range of
keys, so all rounds of a method read the records once, and once more for each 64 levels below.
Counts are equal to those of reading level by level.

One reading takes O(n · (d + 64)) and a sort, at most 16 bytes a record; a question O(cells · log
n). What is kept is as private as the records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arrays import Ints
from metricdp.kernels.quadtree_cells import cells_of, path_bits
from metricdp.protocols import CellTree, Partition, TreeCells
from metricdp.records.engines.sources import Answer, Source
from metricdp.records.exact import Sums, Total

KEY_BITS = 64  # levels that one pass over the records reads
Cell = tuple[int, int]
"""Its level, and the way to it from the root, one bit a level."""


@dataclass(frozen=True, eq=False)
class PathKeys:
    """Keys of records in some cells of one level, the bases: the base's number, then one bit for
    each level from `start` to `stop`. It travels to workers.
    """

    tree: CellTree
    child: Ints
    cut: NDArray[np.uint64]
    axis: Ints
    rank: Ints
    start: int
    stop: int

    def __call__(self, block: NDArray[Any]) -> NDArray[np.uint64]:
        """Keys of the records in the bases, shape (at most n,)."""
        grid = self.tree.grid(block)
        rank = self.rank[cells_of(grid, self.child, self.cut, self.axis)]
        inside = rank >= 0
        bits = path_bits(grid[inside], self.tree.axes[: self.stop], self.tree.root, self.start)
        high = rank[inside].astype(np.uint64)
        width = self.stop - self.start
        found: NDArray[np.uint64] = bits if width == KEY_BITS else high << np.uint64(width) | bits
        return found


class Segment:
    """Records below some cells by their keys."""

    def __init__(self, source: Source, keys: PathKeys, bases: dict[int, int]) -> None:
        self.start, self.stop, self.bases = keys.start, keys.stop, bases
        self._codes, counts = source.grouped(keys)
        self._before = Sums.cumulative(counts)

    def holds(self, level: int, path: int) -> bool:
        """Whether it tells the count of the cell at the end of this way."""
        return self.start <= level <= self.stop and path >> (level - self.start) in self.bases

    def counted(self, cells: list[Cell]) -> dict[Cell, int]:
        """Records in those of some cells that it holds."""
        held = [cell for cell in cells if self.holds(*cell)]
        return dict(zip(held, self.counts(held).tolist()))

    def counts(self, cells: list[Cell]) -> Ints:
        """Records in cells that it holds."""
        first, last = list[int](), list[int]()
        for level, path in cells:
            below = level - self.start
            free = self.stop - level
            at = self.bases[path >> below] << (free + below) | (path & (1 << below) - 1) << free
            first.append(at)
            last.append(at + (1 << free) - 1)
        low = np.searchsorted(self._codes, np.array(first, np.uint64), side="left")
        high = np.searchsorted(self._codes, np.array(last, np.uint64), side="right")
        return (self._before[high] - self._before[low]).capped()


class Paths(Source):
    """Records of a box, read once for all cells of a quadtree and anew for anything else.

    `tree`: of the box.
    """

    def __init__(self, source: Source, tree: CellTree) -> None:
        self.source = source
        self.tree = tree
        self._segments: list[Segment] = []

    def sums(self, answer: Answer) -> Total:
        """The records'."""
        return self.source.sums(answer)

    def mapped(self, step: Answer) -> Source:
        """The records'."""
        return self.source.mapped(step)

    def subsampled(self, share: float) -> Source | NDArray[Any]:
        """The records'."""
        return self.source.subsampled(share)

    def counted(self, partition: Partition | TreeCells | None) -> Ints | None:
        """Records in each closed cell (n_parts,), or in all; None if no part of this tree."""
        if partition is None:
            return self.counted(self.tree.opened())
        if not isinstance(partition, TreeCells) or partition.tree is not self.tree:
            return None
        ways = _paths(partition)
        levels = partition.level[partition.leaves].tolist()
        cells = [(level, ways[v]) for level, v in zip(levels, partition.leaves.tolist())]
        found: dict[Cell, int] = {}
        for segment in self._segments:
            found |= segment.counted(cells)
        while left := [cell for cell in cells if cell not in found]:
            segment = self._read(partition, ways, left)
            self._segments.append(segment)
            found |= segment.counted(left)
        return np.array([found[cell] for cell in cells], np.int64)

    def _read(self, cells: TreeCells, ways: list[int], wanted: list[Cell]) -> Segment:
        """One reading more, of the records in the cells just reported, above the wanted ones."""
        reach = [max(self._reach(level, path), default=0) for level, path in wanted]
        start = min(reach)
        roots = {path >> (level - start) for (level, path), at in zip(wanted, reach) if at == start}
        bases = {path: i for i, path in enumerate(sorted(roots))}
        width = min(KEY_BITS - (len(bases) - 1).bit_length(), self.tree.depth - start)
        level = cells.level
        rank = np.full(len(ways), -1)
        for v in np.flatnonzero(level == start).tolist():
            rank[v] = bases.get(ways[v], -1)
        child = np.where(level >= start, -1, cells.child)
        axis = self.tree.axes[np.minimum(level, self.tree.depth - 1)]
        keys = PathKeys(self.tree, child, cells.cut, axis, rank, start, start + width)
        return Segment(self.source, keys, bases)

    def _reach(self, level: int, path: int) -> list[int]:
        """Last levels of the segments that hold the cells above one."""
        return [
            s.stop
            for s in self._segments
            if s.stop < level and s.holds(s.stop, path >> (level - s.stop))
        ]


def _paths(cells: TreeCells) -> list[int]:
    """The way to every cell, one bit a level, of all cells."""
    found = [0] * len(cells.parent)
    parent = cells.parent.tolist()
    child = cells.child.tolist()
    for v in range(1, len(found)):
        found[v] = found[parent[v]] << 1 | (v - child[parent[v]])
    return found


def preaggregated(records: NDArray[Any] | Source, tree: CellTree) -> NDArray[Any] | Source:
    """The same records, read once for all cells of the tree; an array of them stays as it is."""
    return Paths(records, tree) if isinstance(records, Source) else records
