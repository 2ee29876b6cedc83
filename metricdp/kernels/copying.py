"""Copies into arrays that exist."""

from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def copy_into(target: NDArray, source: NDArray) -> None:
    """``target[: len(source)] = source``, of one dimension.

    Numba compiles an error message into that, which takes each process 3 s once, and .3 s for each
    such line.
    """
    for i in range(len(source)):
        target[i] = source[i]
