"""Private questions about balls of many records, found round after round: the records nearest to
earlier balls are taken away first (Feldman, Xiang, Zhu & Rus, IPSN 2017). Proof P9
(``docs/proofs/09-peeling.md``) has their sensitivities.

**Scores.** A record more raises the count of a ball by 0 or 1, the largest count M(r) by 0 or 1,
and t·L(r), the sum of the t largest of ``min(count of the ball around x, t)`` over *records* x, by
0 to 2t. So L(r), rounded down, moves by at most 2.

**Sums.** A record in a cell adds that cell's public integers, if it has any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from operator import mul
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods.ball_counts import BallScores, Boxes, before, peel, taken
from benchmarks.methods.grid import Grid
from metricdp.arguments import integer, sealed
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.privacy.queries import HistogramQuery, Query, answered
from metricdp.privacy.scores import SelectionQuery
from metricdp.protocols import trusted
from metricdp.records.exact import Sums, combined, digits, exact_sum, grouped_sum
from metricdp.releases import Neighboring

Removed = Sequence[tuple[int, int]]
"""Cells, and how many of the records nearest to each were taken away."""


@dataclass(frozen=True)
class Peeled:
    """What removals leave of the records on a grid.

    `removed`: cells and how many of the records nearest each were taken away, in turn: public, or
    released before.
    """

    grid: Grid
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


def dot(values: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
    """The sum of ``values[i] * counts[i]`` of integers that are not negative, whatever it is."""
    if exact_sum(counts) * int(values.max(initial=0)) < 2**63:
        return int(values @ counts)
    return sum(map(mul, values.tolist(), counts.tolist()))


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


@trusted
class PeeledQuery(SelectionQuery):
    """A radius, a ball or a part of a grid's cells, by the records that removals left.

    **Privacy.** Which cells and how many records at each is public or released before. One record
    more among the demand is none or one more among what is left (P9), and moves every score by at
    most ``scores.change``: so a unit of up to m records by m times that. Counts of balls and of
    parts only rise: they are monotone (*add-remove*: range m; *replace-one*: 2m); radii's scores
    move both ways (2m times the change under both). The number of records to remove must not be
    taken from the data; under *add-remove* their total is private. *Composition*: one charge a
    selection. What is left is kept between the selections of one budget slice; a fresh query
    computes the same.

    `peeled`: a grid of the demand's box, and the removals; `scores`: for the grid's shape.
    """

    proof: ClassVar[int] = 9

    universe: Any

    def __init__(self, peeled: Peeled, scores: Any) -> None:
        if (
            type(peeled) is not Peeled
            or type(scores) not in (BallScores, RadiusScores, PartScores)
            or scores.shape != peeled.grid.shape
        ):
            raise InputError(
                "a PeeledQuery needs Peeled records on a grid, and BallScores, RadiusScores or "
                "PartScores of its shape"
            )
        self.universe, self.monotone, self._counts = (
            peeled.grid.universe,
            scores.monotone,
            HistogramQuery(peeled.grid),
        )
        self._peeled = peeled
        self._scores = scores

    def sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """Return m times the change of one record."""
        return max_contributions * int(self._scores.change)

    def blocks(self, records: Any) -> Any:
        """The scores of what is left: one block."""
        return self.resumed(records, {})

    def resumed(self, records: Any, memory: Any) -> Any:
        """The same, from what the query before left."""
        yield self._scores(self._peeled.left(lambda: answered(self._counts, records), memory))

    def __str__(self) -> str:
        return str(self._scores)


@trusted
@dataclass(frozen=True, eq=False)
class PeeledSums(Query):
    """Number and sum of the records that removals left in some cells of a grid: d + 1 integers.

    A record left in cell ``cells[i]`` counts as the integer vector ``offsets[i]``, of length B =
    2**bits at most, and as B under the number: the first value is B times the number of records,
    the others are the sum. So one noise serves both, and the mean's divisor is as noisy as its sum.

    **Privacy.** The cells and their vectors are public or released before, and must not follow the
    records. One record more among the demand is none or one more among what is left
    (P9), and adds (B, v) with |v|_2 <= B to the answer, or nothing;
    |v|_1 <= s, the floor of √d·B, as v is of integers. *Add-remove*: a unit of up to m records
    moves the answer by at most m·(B + s) in L1, and m²·(B² + B²) in squared L2. *Replace-one*: what
    is left of neighbors D and D' is what is left of both without the unit, and a and b records
    more, a, b <= m. Those in the cells move the number by |a - b|·B and the sum by at most (a +
    b)·s, or (a + b)·B in L2: together at most 2m·s, as B <= s, and ((a - b)² + (a + b)²)·B² <=
    4m²·B². *Composition*: one budget covers all values together; sequential with other queries.
    What is left is kept between the queries of one budget slice; a fresh query computes the same.

    `peeled`: a grid of the demand's box, and the removals; `cells` (n,): numbers of cells, each at
    most once; `offsets` (n, d); `bits`: 1 to 20.
    """

    proof: ClassVar[int] = 9

    peeled: Peeled
    cells: NDArray[np.int64]
    offsets: NDArray[np.int64]
    bits: int = 12
    counts: HistogramQuery = field(init=False, repr=False)

    def __post_init__(self) -> None:
        cells = np.asarray(self.cells)
        offsets = np.asarray(self.offsets)
        whole = type(self.peeled) is Peeled and cells.dtype == offsets.dtype == np.int64
        shapes = offsets.ndim == 2 and cells.shape == offsets.shape[:1] and offsets.shape[1] > 0
        if not (whole and shapes and 1 <= (integer(self.bits) or 0) <= 20):
            raise InputError("sums need Peeled records, int64 cells and offsets, and 1 to 20 bits")
        n_parts = self.peeled.grid.n_parts
        known = len(np.unique(cells)) == len(cells) and ((cells >= 0) & (cells < n_parts)).all()
        most = 2**self.bits
        short = ((offsets >= -most) & (offsets <= most)).all()
        if not known or not short or ((offsets**2).sum(axis=1) > 4**self.bits).any():
            raise InputError("cells must be distinct, and offsets no longer than 2**bits")
        object.__setattr__(self, "cells", sealed(cells))
        object.__setattr__(self, "offsets", sealed(offsets))
        object.__setattr__(self, "counts", HistogramQuery(self.peeled.grid))

    @property
    def n_values(self) -> int:
        """Numbers in an answer."""
        return 1 + int(self.offsets.shape[1])

    def check(self, universe: object) -> None:
        """The grid must be of this universe, the very object."""
        self.counts.check(universe)

    def exact(self, records: NDArray[Any]) -> NDArray[np.int64]:
        """B times the number, and the sum of the vectors, shape (d + 1,)."""
        return self.resumed(records, {})

    def resumed(self, records: Any, memory: MutableMapping[Any, Any]) -> NDArray[np.int64]:
        """The same, from what the query before left."""
        left = self.peeled.left(lambda: answered(self.counts, records), memory)
        amounts = np.full((len(self.cells), self.n_values), 2**self.bits, np.int64)
        amounts[:, 1:] = self.offsets
        answer = sums_of(left[self.cells], amounts)
        if not self.fits(answer, exact_sum(left)):
            raise AssertionError("an exact answer does not fit the number of records")
        return answer

    def fits(self, answer: NDArray[Any], n_records: int) -> bool:
        """At most B a record for each value, and no less than none."""
        most = min(n_records * 2**self.bits, CAP)
        whole = answer.shape == (self.n_values,) and answer.dtype == np.int64
        return whole and bool(answer[0] >= 0) and bool((np.abs(answer) <= most).all())

    def sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """Return m·(B + s), or 2m·s; s is the floor of √d·B."""
        return self.sensitivity_of(self.n_values - 1, self.bits, neighboring, max_contributions)

    def squared_sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """Return 2·(m·B)², or 4·(m·B)²."""
        return self.square_of(self.bits, neighboring, max_contributions)

    @staticmethod
    def sensitivity_of(d: int, bits: int, neighboring: Neighboring, max_contributions: int) -> int:
        """The sensitivity of all such sums in d dimensions, before their cells are known."""
        bound = 2**bits
        longest = math.isqrt(4**bits * d)
        return max_contributions * (longest + (bound if neighboring == "add-remove" else longest))

    @staticmethod
    def square_of(bits: int, neighboring: Neighboring, max_contributions: int) -> int:
        """The squared sensitivity of all such sums."""
        return (2 if neighboring == "add-remove" else 4) * (max_contributions << bits) ** 2

    def __str__(self) -> str:
        return f"number and sum of records left in {len(self.cells):,} cells"
