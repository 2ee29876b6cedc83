"""Add amounts over public sets: balls of a graph, and sets in CSR rows."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.shortest_paths import Workspace, forget, search


@njit(cache=True, nogil=True)
def add_balls(
    graph: tuple, sources: NDArray, amounts: NDArray, radius: int, total: NDArray, space: Workspace
) -> int:
    """Add ``amounts[i]`` to ``total[v]`` for every vertex within `radius` of ``sources[i]``.
    ``space.touched`` holds the last source's ball by distance, whose size is returned.
    """
    count = 0
    for i in range(len(sources)):
        count = search(graph, sources[i], radius, len(total), np.int64(1), space)
        for j in range(count):
            total[space.touched[j]] += amounts[i]
        forget(space, count)
    return count


@njit(cache=True, nogil=True)
def add_rows(
    indptr: NDArray, members: NDArray, rows: NDArray, amounts: NDArray, total: NDArray
) -> None:
    """Add ``amounts[i]`` to ``total[e]`` for every entry e of row ``rows[i]``, rows in CSR form."""
    for i in range(len(rows)):
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            total[members[j]] += amounts[i]
