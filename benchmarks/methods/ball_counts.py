"""Records, or weight, in balls of a grid's cells, and removals of so many nearest to one (Feldman,
Xiang, Zhu & Rus, IPSN 2017): arithmetic on counts of the cells.

**Removal.** The `number` records nearest a cell are those first in the order of their cells by
(distance from it, number). Exactly so many go, whatever cells they are in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods.grid import Grid
from benchmarks.methods.summed_area import cell_counts, lattice_counts, summed_area
from metricdp.arguments import Ints
from metricdp.kernels.scores import CAP
from metricdp.records.exact import Sums, combined, digits

SPACING = 4
"""Candidates for the center of a ball stand this many to a radius, along every axis."""
_STEPS = 256
"""Of the longest side of a cell, in which distances are counted."""


def peel(counts: NDArray[Any], grid: Grid, cell: int, number: float) -> None:
    """Take away, in place, the `number` records nearest a cell, all if there are fewer."""
    held = np.flatnonzero(counts)
    steps = np.rint(grid.side / grid.side.max() * _STEPS).astype(np.int64)
    from_cell = [
        (at - to) * step
        for at, to, step in zip(
            np.unravel_index(held, grid.shape), np.unravel_index(cell, grid.shape), steps
        )
    ]
    order = held[np.argsort(sum(away * away for away in from_cell), kind="stable")]
    there = counts[order]
    counts[order] -= taken(there, before(there), min(number, CAP))


def before(there: NDArray[Any]) -> NDArray[Any]:
    """How many, or how much weight, are before each cell; whole numbers saturate at 2^61."""
    if there.dtype.kind == "f":
        found: NDArray[Any] = np.cumsum(there) - there
        return found
    return Sums.cumulative(there)[:-1].capped()


def taken(there: NDArray[Any], before: NDArray[Any], number: float) -> NDArray[Any]:
    """Of so many in each cell, with so many before them, those among the first `number`."""
    return np.clip(number - before, 0, there).astype(there.dtype)


def lattice(shape: Sequence[int], radius: int) -> list[Ints]:
    """Public candidates for a ball's center: `SPACING` to a radius on every axis."""
    step = max(1, radius // SPACING)
    return [np.arange(min(step // 2, n - 1), n, step) for n in shape]


class Boxes:
    """Records in boxes of cells, exact, and saturating at 2^61.

    `counts` (n_cells,): not negative; `shape`: of the grid.
    """

    def __init__(self, counts: Ints, shape: Sequence[int]) -> None:
        self.shape = shape
        parts = digits(counts, 1)
        self._tables = [(bits, summed_area(part.reshape(shape))) for bits, part in parts]

    def around(self, radius: int) -> Ints:
        """Within `radius` cells of each candidate, shape (n_candidates,)."""
        middles = lattice(self.shape, radius)
        return self._put(lambda table: lattice_counts(table, middles, radius).ravel())

    def at(self, cells: Ints, radius: int) -> Ints:
        """Within `radius` cells of some, shape (n,)."""
        places = np.unravel_index(cells, self.shape)
        return self._put(lambda table: cell_counts(table, places, radius))

    def _put(self, count: Callable[[Ints], Ints]) -> Ints:
        total: Sums = combined((bits, count(table)) for bits, table in self._tables)
        return total.capped()


def radii_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Public candidates for a radius in cells, by factors of √2, up to half the grid."""
    most = (max(shape) + 1) // 2
    ladder = {0, most} | {round(2 ** (i / 2)) for i in range(2 * most.bit_length())}
    return tuple(sorted(r for r in ladder if r <= most))


@dataclass(frozen=True)
class BallScores:
    """Number of records in the ball of `radius` cells around each candidate of a lattice. A record
    more moves a score by at most `change`, one way if `monotone`.
    """

    shape: tuple[int, ...]
    radius: int

    change = 1
    monotone = True

    def __call__(self, counts: Ints) -> Ints:
        """Scores, shape (n_candidates,)."""
        return Boxes(counts, self.shape).around(self.radius)

    def cell(self, index: int) -> int:
        """Number of the cell that a candidate is."""
        middles = lattice(self.shape, self.radius)
        where = np.unravel_index(index, [len(at) for at in middles])
        return int(np.ravel_multi_index([at[i] for at, i in zip(middles, where)], self.shape))

    def __str__(self) -> str:
        return f"ball of {self.radius:,} cells' radius with most records left"
