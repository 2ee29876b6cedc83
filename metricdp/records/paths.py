"""Pre-aggregated counts of quadtree cells: one pass over the records serves all rounds of a method
(Cohen-Addad et al., KDD 2022, Algorithm 4).

A record's path from the root is a key of one bit a level, up to 64 levels. The records of a cell
are a range of the sorted keys. One pass covers 64 levels; each 64 further levels take another.
Counts equal those of reading the records at each level.

A pass takes O(n · (d + 64)) time, a sort, and at most 16 bytes a record; counting takes
O(cells · log n). The keys are as private as the records.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints
from metricdp.kernels.quadtree_cells import cells_of, path_bits
from metricdp.protocols import CellTree, Partition, TreeCells
from metricdp.records.engines.sources import Answer, Source
from metricdp.records.exact import Sums, Total

KEY_BITS = 64  # levels that one pass over the records reads
Cell = tuple[int, int]
"""A cell's level, and its path from the root, one bit a level."""


@dataclass(frozen=True, eq=False)
class PathKeys:
    """Keys of the records in some cells of level `start`, the base cells: the rank of the base
    cell, then one bit for each level down to `stop`. Workers of engines get a copy.
    """

    tree: CellTree
    child: Ints
    cut: NDArray[np.uint64]
    axis: Ints
    rank: Ints
    start: int
    stop: int

    def __call__(self, block: NDArray[Any]) -> NDArray[np.uint64]:
        """Keys of those of n records that are in base cells, shape (at most n,)."""
        grid = self.tree.grid(block)
        rank = self.rank[cells_of(grid, self.child, self.cut, self.axis)]
        inside = rank >= 0
        bits = path_bits(grid[inside], self.tree.axes[: self.stop], self.tree.root, self.start)
        high = rank[inside].astype(np.uint64)
        width = self.stop - self.start
        found: NDArray[np.uint64] = bits if width == KEY_BITS else high << np.uint64(width) | bits
        return found


class Segment:
    """Sorted keys of the records in some base cells, with prefix sums of their counts."""

    def __init__(self, source: Source, keys: PathKeys, bases: dict[int, int]) -> None:
        self.start, self.stop, self.bases = keys.start, keys.stop, bases
        self._keys, counts = source.grouped(keys)
        self._before = Sums.cumulative(counts)

    def holds(self, level: int, path: int) -> bool:
        """Whether the count of the cell at this level and path can be read off the keys."""
        return self.start <= level <= self.stop and path >> (level - self.start) in self.bases

    def counted(self, cells: list[Cell]) -> dict[Cell, int]:
        """Number of records in each of those cells that this segment holds."""
        held = [cell for cell in cells if self.holds(*cell)]
        return dict(zip(held, self.counts(held).tolist()))

    def counts(self, cells: list[Cell]) -> Ints:
        """Number of records in each of these cells, all of which this segment holds."""
        first, last = list[int](), list[int]()
        for level, path in cells:
            below = level - self.start
            free = self.stop - level
            at = self.bases[path >> below] << (free + below) | (path & (1 << below) - 1) << free
            first.append(at)
            last.append(at + (1 << free) - 1)
        low = np.searchsorted(self._keys, np.array(first, np.uint64), side="left")
        high = np.searchsorted(self._keys, np.array(last, np.uint64), side="right")
        return (self._before[high] - self._before[low]).capped()


class Paths(Source):
    """Records of a box whose counts in cells of `tree` come from stored keys; any other sum reads
    the records.
    """

    def __init__(self, source: Source, tree: CellTree) -> None:
        self.source = source
        self.tree = tree
        self._segments: list[Segment] = []

    def sums(self, answer: Answer) -> Total:
        """Sums over the records themselves."""
        return self.source.sums(answer)

    def mapped(self, step: Answer) -> Source:
        """The records themselves, mapped."""
        return self.source.mapped(step)

    def subsampled(self, share: float) -> Source | NDArray[Any]:
        """The records themselves, subsampled."""
        return self.source.subsampled(share)

    def counted(self, partition: Partition | TreeCells | None) -> Ints | None:
        """Records in each leaf (n_parts,), or in all; None if the partition is of no such tree."""
        if partition is None:
            return self.counted(self.tree.root_cell())
        if not isinstance(partition, TreeCells) or partition.tree is not self.tree:
            return None
        paths = _paths(partition)
        levels = partition.level[partition.leaves].tolist()
        cells = [(level, paths[v]) for level, v in zip(levels, partition.leaves.tolist())]
        found: dict[Cell, int] = {}
        for segment in self._segments:
            found |= segment.counted(cells)
        while missing := [cell for cell in cells if cell not in found]:
            segment = self._read(partition, paths, missing)
            self._segments.append(segment)
            found |= segment.counted(missing)
        return np.array([found[cell] for cell in cells], np.int64)

    def _read(self, cells: TreeCells, paths: list[int], missing: list[Cell]) -> Segment:
        """One more pass, over the ancestors of the missing cells at the last level covered yet."""
        covered = [max(self._covered(level, path), default=0) for level, path in missing]
        start = min(covered)
        roots = {
            path >> (level - start) for (level, path), at in zip(missing, covered) if at == start
        }
        bases = {path: i for i, path in enumerate(sorted(roots))}
        # the rank of the base cell takes the upper bits of a key, levels take the others
        width = min(KEY_BITS - (len(bases) - 1).bit_length(), self.tree.depth - start)
        level = cells.level
        rank = np.full(len(paths), -1)
        for v in np.flatnonzero(level == start).tolist():
            rank[v] = bases.get(paths[v], -1)
        child = np.where(level >= start, -1, cells.child)
        axis = self.tree.axes[np.minimum(level, self.tree.depth - 1)]
        keys = PathKeys(self.tree, child, cells.cut, axis, rank, start, start + width)
        return Segment(self.source, keys, bases)

    def _covered(self, level: int, path: int) -> list[int]:
        """The last level of each segment that holds an ancestor of the cell there."""
        return [
            s.stop
            for s in self._segments
            if s.stop < level and s.holds(s.stop, path >> (level - s.stop))
        ]


def _paths(cells: TreeCells) -> list[int]:
    """The path from the root to each cell, one bit a level."""
    found = [0] * len(cells.parent)
    parent = cells.parent.tolist()
    child = cells.child.tolist()
    for v in range(1, len(found)):
        found[v] = found[parent[v]] << 1 | (v - child[parent[v]])
    return found


def preaggregated(records: NDArray[Any] | Source, tree: CellTree) -> NDArray[Any] | Source:
    """The records with pre-aggregated counts of the tree's cells; an array is returned as it is."""
    return Paths(records, tree) if isinstance(records, Source) else records
