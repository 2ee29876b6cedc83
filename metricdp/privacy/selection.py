"""Exact private selection of one candidate by integer scores, in one pass, with entropy of the
operating system.

The candidate of largest ``eta * s_i + X_i`` has the distribution of the **exponential mechanism**
if the X_i are Gumbel ([1]_, proposition 5), and of **permute-and-flip** if they are exponential
([2]_, theorem 5). 64 bits of each X_i are drawn at first. Floating point decides only comparisons
whose result its proven error cannot change; for the others as many further bits are drawn as it
takes (``kernels/race.py``).

**Privacy.** Proof P8 (``docs/proofs/08-selection.md``). With eta = epsilon / r for a query of
*range* r, both are epsilon-DP, and the exponential mechanism's privacy loss has range epsilon
(`Cost.selection`). Monotone scores that change by at most D have r = D, others r = 2D.
*Composition*: one charge for each selection.

References
----------
.. [1] J. Yellott, "The relationship between Luce's choice axiom, Thurstone's theory of comparative
   judgment, and the double exponential distribution", J. Math. Psych. 1977.
.. [2] Z. Ding et al., "The permute-and-flip mechanism is identical to report-noisy-max with
   exponential noise", 2021; R. McKenna, D. Sheldon, "Permute-and-flip", NeurIPS 2020.
"""

import os
from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting.logarithms import clock_bounds as _clock
from metricdp.arguments import Ints
from metricdp.kernels.race import clock, race

Selector = Literal["exponential mechanism", "permute-and-flip"]
BLOCK = 1 << 18
"""Candidates at a time: 2 MB of scores and 2 MB of bits."""


def choose(blocks: Iterable[Ints], eta: Fraction, name: Selector) -> int:
    """The index of the selected candidate, among the scores of all blocks in order.

    `eta`: factor of the scores. One pass, O(`BLOCK`) memory besides the caller's blocks; about 20
    ns a candidate.
    """
    leader = _Leader(name == "exponential mechanism", eta)
    offset = 0
    for block in blocks:
        for start in range(0, len(block), BLOCK):
            part = block[start : start + BLOCK]
            leader.challenge(part, np.frombuffer(os.urandom(8 * len(part)), np.uint64), offset)
            offset += len(part)
    return leader.position


class _Leader:
    """The best candidate so far: position, score, and the random bits drawn for it."""

    def __init__(self, gumbel: bool, eta: Fraction) -> None:
        self._take(-1, 0, 0, 64)
        self._gumbel, self._eta = gumbel, eta

    def challenge(self, scores: Ints, bits: NDArray[np.uint64], offset: int) -> None:
        """Compare candidates `offset`, `offset + 1`, … with the leader."""
        at = 0
        factor = float(self._eta)
        known = self.position >= 0
        while at < len(scores):
            top = np.uint64(self._bits >> (self._n_bits - 64))
            t, error = clock(top, self._gumbel) if known and top else (0.0, np.inf)
            state = (-1 if known else -2, self._score, t, error)
            at, winner, *_ = race(scores, bits, at, factor, self._gumbel, *state)
            if winner >= 0:
                self._take(offset + winner, int(scores[winner]), int(bits[winner]), 64)
            if at < len(scores):
                self._duel(offset + at, int(scores[at]), int(bits[at]))
            at = at + 1
            known = True

    def _take(self, position: int, score: int, bits: int, n_bits: int) -> None:
        self.position, self._score, self._bits, self._n_bits = position, score, bits, n_bits

    def _duel(self, position: int, score: int, bits: int) -> None:
        """Decide one comparison exactly: draw bits for both until their intervals are disjoint."""
        if self.position < 0:
            return self._take(position, score, bits, 64)
        n_bits = 64
        lead = self._eta * (score - self._score)
        while True:
            low, high = _clock(bits, n_bits, self._gumbel)
            own_low, own_high = _clock(self._bits, self._n_bits, self._gumbel)
            if low + lead > own_high:
                return self._take(position, score, bits, n_bits)
            if high + lead < own_low:
                return None
            bits = _more(bits)
            n_bits = n_bits + 64
            self._bits, self._n_bits = _more(self._bits), self._n_bits + 64


def _more(bits: int) -> int:
    return bits << 64 | int.from_bytes(os.urandom(8), "big")
