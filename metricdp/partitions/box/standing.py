"""Which cells of a nested grid hold records, by noisy counts: finer where dense."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.partitions.box.blocks import kept_of, touching
from metricdp.partitions.box.grid import NestedGrid, Places

MOST_SCALES = 3
COARSER = 1.4
"""Cells are merged, 2 to one along each axis, so many times; factor of the threshold for merged
ones. Spread over more cells, what is left of the records and of the noise adds up, and buys a
center.
"""


def standing_groups(
    grid: NestedGrid, values: NDArray[Any], least: tuple[float, float]
) -> tuple[Places, Places]:
    """Groups of cells above the noise threshold.

    A cell whose box of 3^d cells has a large sum is a group. The others are merged, 2^d to one, and
    judged again, up to blocks of 8^d: a sparse tail is found at its own scale, and a lone large
    count is not. O(n_parts · d · log n_parts).
    """
    group = np.full(grid.n_parts, -1, np.int64)
    level = list[Places]()
    first = 0
    for part in grid.grids():
        alive = kept_of(part)
        own = np.asarray(values[first : first + part.n_own], np.float64)
        here = group[first : first + part.n_own]
        places = np.unravel_index(np.arange(part.n_own), part.shape)
        for scale in range(min(int(np.ceil(np.log2(max(part.shape)))), MOST_SCALES) + 1):
            shape = tuple((n - 1 >> scale) + 1 for n in part.shape)
            block = np.ravel_multi_index([place >> scale for place in places], shape)
            sums, counts = (
                np.bincount(block, what, np.prod(shape)).astype(float)
                for what in (own * alive, alive)
            )
            threshold = max(least[len(part.blocks) > 0], least[0] * (COARSER if scale else 1.0))
            out = (
                touching(sums.reshape(shape)) > threshold * np.sqrt(touching(counts.reshape(shape)))
            ).ravel()
            found = np.flatnonzero(out[block] & alive)
            names, here[found] = np.unique(block[found], return_inverse=True)
            here[found] += sum(map(len, level))
            level.append(np.full(len(names), scale))
            alive[found] = False
        first += part.n_own
    return group, np.concatenate(level)
