"""A 4-ary min-heap on two preallocated arrays: int64 keys and int64 payloads, lazily deleted."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

FAR = np.int64(2**62)
"""Distance of what was not reached: beyond any path, and safe from overflow."""


@njit(cache=True, nogil=True)
def heap_push(keys: NDArray, payload: NDArray, size: int, key: int, value: int) -> int:
    """Insert (key, value) and return the new size; the arrays must have room."""
    child = size
    while child > 0:
        parent = (child - 1) >> 2
        if keys[parent] <= key:
            break
        keys[child] = keys[parent]
        payload[child] = payload[parent]
        child = parent
    keys[child] = key
    payload[child] = value
    return size + 1


@njit(cache=True, nogil=True)
def heap_drop(keys: NDArray, payload: NDArray, size: int) -> int:
    """Remove the smallest entry, which is at index 0, and return the new size."""
    size -= 1
    key = keys[size]
    value = payload[size]
    hole = 0
    while True:
        child = 4 * hole + 1
        if child >= size:
            break
        best = child
        last = min(child + 4, size)
        for other in range(child + 1, last):
            if keys[other] < keys[best]:
                best = other
        if keys[best] >= key:
            break
        keys[hole] = keys[best]
        payload[hole] = payload[best]
        hole = best
    keys[hole] = key
    payload[hole] = value
    return size
