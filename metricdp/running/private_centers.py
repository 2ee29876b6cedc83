"""Private 1-median and 1-mean of demand in a box, and private Lloyd or Weiszfeld steps from given
centers.

**Privacy.** All three iterate `metricdp.methods.box.descent`, for the ledger's relation and
the demand's unit.

Objective perturbation (Iyengar et al., IEEE S&P 2019) is not offered: its proof needs continuous
noise, and lattice noise gives the minimizers of neighbors disjoint supports.
``benchmarks/private_median.py`` measures it in floating point, on public data.
"""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from metricdp.accounting import Budget
from metricdp.arguments import Amount, Floats, count, floats, integer, positive, shown
from metricdp.errors import InputError
from metricdp.methods.asking import Terms, level_shares, price_in_shares
from metricdp.methods.box.descent import MOST_STEPS, distinct_in, least_of_steps, lloyd_steps
from metricdp.methods.question import Result
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy import PrivateDemand
from metricdp.protocols import box
from metricdp.running.attesting import Description, attest, provenance
from metricdp.running.charging import Accountant
from metricdp.running.runner import Run

STEPS = {1: 6, 2: 4}
GROWTH = {1: Fraction(3, 2), 2: Fraction(2)}
"""By power: the number of steps, and the ratio of each step's budget to that of the step before."""
_DESCRIPTION = (
    "Shares of the budget, clipping radii of the first step and the number of steps are public "
    "options; later radii and centers follow from what was released before.",
    "Centers are quotients of noisy sums and noisy counts, clipped to the box.",
)


def private_median(
    space: EuclideanSpace,
    demand: PrivateDemand,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    ledger: Budget | None = None,
    center: ArrayLike | None = None,
    steps: int = STEPS[1],
) -> Result:
    """The private 1-median of demand in a box, a point of small sum of distances, by private Newton
    steps on it (after Haghifam, Steinke & Ullman).

    Parameters
    ----------
    space : EuclideanSpace
    demand : PrivateDemand
        In `space`.
    epsilon : number
        What this call may spend, all of which is charged.
    delta : number
        If positive, noise is Gaussian, which is smaller in more than about three dimensions.
    ledger : Ledger or BudgetSlice, optional
        Where it is charged; one of its own (add-remove) if none is given.
    center : array_like of shape (d,), optional
        A public starting point; the middle of the box by default.
    steps : int

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
    (`metricdp.methods.box.descent`).

    O(n · d) time a step for n records.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [100, 100])
    >>> demand = mdp.PrivateDemand(space, np.random.default_rng(0).normal([30, 60], 1, (5000, 2)))
    >>> mdp.private_median(space, demand, epsilon=1.0).centers.round()
    array([[30., 60.]])
    """
    amounts, start = (epsilon, delta, ledger), _start(space, center)
    return _iterated("private-median", space, demand, amounts, start, steps, GROWTH[1], power=1)


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
        Public clipping radius: records farther from the current center count as if they were at
        that distance. By default each step spends a part of its budget to choose the radius.
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
    steps = (STEPS[2] if radius is None else 1) if steps is None else steps
    amounts, start = (epsilon, delta, ledger), _start(space, center)
    return _iterated("private-mean", space, demand, amounts, start, steps, GROWTH[2], radius=radius)


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
        Public, or from an earlier release; never computed from the records in any other way.
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
    start = np.atleast_2d(floats(centers, "centers must be numbers"))
    count(len(start), "the number of centers", 1)
    amounts, start = (epsilon, delta, ledger), distinct_in(_boxed(space), space.clip(start))
    even = Fraction(1)
    return _iterated("private-lloyd", space, demand, amounts, start, steps, even, power, radius)


def _boxed(space: EuclideanSpace) -> EuclideanSpace:
    got = type(space).__name__
    rule = f"space must be an EuclideanSpace(lower, upper), got {got}"
    return cast(EuclideanSpace, box(space, "space", rule))


def _start(space: EuclideanSpace, center: ArrayLike | None) -> Floats:
    box = _boxed(space)
    at = (box.lower + box.upper) / 2
    if center is not None:
        at = floats(center, "center must be numbers")
    return box.clip(at[None])


def _iterated(
    method: str,
    space: EuclideanSpace,
    demand: PrivateDemand,
    amounts: tuple[Amount, Amount, Budget | None],
    start: Floats,
    steps: int,
    growth: Fraction,
    power: int = 2,
    radius: float | None = None,
) -> Result:
    """The centers after all steps. The ledger is charged once nothing else can be refused.

    `growth`: ratio of each step's budget to that of the step before; `radius`: clipping radius.
    """
    shares = level_shares(growth, count(steps, "steps", 1, MOST_STEPS))
    within = None if radius is None else positive(radius, "radius")

    def confirm(terms: Terms) -> None:
        terms.scale_of(least_of_steps(space, shares))

    epsilon, delta, ledger = amounts
    call, accountant = method.replace("-", "_"), Accountant(space, demand, ledger)
    run = Run(demand, accountant.charge(price_in_shares, confirm, [(epsilon, delta)], call))
    centers = run.drive(lloyd_steps(run.terms, space, start, shares, power=power, radius=within))
    facts = Description(method, *_DESCRIPTION)
    made = provenance(call, demand, run.budget, facts, {"k": len(centers)})
    return attest(Result(centers, len(centers), method, run.receipt), made)
