"""The two nearest of some public centers, for every point."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints, chunks
from metricdp.kernels.shortest_paths import FAR
from metricdp.kernels.two_nearest import add_row
from metricdp.protocols import Rows, sound_rows


class TwoNearest(NamedTuple):
    """For every point in the inner order, the index of its nearest center (`first`), and the grid
    distances to the two nearest centers (`near`, `far`; FAR if there is only one).
    """

    first: NDArray[np.int32]
    near: Ints
    far: Ints


def two_nearest_by_rows(metric: Rows, centers: Ints) -> TwoNearest:
    """One row of distances a center: O(n_points · k) time, O(n_points) memory beside them."""
    n = len(metric)
    found = TwoNearest(np.full(n, -1, np.int32), np.full(n, FAR), np.full(n, FAR))
    for part in chunks(len(centers), n):
        for slot, row in enumerate(sound_rows(metric, centers[part]), part.start):
            add_row(row, slot, *found)
    return found
