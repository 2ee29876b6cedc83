"""Public pseudo-random vectors from a nonce, equal on every machine.

Word i is splitmix64's finalizer of nonce + (i + 1) · 0x9E3779B97F4A7C15 mod 2^64. Its bits give
five coordinates of 12 bits, each an index of 4,096 quantiles of the normal distribution. Privacy
does not depend on them.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

GOLDEN = 0x9E3779B97F4A7C15
FIRST = 0xBF58476D1CE4E5B9
SECOND = 0x94D049BB133111EB
PER_WORD = 5
BITS = 12
STEPS = 1024
"""Integer steps of a coordinate in one standard deviation."""


@cache
def quantiles() -> NDArray[np.int16]:
    """The values of a coordinate, in steps, shape (4096,)."""
    import numpy as np

    n = 1 << BITS
    upper = [round(STEPS * NormalDist().inv_cdf((n // 2 + i + 0.5) / n)) for i in range(n // 2)]
    return np.array([-x for x in reversed(upper)] + upper, np.int16)


def words(nonce: int, first: int, count: int) -> NDArray[np.uint64]:
    """The words first … first + count - 1 of a nonce's stream, shape (count,)."""
    import numpy as np

    with np.errstate(over="ignore"):
        x = np.uint64(nonce) + np.arange(first + 1, first + 1 + count, dtype=np.uint64) * np.uint64(
            GOLDEN
        )
        x = (x ^ (x >> np.uint64(30))) * np.uint64(FIRST)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(SECOND)
    return x ^ (x >> np.uint64(31))


def words_each(dimension: int) -> int:
    """Number of words of a vector."""
    return -(-dimension // PER_WORD)


def vectors(nonce: int, count: int, dimension: int) -> NDArray[np.float64]:
    """The first vectors of a nonce, with coordinates in steps, shape (count, dimension)."""
    import numpy as np

    each = words_each(dimension)
    cut = (
        words(nonce, 0, count * each)[:, None]
        >> (np.arange(PER_WORD, dtype=np.uint64) * np.uint64(BITS))
    ) & np.uint64((1 << BITS) - 1)
    return quantiles()[cut].reshape(count, each * PER_WORD)[:, :dimension].astype(np.float64)


def vector(nonce: int, index: int, dimension: int) -> Any:
    """The vector of an index, shape (dimension,)."""
    return vectors((nonce + index * words_each(dimension) * GOLDEN) % (1 << 64), 1, dimension)[0]
