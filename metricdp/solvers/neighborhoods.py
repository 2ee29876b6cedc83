"""Iterated local search for k-median on lists of near candidates (Martin, Otto & Felten, Complex
Systems 1991).

A kick exchanges centers of one neighborhood at random, a descent follows there
(`metricdp.kernels.near_swaps`), and the result is kept if it costs no more, or little more early
on. Solutions of several chains are recombined by independent parts; after short chains a search
with their centers as the only candidates follows. Regions that share no near candidate are searched
separately with a few centers more or fewer, and all centers are allocated among them. Where too
many candidates are near, those of least reduced cost take part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from metricdp.arguments import Bools, Floats, Ints, opened_first
from metricdp.kernels import near_swaps as kernels
from metricdp.kernels.near_swaps import Near
from metricdp.solvers.block import TOLERANCE, Found
from metricdp.solvers.dual_ascent import Ascent, entries_within
from metricdp.solvers.near_lists import Costs
from metricdp.solvers.parts import allocate
from metricdp.solvers.stopping import NEVER, Deadline
from metricdp.threads import in_threads

MOST_ENTRIES = 12_000_000
"""Most entries of all lists of near candidates: 300 MB."""
_CORE, _CORE_WORK, _LEAST_GAIN = 0.2, 250, 5e-5
"""Where lists would be longer: length of the lists of the core of candidates, as a share of that;
how often a chain reads each entry (one ends lower than four that share the work); least relative
gain after which another follows.
"""
_REACHES = (1.5, 1.25, 1.05)
"""Candidates are near below a multiple of the second nearest cost."""
_FAR = 4.0
"""Cost of a point that no near center serves, as a multiple of the reach."""
_TEMPERATURES = (0.01, 0.1, 0.04, 0.1)
"""Mean loss that a step of each chain may make at first. The last chain has its own start, in the
first round also the one before it.
"""
_WORK = (1_000_000, 8_000, 700_000_000)
"""Entries that a chain reads: base, for each center, and most."""
_REGION_TEMPERATURE, _MORE = 0.03, 2
"""In a region: temperature; centers more and fewer than it has that are tried, a chain for each.
With one more or fewer, exchanges that change two regions by two are never found.
"""
_QUICK_ENTRIES = 8_000_000
_QUICK_WORK = 40
"""Of a quick search: most entries of lists, and how often a chain reads each of them."""
_SLICE = 2_000_000
"""Entries, but at least all once, between checks of the time. Then the best and the current
solution of a chain are recombined.
"""
_SHORT = 0.25
"""Length of chains in the first round (of a quick search the only one); it doubles each round."""
_NOISE = 1e-14
"""Least gain, as a share of the largest cost that lists can hold: above the rounding of sums."""
_LARGEST_REGION = 0.5
"""Largest share of the demand points in a region: larger ones gain nothing by a search of their
own.
"""
_BUDGET = 700_000_000
_STALLED_ROUNDS = 2
"""Entries that all chains of a thorough search read, 15 to 30 s; rounds without improvement that
end it before: a third gained nothing on TSPLIB (``benchmarks/tsplib.md``).
"""


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
    """Improve rows by rounds of chains from several starts, and by recombination of their results.

    Unless `endless`, the search ends by itself and does not depend on the speed of the machine.
    Where even short lists of near candidates are too long (few centers, very many points), it uses
    a core of candidates.
    """
    fixed = np.empty(0, np.int64) if opened is None else np.unique(opened)
    search = _Search(costs, fixed, deadline)
    best = search.found(first)
    if k - len(fixed) < 1 or k == costs.shape[0]:
        return best[1], best[0]
    core, improving = search.core(best[1]), True
    while core is not None and improving and not deadline.over:
        places = {"first": np.searchsorted(core, best[1]), "opened": np.searchsorted(core, fixed)}
        found = near_search(costs.among(core), rng, **places, deadline=deadline, looks=_CORE_WORK)
        improving = found is not None and (endless or found[0] < (1 - _LEAST_GAIN) * best[0])
        best = best if found is None else (found[0], core[found[1]])
    if core is not None:
        return best[1], best[0]
    search.work_left, most_stalled = (np.inf, np.inf) if endless else (_BUDGET, _STALLED_ROUNDS)
    stalled, length = 0, _SHORT
    while rounds > 0 and stalled < most_stalled and search.work_left > 0 and not deadline.over:
        found = search.round(best, rng, length)
        better = found[0] < best[0] - TOLERANCE * abs(best[0])
        stalled = 0 if better else stalled + 1
        length *= 2
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
    """Improve rows by a descent and one chain that reads each entry `looks` times: seconds for
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
    """Costs, fixed rows and the deadline; `work_left`: entries that chains may still read."""

    def __init__(self, costs: Costs, fixed: Ints, deadline: Deadline) -> None:
        self.costs = costs
        self.fixed = fixed
        self.deadline = deadline
        self.work_left = np.inf
        self.regions: list[_Region] | None = None

    def found(self, rows: NDArray[Any]) -> Found:
        """Rows, the fixed ones first, with their cost."""
        rows = opened_first(self.fixed, rows)
        return float(self.costs.weights @ self.costs.two_nearest(rows)[0]), rows

    def round(self, best: Found, rng: np.random.Generator, length: float) -> Found:
        """The best of some chains of this length, and of recombinations."""
        k = len(best[1])
        if self.regions:
            return self._search_regions(best, rng)
        near = self._near(best[1])
        starts = [best[1]] * len(_TEMPERATURES)
        for i in (-1, -2) if length == _SHORT else (-1,):
            new_start = None if self.deadline.over else self.costs.new_start(k, self.fixed, rng)
            if new_start is not None:
                starts[i] = new_start
        if near is None:
            return min(map(self.found, starts), key=lambda one: one[0])
        if length > _SHORT and self.regions is None:
            self.regions = _regions(near, best[1], self.fixed)
            if self.regions:
                return self._search_regions(best, rng)
        chains = self._chains(near, starts, rng, self._work(near, k, length))
        ends = sorted(map(self.found, chains), key=lambda one: one[0])
        best = ends[0]
        for _, rows in ends[1:]:
            best = min(best, self.found(_crossover(near, best[1], rows)), key=lambda one: one[0])
        union = np.unique(np.concatenate(chains))
        if len(union) == k or length > _SHORT or self.deadline.over:
            return best
        restricted = _restrict(near, union, np.arange(len(near.weights)))
        starts = [np.searchsorted(union, best[1])] * 2
        relinked = self._chains(restricted, starts, rng, self._work(restricted, k, length))
        return min([best, *(self.found(union[rows]) for rows in relinked)], key=lambda one: one[0])

    def _search_regions(self, best: Found, rng: np.random.Generator) -> Found:
        """Chains in each region, with as many centers as it has and a few more and fewer."""
        assert self.regions
        for region in self.regions:
            region.keep(np.flatnonzero(np.isin(region.sites, best[1])))
        k = len(best[1])
        shares = allocate([region.cost for region in self.regions], k)[1]
        tasks = [
            (region, region.start(count, rng))
            for region, share in zip(self.regions, shares)
            for count in range(share - _MORE, share + _MORE + 1)
            if region.fixed < count < len(region.sites)
        ]
        each = [len(region.near.site) / len(region.near.weights) for region, _ in tasks]
        works = [_WORK[1] * entries * len(start) for entries, (_, start) in zip(each, tasks)]
        scale = min(1.0, max(self.work_left, 0.0) / max(sum(works), 1.0))
        chains = [
            _Chain(region.near, start, region.fixed, int(scale * work), _REGION_TEMPERATURE)
            for (region, start), work in zip(tasks, works)
        ]
        ends = self._run_all(chains, rng)
        self.work_left -= scale * sum(works)
        for (region, _), rows in zip(tasks, ends):
            cost = region.keep(rows)
            for twin in self.regions:  # maybe of the same pattern, as on circuits
                if twin.shape == region.shape and cost < twin.cost[len(rows)]:
                    twin.keep(rows)
        shares = allocate([region.cost for region in self.regions], k)[1]
        chosen = [one.sites[one.best_rows[share]] for one, share in zip(self.regions, shares)]
        return min(best, self.found(np.concatenate(chosen)), key=lambda one: one[0])

    def core(self, rows: Ints) -> Ints | None:
        """These rows and those of least reduced cost, ascending; None where all lists are short."""
        m, n = self.costs.shape
        if m * n <= MOST_ENTRIES or self.deadline.over or (self.costs.weights < 0).any():
            return None
        over = entries_within(self.costs, self._reach(rows, _REACHES[-1])) / MOST_ENTRIES
        if over <= 1 or (count := int(_CORE * m / over)) < 2 * len(rows):
            return None
        ascent = Ascent.below(self.costs, rows, self.fixed, False, self.deadline)
        return np.union1d(rows, ascent.core(count))

    def _reach(self, rows: Ints, times: float) -> Floats:
        """Costs (n_demand,) below which candidates are near."""
        second = self.costs.two_nearest(rows)[1]
        reach: Floats = times * second + second.mean() / 4
        reach[self.costs.weights < 0] = np.inf
        return reach

    def _near(self, rows: Ints, most: int = MOST_ENTRIES) -> Near | None:
        """Lists of near candidates when these rows are the centers."""
        weights = self.costs.weights
        for times in _REACHES:
            reach = self._reach(rows, times)
            lists = self.costs.lists(reach, most)
            if lists is not None:
                start, _, cost = lists
                whole = np.isinf(reach)
                reach[whole] = cost[start[1:][whole] - 1]
                by_site = kernels.transposed(*lists, self.costs.shape[0])
                return Near(*lists, *by_site, weights, _FAR * reach)
        return None

    def _work(self, near: Near, k: int, length: float) -> int:
        """Entries that a chain reads."""
        each = len(near.site) // (len(near.site_start) - 1) + 1
        work = min(_WORK[0] + _WORK[1] * each * (k - len(self.fixed)), _WORK[2])
        return int(min(length * work, max(self.work_left, 0) / len(_TEMPERATURES)))

    def _chains(
        self, near: Near, starts: list[Ints], rng: np.random.Generator, work: int
    ) -> list[Ints]:
        """The best rows of a chain from each start, each with its temperature and `work`."""
        self.work_left -= work * len(starts)
        fixed = len(self.fixed)
        temperatures = zip(starts, _TEMPERATURES)
        return self._run_all(
            [_Chain(near, rows, fixed, work, temperature) for rows, temperature in temperatures],
            rng,
        )

    def _run_all(self, chains: list[_Chain], rng: np.random.Generator) -> list[Ints]:
        """The best rows of chains, in parallel."""
        coins = rng.integers(0, 2**63, len(chains)).astype(np.uint64)
        orders = [rng.permutation(len(chain.near.site_start) - 1) for chain in chains]
        ends = [chain.rows for chain in chains]

        def run(i: int) -> None:
            ends[i] = self._run_chain(chains[i], coins[i : i + 1], orders[i])

        in_threads(run, range(len(chains)))
        return ends

    def _run_chain(self, chain: _Chain, coins: NDArray[np.uint64], order: Ints) -> Ints:
        near, rows, fixed, work, temperature = chain
        state, cost = kernels.state_at(near, rows, fixed)
        space = kernels.workspace(len(order), len(rows))
        if self.deadline.over:
            return rows
        # Smaller gains may be rounding: of weights of both signs, and of second nearest costs.
        weight = np.abs(near.weights)
        least_gain = max(TOLERANCE * (weight @ state.c_first), _NOISE * (weight @ near.far))
        cost = kernels.descended(near, state, space, order, cost, least_gain)
        warm = temperature * abs(cost) / len(rows)
        best = state.centers.copy()
        least = cost
        effort = np.array([0, 0, work])
        step = max(_SLICE, len(near.site))
        while effort[0] < work and not self.deadline.over:
            effort[1] = min(effort[0] + step, work)
            cost, least = kernels.kick_and_descend(
                near, state, space, fixed, coins, effort, warm, cost, least_gain, best, least
            )
            mixed = _crossover(near, best, state.centers)
            better = kernels.state_at(near, mixed, 0)[1]
            if better < least:
                best, least = mixed.astype(np.int32), better
        return best.astype(np.int64)


class _Chain(NamedTuple):
    """A chain from `rows`, the first `fixed` of which stay; `work`: entries to read."""

    near: Near
    rows: Ints
    fixed: int
    work: int
    temperature: float


class _Region:
    """Demand points and candidates that share no near pair with the rest.

    `near`: its lists; `sites`: its candidates, the first `fixed` of which stay; `best_rows`: by
    their number, with `cost`, infinite where there are none.
    """

    def __init__(self, near: Near, sites: Ints, fixed: int) -> None:
        self.near, self.sites, self.fixed = near, sites, fixed
        self.shape = fixed, len(sites), len(near.weights)
        self.best_rows: dict[int, Ints] = {}
        self.cost = np.full(len(sites) + 1, np.inf)

    def keep(self, rows: Ints) -> float:
        """Keep these rows, the fixed ones first, if they are the best of their number; their cost
        in any case.
        """
        cost = float(kernels.state_at(self.near, rows, 0)[1])
        if cost < self.cost[len(rows)]:
            self.cost[len(rows)] = cost
            self.best_rows[len(rows)] = rows
        return cost

    def start(self, count: int, rng: np.random.Generator) -> Ints:
        """The best rows of this number, or those of the nearest number, changed at random."""
        rows = self.best_rows[min(self.best_rows, key=lambda kept: abs(kept - count))]
        free = np.arange(self.fixed, len(rows))
        closed = rng.choice(free, max(len(rows) - count, 0), replace=False)
        others = np.setdiff1d(np.arange(len(self.sites)), rows)
        added = rng.choice(others, max(count - len(rows), 0), replace=False)
        return np.r_[np.delete(rows, closed), added]


def _regions(near: Near, rows: Ints, fixed: Ints) -> list[_Region]:
    """The regions around these rows; none if one has most of the demand points, or a row has none
    near it and so no region.
    """
    n, m = len(near.weights), len(near.site_start) - 1
    owner = np.repeat(np.arange(n), np.diff(near.start))
    state = kernels.state_at(near, rows, 0)[0]
    joins = near.cost <= state.c_first[owner] + state.c_second.mean()
    owner, site = owner[joins], near.site[joins]
    pairs = np.ones(len(owner), np.int8), (owner, n + site)
    count, label = connected_components(csr_array(pairs, shape=(n + m, n + m)), directed=False)
    served = np.bincount(label[:n], minlength=count)
    if served.max() > _LARGEST_REGION * n or not served[label[n + rows]].all():
        return []
    regions = []
    for one in np.flatnonzero(served):
        sites = np.flatnonzero(label[n:] == one)
        own = np.isin(sites, fixed)
        sites = np.r_[sites[own], sites[~own]]
        restricted = _restrict(near, sites, np.flatnonzero(label[:n] == one))
        regions.append(_Region(restricted, sites, int(np.count_nonzero(own))))
    return regions


def _restrict(near: Near, rows: Ints, demand: Ints) -> Near:
    """The lists of these candidates and demand points (ascending) alone."""
    number = np.full(len(near.site_start) - 1, -1, np.int32)
    number[rows] = np.arange(len(rows), dtype=np.int32)
    n = len(near.weights)
    owner = np.repeat(np.arange(n), np.diff(near.start))
    kept = (number[near.site] >= 0) & np.isin(owner, demand)
    start = np.r_[0, np.cumsum(np.bincount(owner[kept], minlength=n)[demand])]
    lists = start, number[near.site[kept]], near.cost[kept]
    return Near(
        *lists, *kernels.transposed(*lists, len(rows)), near.weights[demand], near.far[demand]
    )


def _crossover(near: Near, first: Ints, second: Ints) -> Ints:
    """The first rows, ascending, with those parts of the second that are better.

    Rows that only one solution has are in one part if both solutions serve some demand point by
    them. Each part is taken from either solution as a whole (partition crossover: Whitley, Hains &
    Howe, GECCO 2009); the result costs at most what its parts cost.
    """
    a, b = (kernels.state_at(near, rows.astype(np.int64), 0)[0] for rows in (first, second))
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
    swapped = differs & _balanced_parts(gain, size)[part]
    return np.flatnonzero((a.slot >= 0) != swapped)


def _balanced_parts(change: Floats, size: Ints) -> Bools:
    """The parts of least total change whose sizes sum to zero."""
    taken = (size == 0) & (change < 0)
    some = np.flatnonzero(size)
    costs: list[Floats] = []
    for part in some:  # index: centers beyond the smaller choice
        costs.append(np.full(abs(size[part]) + 1, np.inf))
        costs[-1][max(-size[part], 0)] = 0.0
        costs[-1][max(size[part], 0)] = change[part]
    shares = allocate(costs, -int(size[size < 0].sum()))[1]
    taken[some] = np.array(shares, np.int64) == np.maximum(size[some], 0)
    return taken
