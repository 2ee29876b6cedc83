"""Which cells of a nested grid hold records, by noisy counts: fine where they are dense, coarse
where they are sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.partitions.box.grid import NestedGrid, Places, touching

MOST_SCALES = 3
COARSER = 1.4
"""Cells are merged, 2 to one along each axis, so many times; factor of the threshold for merged
ones. Spread over more cells, what is left of the records and of the noise adds up, and buys a
center.
"""


def standing_groups(
    grid: NestedGrid, values: NDArray[Any], least: tuple[float, float]
) -> tuple[Places, Places]:
    """Groups of cells whose surroundings stand out of the noise.

    A cell whose box of 3^d cells has a sum above the threshold is a group by itself. The others are
    merged, 2^d to one, and judged again, the threshold growing with the root of the number of cells
    in the box; and so on up to blocks of 8^d. So a sparse tail, no cell of which stands out, is
    found at the scale at which it does, and a lone large count is not.

    O(n_parts · d · log n_parts).
    """
    group = np.full(grid.n_parts, -1, np.int64)
    level = list[Places]()
    first = 0
    for part in grid.grids():
        alive = part.kept()
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
