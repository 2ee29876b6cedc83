"""Balls of many records, found round after round: the records nearest to earlier balls are taken
away first. `metricdp.records.sums.peeling` has the sums, proof P9 (``docs/proofs/09-peeling.md``)
their sensitivities.
"""

from __future__ import annotations

import math
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import integer, sealed
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.privacy.queries import HistogramQuery, Query, answered
from metricdp.privacy.scores import SelectionQuery
from metricdp.records.exact import exact_sum
from metricdp.records.sums.peeling import BallScores, PartScores, Peeled, RadiusScores, sums_of
from metricdp.releases import Neighboring


class PeeledQuery(SelectionQuery):
    """A radius, a ball or a part of a grid's cells, by the records that removals left.

    **Privacy.** Which cells and how many records at each is public or released before. One record
    more among the demand is none or one more among what is left (`metricdp.records.sums.peeling`),
    and moves every score by at most ``scores.change``: so a unit of up to m records by m times
    that. Counts of balls and of parts only rise: they are monotone (*add-remove*: range m;
    *replace-one*: 2m); radii's scores move both ways (2m times the change under both). The number
    of records to remove must not be taken from the data; under *add-remove* their total is private.
    *Composition*: one charge a selection. What is left is kept between the selections of one grant;
    a fresh query computes the same.

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


@dataclass(frozen=True, eq=False)
class PeeledSums(Query):
    """Number and sum of the records that removals left in some cells of a grid: d + 1 integers.

    A record left in cell ``cells[i]`` counts as the integer vector ``offsets[i]``, of length B =
    2**bits at most, and as B under the number: the first value is B times the number of records,
    the others are the sum. So one noise serves both, and the mean's divisor is as noisy as its sum.

    **Privacy.** The cells and their vectors are public or released before, and must not follow the
    records. One record more among the demand is none or one more among what is left
    (`metricdp.records.sums.peeling`), and adds (B, v) with |v|_2 <= B to the answer, or nothing;
    |v|_1 <= s, the floor of √d·B, as v is of integers. *Add-remove*: a unit of up to m records
    moves the answer by at most m·(B + s) in L1, and m²·(B² + B²) in squared L2. *Replace-one*: what
    is left of neighbors D and D' is what is left of both without the unit, and a and b records
    more, a, b <= m. Those in the cells move the number by |a - b|·B and the sum by at most (a +
    b)·s, or (a + b)·B in L2: together at most 2m·s, as B <= s, and ((a - b)² + (a + b)²)·B² <=
    4m²·B². *Composition*: one budget covers all values together; sequential with other queries.
    What is left is kept between the queries of one grant; a fresh query computes the same.

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
