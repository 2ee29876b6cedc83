"""A 1-median on rings around a first center: Algorithm 5 of Cohen-Addad et al. (KDD 2022), with its
leak closed.

The paper's radii follow the private cost, for which nothing is paid, and its Lemma 5 misses a
factor of 2. Here rings are shells at public fractions of the box's diagonal.

**Privacy.** Steps of `metricdp.methods.box.descent` to a first center; one histogram of
shells around it decides which stay; further steps inside them. Whether a record is in the sample is
a function of its own place and public coins, which save work, not budget.
"""

from __future__ import annotations

from collections.abc import Generator
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from metricdp.accounting import Budget
from metricdp.arguments import Amount, Bools, Floats, Ints, count, positive, shown
from metricdp.errors import InputError
from metricdp.methods.asking import Ask, Terms, deviation, level_shares, price_in_shares
from metricdp.methods.box.descent import (
    MOST_STEPS,
    N_SHELLS,
    RATIO,
    least_of_steps,
    lloyd_step,
    lloyd_steps,
)
from metricdp.methods.question import Result
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import Shells, WholeBox
from metricdp.privacy import HistogramQuery, PrivateDemand
from metricdp.protocols import trusted
from metricdp.running.charging import Accountant
from metricdp.running.private_centers import GROWTH, STEPS, _start
from metricdp.running.runner import Run

RING_SHARE = Fraction(1, 2)
RING_STEPS = 2
"""Share for the center of the rings; steps that follow inside them."""
KEPT = 3.0
"""A ring stays if its noisy count is this many standard deviations above nothing."""


def ring_median(
    space: EuclideanSpace,
    demand: PrivateDemand,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    ledger: Budget | None = None,
    center: ArrayLike | None = None,
    steps: int = STEPS[1],
    sample: float = 1.0,
    seed: int = 0,
) -> Result:
    """The private 1-median by rings; arguments as `metricdp.private_median`.

    Parameters
    ----------
    space, demand, epsilon, delta, ledger, center
    steps : int
        Of the first search.
    sample : float
        About which part of the records' places is looked at, 1 for all.
    seed : int
        Public coins.

    Examples
    --------
    >>> from benchmarks.methods.rings import ring_median
    >>> space = mdp.EuclideanSpace([0, 0], [100, 100])
    >>> demand = mdp.PrivateDemand(space, np.random.default_rng(0).normal([30, 60], 1, (5000, 2)))
    >>> ring_median(space, demand, epsilon=2.0).centers.round(-1)
    array([[30., 60.]])
    """
    share = positive(sample, "sample")
    if share > 1:
        raise InputError(f"sample must be at most 1, got {shown(sample)}")
    shares = level_shares(GROWTH[1], count(steps, "steps", 1, MOST_STEPS))
    first = [part * RING_SHARE for part in shares]
    start = _start(space, center)

    def work(terms: Terms) -> Generator[Any, Any, Floats]:
        at = yield from lloyd_steps(terms, space, start, first, power=1)
        return (yield from _on_rings(terms, space, at, share, seed))

    def confirm(terms: Terms) -> None:
        terms.scale_of(least_of_steps(space, [*first, *_ring_shares()]))

    budget, accountant = (epsilon, delta), Accountant(space, demand, ledger)
    run = Run(demand, accountant.charge(price_in_shares, confirm, [budget], "private_median"))
    centers = run.drive(work(run.terms))
    return Result(centers, len(centers), "private-median, rings", run.receipt)


def _ring_shares() -> list[Fraction]:
    """Of the rings' histogram, and of the steps after it."""
    rest = 1 - RING_SHARE
    return [rest / 5, *([rest * Fraction(4, 5) / RING_STEPS] * RING_STEPS)]


def _on_rings(
    terms: Terms, space: EuclideanSpace, center: Floats, sample: float, seed: int
) -> Generator[Any, Any, Floats]:
    """Algorithm 5 from its second line on: rings that hold enough, and steps of their sample."""
    shells = Shells(WholeBox(space), center, N_SHELLS, RATIO)
    counts, *steps = _ring_shares()
    seen = yield Ask(HistogramQuery(shells), counts)
    kept = seen.values > KEPT * deviation(seen)
    held = np.where(kept, seen.values, 0)
    inner = np.argmax(np.cumsum(held[::-1]) * 2 >= held.sum())
    # within the median distance all is one ball, whose records are near the center
    kept[len(kept) - 1 - inner :] = True
    rings = Rings(space, shells, kept, sample, seed)
    for share in steps:
        both = np.repeat(center, 2, axis=0)
        center = (yield from lloyd_step(terms, rings, both, share, power=1))[:1]
    return center


@trusted
class Rings:
    """A box cut in two: the rings around a center that are kept, as far as public coins sample
    them, and all else.

    `shells`: around one center; `kept` (n_shells,).
    """

    n_parts = 2

    def __init__(
        self, space: EuclideanSpace, shells: Shells, kept: Bools, sample: float, seed: int
    ) -> None:
        self.universe = space
        self._shells = shells
        self._kept = kept
        self._sample = sample
        self._key = np.uint64(np.random.default_rng([seed, 23]).integers(2**63))

    def encode(self, records: Floats) -> Ints:
        """0 for points of the sample in kept rings, else 1, shape (n,)."""
        kept = self._kept[self._shells.encode(records)]
        if self._sample < 1:
            kept &= (
                place_coins(np.ascontiguousarray(records, np.float64).view(np.uint64), self._key)
                < self._sample
            )
        return np.where(kept, 0, 1)


@njit(cache=True, nogil=True)
def place_coins(bits: NDArray[np.uint64], key: int) -> NDArray[np.float64]:
    """A public number in [0, 1) for each row of bits and a key; equal rows get equal ones."""
    found = np.empty(len(bits), np.float64)
    for i in range(len(bits)):
        x = np.uint64(key)
        for j in range(bits.shape[1]):
            x = (x ^ bits[i, j]) + np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
        found[i] = np.float64(x >> np.uint64(11)) * 2.0**-53
    return found
