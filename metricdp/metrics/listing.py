"""`ListedSets` from the sets that a user gives, and from balls."""

from typing import Any

import numpy as np

from metricdp.arguments import Ints, listed
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.set_systems import Balls, ListedSets
from metricdp.progress import progress

_LISTED = 1 << 25
"""Most entries of listed balls: 400 MB."""


def listed_sets(sets: Any, universe: Metric) -> ListedSets:
    """Sets from lists of ids, or from a sparse matrix with sets as rows, points as columns."""
    if hasattr(sets, "tocsr"):
        matrix = sets.tocsr()
        if matrix.shape[1] != len(universe):
            raise InputError(
                f"a matrix of sets needs one column a point, {len(universe):,}; got "
                f"{matrix.shape[1]:,}"
            )
        kept = matrix.data != 0
        starts = np.r_[0, np.cumsum(kept)][matrix.indptr]
        return ListedSets(starts, matrix.indices[kept], len(universe))
    positions = [universe.positions(one) for one in listed(sets, "sets")]
    starts = np.r_[0, np.cumsum([len(one) for one in positions], dtype=np.int64)]
    return ListedSets(starts, np.concatenate(positions) if positions else [], len(universe))


def listed_balls(balls: Balls, most: int = _LISTED) -> ListedSets:
    """The first balls as listed sets: at least one, and at most `most` points in all."""
    found: list[Ints] = []
    left = most
    numbers = progress(range(balls.n_sets), label="balls", unit="ball")
    for ball in balls.each(numbers):
        left -= len(ball)
        if left < 0 and found:
            break
        found.append(ball)
    return ListedSets.of_distinct(found, balls.n_elements)
