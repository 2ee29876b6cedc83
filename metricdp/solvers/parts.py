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
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from metricdp.kernels.dual_ascent import cheapest
from metricdp.solvers.dual_ascent import Ascent, Entries
from metricdp.solvers.stopping import NEVER, Deadline

_SECONDS = 5.0
"""For the first attempt at a value; twice as many for each further."""
_MOST_TRIES = 20
"""After which the bound has to do."""
TRUST = 1e-7
"""By so much, relative, bounds of programs are lower than their answer: their arithmetic is
floating.
"""
_STEPS = 3000
_PATIENCE = 40
_LEAST = 1e-7

Found = tuple[NDArray[np.int64] | None, float]
"""Rows of an ascent, the best within its target, if any were found, and what all such cost at
least.
"""
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
    if parts is None:
        return None, np.inf
    seconds = _SECONDS
    if sum(part.size > 0 for part in parts) == 1:
        seconds = np.inf
        for part in parts:
            part.tries += 1
    while True:
        lower = [part.lower for part in parts]
        value, shares, most = _shared_out(lower, ascent.k, ascent.target)
        if value > ascent.target:
            return None, np.inf
        asked = [
            (part.tries[q], part.size, i)
            for i, (part, q) in enumerate(zip(parts, shares))
            if not part.exact[q]
        ]
        if not asked or ascent.deadline.over:
            return _best_known(parts, ascent), value
        i = min(asked)[2]
        parts[i].ask(shares[i], most[i], settle, ascent.deadline, seconds)


def _parts(ascent: Ascent) -> list[Part] | None:
    """None if a demand point can be served by nobody."""
    start, client, _ = ascent.entries
    m, n = ascent.entries.rows, len(ascent.beyond)
    row = np.repeat(np.arange(m), np.diff(start))
    joined = csr_array((np.ones(len(row), np.int8), (row, m + client)), (m + n, m + n))
    count, label = connected_components(joined, directed=False)
    alone = np.bincount(label, minlength=count) == 1
    if np.isinf(ascent.beyond[alone[label[m:]]]).any():
        return None
    label = np.where(alone[label], count, label)  # those that share nothing at all are one part
    number = np.empty(n, np.int64)
    parts = []
    for one in np.unique(label):
        rows = np.flatnonzero(label[:m] == one)
        clients = np.flatnonzero(label[m:] == one)
        number[clients] = np.arange(len(clients))
        parts.append(Part(ascent, rows, clients, number))
    return parts


def _best_known(parts: list[Part], ascent: Ascent) -> NDArray[np.int64] | None:
    """Rows of the cheapest way to put together what was found in the parts, if any is within the
    target.
    """
    costs = []
    for part in parts:
        cost = np.full(len(part.lower), np.inf)
        for q, rows in part.found.items():
            cost[q] = part.cost(rows)
        costs.append(cost)
    _, shares, _ = _shared_out(costs, ascent.k, ascent.target * (1 + 2 * TRUST))
    if not shares:
        return None
    return ascent.rows[np.concatenate([part.rows[part.found[q]] for part, q in zip(parts, shares)])]


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

    Attributes
    ----------
    rows : ndarray of int64
        Of the ascent.
    lower : ndarray of float64, shape (n_rows + 1,)
        At most the least cost with so many of the rows, or than is of interest.
    exact : ndarray of bool, shape (n_rows + 1,)
        Whether it is settled.
    tries : ndarray of int64, shape (n_rows + 1,)
        How often it was asked.
    found : dict of int to ndarray of int64
        The part's own numbers of so many rows, the best seen.
    """

    def __init__(
        self,
        whole: Ascent,
        rows: NDArray[np.int64],
        clients: NDArray[np.int64],
        number: NDArray[np.int64],
    ) -> None:
        found = whole.entries.among(rows)
        self.rows = rows
        self.entries = Entries(found.start, number[found.client].astype(np.int32), found.cost)
        self.beyond = whole.beyond[clients]
        self.must = whole.must[rows]
        self.whole = whole.whole
        self.multipliers = whole.best[clients]
        size = len(rows) + 1
        self.lower = np.full(size, -np.inf)
        self.exact = np.zeros(size, bool)
        self.tries = np.zeros(size, np.int64)
        self.found: dict[int, NDArray[np.int64]] = {}
        self._learn(self._ascent(size - 1, np.inf))
        if len(found.cost) == 0:
            self._without_choice()

    @property
    def size(self) -> int:
        """Number of its entries."""
        return len(self.entries.cost)

    def _without_choice(self) -> None:
        """No row serves anybody."""
        rows = np.r_[np.flatnonzero(self.must), np.flatnonzero(~self.must)]
        for q in range(int(self.must.sum()), len(rows) + 1):
            self.lower[q] = self.beyond.sum()
            self.exact[q] = True
            self.found[q] = rows[:q]

    def _ascent(self, q: int, most: float) -> Ascent:
        """For what costs at most `most` with q centers."""
        found = Ascent(self.entries, self.beyond, q, most, self.rows[:0], self.whole, NEVER)
        found.must = self.must.copy()
        found.target = most
        found.best = self.multipliers
        return found

    def _learn(self, ascent: Ascent) -> None:
        """Raise the bounds of all numbers of centers by an ascent's multipliers."""
        self._raise(ascent.by_number(self.multipliers))

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
            self._learn(self._ascent(q, most))
            bound = ascent.bound
        else:
            seconds *= 2.0 ** (self.tries[q] - 2)
            with Deadline(min(seconds, max(deadline.left, 0.0))) as ascent.deadline:
                chosen, bound = settle(ascent)
        bound = np.ceil(bound) if self.whole else bound
        if bound > most:
            self.exact[q] = True
            bound = np.floor(most) + 1 if self.whole else np.nextafter(most, np.inf)
        else:
            reached = chosen is not None and self.cost(chosen) <= bound * (1 + 2 * TRUST)
            self.exact[q] = reached or self.tries[q] > _MOST_TRIES
        if chosen is not None and (
            q not in self.found or self.cost(chosen) < self.cost(self.found[q])
        ):
            self.found[q] = chosen
        values = np.full(len(self.lower), -np.inf)
        values[q] = bound
        kept = self.exact[q]
        self.exact[q] = False
        self._raise(values)
        self.exact[q] = kept

    def cost(self, rows: NDArray[np.int64]) -> float:
        """Of serving the part from some of its rows."""
        least = self.beyond.copy()
        cheapest(*self.entries, rows, least)
        return float(least.sum())
