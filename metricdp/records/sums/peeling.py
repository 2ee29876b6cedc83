"""What rounds of small balls compute from the counts of a grid's cells: scores and removals
(Feldman, Xiang, Zhu & Rus, IPSN 2017). Proof P9 (``docs/proofs/09-peeling.md``) says what that
means for privacy.

**Removal.** T(P) is P without its w records nearest to public c, in the order of their cells by
(distance from c, number). Exactly w records go, whatever cells they are in.

**Scores.** A record more raises the count of a ball by 0 or 1, the largest count M(r) by 0 or 1,
and t·L(r), the sum of the t largest of ``min(count of the ball around x, t)`` over *records* x, by
0 to 2t. So L(r), rounded down, moves by at most 2.

**Sums.** A record in a cell adds that cell's public integers, if it has any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import sealed
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.kernels.summed_area import cell_counts, lattice_counts, summed_area
from metricdp.protocols import CellGrid
from metricdp.records.exact import Sums, combined, digits, dot, grouped_sum

SPACING = 4
"""Candidates for the center of a ball stand this many to a radius, along every axis."""
_STEPS = 256
"""Of the longest side of a cell, in which distances are counted."""


def peel(counts: NDArray[Any], grid: CellGrid, cell: int, number: float) -> None:
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


@dataclass(frozen=True)
class Peeled:
    """What removals leave of the records on a grid.

    `removed`: cells and how many of the records nearest each were taken away, in turn: public, or
    released before.
    """

    grid: CellGrid
    removed: tuple[tuple[int, int], ...] = ()

    def left(
        self, counts: Callable[[], NDArray[np.int64]], memory: MutableMapping[Any, Any]
    ) -> NDArray[np.int64]:
        """Counts of the cells (n_parts,), for reading; `memory` keeps them for the next call."""
        done, left = memory.pop(self.grid, ((), None))
        if left is None or self.removed[: len(done)] != done:
            done = ()
            left = counts()
        for cell, number in self.removed[len(done) :]:
            peel(left, self.grid, cell, number)
        memory[self.grid] = self.removed, left
        found: NDArray[np.int64] = left
        return found


def lattice(shape: Sequence[int], radius: int) -> list[NDArray[np.int64]]:
    """Public candidates for a ball's center: `SPACING` to a radius on every axis."""
    step = max(1, radius // SPACING)
    return [np.arange(min(step // 2, n - 1), n, step) for n in shape]


class Boxes:
    """Records in boxes of cells, exact, and saturating at 2^61.

    `counts` (n_cells,): not negative; `shape`: of the grid.
    """

    def __init__(self, counts: NDArray[np.int64], shape: Sequence[int]) -> None:
        self.shape = shape
        parts = digits(counts, 1)
        self._tables = [(bits, summed_area(part.reshape(shape))) for bits, part in parts]

    def around(self, radius: int) -> NDArray[np.int64]:
        """Within `radius` cells of each candidate, shape (n_candidates,)."""
        middles = lattice(self.shape, radius)
        return self._put(lambda table: lattice_counts(table, middles, radius).ravel())

    def at(self, cells: NDArray[np.int64], radius: int) -> NDArray[np.int64]:
        """Within `radius` cells of some, shape (n,)."""
        places = np.unravel_index(cells, self.shape)
        return self._put(lambda table: cell_counts(table, places, radius))

    def _put(self, count: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> NDArray[np.int64]:
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

    def __call__(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Scores, shape (n_candidates,)."""
        return Boxes(counts, self.shape).around(self.radius)

    def cell(self, index: int) -> int:
        """Number of the cell that a candidate is."""
        middles = lattice(self.shape, self.radius)
        where = np.unravel_index(index, [len(at) for at in middles])
        return int(np.ravel_multi_index([at[i] for at, i in zip(middles, where)], self.shape))

    def __str__(self) -> str:
        return f"ball of {self.radius:,} cells' radius with most records left"


@dataclass(frozen=True)
class RadiusScores:
    """How good radii are: ``min(t - N(the radius before), N(radius) - t + slack)``, largest where
    the best ball's number N(r) reaches t.

    **Published.** With `average`, N is the paper's L (Algorithm 2, line 2), and the score twice its
    quality Q; with slack 0 and the largest count M over public centers in place of L, one record
    moves scores half as much.

    `radii`: in cells, rising; `target`: t, at least 1; `views`: applied to the scores in turn: none
    moves its output's entries more than its input's.
    """

    shape: tuple[int, ...]
    radii: tuple[int, ...]
    target: int
    slack: int = 0
    average: bool = False
    views: tuple[Any, ...] = ()

    monotone = False

    def __post_init__(self) -> None:
        if not all(type(view) in (Levels, Intervals, Only) for view in self.views):
            raise InputError("views must be Levels, Intervals or Only")

    @property
    def change(self) -> int:
        """By how much one record more moves a score, at most: M by 1, L by 2."""
        return 2 if self.average else 1

    def __call__(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Scores, shape (n_radii,) before the views."""
        boxes = Boxes(counts, self.shape)
        held = np.flatnonzero(counts)
        if self.average:
            times = counts[held]
            each = [top_average(boxes.at(held, r), times, self.target) for r in self.radii]
        else:
            each = [boxes.around(r).max() for r in self.radii]
        most = np.array(each, np.int64)
        scores = np.minimum(self.target - np.r_[0, most[:-1]], most - self.target + self.slack)
        for view in self.views:
            scores = view(scores)
        found: NDArray[np.int64] = scores
        return found

    def __str__(self) -> str:
        step = f", {type(self.views[-1]).__name__.lower()}" if self.views else ""
        return f"radius of a ball with {self.target:,} of the records left{step}"


@dataclass(frozen=True, eq=False)
class PartScores:
    """Number of records left in each part of some public partitions of the cells (`labels`, -1 for
    none), the parts of the first partition first.
    """

    shape: tuple[int, ...]
    labels: tuple[NDArray[np.int64], ...]
    n_parts: tuple[int, ...]
    what: str = "part"

    change, monotone = 1, True

    def __post_init__(self) -> None:
        size = math.prod(self.shape)
        for labels, n in zip(self.labels, self.n_parts, strict=True):
            whole = labels.dtype == np.int64 and labels.shape == (size,) and n > 0
            if not whole or labels.min() < -1 or labels.max() >= n:
                raise InputError("every cell must have a part of each partition, or -1")
        object.__setattr__(self, "labels", tuple(map(sealed, self.labels)))

    def __call__(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Scores, shape (sum of n_parts,), saturating at 2^61."""
        held = np.flatnonzero(counts)
        found = []
        for labels, n in zip(self.labels, self.n_parts):
            at = held[labels[held] >= 0]
            found.append(grouped_sum(labels[at], counts[at], n))
        return np.concatenate(found)

    def __str__(self) -> str:
        return f"{self.what} with most records left, of {sum(self.n_parts):,}"


def sums_of(counts: NDArray[np.int64], amounts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Columns of amounts times counts, added up; saturating at 2^61 on both sides."""
    held = np.flatnonzero(counts)
    counts, amounts = counts[held], amounts[held]
    most = max(int(np.abs(amounts).max(initial=0)), 1)
    total: Sums = combined((bits, digit @ amounts) for bits, digit in digits(counts, most))
    return total.capped()


def top_average(values: NDArray[np.int64], times: NDArray[np.int64], t: int) -> int:
    """Sum of the t largest of ``min(values, t)`` over t, rounded down: the paper's L."""
    if not len(values):
        return 0
    clipped = np.minimum(values, t)
    order = np.argsort(-clipped, kind="stable")
    return dot(clipped[order], taken(times[order], before(times[order]), t)) // t


@dataclass(frozen=True)
class Levels:
    """RecConcave, steps 3 and 4: ``min(A(j) - keep, promise - A(j + 1))``, A(j) the largest over
    intervals of 2^j solutions of the smallest score: no score moves by more than the qualities.
    """

    keep: int
    promise: int

    def __call__(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Shape (log2 T' + 1,), T' the smallest power of two at or above the last solution."""
        last = len(scores) - 1
        top = max(last - 1, 0).bit_length()
        least = np.r_[scores, np.full(2**top - last, min(0, int(scores[-1])))]
        best = []
        for j in range(top + 1):
            best.append(int(least.max()))
            if j < top:
                least = np.minimum(least[: -(2**j)], least[2**j :])
        best.append(min(0, best[-1]))
        a = np.array(best, np.int64)
        return np.minimum(a[:-1] - self.keep, self.promise - a[1:])


@dataclass(frozen=True)
class Intervals:
    """RecConcave, steps 6 and 7: largest score in each interval of `length` solutions."""

    length: int
    offset: int

    def starts(self, size: int) -> NDArray[np.int64]:
        """First solution of every interval."""
        return np.unique(np.maximum(np.arange(-self.offset, size, self.length), 0))

    def __call__(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Shape (n_intervals,)."""
        return np.maximum.reduceat(scores, self.starts(len(scores)))


@dataclass(frozen=True)
class Only:
    """Some of the solutions."""

    indices: tuple[int, ...]

    def __call__(self, scores: NDArray[np.int64]) -> NDArray[np.int64]:
        """Shape (n_indices,)."""
        return scores[list(self.indices)]
