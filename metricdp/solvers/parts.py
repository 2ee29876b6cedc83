"""Proofs by parts: what is left of a problem often falls into parts that share nothing but the
number of centers.

When the pairs that no better solution has are dropped (`metricdp.solvers.dual_ascent.Ascent`,
``narrow``), candidates and demand points that are joined by no pair are independent: with
``F[c, q]`` the least cost of part c with q centers, whatever is better than the centers at hand
costs at least the minimum of the sum of ``F[c, q[c]]`` over all ways to share out the k centers.
That is found with bounds in place of F, and only the values that the cheapest way uses are made
exact, one after another, until nothing better than the centers at hand is left or the cheapest way
is made of exact values: then it is the best solution. Where costs are whole numbers, every value
is rounded up by itself, which closes gaps that the whole has.

One program bounds F[c, q] for all q at once, where every open row costs a price t: if no choice of
rows costs less than V with it, ``F[c, q] >= V - t * q``. Such a bound is the lower convex hull of
F; the multipliers' is that of the relaxation only. What a single q lacks above the hull is left to
a program, or branches, of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from metricdp.kernels.dual_ascent import cheapest
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.entries import Entries
from metricdp.solvers.level_programs import TRUST, Found, Question, answered
from metricdp.solvers.stopping import NEVER, Deadline

_SECONDS = 5.0
"""For the first attempt at a value; twice as many for each further."""
_MOST_TRIES = 20
"""After which the bound has to do."""
MOST_PAIRS = 60_000
"""Larger programs are not begun."""
_WHOLE_PRICE = 0.05
"""Where costs are whole numbers, so is a price that is so near to one."""
_STEPS = 3000
_PATIENCE = 40
_LEAST = 1e-7

Settle = Callable[[Ascent], Found]


def cheapest_of_parts(ascent: Ascent, settle: Settle) -> Found:
    """The best rows within the target of a narrowed ascent, by the least costs of its parts.

    Parameters
    ----------
    ascent : Ascent
        Narrowed; its deadline ends the search.
    settle : callable
        Finds the best rows of a part.

    Returns
    -------
    rows : ndarray of int64 or None
        In the ascent's own numbers; None if there are none. Where time is short, the best known.
    bound : float
        What any solution within the target costs at least; infinite if there is none.
    """
    parts = _parts(ascent)
    k = ascent.k - int(np.count_nonzero(ascent.must))
    if parts is None or k < 0:
        return None, np.inf
    alone = sum(part.size > 0 for part in parts) == 1
    seconds = np.inf if alone else _SECONDS
    for part in parts:
        part.asked = alone
        part.tries += alone
    while True:
        lower = [part.lower for part in parts]
        value, shares, most = _shared_out(lower, k, ascent.target)
        if value > ascent.target:
            return None, np.inf
        open_ = [i for i, (part, q) in enumerate(zip(parts, shares)) if not part.exact[q]]
        if not open_ or ascent.deadline.over:
            return _best_known(parts, ascent, k), value
        i = min(open_, key=lambda i: parts[i].turn(shares[i]))
        if parts[i].tries[shares[i]] and not parts[i].asked:
            waiting = sum(parts[j].size for j in open_ if not parts[j].asked)
            share = parts[i].size / (parts[i].size + waiting)
            room = _room(lower, i, k, ascent.target)
            parts[i].ask_all(
                shares[i], room, ascent.deadline, max(share * ascent.deadline.left, seconds)
            )
        else:
            parts[i].ask(shares[i], most[i], settle, ascent.deadline, seconds)


def _parts(ascent: Ascent) -> list[Part] | None:
    """None if a demand point can be served by nobody. Rows that are open in any case are in no
    part: what they serve costs no more than that.
    """
    beyond = ascent.beyond.copy()
    cheapest(*ascent.entries, np.flatnonzero(ascent.must), beyond)
    free = np.flatnonzero(~ascent.must)
    entries = ascent.entries.among(free, beyond, np.zeros(len(free)))
    m, n = len(free), len(beyond)
    row = np.repeat(np.arange(m), np.diff(entries.start))
    joined = csr_array((np.ones(len(row), np.int8), (row, m + entries.client)), (m + n, m + n))
    count, label = connected_components(joined, directed=False)
    alone = np.bincount(label, minlength=count) == 1
    if np.isinf(beyond[alone[label[m:]]]).any():
        return None
    label = np.where(alone[label], count, label)  # those that share nothing at all are one part
    number = np.empty(n, np.int32)
    parts = []
    for one in np.unique(label):
        rows = np.flatnonzero(label[:m] == one)
        clients = np.flatnonzero(label[m:] == one)
        number[clients] = np.arange(len(clients))
        own = entries.among(rows)
        own = Entries(own.start, number[own.client], own.cost)
        parts.append(Part(free[rows], own, beyond[clients], ascent.best[clients], ascent.whole))
    return parts


def _room(costs: list[NDArray[np.float64]], i: int, k: int, target: float) -> NDArray[np.float64]:
    """The most that part i may cost with 0, 1, ... centers for the whole to stay within the
    target: minus infinity where it cannot.
    """
    others = np.zeros(1)
    for j, part in enumerate(costs):
        if j != i:
            others = _joined(others, part, k)
    left = k - np.arange(len(costs[i]))
    there = (left >= 0) & (left < len(others))
    return np.where(there, target - others[np.where(there, left, 0)], -np.inf)


def _best_known(parts: list[Part], ascent: Ascent, k: int) -> NDArray[np.int64] | None:
    """Rows of the cheapest way to put together what was found in the parts, if any is within the
    target.
    """
    costs = []
    for part in parts:
        cost = np.full(len(part.lower), np.inf)
        for q, rows in part.found.items():
            cost[q] = part.cost(rows)
        costs.append(cost)
    value, shares, _ = _shared_out(costs, k, ascent.target * (1 + 2 * TRUST))
    if value > ascent.target * (1 + 2 * TRUST):
        return None
    chosen = [part.rows[part.found[q]] for part, q in zip(parts, shares)]
    return ascent.rows[np.concatenate([np.flatnonzero(ascent.must), *chosen])]


def _shared_out(
    costs: list[NDArray[np.float64]], k: int, target: float
) -> tuple[float, list[int], list[float]]:
    """The cheapest way to share out k centers, by what each part costs with 0, 1, ...: its cost,
    the centers of each part, and the most that a part may cost with them for the whole to stay
    within the target; none of them where it cannot.
    """
    ahead = [np.zeros(1)]
    for part in costs:
        ahead.append(_joined(ahead[-1], part, k))
    behind = [np.zeros(1)]
    for part in reversed(costs):
        behind.append(_joined(behind[-1], part, k))
    behind.reverse()
    value = float(ahead[-1][k]) if len(ahead[-1]) > k else np.inf
    if value > target:
        return value, [], []
    shares: list[int] = []
    left = k
    for i in range(len(costs) - 1, -1, -1):
        before, own = ahead[i], costs[i]
        q = np.arange(max(0, left - len(before) + 1), min(left, len(own) - 1) + 1)
        best = int(q[np.argmin(own[q] + before[left - q])])
        shares.append(best)
        left -= best
    shares.reverse()
    most = [
        target - float(_joined(ahead[i], behind[i + 1], k)[k - q]) for i, q in enumerate(shares)
    ]
    return value, shares, most


def _joined(first: NDArray[np.float64], second: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Least sums by the number of centers of both together, up to k."""
    if len(first) < len(second):
        first, second = second, first
    size = min(len(first) + len(second) - 1, k + 1)
    least = np.full(size, np.inf)
    for q in np.flatnonzero(np.isfinite(second[:size])):
        part = first[: size - q]
        least[q : q + len(part)] = np.minimum(least[q : q + len(part)], part + second[q])
    return least


class Part:
    """One part: its entries, and what is known of its least cost by the number of centers.

    Parameters
    ----------
    rows : ndarray of int64
        Of the ascent.
    entries : Entries
        Numbered within the part.
    beyond, multipliers : ndarray of float64, shape (n_demand,)
        Of its demand points.
    whole : bool
        Whether all costs are whole numbers.

    Attributes
    ----------
    lower : ndarray of float64, shape (n_rows + 1,)
        At most the least cost with so many of the rows, or than is of interest.
    exact : ndarray of bool, shape (n_rows + 1,)
        Whether it is settled.
    tries : ndarray of int64, shape (n_rows + 1,)
        How often it was asked.
    asked : bool
        Whether all numbers were asked at once.
    found : dict of int to ndarray of int64
        The part's own numbers of so many rows, the best seen.
    """

    def __init__(
        self,
        rows: NDArray[np.int64],
        entries: Entries,
        beyond: NDArray[np.float64],
        multipliers: NDArray[np.float64],
        whole: bool,
    ) -> None:
        self.rows = rows
        self.entries = entries
        self.beyond = beyond
        self.whole = whole
        self.multipliers = np.minimum(multipliers, beyond)
        size = len(rows) + 1
        self.lower = np.full(size, -np.inf)
        self.exact = np.zeros(size, bool)
        self.tries = np.zeros(size, np.int64)
        self.asked = False
        self.found: dict[int, NDArray[np.int64]] = {}
        self._learn()
        if len(entries.cost) == 0:  # no row serves anybody
            self.lower[:] = beyond.sum()
            self.exact[:] = True
            self.found = {q: np.arange(q) for q in range(size)}

    @property
    def size(self) -> int:
        """Number of its entries."""
        return len(self.entries.cost)

    def turn(self, q: int) -> tuple[int, int]:
        """The part of the least is asked next: ascents come first, then programs of all numbers,
        then those of one; of these each time the smallest.
        """
        return (int(self.tries[q]) + (self.asked and self.tries[q] > 0), self.size)

    def _ascent(self, q: int, most: float) -> Ascent:
        """For what costs at most `most` with q centers."""
        found = Ascent(self.entries, self.beyond, q, most, self.rows[:0], self.whole, NEVER)
        found.target = most
        found.best = self.multipliers
        return found

    def _learn(self) -> None:
        """Raise the bounds of all numbers of centers by the multipliers."""
        self._raise(self._ascent(len(self.rows), np.inf).by_number(self.multipliers))

    def _raise(self, values: NDArray[np.float64]) -> None:
        """Exact ones stay. More centers never cost more, so a bound holds for fewer too."""
        values = np.ceil(values) if self.whole else values
        least = np.maximum.accumulate(np.maximum(values, self.lower)[::-1])[::-1]
        self.lower = np.where(self.exact, self.lower, least)

    def ask(self, q: int, most: float, settle: Settle, deadline: Deadline, seconds: float) -> None:
        """Raise the bound for q centers: by an ascent at first, then by `settle`, in so many
        seconds and each time twice as many; only what costs at most `most` is of interest.
        """
        ascent = self._ascent(q, most)
        self.tries[q] += 1
        chosen = None
        if self.tries[q] == 1:
            ascent.deadline = deadline
            ascent.climb(ascent.best, _STEPS, patience=_PATIENCE, least=_LEAST)
            self.multipliers = ascent.best
            self._learn()
            bound = ascent.bound
        else:
            seconds *= 2.0 ** (self.tries[q] - 2)
            with Deadline(min(seconds, max(deadline.left, 0.0))) as ascent.deadline:
                chosen, bound = settle(ascent)
        bound = np.ceil(bound) if self.whole else bound
        if bound > most:
            self.exact[q] = True
            bound = np.floor(most) + 1 if self.whole else np.nextafter(most, np.inf)
        self._keep(chosen)
        values = np.full(len(self.lower), -np.inf)
        values[q] = bound
        kept = self.exact[q]
        self.exact[q] = False
        self._raise(values)
        self.exact[q] = kept or self.tries[q] > _MOST_TRIES
        self._reach(q)

    def ask_all(
        self, q: int, room: NDArray[np.float64], deadline: Deadline, seconds: float
    ) -> None:
        """Raise the bounds of all numbers of centers by a program with the price that q centers
        are worth by the multipliers; only what costs at most `room` is of interest.
        """
        self.asked = True
        ascent = self._ascent(q, np.inf)
        reduced = ascent.reduced(self.multipliers)
        price = self._price(reduced, q)
        number = np.arange(len(self.rows) + 1)
        total = float(self.multipliers.sum())
        gain = float(np.minimum(reduced + price, 0.0).sum())
        margin = ascent.margin(total, gain)
        least = np.maximum(self.lower, total + gain - margin - price * number)
        some = np.flatnonzero(room >= least)
        if len(some) == 0:
            return
        target = float((room + price * number)[some].max())
        spare = target - (total + gain) + margin
        opening = np.maximum(reduced + price, 0.0)
        rows = np.flatnonzero(opening <= spare)
        entries = self.entries.among(rows, self.multipliers, (spare - opening)[rows])
        if len(entries.cost) > MOST_PAIRS:
            return
        beyond = np.where(self.beyond - self.multipliers > spare, np.inf, self.beyond)
        must = (reduced + price < -spare)[rows]
        with Deadline(min(seconds, max(deadline.left, 0.0))) as limit:
            chosen, bound = answered(
                Question(entries, beyond, must, int(some[0]), int(some[-1]), target, price), limit
            )
        above = np.floor(target) + 1 if self.whole and price.is_integer() else target
        values = min(bound, above) - price * number
        values -= 4 * np.finfo(float).eps * (abs(bound) + price * len(number))
        self._keep(None if chosen is None else rows[chosen])
        self._raise(np.where((room >= least) & (bound > -np.inf), values, self.lower))
        for known in self.found:
            self._reach(known)

    def _price(self, reduced: NDArray[np.float64], q: int) -> float:
        """What one center more or less than q is worth."""
        worth = -np.sort(reduced)
        near = worth[[max(q - 1, 0), min(q, len(worth) - 1)]]
        whole = np.rint(near.mean())
        close = near[1] - _WHOLE_PRICE <= whole <= near[0] + _WHOLE_PRICE
        return float(whole if self.whole and close else near.mean())

    def _keep(self, chosen: NDArray[np.int64] | None) -> None:
        """Rows, if they are the best of so many."""
        if chosen is None:
            return
        q = len(chosen)
        if q not in self.found or self.cost(chosen) < self.cost(self.found[q]):
            self.found[q] = chosen

    def _reach(self, q: int) -> None:
        """Whether the best rows known are as good as the bound."""
        if q in self.found and self.cost(self.found[q]) <= self.lower[q] * (1 + 2 * TRUST):
            self.exact[q] = True

    def cost(self, rows: NDArray[np.int64]) -> float:
        """Of serving the part from some of its rows."""
        least = self.beyond.copy()
        cheapest(*self.entries, rows, least)
        return float(least.sum())
