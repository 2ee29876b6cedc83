"""Bounds of the least cost of one part with 0, 1, ... centers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.kernels.dual_ascent import cheapest
from metricdp.solvers import level_programs
from metricdp.solvers.block import block_search
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.entries import Entries
from metricdp.solvers.level_programs import TRUST, CheapestRows, Found, answered
from metricdp.solvers.stopping import NEVER, Deadline

_MOST_TRIES = 20
"""Attempts after which the bound is taken as it is."""
_MOST_SEARCHED = 1_000_000
"""Most pairs of a part for which a local search is run before a proof."""
_STARTS = 8  # time against a better target for the proof
_STEPS = 3000  # of the ascent; most end by patience
_PATIENCE = 40  # steps in vain before the pace is halved
_MIN_GAIN = 1e-7  # of the cost: less is no rise

Prove = Callable[[Ascent], Found]


class Part:
    """One part: its entries, and bounds of its least cost for each number of centers.

    `m`: number of its rows; `entries`: numbered within the part; `beyond`, `multipliers`
    (n_demand,): as in `Ascent`; `integral`: whether all costs are integers.

    `lower` (m + 1,): lower bound of the cost with so many rows, unless that is above what is of
    interest; `exact` (m + 1,): whether it is tight; `tries` (m + 1,): attempts to improve it;
    `all_improved`: whether `improve_all` was called; `best_rows`: best rows found by their number;
    `best` (m + 1,): their costs, infinite where there are none.
    """

    def __init__(
        self, m: int, entries: Entries, beyond: Floats, multipliers: Floats, integral: bool
    ) -> None:
        self.m = m
        self.entries = entries
        self.beyond = beyond
        self.integral = integral
        self.multipliers = np.minimum(multipliers, beyond)
        size = m + 1
        self.lower = np.full(size, -np.inf)
        self.exact = np.zeros(size, bool)
        self.tries = np.zeros(size, np.int64)
        self.all_improved = False
        self.best_rows: dict[int, Ints] = {}
        self.best = np.full(size, np.inf)
        self._update_bounds()
        if len(entries.cost) == 0:  # no row serves anybody
            self.lower[:] = self.best[:] = beyond.sum()
            self.exact[:] = True
            self.best_rows = {q: np.arange(q) for q in range(size)}

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.entries.cost)

    def priority(self, q: int) -> tuple[int, int]:
        """Order of attempts: fewest tries first, then the smallest part."""
        return (int(self.tries[q]) + (self.all_improved and self.tries[q] > 0), self.size)

    def _ascent(self, q: int, cutoff: float) -> Ascent:
        """An ascent for solutions with q centers that cost at most `cutoff`."""
        nothing = np.empty(0, np.int64)
        ascent = Ascent(self.entries, self.beyond, q, cutoff, nothing, self.integral, NEVER)
        ascent.target = cutoff
        ascent.best = self.multipliers
        return ascent

    def _update_bounds(self) -> None:
        """Raise all bounds by the multipliers."""
        self._raise_bounds(self._ascent(self.m, np.inf).by_number(self.multipliers))

    def _ascend(self, ascent: Ascent, deadline: Deadline) -> None:
        """Improve the multipliers by an ascent of this part."""
        ascent.deadline = deadline
        ascent.climb(ascent.best, _STEPS, patience=_PATIENCE, min_gain=_MIN_GAIN)
        self.multipliers = ascent.best
        self._update_bounds()

    def _raise_bounds(self, values: Floats) -> None:
        """Raise inexact bounds. More centers never cost more, so a bound holds for fewer, too."""
        values = np.ceil(values) if self.integral else values
        least = np.maximum.accumulate(np.maximum(values, self.lower)[::-1])[::-1]
        self.lower = np.where(self.exact, self.lower, least)

    def improve(
        self, q: int, cutoff: float, prove: Prove, deadline: Deadline, seconds: float
    ) -> None:
        """Raise the bound for q centers that is not exact: by an ascent first, then by `prove`
        within `seconds`, twice as many each time. Only costs up to `cutoff` are of interest.
        """
        ascent = self._ascent(q, cutoff)
        self.tries[q] += 1
        chosen = None
        if self.tries[q] == 1:
            self._ascend(ascent, deadline)
            bound = ascent.bound
            self._local_search(q)
        else:
            seconds *= 2.0 ** (self.tries[q] - 2)
            with Deadline(min(seconds, max(deadline.left, 0.0))) as ascent.deadline:
                chosen, bound = prove(ascent)
        bound = np.ceil(bound) if self.integral else bound
        beyond = bound > cutoff
        if beyond:
            bound = np.floor(cutoff) + 1 if self.integral else np.nextafter(cutoff, np.inf)
        self.keep(chosen)
        values = np.full(len(self.lower), -np.inf)
        values[q] = bound
        self._raise_bounds(values)
        self.exact[q] = beyond or self.tries[q] > _MOST_TRIES
        self._check_exact(q)

    def improve_all(
        self, price: float, budgets: Floats, deadline: Deadline, seconds: float
    ) -> None:
        """Raise all bounds by one program with an opening cost of `price` a center; costs up to
        `budgets` are of interest.
        """
        self.all_improved = True
        number = np.arange(self.m + 1)
        ascent = self._ascent(int(np.argmin(self.lower + price * number)), np.inf)
        ascent.upper = float(max(budgets[ascent.k], self.lower[ascent.k] + 1.0))
        self._ascend(ascent, deadline)
        reduced = ascent.reduced(self.multipliers)
        total = float(self.multipliers.sum())
        gain = float(np.minimum(reduced + price, 0.0).sum())
        margin = ascent.margin(total, gain, len(ascent.rows))
        least = np.maximum(self.lower, total + gain - margin - price * number)
        possible = np.flatnonzero(budgets >= least)
        if len(possible) == 0:
            return
        target = float((budgets + price * number)[possible].max())
        # Reduced-cost fixing of rows and entries before the program.
        slack = target - (total + gain) + margin
        opening = np.maximum(reduced + price, 0.0)
        rows = np.flatnonzero(opening <= slack)
        entries = self.entries.among(rows, self.multipliers, (slack - opening)[rows])
        if len(entries.cost) > level_programs.MOST_PAIRS:
            return
        beyond = np.where(self.beyond - self.multipliers > slack, np.inf, self.beyond)
        required = (reduced + price < -slack)[rows]
        with Deadline(min(seconds, max(deadline.left, 0.0))) as limit:
            chosen, bound = answered(
                CheapestRows(
                    entries, beyond, required, int(possible[0]), int(possible[-1]), target, price
                ),
                limit,
            )
        above = np.floor(target) + 1 if self.integral and price.is_integer() else target
        values = min(bound, above) - price * number
        values -= 4 * np.finfo(float).eps * (abs(bound) + price * len(number))
        self.keep(None if chosen is None else rows[chosen])
        self._raise_bounds(np.where((budgets >= least) & (bound > -np.inf), values, self.lower))
        for q in self.best_rows:
            self._check_exact(q)

    def _local_search(self, q: int) -> None:
        """Good rows, often the best: a proof needs them as an upper bound."""
        served = len(self.beyond)
        if not 0 < q < self.m or self.m * served > _MOST_SEARCHED:
            return
        large = 2.0 * float(self.entries.cost.max(initial=0.0)) * served + 1.0
        block = np.full((self.m, served), large)
        block[self.entries.row, self.entries.client] = self.entries.cost
        block = np.minimum(block, self.beyond).astype(np.float32)
        self.keep(
            block_search(block, np.ones(served), q, np.random.default_rng(q), starts=_STARTS)[0]
        )

    def keep(self, chosen: Ints | None) -> None:
        """Keep these rows if they are the best of their number."""
        cost = np.inf if chosen is None else self.cost(chosen)
        if chosen is not None and cost < self.best[len(chosen)]:
            self.best_rows[len(chosen)] = chosen
            self.best[len(chosen)] = cost

    def _check_exact(self, q: int) -> None:
        """Mark the bound as exact if the best rows reach it."""
        if self.best[q] <= self.lower[q] * (1 + 2 * TRUST):
            self.exact[q] = True

    def cost(self, rows: Ints) -> float:
        """Cost of serving the part from these rows."""
        least = self.beyond.copy()
        cheapest(*self.entries, rows, least)
        return float(least.sum())
