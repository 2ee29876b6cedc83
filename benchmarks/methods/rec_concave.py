"""RecConcave: a solution of high quality, where quality rises to a top and falls after it (Beimel,
Nissim & Stemmer, "Private learning and sanitization: pure vs. approximate differential privacy",
Algorithm 3).

1. Up to 32 solutions: the exponential mechanism.
2. Else, by itself, for the length 2^j of an interval of good solutions.
3. In two shifted partitions into intervals of eight times that length, one interval each.
4. The exponential mechanism on the two.

**Privacy.** Every step is one selection of the gate (`PeeledQuery`); scores are minima and maxima
of qualities, so none moves by more. Adaptive composition. Step 3 uses the gate's selection,
epsilon-DP, in place of a noisy margin. The paper's promise is beyond most data sets
(`published_promise`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any

from benchmarks.methods.peeling import Intervals, Levels, Only

FEW = 32
"""So many solutions, or fewer, are left to the exponential mechanism."""
BETA = 0.1
"""The proof's probability to fail, where nothing else is said."""


def rec_concave(
    asked: Callable[[tuple[Any, ...]], Any],
    size: int,
    promise: int,
    alpha: float = 0.5,
    views: tuple[Any, ...] = (),
) -> Generator[Any, int, int]:
    """A solution, 0 to size - 1, of high quality. `asked` makes the selection for some views of the
    qualities, `selections_of(size)` times. `promise` is of the best quality, `alpha` what may be
    lost.
    """
    if size <= FEW:
        return (yield asked(views))
    levels = Levels(math.floor((1 - alpha) * promise), promise)
    length = 2 ** (
        yield from rec_concave(
            asked,
            (size - 2).bit_length() + 1,
            max(1, math.floor(alpha * promise / 2)),
            0.25,
            (*views, levels),
        )
    )
    near: set[int] = set()
    for offset in (0, 4 * length):
        intervals = Intervals(8 * length, offset)
        starts = [*intervals.starts(size).tolist(), size]
        at = yield asked((*views, intervals))
        near.update(range(starts[at], starts[at + 1]))
    indices = tuple(sorted(near))
    return indices[(yield asked((*views, Only(indices))))]


def selections_of(size: int) -> int:
    """How many selections `rec_concave` makes."""
    return 1 if size <= FEW else 3 + selections_of((size - 2).bit_length() + 1)


def iterated_log(x: float) -> int:
    """log*: how often the logarithm must be taken until at most 1 is left."""
    times = 0
    while x > 1:
        x = math.log(x)
        times = times + 1
    return times


def published_promise(size: int, epsilon: float, delta: float, beta: float = BETA) -> float:
    """The promise Gamma of Algorithm 2, line 3, in records, for radii up to `size`."""
    star = max(1, iterated_log(size))
    return 8.0**star * 144 * star / epsilon * math.log(12 * star / (beta * delta))


def records_needed(k: int, epsilon: float, delta: float, dimension: int) -> int:
    """Fewest records for which a ball of the first round, ``3n / (8k)``, reaches the published
    promise, with ``8k/3 · ln n`` rounds and as many cells as records.
    """

    def enough(n: int) -> bool:
        rounds = 8 * k / 3 * math.log(n)
        size = math.ceil(n ** (1 / dimension) * math.sqrt(dimension))
        return 3 * n / (8 * k) >= published_promise(
            size, epsilon / rounds, delta / rounds, BETA / rounds
        )

    low = 3
    high = 4
    while not enough(high):
        low = high
        high = 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
