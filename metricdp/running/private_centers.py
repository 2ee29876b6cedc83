"""One private center of demand in a box, its 1-median or 1-mean, and private Lloyd or Weiszfeld
steps from given centers.

**Privacy.** All three are steps of `metricdp.methods.box.private_lloyd`, for the ledger's relation
and the demand's unit. The ``"rings"`` of `private_median` first cut the box by a released
histogram.

Objective perturbation (Iyengar et al., IEEE S&P 2019) is not offered: its proof needs continuous
noise, and lattice noise gives the minimizers of neighbors disjoint supports.
``benchmarks/private_median.py`` measures it in floating point, on public data.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from metricdp.accounting import Budget
from metricdp.arguments import Amount, chosen, floats, integer, positive, shown
from metricdp.arrays import Floats
from metricdp.errors import InputError
from metricdp.methods.asking import Ask
from metricdp.methods.box.descent import distinct_in
from metricdp.methods.box.distances import N_SHELLS, RATIO
from metricdp.methods.box.private_lloyd import (
    MOST_STEPS,
    least_of_steps,
    lloyd_step,
    lloyd_steps,
)
from metricdp.methods.result import Result
from metricdp.methods.shares import Terms, deviation, level_shares, price_in_shares
from metricdp.metrics.space import EuclideanSpace
from metricdp.options import Coins, coins
from metricdp.partitions.box.cells import Shells, WholeBox
from metricdp.partitions.box.rings import Rings
from metricdp.privacy import HistogramQuery, PrivateDemand
from metricdp.protocols import box
from metricdp.running.attesting import attest, provenance
from metricdp.running.charging import Payer
from metricdp.running.runner import Run

METHODS = ("geometric", "rings")
STEPS = {1: 6, 2: 4}
GROWTH = {1: Fraction(3, 2), 2: Fraction(2)}
"""Steps to a median, and to a mean; what each gets of the one before's budget."""
RING_SHARE = Fraction(1, 2)
RING_STEPS = 2
"""Share for the center of the rings; steps that follow inside them."""
KEPT = 3.0
"""A ring stays if its noisy count is this many standard deviations above nothing."""


def private_median(
    space: EuclideanSpace,
    demand: PrivateDemand,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    ledger: Budget | None = None,
    method: str = "geometric",
    center: ArrayLike | None = None,
    steps: int = STEPS[1],
    sample: float = 1.0,
    seed: int = 0,
    rng: Coins | None = None,
) -> Result:
    """The private 1-median of demand in a box: a point of low sum of distances.

    Parameters
    ----------
    space : EuclideanSpace
    demand : PrivateDemand
        In `space`.
    epsilon : number
        What this call may spend, all of which is charged.
    delta : number
        With one, noise is Gaussian: less of it beyond about three coordinates.
    ledger : Ledger or Grant, optional
        Where it is charged; one of its own (add-remove) if none is given.
    method : {"geometric", "rings"}
        "geometric": private Newton steps on the sum of distances, after Haghifam, Steinke & Ullman.
        "rings": Algorithm 5 of Cohen-Addad et al. with its leak closed (`docs/private-centers.md`).
    center : array_like of shape (d,), optional
        A public guess to begin at; the middle of the box by default.
    steps : int
        Of the first search.
    sample : float
        Of "rings": about which part of the records' places is looked at, 1 for all.
    seed : int
        Of "rings": public coins.

    Returns
    -------
    Result
        ``centers`` of shape (1, d), and the receipt.

    Raises
    ------
    InputError, BudgetError
        As `metricdp.k_median`; nothing was charged.

    Notes
    -----
    **Privacy.** (epsilon, delta)-DP by composition of the steps
    (`metricdp.methods.box.private_lloyd`). "rings" cuts the box into shells around a released
    center; one histogram decides which stay. Whether a record is in the sample is a function of its
    own place and public coins, which save work, not budget. (The paper's radii follow the private
    cost, and its Lemma 5 misses a factor of 2.)

    O(n · d) time a step for n records.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [100, 100])
    >>> demand = mdp.PrivateDemand(space, np.random.default_rng(0).normal([30, 60], 1, (5000, 2)))
    >>> mdp.private_median(space, demand, epsilon=1.0).centers.round()
    array([[30., 60.]])
    """
    chosen(method, METHODS, "method")
    share = positive(sample, "sample")
    if share > 1:
        raise InputError(f"sample must be at most 1, got {shown(sample)}")
    seed = coins(seed, rng)
    first = _shares(steps, GROWTH[1])
    rings = method == "rings"
    shares = first if not rings else [*(s * RING_SHARE for s in first), *_ring_shares()]
    start = _start(space, center)

    def work(terms: Terms) -> Generator[Any, Any, Floats]:
        at = yield from lloyd_steps(terms, space, start, shares[: len(first)], power=1)
        return (yield from _on_rings(terms, space, at, share, seed)) if rings else at

    run = _charged(space, demand, shares, (epsilon, delta), ledger, "private_median")
    return _attested(run, work, f"private-median, {method}", "private_median")


def private_mean(
    space: EuclideanSpace,
    demand: PrivateDemand,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    ledger: Budget | None = None,
    center: ArrayLike | None = None,
    radius: float | None = None,
    steps: int | None = None,
) -> Result:
    """The private 1-mean of demand in a box.

    Parameters
    ----------
    space, demand, epsilon, delta, ledger, center
        As `private_median`.
    radius : float, optional
        Public: records farther than it from the current center count as if they were at that
        distance. By default the radius is paid for: found anew in each step.
    steps : int, optional
        By default 4, or one if `radius` is given.

    Returns
    -------
    Result
        ``centers`` of shape (1, d), and the receipt.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [100, 100])
    >>> demand = mdp.PrivateDemand(space, np.random.default_rng(0).normal([30, 60], 1, (5000, 2)))
    >>> mdp.private_mean(space, demand, epsilon=1.0).centers.round()
    array([[30., 60.]])
    """
    within = None if radius is None else positive(radius, "radius")
    shares = _shares((STEPS[2] if within is None else 1) if steps is None else steps, GROWTH[2])
    start = _start(space, center)
    run = _charged(space, demand, shares, (epsilon, delta), ledger, "private_mean")
    work = partial(lloyd_steps, space=space, centers=start, shares=shares, power=2, radius=within)
    return _attested(run, work, "private-mean", "private_mean")


def private_lloyd(
    space: EuclideanSpace,
    demand: PrivateDemand,
    centers: ArrayLike,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    ledger: Budget | None = None,
    power: int = 2,
    steps: int = 4,
    radius: float | None = None,
) -> Result:
    """Private Lloyd steps (for means) or Weiszfeld steps (for medians) from given centers.

    Parameters
    ----------
    space, demand, epsilon, delta, ledger
        As `private_median`.
    centers : array_like, shape (k, d)
        Public, or released before: never computed from the records otherwise.
    power : {2, 1}
        k-means or k-median.
    steps : int
        Each gets an equal part of the budget.
    radius : float, optional
        Public; as `private_mean`.

    Returns
    -------
    Result
        ``centers`` of shape (k, d), distinct, and the receipt.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> mdp.private_lloyd(space, demand, [[0.1, 0.1], [0.9, 0.9]], epsilon=4).centers.shape
    (2, 2)
    """
    if integer(power) not in (1, 2):
        raise InputError(f"power must be 1 or 2, got {shown(power)}")
    within = None if radius is None else positive(radius, "radius")
    shares = _shares(steps, Fraction(1))
    given = np.atleast_2d(floats(centers, "centers must be numbers"))
    start = distinct_in(_boxed(space), space.clip(given))
    run = _charged(space, demand, shares, (epsilon, delta), ledger, "private_lloyd")
    work = partial(
        lloyd_steps, space=space, centers=start, shares=shares, power=power, radius=within
    )
    return _attested(run, work, "private-lloyd", "private_lloyd")


def _ring_shares() -> list[Fraction]:
    """Of the rings' histogram, and of the steps after it."""
    rest = 1 - RING_SHARE
    return [rest / 5, *([rest * Fraction(4, 5) / RING_STEPS] * RING_STEPS)]


def _on_rings(
    terms: Terms, space: EuclideanSpace, center: Floats, sample: float, seed: int
) -> Generator[Any, Any, Floats]:
    """Algorithm 5 from its second line on: rings that hold enough, and steps of their sample."""
    shells = Shells(WholeBox(space), center, N_SHELLS, RATIO)
    count, *steps = _ring_shares()
    seen = yield Ask(HistogramQuery(shells), count)
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


def _shares(steps: Any, growth: Fraction) -> list[Fraction]:
    if not 1 <= (integer(steps) or 0) <= MOST_STEPS:
        raise InputError(f"steps must be an integer from 1 to {MOST_STEPS}, got {shown(steps)}")
    return level_shares(growth, int(steps))


def _boxed(space: Any) -> EuclideanSpace:
    got = type(space).__name__
    rule = f"space must be an EuclideanSpace(lower, upper), got {got}"
    return cast(EuclideanSpace, box(space, "space", rule))


def _start(space: Any, center: ArrayLike | None) -> Floats:
    box = _boxed(space)
    at = (box.lower + box.upper) / 2
    if center is not None:
        at = floats(center, "center must be numbers")
    return box.clip(at[None])


def _charged(
    space: EuclideanSpace,
    demand: PrivateDemand,
    shares: Sequence[Fraction],
    budget: tuple[Any, Any],
    ledger: Budget | None,
    purpose: str,
) -> Run:
    """A demand and its charged grant, once nothing else can be refused."""

    def confirm(terms: Terms) -> None:
        terms.scale_of(least_of_steps(space, shares))

    grant = Payer(space, demand, ledger).charge(price_in_shares, confirm, [budget], purpose)
    return Run(demand, grant)


def _attested(
    run: Run, work: Callable[[Terms], Generator[Any, Any, Floats]], method: str, call: str
) -> Result:
    """The centers that the work finds, with the public circumstances of the call on the receipt."""
    centers = run.drive(work(run.terms))
    made = provenance(
        call,
        run.demand,
        run.grant,
        method=method,
        chooses=(
            "Shares of the budget, clipping radii of the first step and the number of steps are "
            "public options; later radii and centers follow from what was released before."
        ),
        afterwards="Centers are quotients of noisy sums and noisy counts, clipped to the box.",
        options={"k": len(centers)},
    )
    return attest(Result(centers, len(centers), method, run.receipt), made)
