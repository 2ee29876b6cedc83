"""Iterated local search on lists of near candidates (Martin, Otto & Felten, Complex Systems 1991).

Centers of one neighborhood are exchanged at random, a descent follows there
(`metricdp.kernels.near_swaps`), and the step is kept if it costs no more, or little more early on.
What chains find is put together by parts that do not touch each other; after short chains all are
searched together, with their centers as the only candidates. Regions far from each other are then
searched alone, with a center more or less, and share out all centers by what they cost. Where too
many candidates are near everybody, those take part that dual multipliers want most.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from metricdp.arrays import Bools, Floats, Ints, opened_first
from metricdp.kernels.near_swaps import Near, descended, kicked, state_at, transposed, workspace
from metricdp.solvers.block import TOLERANCE, Found
from metricdp.solvers.dual_ascent import Ascent, entries_within
from metricdp.solvers.near_lists import Costs
from metricdp.solvers.shares import shared_out
from metricdp.solvers.stopping import NEVER, Deadline
from metricdp.threads import in_threads

MOST_ENTRIES = 12_000_000
"""Longest lists of near candidates in all: 300 MB."""
_CORE, _CORE_WORK, _WORTH = 0.2, 250, 5e-5
"""Where they are longer: lists of the candidates that take part, in parts of that length, and how
often a chain looks at each entry: one ends lower than four that share the work. Another follows
where one gained so much of the cost."""
_REACHES = (1.5, 1.25, 1.05)
"""Multiples of the second nearest cost below which candidates are near."""
_FAR = 4.0
"""What none near serves costs so many times the reach."""
_HEATS = (0.01, 0.1, 0.04, 0.1)
"""Mean loss that a step of each chain may make at first; the last chain has its own start, and
in the first round the one before it as well."""
_WORK = (1_000_000, 8_000, 700_000_000)
"""Entries of a chain's lists: base, for each center, and most."""
_REGION_HEAT, _REGION_CHAINS, _REGION_PRICE = 0.1, 2, 0.6
"""Of a region alone: heat, chains of each number of centers in a round, and what an entry counts,
as short lists are fast.
"""
_QUICK_ENTRIES = 8_000_000
_QUICK_WORK = 40
"""Of a quick search: longest lists, and how often a chain looks at each entry of them."""
_SLICE = 2_000_000
"""Entries, or all lists once, between looks at the clock; then a chain's best is crossed with where
it is: what is only better in some places is kept there.
"""
_SHORT = 0.25
"""Of the work of a chain: in the first round, the only one of a quick search; then twice as much
each time."""
_LARGEST_REGION = 0.5
"""Of the demand points: larger ones gain nothing by being searched alone."""
_BUDGET = 800_000_000
_VAIN_ROUNDS = 3
"""Entries that all chains of a thorough search look at, 20 to 30 s; rounds without improvement
after which it ends before."""


def thorough_search(
    costs: Costs,
    k: int,
    rng: np.random.Generator,
    *,
    first: Ints,
    opened: Ints | None = None,
    deadline: Deadline = NEVER,
    endless: bool = False,
    rounds: float = np.inf,
) -> tuple[Ints, float]:
    """Improve rows by rounds of chains of kicks from several starts, and by what lies between them.

    Without `endless` the search ends by itself and does not depend on the machine's speed. Where
    even short lists of near candidates are too long (few centers of very many points), it is among
    a core of candidates.
    """
    fixed = np.empty(0, np.int64) if opened is None else np.unique(opened)
    search = _Search(costs, fixed, deadline)
    best = search.found(first)
    if k - len(fixed) < 1 or k == costs.shape[0]:
        return best[1], best[0]
    core, again = search.core(best[1]), True
    while core is not None and again and not deadline.over:
        places = {"first": np.searchsorted(core, best[1]), "opened": np.searchsorted(core, fixed)}
        found = near_search(costs.among(core), rng, **places, deadline=deadline, looks=_CORE_WORK)
        again = found is not None and (endless or found[0] < (1 - _WORTH) * best[0])
        best = best if found is None else (found[0], core[found[1]])
    if core is not None:
        return best[1], best[0]
    search.left, most_vain = (np.inf, np.inf) if endless else (_BUDGET, _VAIN_ROUNDS)
    vain, longer = 0, _SHORT
    while rounds > 0 and vain < most_vain and search.left > 0 and not deadline.over:
        found = search.round(best, rng, longer)
        better = found[0] < best[0] - TOLERANCE * abs(best[0])
        vain = 0 if better else vain + 1
        longer *= 2
        rounds -= 1
        best = min(best, found, key=lambda one: one[0])
    return best[1], best[0]


def near_search(
    costs: Costs,
    rng: np.random.Generator,
    *,
    first: Ints,
    opened: Ints,
    deadline: Deadline = NEVER,
    looks: int = _QUICK_WORK,
) -> Found | None:
    """Improve rows by a descent and a chain of kicks, so many looks at each entry: seconds for
    100,000 points by default. None where lists are too long.
    """
    search = _Search(costs, opened, deadline)
    before = search.found(first)
    near = search._near(before[1], _QUICK_ENTRIES)
    if near is None:
        return None
    rows = search._chains(near, [before[1]], rng, looks * len(near.site))[0]
    return min(search.found(rows), before, key=lambda one: one[0])


class _Search:
    """One problem, the rows that stay and the deadline; `left`: entries that chains may look at."""

    def __init__(self, costs: Costs, fixed: Ints, deadline: Deadline) -> None:
        self.costs = costs
        self.fixed = fixed
        self.deadline = deadline
        self.left = np.inf
        self.regions: list[_Region] | None = None

    def found(self, rows: NDArray[Any]) -> Found:
        """Rows, the fixed ones first, and what they cost."""
        rows = opened_first(self.fixed, rows)
        return float(self.costs.weights @ self.costs.two_nearest(rows)[0]), rows

    def round(self, best: Found, rng: np.random.Generator, longer: float) -> Found:
        """The best of some chains, so many times as long, and of what is found between them."""
        k = len(best[1])
        if self.regions:
            return self._by_regions(best, rng)
        near = self._near(best[1])
        starts = [best[1]] * len(_HEATS)
        for i in (-1, -2) if longer == _SHORT else (-1,):
            fresh = None if self.deadline.over else self.costs.fresh(k, self.fixed, rng)
            if fresh is not None:
                starts[i] = fresh
        if near is None:
            return min(map(self.found, starts), key=lambda one: one[0])
        if longer > _SHORT and self.regions is None:
            self.regions = _regions(near, best[1], self.fixed)
            if self.regions:
                return self._by_regions(best, rng)
        chains = self._chains(near, starts, rng, self._work(near, k, longer))
        ends = sorted(map(self.found, chains), key=lambda one: one[0])
        best = ends[0]
        for _, rows in ends[1:]:
            best = min(best, self.found(_crossed(near, best[1], rows)), key=lambda one: one[0])
        union = np.unique(np.concatenate(chains))
        if len(union) == k or longer > _SHORT or self.deadline.over:
            return best
        few = _restricted(near, union, np.arange(len(near.weights)))
        starts = [np.searchsorted(union, best[1])] * 2
        relinked = self._chains(few, starts, rng, self._work(few, k, longer))
        return min([best, *(self.found(union[rows]) for rows in relinked)], key=lambda one: one[0])

    def _by_regions(self, best: Found, rng: np.random.Generator) -> Found:
        """Chains in each region with as many centers as it has, one more and one less."""
        assert self.regions
        for region in self.regions:
            region.keep(np.flatnonzero(np.isin(region.sites, best[1])))
        k = len(best[1])
        shares = shared_out([region.cost for region in self.regions], k)[1]
        tasks = [
            (region, region.start(count, rng))
            for region, share in zip(self.regions, shares)
            for count in (share - 1, share, share + 1) * _REGION_CHAINS
            if region.fixed < count < len(region.sites)
        ]
        each = [len(region.near.site) / len(region.near.weights) for region, _ in tasks]
        works = [_WORK[1] * entries * len(start) for entries, (_, start) in zip(each, tasks)]
        scale = min(1.0, max(self.left, 0.0) / max(_REGION_PRICE * sum(works), 1.0))
        chains = [
            _Chain(region.near, start, region.fixed, int(scale * work), _REGION_HEAT)
            for (region, start), work in zip(tasks, works)
        ]
        ends = self._ends(chains, rng)
        self.left -= scale * _REGION_PRICE * sum(works)
        for (region, _), rows in zip(tasks, ends):
            region.keep(rows)
        shares = shared_out([region.cost for region in self.regions], k)[1]
        chosen = [one.sites[one.known[share]] for one, share in zip(self.regions, shares)]
        return min(best, self.found(np.concatenate(chosen)), key=lambda one: one[0])

    def core(self, rows: Ints) -> Ints | None:
        """These rows and those that are wanted most, ascending, where lists of all are too long."""
        m, n = self.costs.shape
        if m * n <= MOST_ENTRIES or self.deadline.over or (self.costs.weights < 0).any():
            return None
        over = entries_within(self.costs, self._reach(rows, _REACHES[-1])) / MOST_ENTRIES
        if over <= 1 or (count := int(_CORE * m / over)) < 2 * len(rows):
            return None
        ascent = Ascent.below(self.costs, rows, self.fixed, False, self.deadline)
        return np.union1d(rows, ascent.core(count))

    def _reach(self, rows: Ints, times: float) -> Floats:
        """What is near costs less."""
        second = self.costs.two_nearest(rows)[1]
        reach: Floats = times * second + second.mean() / 4
        reach[self.costs.weights < 0] = np.inf
        return reach

    def _near(self, rows: Ints, most: int = MOST_ENTRIES) -> Near | None:
        """Lists of what is near where these rows are the centers."""
        weights = self.costs.weights
        for times in _REACHES:
            reach = self._reach(rows, times)
            lists = self.costs.lists(reach, most)
            if lists is not None:
                start, _, cost = lists
                whole = np.isinf(reach)
                reach[whole] = cost[start[1:][whole] - 1]
                by_site = transposed(*lists, self.costs.shape[0])
                return Near(*lists, *by_site, weights, _FAR * reach)
        return None

    def _work(self, near: Near, k: int, longer: float) -> int:
        """Entries that a chain looks at."""
        each = len(near.site) // (len(near.site_start) - 1) + 1
        work = min(_WORK[0] + _WORK[1] * each * (k - len(self.fixed)), _WORK[2])
        return int(min(longer * work, max(self.left, 0) / len(_HEATS)))

    def _chains(
        self, near: Near, starts: list[Ints], rng: np.random.Generator, work: int
    ) -> list[Ints]:
        """The best rows of chains from each start, each of its own heat, so much work each."""
        self.left -= work * len(starts)
        fixed = len(self.fixed)
        heats = zip(starts, _HEATS)
        return self._ends([_Chain(near, rows, fixed, work, heat) for rows, heat in heats], rng)

    def _ends(self, chains: list[_Chain], rng: np.random.Generator) -> list[Ints]:
        """The best rows of chains, side by side."""
        coins = rng.integers(0, 2**63, len(chains)).astype(np.uint64)
        orders = [rng.permutation(len(chain.near.site_start) - 1) for chain in chains]
        ends = [chain.rows for chain in chains]

        def run(i: int) -> None:
            ends[i] = self._end(chains[i], coins[i : i + 1], orders[i])

        in_threads(run, range(len(chains)))
        return ends

    def _end(self, chain: _Chain, coins: NDArray[np.uint64], order: Ints) -> Ints:
        near, rows, fixed, work, heat = chain
        state, cost = state_at(near, rows, fixed)
        space = workspace(len(order), len(rows))
        if self.deadline.over:
            return rows
        cost = descended(near, state, space, order, cost, TOLERANCE)
        warm = heat * abs(cost) / len(rows)
        best = state.centers.copy()
        least = cost
        effort = np.array([0, 0, work])
        step = max(_SLICE, len(near.site))
        while effort[0] < work and not self.deadline.over:
            effort[1] = min(effort[0] + step, work)
            cost, least = kicked(
                near, state, space, fixed, coins, effort, warm, cost, TOLERANCE, best, least
            )
            mixed = _crossed(near, best, state.centers)
            better = state_at(near, mixed, 0)[1]
            if better < least:
                best, least = mixed.astype(np.int32), better
        return best.astype(np.int64)


class _Chain(NamedTuple):
    """Kicks on lists from rows on, the first `fixed` of which stay: entries to look at, heat."""

    near: Near
    rows: Ints
    fixed: int
    work: int
    heat: float


class _Region:
    """What shares no near candidate with the rest.

    `near`: its lists; `sites`: its candidates, the first `fixed` of them stay; `known`: the best
    rows found, by their number, and what they `cost`, infinite where there are none.
    """

    def __init__(self, near: Near, sites: Ints, fixed: int) -> None:
        self.near, self.sites, self.fixed = near, sites, fixed
        self.known: dict[int, Ints] = {}
        self.cost = np.full(len(sites) + 1, np.inf)

    def keep(self, rows: Ints) -> None:
        """Take note of rows, the fixed ones first, if they are the best of so many."""
        cost = float(state_at(self.near, rows, 0)[1])
        if cost < self.cost[len(rows)]:
            self.cost[len(rows)] = cost
            self.known[len(rows)] = rows

    def start(self, count: int, rng: np.random.Generator) -> Ints:
        """The best rows of a number, or some with a center more or less."""
        if count in self.known:
            return self.known[count]
        rows = self.known[count + 1 if count + 1 in self.known else count - 1]
        if len(rows) > count:
            return np.delete(rows, rng.integers(self.fixed, len(rows)))
        return np.r_[rows, rng.choice(np.setdiff1d(np.arange(len(self.sites)), rows))]


def _regions(near: Near, rows: Ints, fixed: Ints) -> list[_Region]:
    """Regions around these rows, if none has most of the demand points."""
    n, m = len(near.weights), len(near.site_start) - 1
    owner = np.repeat(np.arange(n), np.diff(near.start))
    state = state_at(near, rows, 0)[0]
    joins = near.cost <= state.c_first[owner] + state.c_second.mean()
    owner, site = owner[joins], near.site[joins]
    pairs = np.ones(len(owner), np.int8), (owner, n + site)
    count, label = connected_components(csr_array(pairs, shape=(n + m, n + m)), directed=False)
    served = np.bincount(label[:n], minlength=count)
    if served.max() > _LARGEST_REGION * n:
        return []
    regions = []
    for one in np.flatnonzero(served):
        sites = np.flatnonzero(label[n:] == one)
        own = np.isin(sites, fixed)
        sites = np.r_[sites[own], sites[~own]]
        few = _restricted(near, sites, np.flatnonzero(label[:n] == one))
        regions.append(_Region(few, sites, int(np.count_nonzero(own))))
    return regions


def _restricted(near: Near, rows: Ints, demand: Ints) -> Near:
    """The problem with some of the candidates and demand points only, the latter ascending."""
    number = np.full(len(near.site_start) - 1, -1, np.int32)
    number[rows] = np.arange(len(rows), dtype=np.int32)
    n = len(near.weights)
    owner = np.repeat(np.arange(n), np.diff(near.start))
    kept = (number[near.site] >= 0) & np.isin(owner, demand)
    start = np.r_[0, np.cumsum(np.bincount(owner[kept], minlength=n)[demand])]
    lists = start, number[near.site[kept]], near.cost[kept]
    return Near(*lists, *transposed(*lists, len(rows)), near.weights[demand], near.far[demand])


def _crossed(near: Near, first: Ints, second: Ints) -> Ints:
    """The first rows, ascending, with what is better of the second where that is independent.

    Rows that only one of them has are of one part if they serve the same demand point, each in its
    own solution; a part is taken from either as a whole (partition crossover: Whitley, Hains &
    Howe, GECCO 2009). What a mixture costs is at most what its parts cost.
    """
    a, b = state_at(near, first, 0)[0], state_at(near, second, 0)[0]
    m = len(a.slot)
    differs = (a.slot >= 0) != (b.slot >= 0)
    from_a, from_b = a.centers[a.first], b.centers[b.first]
    left = differs[from_a] & (a.first >= 0)
    right = differs[from_b] & (b.first >= 0)
    pairs = from_a[left & right], from_b[left & right]
    joined = csr_array((np.ones(len(pairs[0]), np.int8), pairs), (m, m))
    count, part = connected_components(joined, directed=False)
    change = np.where(left | right, near.weights * (b.c_first - a.c_first), 0.0)
    gain = np.bincount(part[np.where(right, from_b, from_a)], change, count).astype(np.float64)
    sign = np.where(b.slot >= 0, 1, -1) * differs
    size = np.bincount(part, sign, count).astype(np.int64)
    swapped = differs & _balanced(gain, size)[part]
    return np.flatnonzero((a.slot >= 0) != swapped)


def _balanced(change: Floats, size: Ints) -> Bools:
    """Parts of the least change in all among those whose sizes add up to nothing."""
    taken = (size == 0) & (change < 0)
    some = np.flatnonzero(size)
    costs: list[Floats] = []
    for part in some:  # at 0 what has fewer centers, left or taken
        costs.append(np.full(abs(size[part]) + 1, np.inf))
        costs[-1][max(-size[part], 0)] = 0.0
        costs[-1][max(size[part], 0)] = change[part]
    shares = shared_out(costs, -int(size[size < 0].sum()))[1]
    taken[some] = np.array(shares, np.int64) == np.maximum(size[some], 0)
    return taken
