"""Sketches of locally randomized messages, and the Walsh–Hadamard transform that decodes them."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.kernels.mixing import GOLDEN, mixed


@njit(cache=True, nogil=True)
def add_hashes(table: NDArray, functions: NDArray, hashes: NDArray, log_buckets: int) -> None:
    """Add the characters of messages of local hashing to `table` (2^t,).

    A message (H, s) supports values v with H v = s, H a Hankel matrix over GF(2). Its indicator is
    the mean over c in GF(2)^l of (-1)^(c · s) times the character H^T c at v. O(2^l) a message, in
    Gray code's order.
    """
    mask = np.uint64(len(table) - 1)
    one = np.uint64(1)
    buckets = 1 << log_buckets
    for i in range(len(functions)):
        index = np.uint64(0)
        sign = np.int64(1)
        table[0] += 1
        for c in range(1, buckets):
            bit = np.uint64(0)
            while not (c >> np.int64(bit)) & 1:
                bit += one
            index ^= (functions[i] >> bit) & mask
            if (hashes[i] >> bit) & one:
                sign = -sign
            table[np.int64(index)] += sign


@njit(cache=True, nogil=True)
def walsh(table: NDArray) -> None:
    """Walsh–Hadamard transform of `table` (2^t, d) in place, in integers. O(t · 2^t · d)."""
    half = 1
    while half < len(table):
        for start in range(0, len(table), 2 * half):
            for row in range(start, start + half):
                for x in range(table.shape[1]):
                    low = table[row, x]
                    high = table[row + half, x]
                    table[row, x] = low + high
                    table[row + half, x] = low - high
        half *= 2


@njit(cache=True, nogil=True)
def add_vectors(
    sums: NDArray, characters: NDArray, nonces: NDArray, indices: NDArray, quantiles: NDArray
) -> None:
    """Expand the vectors that messages encode, and add each to the row of its character."""
    d = sums.shape[1]
    each = (d + 4) // 5
    for i in range(len(nonces)):
        at = np.int64(characters[i])
        state = nonces[i] + indices[i] * np.uint64(each) * GOLDEN
        for word in range(each):
            state += GOLDEN
            z = mixed(state)
            for x in range(5 * word, min(5 * word + 5, d)):
                sums[at, x] += quantiles[np.int64(z & np.uint64(4095))]
                z >>= np.uint64(12)
