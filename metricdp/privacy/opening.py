"""PrivTree: which cells are split, for one epsilon (Zhang, Xiao & Xie, SIGMOD 2016)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metricdp.arrays import Ints
from metricdp.kernels.scores import CAP
from metricdp.privacy.noise import Noise
from metricdp.privacy.queries import HistogramQuery, answered
from metricdp.records.paths import by_paths
from metricdp.releases import Neighboring

FACTOR = 5
"""F below: 3 has less noise and bias 2.1/epsilon a level, 5 bias 1.44/epsilon."""


@dataclass(frozen=True)
class OpeningQuery(HistogramQuery):
    """The cells that are opened, by their numbers: both halves of an opened cell are decided upon;
    those of a closed one never come to be.

    A cell v at depth h with c records is opened if ``max(c - b·h, -b) + noise > 0``: the noise is
    discrete Laplace of a scale s that no depth enters, b the least integer with ``exp(-b/s) <= 1 -
    1/(F-1)``. The noisy values are not released.

    **Privacy.** With s = F·m/epsilon (*add-remove*), F·2m/epsilon (*replace-one*): epsilon-DP for
    all decisions together. *Proof.* Let D' be D and one record more, q = exp(-1/s), and x_v = c -
    b·h for D'. Only cells on the record's way down can tell. (1) Let G(x) = P(x + noise > 0), x
    integer. P(noise >= t) is q^t/(1+q) for t >= 1, and 1 - q^(1-t)/(1+q) for t <= 0; so G(x)/G(x-1)
    = 1/q for x <= 1, and 1 + q^j·(1-q)/(1+q-q^j) <= 1 + q^j·(1-q) for x = 1+j, j >= 1:
    ln(G(x)/G(x-1)) <= q^max(x-1, 0)/s for every x. (2) Of two cells opened in turn on the way down
    the upper one has at least as many records and less depth, so its x is larger by b at least.
    Where x_v <= -b, D and D' are both held at -b and do not differ. So, counted upwards from the
    lowest that differs, the i-th (i = 0, 1, …) has x >= 1-b+i·b, and the log ratios add up to at
    most (1 + 1 + q^b + q^2b + …)/s = (1 + 1/(1-q^b))/s <= F/s, all in favor of D'. (3) The closed
    cell where the way ends has P(noise <= -x)/P(noise <= -x+1) between q and 1: at most 1/s in
    favor of D. So the log ratio of any outcome lies between -1/s and F/s. (4) Neighbors are at most
    m (add-remove), or 2m (replace-one) such records apart, and as many times F/s is epsilon. ∎ Of
    Gaussian noise this proof says nothing: no squared sensitivity is stated, and `best_noise` then
    takes Laplace noise. *Composition*: one epsilon for all depths; sequential with other queries.

    `partition`: `OpenedCells`, public or released before: `leaves` are its parts, `level` the
    cells' depths, `open` makes the halves of some, numbered from the number of cells on. Which
    halves a cell has must not depend on records. `depth`: public: cells of this depth stay closed.

    Examples
    --------
    >>> from metricdp.partitions.box.quadtree import ShiftedQuadtree
    >>> from metricdp.privacy import OpeningQuery
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> query = OpeningQuery(ShiftedQuadtree(space, depth=4).opened(), depth=2)
    >>> str(query), query.sensitivity("add-remove", 1)
    ('cells to open down to depth 2', 5)
    """

    proof: ClassVar[int] = 5

    partition: Any
    depth: int

    def opened(self, records: NDArray[Any], noise: Noise) -> Ints:
        """Numbers of the split cells, upper ones first. One reading for each 64 depths."""
        bias = bias_of(noise.scale)
        cells = self.partition
        n_decided = 0
        found = [np.empty(0, np.int64)]
        held_by = by_paths(records, cells)
        while n_decided < len(cells.level):
            new = cells.leaves >= n_decided
            at = cells.leaves[new]
            n_decided = len(cells.level)
            counts = answered(HistogramQuery(cells), held_by)[new]
            excess = held(counts, cells.level[at], bias)
            found.append(at[(noise(excess) > 0) & (cells.level[at] < self.depth)])
            cells = cells.open(found[-1])
        return np.concatenate(found)

    def sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """F·m, or F·2m: what makes the noise's scale s."""
        return FACTOR * self.sensitivity_of(neighboring, max_contributions)

    def squared_sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """0: not stated."""
        return 0

    def __str__(self) -> str:
        return f"cells to open down to depth {self.depth}"


def bias_of(scale: float) -> int:
    """b: what a cell's count is lessened by for each level of its depth."""
    return math.ceil(scale * math.log1p(1 / (FACTOR - 2)) * (1 + 1e-12))


def held(counts: Ints, levels: Ints, bias: int) -> Ints:
    """Counts, each less b for every level of its depth, none below -b."""
    deep = CAP // bias + 2  # from here on no count exceeds the biases; none of them wraps
    found: Ints = np.maximum(counts - bias * np.minimum(levels, deep), -bias)
    return found
