"""Exact k-median by independent parts that share only the number of centers.

Parts are the connected components of the pairs left (`metricdp.solvers.dual_ascent.Ascent`,
``narrow``). With ``F[c, q]`` the least cost of part c with q centers, a better solution costs at
least the minimum of the sum of ``F[c, q[c]]`` over all allocations of k. Lower bounds replace F,
and only those that the cheapest allocation uses are made exact. Integer bounds are rounded up.

One program with a price t for every open row bounds all q: if no choice costs less than V, ``F[c,
q] >= V - t * q``. Where F is not convex, a single q needs a program or branches of its own.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from metricdp.arguments import Floats, Ints
from metricdp.kernels.dual_ascent import Entries, cheapest
from metricdp.solvers import programs
from metricdp.solvers.block import block_search
from metricdp.solvers.dual_ascent import Ascent
from metricdp.solvers.programs import TRUST, CheapestRows, Found, answered
from metricdp.solvers.stopping import NEVER, Deadline

_MOST_TRIES = 20
"""Attempts after which the bound is taken as it is."""
_MOST_SEARCHED = 1_000_000
"""Most pairs of a part for which a local search is run before a proof."""
_STARTS = 8  # time against a better target for the proof
_STEPS = 3000  # of the ascent; most end by patience
_PATIENCE = 40  # steps in vain before the pace is halved
_MIN_GAIN = 1e-7  # of the cost: less is no rise
_SECONDS = 5.0
_SHARE = 0.05
"""Least seconds of a first attempt, and as a share of the time left; doubled each time."""
_ALL_SHARE = 0.8
"""Share of the time left for programs that bound all numbers of centers."""
_WHOLE_PRICE = 0.05
"""With integer costs, a price so near to an integer is rounded."""


def allocate(costs: list[Floats], k: int) -> tuple[float, list[int]]:
    """The cheapest way to allocate k centers to parts that cost ``costs[i][q]`` with q centers
    each: its cost, infinite if there is none, and the centers of each part.
    """
    prefixes = [np.zeros(1)]
    for part in costs:
        prefixes.append(_min_plus(prefixes[-1], part, k))
    value = float(prefixes[-1][k]) if len(prefixes[-1]) > k else np.inf
    if value == np.inf:
        return value, []
    shares: list[int] = []
    left = k
    for before, own in zip(prefixes[-2::-1], reversed(costs)):
        q = np.arange(max(0, left - len(before) + 1), min(left, len(own) - 1) + 1)
        best = int(q[np.argmin(own[q] + before[left - q])])
        shares.append(best)
        left -= best
    return value, shares[::-1]


def budgets(costs: list[Floats], i: int, k: int, target: float) -> Floats:
    """The most that part i may cost with 0, 1, ... centers if all parts stay within the target."""
    others = np.zeros(1)
    for j, part in enumerate(costs):
        if j != i:
            others = _min_plus(others, part, k)
    left = k - np.arange(len(costs[i]))
    feasible = (left >= 0) & (left < len(others))
    return np.where(feasible, target - others[np.where(feasible, left, 0)], -np.inf)


def _min_plus(first: Floats, second: Floats, k: int) -> Floats:
    """Min-plus convolution up to k: least cost of two parts together by number of centers."""
    if len(first) < len(second):
        first, second = second, first
    size = min(len(first) + len(second) - 1, k + 1)
    least = np.full(size, np.inf)
    for q in np.flatnonzero(np.isfinite(second[:size])):
        part = first[: size - q]
        least[q : q + len(part)] = np.minimum(least[q : q + len(part)], part + second[q])
    return least


Prove = Callable[[Ascent], Found]


class Part:
    """One part: its entries, and bounds of its least cost for each number of centers.

    `rows` (m,): those of the whole ascent; `entries`: numbered within the part; `beyond`,
    `multipliers` (n_demand,): as in `Ascent`; `integral`: whether all costs are integers.

    `lower` (m + 1,): lower bound of the cost with so many rows, unless that is above what is of
    interest; `exact` (m + 1,): whether it is tight; `tries` (m + 1,): attempts to improve it;
    `all_improved`: whether `improve_all` was called; `best_rows`: best rows found by their number;
    `best` (m + 1,): their costs, infinite where there are none.
    """

    def __init__(
        self, rows: Ints, entries: Entries, beyond: Floats, multipliers: Floats, integral: bool
    ) -> None:
        self.rows = rows
        self.m = len(rows)
        self.entries = entries
        self.beyond = beyond
        self.integral = integral
        self.multipliers = np.minimum(multipliers, beyond)
        size = self.m + 1
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
        if len(entries.cost) > programs.MOST_PAIRS:
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
        cheapest(self.entries, rows, least)
        return float(least.sum())


def cheapest_of_parts(ascent: Ascent, prove: Prove, known_rows: Ints | None = None) -> Found:
    """The best rows within the target of a narrowed ascent, if any, and a lower bound."""
    parts = _parts(ascent)
    k = ascent.k - int(np.count_nonzero(ascent.required))
    if parts is None or k < 0:
        return None, np.inf
    if known_rows is not None:
        for part in parts:
            part.keep(np.flatnonzero(np.isin(ascent.rows[part.rows], known_rows)))
    price = _price(ascent)
    alone = sum(part.size > 0 for part in parts) == 1
    for part in parts:
        part.all_improved = alone
        part.tries += alone
    while True:
        seconds = np.inf if alone else max(_SECONDS, _SHARE * ascent.deadline.left)
        lower = [part.lower for part in parts]
        value, shares = allocate(lower, k)
        if value > ascent.target:
            return None, np.inf
        rows, cost = _best_combination(parts, ascent, k)
        inexact = [i for i, part in enumerate(parts) if not part.exact[shares[i]]]
        if not inexact or ascent.deadline.over or cost <= value * (1 + 2 * TRUST):
            return rows, value
        # Improve the bound of the part and number that the cheapest allocation relies on.
        i = min(inexact, key=lambda i: parts[i].priority(shares[i]))
        part, q = parts[i], shares[i]
        budget = budgets(lower, i, k, ascent.target)
        if part.tries[q] and not part.all_improved:
            open_entries = sum(parts[j].size for j in inexact if not parts[j].all_improved)
            share = _ALL_SHARE * part.size / open_entries * ascent.deadline.left
            part.improve_all(price, budget, ascent.deadline, max(share, seconds))
        else:
            part.improve(q, float(budget[q]), prove, ascent.deadline, seconds)


def _price(ascent: Ascent) -> float:
    """What one center more or less is worth, by the multipliers."""
    forced = int(np.count_nonzero(ascent.required))
    worth = -np.sort(ascent.reduced(ascent.best)[~ascent.required])
    if len(worth) == 0:
        return 0.0
    near = worth[[max(ascent.k - forced - 1, 0), min(ascent.k - forced, len(worth) - 1)]]
    rounded = np.rint(near.mean())
    close = near[1] - _WHOLE_PRICE <= rounded <= near[0] + _WHOLE_PRICE
    return float(rounded if ascent.integral and close else near.mean())


def _parts(ascent: Ascent) -> list[Part] | None:
    """The independent parts; None if a demand point cannot be served."""
    beyond = ascent.beyond.copy()
    cheapest(ascent.entries, np.flatnonzero(ascent.required), beyond)
    free = np.flatnonzero(~ascent.required)
    entries = ascent.entries.among(free, beyond, np.zeros(len(free)))
    m, n = len(free), len(beyond)
    row = entries.row
    joined = csr_array((np.ones(len(row), np.int8), (row, m + entries.client)), (m + n, m + n))
    count, label = connected_components(joined, directed=False)
    alone = np.bincount(label, minlength=count) == 1
    if np.isinf(beyond[alone[label[m:]]]).any():
        return None
    label = np.where(alone[label], count, label)  # all that is joined to nothing is one part
    number = np.empty(n, np.int32)
    parts: list[Part] = []
    for one in np.unique(label):
        rows = np.flatnonzero(label[:m] == one)
        clients = np.flatnonzero(label[m:] == one)
        number[clients] = np.arange(len(clients))
        own = entries.among(rows)
        own = Entries(own.start, number[own.client], own.cost)
        parts.append(Part(free[rows], own, beyond[clients], ascent.best[clients], ascent.integral))
    return parts


def _best_combination(parts: list[Part], ascent: Ascent, k: int) -> Found:
    """Rows of the cheapest allocation among solutions found, and its cost, within the target."""
    within = ascent.target * (1 + 2 * TRUST)
    value, shares = allocate([part.best for part in parts], k)
    if value > within:
        return None, np.inf
    chosen = [part.rows[part.best_rows[q]] for part, q in zip(parts, shares)]
    return ascent.rows[np.concatenate([np.flatnonzero(ascent.required), *chosen])], value
