"""One part of a problem: what is known of its least cost with 0, 1, ... centers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metricdp.arrays import Floats, Ints
from metricdp.kernels.dual_ascent import cheapest
from metricdp.solvers import level_programs
from metricdp.solvers.block import block_search
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.entries import Entries
from metricdp.solvers.level_programs import TRUST, CheapestRows, Found, answered
from metricdp.solvers.stopping import NEVER, Deadline

_MOST_TRIES = 20
"""After which the bound has to do."""
_MOST_SEARCHED = 1_000_000
"""Pairs of a part that is searched before it is asked."""
_STARTS = 8  # time against a better target for the proof
_STEPS = 3000  # of the ascent; most end by patience
_PATIENCE = 40  # steps in vain before the pace is halved
_LEAST = 1e-7  # of the cost: less is no rise

Settle = Callable[[Ascent], Found]


class Part:
    """One part: its entries, and what is known of its least cost by the number of centers.

    `m`: number of its rows; `entries`: numbered within the part; `beyond`, `multipliers`
    (n_demand,): of its demand points; `whole`: whether all costs are whole numbers.

    `lower` (m + 1,): at most the least cost with so many of the rows, or than is of interest;
    `exact` (m + 1,): whether it is settled; `tries` (m + 1,): how often it was asked; `asked`:
    whether all numbers were asked at once; `found`: the part's own numbers of so many rows, the
    best seen; `known` (m + 1,): what they cost; infinite where there are none.
    """

    def __init__(
        self, m: int, entries: Entries, beyond: Floats, multipliers: Floats, whole: bool
    ) -> None:
        self.m = m
        self.entries = entries
        self.beyond = beyond
        self.whole = whole
        self.multipliers = np.minimum(multipliers, beyond)
        size = m + 1
        self.lower = np.full(size, -np.inf)
        self.exact = np.zeros(size, bool)
        self.tries = np.zeros(size, np.int64)
        self.asked = False
        self.found: dict[int, Ints] = {}
        self.known = np.full(size, np.inf)
        self._learn()
        if len(entries.cost) == 0:  # no row serves anybody
            self.lower[:] = self.known[:] = beyond.sum()
            self.exact[:] = True
            self.found = {q: np.arange(q) for q in range(size)}

    @property
    def size(self) -> int:
        """Number of its entries."""
        return len(self.entries.cost)

    def turn(self, q: int) -> tuple[int, int]:
        """The next question: ascents first, then programs; the smallest of them."""
        return (int(self.tries[q]) + (self.asked and self.tries[q] > 0), self.size)

    def _ascent(self, q: int, most: float) -> Ascent:
        """For what costs at most `most` with q centers."""
        nothing = np.empty(0, np.int64)
        found = Ascent(self.entries, self.beyond, q, most, nothing, self.whole, NEVER)
        found.target = most
        found.best = self.multipliers
        return found

    def _learn(self) -> None:
        """Raise the bounds of all numbers of centers by the multipliers."""
        self._raise(self._ascent(self.m, np.inf).by_number(self.multipliers))

    def _climb(self, ascent: Ascent, deadline: Deadline) -> None:
        """Better multipliers, by an ascent of this part."""
        ascent.deadline = deadline
        ascent.climb(ascent.best, _STEPS, patience=_PATIENCE, least=_LEAST)
        self.multipliers = ascent.best
        self._learn()

    def _raise(self, values: Floats) -> None:
        """Exact ones stay. More centers never cost more, so a bound holds for fewer too."""
        values = np.ceil(values) if self.whole else values
        least = np.maximum.accumulate(np.maximum(values, self.lower)[::-1])[::-1]
        self.lower = np.where(self.exact, self.lower, least)

    def ask(self, q: int, most: float, settle: Settle, deadline: Deadline, seconds: float) -> None:
        """Raise the bound for q centers, not settled so far: by an ascent at first, then by
        `settle`, in so many seconds and each time twice as many; only what costs at most `most` is
        of interest.
        """
        ascent = self._ascent(q, most)
        self.tries[q] += 1
        chosen = None
        if self.tries[q] == 1:
            self._climb(ascent, deadline)
            bound = ascent.bound
            self._search(q)
        else:
            seconds *= 2.0 ** (self.tries[q] - 2)
            with Deadline(min(seconds, max(deadline.left, 0.0))) as ascent.deadline:
                chosen, bound = settle(ascent)
        bound = np.ceil(bound) if self.whole else bound
        beyond = bound > most
        if beyond:
            bound = np.floor(most) + 1 if self.whole else np.nextafter(most, np.inf)
        self.keep(chosen)
        values = np.full(len(self.lower), -np.inf)
        values[q] = bound
        self._raise(values)
        self.exact[q] = beyond or self.tries[q] > _MOST_TRIES
        self._reach(q)

    def ask_all(self, price: float, room: Floats, deadline: Deadline, seconds: float) -> None:
        """Raise all bounds by one program with `price` a center, up to `room`."""
        self.asked = True
        number = np.arange(self.m + 1)
        ascent = self._ascent(int(np.argmin(self.lower + price * number)), np.inf)
        ascent.upper = float(max(room[ascent.k], self.lower[ascent.k] + 1.0))
        self._climb(ascent, deadline)
        reduced = ascent.reduced(self.multipliers)
        total = float(self.multipliers.sum())
        gain = float(np.minimum(reduced + price, 0.0).sum())
        margin = ascent.margin(total, gain, len(ascent.rows))
        least = np.maximum(self.lower, total + gain - margin - price * number)
        some = np.flatnonzero(room >= least)
        if len(some) == 0:
            return
        target = float((room + price * number)[some].max())
        spare = target - (total + gain) + margin
        opening = np.maximum(reduced + price, 0.0)
        rows = np.flatnonzero(opening <= spare)
        entries = self.entries.among(rows, self.multipliers, (spare - opening)[rows])
        if len(entries.cost) > level_programs.MOST_PAIRS:
            return
        beyond = np.where(self.beyond - self.multipliers > spare, np.inf, self.beyond)
        must = (reduced + price < -spare)[rows]
        with Deadline(min(seconds, max(deadline.left, 0.0))) as limit:
            chosen, bound = answered(
                CheapestRows(entries, beyond, must, int(some[0]), int(some[-1]), target, price),
                limit,
            )
        above = np.floor(target) + 1 if self.whole and price.is_integer() else target
        values = min(bound, above) - price * number
        values -= 4 * np.finfo(float).eps * (abs(bound) + price * len(number))
        self.keep(None if chosen is None else rows[chosen])
        self._raise(np.where((room >= least) & (bound > -np.inf), values, self.lower))
        for q in self.found:
            self._reach(q)

    def _search(self, q: int) -> None:
        """Rows that are good, if not best: what a proof needs is often found so, in a moment."""
        served = len(self.beyond)
        if not 0 < q < self.m or self.m * served > _MOST_SEARCHED:
            return
        dear = 2.0 * float(self.entries.cost.max(initial=0.0)) * served + 1.0
        block = np.full((self.m, served), dear)
        block[self.entries.row, self.entries.client] = self.entries.cost
        block = np.minimum(block, self.beyond).astype(np.float32)
        self.keep(
            block_search(block, np.ones(served), q, np.random.default_rng(q), starts=_STARTS)[0]
        )

    def keep(self, chosen: Ints | None) -> None:
        """Take note of rows, if they are the best of so many."""
        cost = np.inf if chosen is None else self.cost(chosen)
        if chosen is not None and cost < self.known[len(chosen)]:
            self.found[len(chosen)] = chosen
            self.known[len(chosen)] = cost

    def _reach(self, q: int) -> None:
        """Whether the best rows known are as good as the bound."""
        if self.known[q] <= self.lower[q] * (1 + 2 * TRUST):
            self.exact[q] = True

    def cost(self, rows: Ints) -> float:
        """Of serving the part from some of its rows."""
        least = self.beyond.copy()
        cheapest(*self.entries, rows, least)
        return float(least.sum())
