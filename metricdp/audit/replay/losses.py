"""The exact privacy loss of a transcript between two neighbors, and the share of the price it uses.

For outputs y_1, y_2, … the loss is the sum of ``log(P[y_t | D, y_<t] / P[y_t | D', y_<t])``. With a
delta, the rho of zCDP is added up: ``|v - w|² / (2 scale²)`` for discrete Gaussian noise around v
and w.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from metricdp.audit import distributions
from metricdp.audit.replay.transcript import Draw, Step, Transcript


@dataclass(frozen=True)
class Loss:
    """Privacy loss of draws. `seen`: log ratio of the outputs' probabilities; `most`: the largest
    for any output; `rho`: the largest Rényi divergence divided by its order.
    """

    seen: float = 0.0
    most: float = 0.0
    rho: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.seen + other.seen, self.most + other.most, self.rho + other.rho)


def loss_of(one: Draw, other: Draw) -> Loss:
    """The loss of one output, for the distributions of both runs."""
    if one.kind != other.kind or one.scale != other.scale:
        return Loss(math.inf, math.inf, math.inf)
    v, w = (draw.hidden.astype(object) for draw in (one, other))  # Python's integers: no rounding
    if one.kind == "laplace":
        distance = float(sum(abs(v - w)))
        seen = float(sum(abs(one.output - w) - abs(one.output - v))) / one.scale
        return Loss(
            seen, distance / one.scale, _laplace_rho(np.abs((v - w).astype(float)), one.scale)
        )
    if one.kind == "gaussian":
        seen = float(sum((v - w) * (2 * one.output - v - w))) / (2 * one.scale**2)
        return Loss(seen, math.inf, float(sum((v - w) ** 2)) / (2 * one.scale**2))
    p, q = (distributions.DISTRIBUTIONS[one.kind](d.hidden, one.scale) for d in (one, other))
    most = float(np.abs(p - q).max())
    rho = max(distributions.needed_rho(p, q), distributions.needed_rho(q, p))
    return Loss(float((p - q)[one.output]), most, rho)


def _laplace_rho(distance: NDArray[np.float64], scale: float) -> float:
    """Rényi divergence over order of discrete Laplace noise, summed over coordinates."""
    total = 0.0
    for shift in distance[distance > 0]:
        reach = math.ceil(40 * scale + shift)
        if reach > 10**5:
            total += (shift / scale) ** 2 / 2
            continue
        z = np.arange(-reach, reach + 1)
        total += distributions.needed_rho(
            distributions.log_laplace(z, scale), distributions.log_laplace(z - shift, scale)
        )
    return total


def of_step(one: Step, other: Step) -> Loss:
    """The loss of all outputs of one query; adaptive loops have no bound on single outputs."""
    total = Loss()
    for a, b in zip(one.draws, other.draws):
        total = total + loss_of(a, b)
    if len(one.draws) > 1 and any(draw.kind != "laplace" for draw in one.draws):
        return Loss(total.seen, abs(total.seen), total.rho)
    return total


def share_of_price(step: Step, loss: Loss) -> float:
    """Share of its price that the loss of one query uses."""
    if step.price is None:
        return 0.0 if not step.draws else math.inf
    epsilon, delta, rho = step.price
    if step.in_rho or delta:
        gaussian = any(d.kind == "gaussian" for d in step.draws)
        if rho is not None and (gaussian or step.in_rho):
            return _over(loss.rho, float(rho))
        return _over(abs(loss.seen), float(epsilon))
    return _over(max(abs(loss.seen), loss.most), float(epsilon))


def share_of_all(
    steps: Sequence[Step], losses: Sequence[Loss], spent: tuple[Fraction, Fraction]
) -> float:
    """Share of the charge that a transcript uses: the largest of loss, bound and drawn prices."""
    total = sum(losses, Loss())
    epsilon, delta = map(float, spent)
    if not delta:
        drawn = sum(float(step.price[0]) for step in steps if step.price and step.whole)
        return _over(max(abs(total.seen), total.most, drawn), epsilon)
    # Basic composition of what counts rho, at all of delta, with the pure steps.
    rho = math.fsum(one.rho for step, one in zip(steps, losses) if _counts_rho(step))
    pure = math.fsum(abs(one.seen) for step, one in zip(steps, losses) if not _counts_rho(step))
    basic = epsilon_of(rho, delta) + pure
    return min(_over(total.rho, rho_of(epsilon, delta)), _over(basic, epsilon))


def _counts_rho(step: Step) -> bool:
    return step.in_rho or any(draw.kind == "gaussian" for draw in step.draws)


def _over(loss: float, claim: float) -> float:
    if claim:
        return loss / claim
    return math.inf if loss > 1e-12 else 0.0


_ORDERS = 1 + np.exp(np.linspace(-10, 20, 20_001))


@lru_cache(maxsize=16)
def _overhead(delta: float) -> NDArray[np.float64]:
    """What `delta` adds to rho times the order, for each of `_ORDERS`."""
    a = _ORDERS
    return (math.log(1 / delta) + (a - 1) * np.log1p(-1 / a) - np.log(a)) / (a - 1)


def epsilon_of(rho: float, delta: float) -> float:
    """Least epsilon such that rho-zCDP implies (epsilon, delta)-DP, over a fine grid of orders."""
    return max(float((_ORDERS * rho + _overhead(delta)).min()), 0.0) if rho else 0.0


def rho_of(epsilon: float, delta: float) -> float:
    """Largest rho whose zCDP implies (epsilon, delta)-DP, over the same orders."""
    rho = float(((epsilon - _overhead(delta)) / _ORDERS).max())
    return rho * (1 + 1e-6)  # error of the grid


def difference(one: Transcript, other: Transcript) -> str:
    """A public difference of two transcripts; empty if there is none."""
    for at, (a, b) in enumerate(zip(one.steps, other.steps), 1):
        if a.described != b.described:
            return f"question {at} is another: {a.name} and {b.name}"
        if a.price != b.price:
            return f"question {at}, {a.name}, has another price"
        drawn, again = ([(d.kind, d.scale, len(d.hidden)) for d in s.draws] for s in (a, b))
        if drawn != again:
            return f"question {at}, {a.name}, has other draws"
    if (len(one.steps), len(one.draws)) != (len(other.steps), len(other.draws)):
        return f"{len(one.steps)} and {len(other.steps)} questions"
    return "" if one.paid == other.paid else "other payments"
