"""Sums over public sets: balls of a graph by bounded searches, and sets listed in rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.heap import FAR, heap_drop, heap_push


class Workspace(NamedTuple):
    """What `add_balls` writes to: `touched` holds the last source's ball by distance."""

    distance: NDArray
    touched: NDArray
    keys: NDArray
    payload: NDArray


def workspace(n: int, n_arcs: int) -> Workspace:
    """Work space for a graph of n vertices."""
    return Workspace(
        distance=np.full(n, FAR),
        touched=np.empty(n, np.int64),
        keys=np.empty(n_arcs + 1, np.int64),
        payload=np.empty(n_arcs + 1, np.int64),
    )


@njit(cache=True, nogil=True)
def add_balls(
    graph: tuple,
    sources: NDArray,
    amounts: NDArray,
    radius: int,
    total: NDArray,
    space: Workspace,
) -> int:
    """Add ``amounts[i]`` to ``total[v]`` for every vertex within `radius` of ``sources[i]``."""
    indptr, indices, lengths = graph
    distance, touched, keys, payload = space
    inside = 0
    for i in range(len(sources)):
        size = heap_push(keys, payload, 0, 0, sources[i])
        distance[sources[i]] = 0
        inside = 0
        while size > 0:
            d = keys[0]
            u = payload[0]
            size = heap_drop(keys, payload, size)
            if d > distance[u]:
                continue
            total[u] += amounts[i]
            touched[inside] = u
            inside += 1
            for a in range(indptr[u], indptr[u + 1]):
                v = indices[a]
                t = d + lengths[a]
                if t <= radius and t < distance[v]:
                    distance[v] = t
                    size = heap_push(keys, payload, size, t, v)
        for j in range(inside):  # all that was reached is within the radius, hence settled
            distance[touched[j]] = FAR
    return inside


@njit(cache=True, nogil=True)
def add_rows(
    indptr: NDArray, members: NDArray, rows: NDArray, amounts: NDArray, total: NDArray
) -> None:
    """Add ``amounts[i]`` to ``total[e]`` for every entry e of row ``rows[i]``, rows in CSR form."""
    for i in range(len(rows)):
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            total[members[j]] += amounts[i]


@njit(cache=True, nogil=True)
def transposed(indptr: NDArray, members: NDArray, n_elements: int) -> tuple[NDArray, NDArray]:
    """The rows in which every element occurs, in CSR form: int64 starts and int32 rows."""
    starts = np.zeros(n_elements + 1, np.int64)
    for e in members:
        starts[e + 1] += 1
    for e in range(n_elements):
        starts[e + 1] += starts[e]
    at = starts[:-1].copy()
    rows = np.empty(len(members), np.int32)
    for s in range(len(indptr) - 1):
        for j in range(indptr[s], indptr[s + 1]):
            rows[at[members[j]]] = s
            at[members[j]] += 1
    return starts, rows
