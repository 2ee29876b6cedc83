"""Recorded randomness: each random draw of the real code takes its value from a script, and its
exact probability is recorded.

OpenDP's measurements and the gate's selection are replaced; all other code runs unchanged.
`scripts` enumerates all scripts, also where later draws depend on earlier ones.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints
from metricdp.audit import distributions
from metricdp.audit.patch import noise_from, patched
from metricdp.privacy import gate

FAR = 60
"""Beyond all exact answers on tiny worlds, so that such an output attains the worst ratio."""


@dataclass(frozen=True)
class Draw:
    """One draw: kind, scale, exact answer, number of choices (`radix`), choice, log probability."""

    kind: str
    scale: float
    exact: NDArray[Any]
    radix: int
    choice: int
    log_p: float


class Coins(tuple[int, ...]):
    """An empty script, whose choices are drawn at random by `coin`."""

    coin: Callable[[int], int]


@dataclass
class Recording:
    """A script of choices (beyond its end 0, or random ones) and the draws that it answered."""

    script: Sequence[int] = ()
    draws: list[Draw] = field(default_factory=list)

    @property
    def log_p(self) -> float:
        """Log probability of all choices together."""
        each = [draw.log_p for draw in self.draws]
        return -math.inf if -math.inf in each else math.fsum(each)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Kinds and lengths of all draws, which must be the same on all demands."""
        return tuple((d.kind, len(d.exact)) for d in self.draws)

    def choose(self, radix: int) -> int:
        """The next choice of the script, of `radix` possible ones."""
        if len(self.draws) < len(self.script):
            return self.script[len(self.draws)]
        return self.script.coin(radix) if isinstance(self.script, Coins) else 0

    def noise(self, real: Any, kind: str, scale: float, exact: Sequence[int]) -> list[int]:
        """Answer a draw of noise by one of the `patterns` of its length."""
        possible = patterns(len(exact))
        choice = min(self.choose(len(possible)), len(possible) - 1)
        log_pmf = distributions.log_laplace if kind == "laplace" else distributions.log_gaussian
        log_p = float(log_pmf(possible[choice] - np.asarray(exact), scale).sum())
        self.draws.append(Draw(kind, scale, np.asarray(exact), len(possible), choice, log_p))
        return [int(v) for v in possible[choice]]

    def selection(self, blocks: Iterable[Ints], eta: Fraction, distribution: str) -> int:
        """Answer a selection by the chosen candidate (the last, of probability 0, if there is
        none).
        """
        scores = np.concatenate([np.asarray(block) for block in blocks])
        choice = self.choose(len(scores))
        log_p = -math.inf
        if choice < len(scores):
            log_p = float(distributions.DISTRIBUTIONS[distribution](scores, eta)[choice])
        self.draws.append(Draw(distribution, float(1 / eta), scores, len(scores), choice, log_p))
        return min(choice, len(scores) - 1)


@lru_cache(maxsize=64)
def patterns(n: int) -> Ints:
    """Outputs for n coordinates (n_patterns, n): all combinations of far below and far above (for n
    > 3, all four combinations of any two coordinates), and one of ordinary size.
    """
    at = np.arange(n)
    if n <= 3:
        high = [(number >> at & 1).astype(bool) for number in range(2**n)]
    else:
        digits = [(at >> d & 1).astype(bool) for d in range(int(n - 1).bit_length())]
        high = [np.zeros(n, bool), np.ones(n, bool), *digits, *(~d for d in digits)]
    rows = [np.where(h, FAR, -FAR) for h in high]
    return np.array([*rows, at % 3], dtype=np.int64).reshape(-1, n)


@contextmanager
def recorded(recording: Recording) -> Iterator[Recording]:
    """Let all noise and all selections in a block come from the recording."""
    with noise_from(recording.noise), patched(gate, "choose", recording.selection):
        yield recording


def scripts(
    run: Callable[[Sequence[int]], Recording], limit: int = 10**6
) -> Iterator[tuple[int, ...]]:
    """All scripts in order or, if there are more than `limit`, at most that many random ones."""
    found: list[tuple[int, ...]] = []
    script: list[int] = []
    while len(found) <= limit:
        draws = run(script).draws
        found.append(tuple(d.choice for d in draws))
        at = len(draws) - 1
        while at >= 0 and draws[at].choice + 1 >= draws[at].radix:
            at -= 1
        if at < 0:
            yield from found
            return
        script = [*found[-1][:at], found[-1][at] + 1]
    rng = np.random.default_rng(0)
    coins = Coins()
    coins.coin = lambda radix: int(rng.integers(radix))
    yield from dict.fromkeys(tuple(d.choice for d in run(coins).draws) for _ in range(limit))
