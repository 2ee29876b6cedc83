"""PrivTree's decisions against their one epsilon, over as many depths as make the bound tight.

The real gate runs on a script that splits the cells on one way down. The values that meet noise
there are read off, and the tails of discrete Laplace noise give the probabilities of each depth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricdp.accounting import Ledger
from metricdp.arrays import Floats, Ints
from metricdp.audit.patch import patched
from metricdp.audit.report import Check, Finding, weighed
from metricdp.metrics import EuclideanSpace
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.privacy import OpeningQuery, PrivateDemand, gate, measure, noise
from metricdp.releases import Neighboring

CHECK = "exact distribution of openings"
REACH = 0.6
DEPTH = 24
MOST = 60
"""Least share of epsilon that the worst neighbors must reach; depth; most units at a place."""
PLACES = (0.01, 0.99)


@dataclass(frozen=True)
class Opening:
    """Who is protected, and at what price."""

    relation: Neighboring
    m: int
    epsilon: Any = 1

    def __str__(self) -> str:
        return f"openings, {self.relation}" + (f", users of {self.m}" if self.m > 1 else "")


OPENINGS = (
    Opening("add-remove", 1),
    Opening("replace-one", 1),
    Opening("add-remove", 3),
    Opening("add-remove", 1, "1/4"),
)


def opening_checks() -> Iterator[Check]:
    """All prices."""
    for opening in OPENINGS:
        whole = opening.epsilon == 1
        name = str(opening) if whole else f"{opening}, ε {opening.epsilon}"
        yield Check.until(name, whole and opening.m == 1, _held, opening)


class _Scripted:
    """Noise that splits only the cells on the way to a place, and keeps what it was to hide."""

    def __init__(self, real: Any, cells: Any, place: float) -> None:
        self.scale, self.cost, self.mechanism = real.scale, real.cost, real.mechanism
        self.seen: list[int] = []
        self._cells = cells
        self._place = place

    def __call__(self, values: Ints) -> Ints:
        on = self._cells.leaves[self._cells.encode(np.array([[self._place]]))]
        first = len(self._cells.level) - len(values)  # decided upon are the newest cells
        self.seen.append(int(values[int(on[0]) - first]))
        self._cells = self._cells.open(on)
        return np.where(np.arange(first, first + len(values)) == on[0], 1, -1)


def _values(opening: Opening, n: int, place: float) -> tuple[list[int], float, float]:
    """What meets the noise on the way down to n records, its scale, and the charged epsilon."""
    space = EuclideanSpace([0.0], [1.0])
    cells = ShiftedQuadtree(space).opened()
    users = np.arange(n) // opening.m if opening.m > 1 else None
    most = None if users is None else opening.m
    demand = PrivateDemand(space, np.full((n, 1), place), user=users, max_contributions=most)
    made: list[_Scripted] = []

    def scripted(*given: Any) -> _Scripted:
        made.append(_Scripted(best(*given), cells, place))
        return made[0]

    best = noise.best_noise
    ledger = Ledger(opening.epsilon, neighboring=opening.relation)
    with patched(gate, "best_noise", scripted):
        measure(demand, OpeningQuery(cells, DEPTH), opening.epsilon, ledger.charge(opening.epsilon))
    return made[0].seen[:DEPTH], made[0].scale, float(ledger.spent)


def _outcomes(values: list[int], scale: float, first: int) -> Floats:
    """Log probability of each depth at which the way down may end, from decision `first` on."""
    x = np.array(values[first:], np.float64)
    log_q = -1.0 / scale
    low = np.minimum(x, 1 - x)  # P(noise >= 1 - x) = q^(1-x)/(1+q) for x <= 0, and its mirror image
    tail = np.exp(log_q * (1 - low)) / (1 + np.exp(log_q))
    opened, closed = (np.log(np.where(x <= 0, p, 1 - p)) for p in (tail, 1 - tail))
    before = np.concatenate([[0.0], np.cumsum(opened)])
    return np.append(before[:-1] + closed, before[-1])


def _held(name: str, opening: Opening, quick: bool, enough: float = math.inf) -> Finding:
    """Largest log ratio between neighbors over all outcomes, or one beyond so much of epsilon."""
    replaced = opening.relation == "replace-one"
    first = int(replaced)  # the root holds a unit wherever it goes
    leaves, comes = [0.0, 0.0], [0.0, 0.0]
    price = 1.0
    for at, place in enumerate(PLACES[: 1 + replaced]):
        before: Floats | None = None
        for n in range(0, MOST * opening.m + 1, opening.m):
            values, scale, price = _values(opening, n, place)
            distribution = _outcomes(values, scale, first)
            if before is not None:
                leaves[at] = max(leaves[at], float((before - distribution).max()))
                comes[at] = max(comes[at], float((distribution - before).max()))
            before = distribution
            if max(leaves[at], comes[at]) > enough * price:
                break
    worst = leaves[0] + comes[1] if replaced else max(leaves[0], comes[0])
    blind = worst < REACH * price / (2 if replaced else 1)
    claim, found = f"ε ≤ {price:.6g}", f"ε ≥ {worst:.6g}"
    return weighed(name, claim, found, CHECK, worst / price, blind)
