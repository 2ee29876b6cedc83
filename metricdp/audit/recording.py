"""Recorded randomness: every draw of the real code gives what a script says, and its exact
probability is kept.

It replaces OpenDP's measurements and the gate's selection; all else runs as it is. `scripts`
enumerates all scripts, also where later draws depend on earlier ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arrays import Ints
from metricdp.audit import distributions
from metricdp.audit.patch import noise_from, patched
from metricdp.privacy import gate

FAR = 60
"""Answers on tiny worlds are smaller: a value beyond it gives the worst ratio exactly."""


@dataclass(frozen=True)
class Draw:
    """One draw: kind and scale, hidden answer, number of scripts, which one, its probability."""

    kind: str
    scale: float
    exact: NDArray[Any]
    radix: int
    choice: int
    log_p: float


class Coins(tuple[int, ...]):
    """An empty script, all of whose choices are drawn."""

    coin: Callable[[int], int]


@dataclass
class Recording:
    """A script (0 or public coins beyond its end) and, after the run, the draws it answered."""

    script: Sequence[int] = ()
    draws: list[Draw] = field(default_factory=list)

    @property
    def log_p(self) -> float:
        """Log probability of all answers together."""
        each = [draw.log_p for draw in self.draws]
        return -math.inf if -math.inf in each else math.fsum(each)

    @property
    def shape(self) -> tuple[Any, ...]:
        """What was asked: kinds and lengths, the same on all demands or the length itself tells."""
        return tuple((d.kind, len(d.exact)) for d in self.draws)

    def choose(self, radix: int) -> int:
        """The next choice of the script."""
        if len(self.draws) < len(self.script):
            return self.script[len(self.draws)]
        return self.script.coin(radix) if isinstance(self.script, Coins) else 0

    def noise(self, real: Any, kind: str, scale: float, exact: Sequence[int]) -> list[int]:
        """Answer a draw of noise: one of the `patterns` of this length."""
        possible = patterns(len(exact))
        choice = min(self.choose(len(possible)), len(possible) - 1)
        log_pmf = distributions.log_laplace if kind == "laplace" else distributions.log_gaussian
        log_p = float(log_pmf(possible[choice] - np.asarray(exact), scale).sum())
        self.draws.append(Draw(kind, scale, np.asarray(exact), len(possible), choice, log_p))
        return [int(v) for v in possible[choice]]

    def selection(self, blocks: Iterable[Ints], eta: Fraction, distribution: str) -> int:
        """Answer a selection: the candidate of that number, or the last with probability 0."""
        scores = np.concatenate([np.asarray(block) for block in blocks])
        choice = self.choose(len(scores))
        log_p = -math.inf
        if choice < len(scores):
            log_p = float(distributions.DISTRIBUTIONS[distribution](scores, eta)[choice])
        self.draws.append(Draw(distribution, float(1 / eta), scores, len(scores), choice, log_p))
        return min(choice, len(scores) - 1)


@lru_cache(maxsize=64)
def patterns(n: int) -> Ints:
    """Outputs for n coordinates (n_patterns, n): every mix of far low and far high (n <= 3), and
    one of ordinary size. For more, any two coordinates get all four combinations.
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
    """Let all noise and all selections in this block come from the recording."""
    with noise_from(recording.noise), patched(gate, "choose", recording.selection):
        yield recording


def scripts(
    run: Callable[[Sequence[int]], Recording], limit: int = 10**6
) -> Iterator[tuple[int, ...]]:
    """All scripts in order, or `limit` different ones by public coins."""
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
