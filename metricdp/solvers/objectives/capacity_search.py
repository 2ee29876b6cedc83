"""Capacitated k-median: local search on sites and assignments, a Lagrangian bound whose subproblems
are knapsacks, and HiGHS on the sites that the bound cannot exclude.
"""

import time
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, kron

from metricdp.arguments import Ints, opened_first
from metricdp.kernels.assignment_search import Sites, local_search
from metricdp.kernels.packing import knapsack, knapsacks
from metricdp.kernels.transport import transport
from metricdp.solvers.objectives.instance import Floats
from metricdp.solvers.objectives.site_branches import Ascent, Branch, SiteGroups
from metricdp.solvers.programs import Constraint, Optimum, minimized, side_by_side
from metricdp.solvers.stopping import Deadline

_NEAR_SITES, _TEMPERATURE = 10, 2e-3
"""Sites near a client that may open; by what part of its cost a round may end dearer."""
_STALLED, _SLICE = 2_000, 0.3
"""Rounds without gain that end a search without a time limit; seconds of a part of the search."""
_ROUND_COSTS = 10_000_000
"""Costs times rounds between checks of the time, of ten rounds at most: with 6 million costs one
round takes .5 to 1.5 s.
"""
_MOST_CHAINED = 20_000
"""With more clients than this no chains of moves are tried."""
_FULL_EVERY, _ALL_ROWS = 5, 100_000
"""One subgradient step in so many is over all rows; up to so many costs each is, and branches are
tried without a time limit too.
"""
_ROOT_ASCENT, _BRANCH_ASCENT = (2_000, 1.5, 20), (200, 0.7, 15)
"""Of all solutions and of a branch: subgradient steps, their first length, and steps without gain
before it falls.
"""
_BRANCHED, _BRANCHES = 3_000, 40
"""Most rows that are grouped for branches; branches without a time limit."""
_SHORT = 5.0
"""Seconds of HiGHS before branches with a time limit: some programs of 100 sites it solves in one,
where branches leave a gap of .1 % after 20.
"""
_TRY_EVERY = 50
"""Subgradient steps after which the rows that the relaxation opens are tried as sites."""
_PROGRAM_PAIRS, _SECONDS, _MIP_GAP = 20_000, 20.0, 1e-6
"""Most pairs of site and client in an integer program; its seconds, and its relative gap."""
_LEAST_MULTIPLE = 1.5
"""With too many sites left, HiGHS gets the most promising, if that can be so many times k."""

Rows = Ints


class SiteRules(NamedTuple):
    """A row is a place in one size, size by size; at most one row of a place is open.

    `max_open` (n_sizes,): open rows of each size; `opening_cost` (n_rows,); `min_load`: least load
    of every open row; `cutoff`: a search may end when its bound is above it.
    """

    max_open: Rows
    opening_cost: Floats
    min_load: float = 0.0
    cutoff: float = np.inf


class CapacitySearch:
    """k rows that serve all clients within their capacities at least cost; rows may share a client.

    `costs` (n_rows, n_clients): of serving all of each client; `loads` (n_clients,); `capacity`
    (n_rows,); `fixed`: required places; `unserved_cost` (n_clients,): cost of leaving each client
    unserved, None where all must be served; `coins`: public seed.

    `rows` (k,): the best found, None before; `upper`: its cost; `lower`: a bound of all solutions.

    The local search serves each client from one row; the cost of its rows is that of the best
    shares.
    """

    single_source, _partitions = False, False
    _ends_early, _most_branches = False, _BRANCHES

    def __init__(
        self,
        costs: Floats,
        loads: Floats,
        capacity: Floats,
        k: int,
        fixed: Rows,
        unserved_cost: Floats | None,
        deadline: Deadline,
        coins: int = 0,
        rules: SiteRules | None = None,
    ) -> None:
        self.costs, self.loads, self.capacity = np.ascontiguousarray(costs), loads, capacity
        self.k, self.fixed, self.unserved_cost, self.deadline = k, fixed, unserved_cost, deadline
        m, n = self.costs.shape
        self.rules = rules or SiteRules(np.array([k]), np.zeros(m))
        self._sizes = len(self.rules.max_open)
        self._places = m // self._sizes
        self._rounds = int(np.clip(_ROUND_COSTS // max(m * n, 1), 1, 10))
        self.size, self.place = np.divmod(np.arange(m), self._places)
        self._required = np.isin(self.place, fixed)
        self._limits = np.minimum(capacity, loads.sum()) * (1 + 1e-9)
        self.rows: Rows | None = None
        self.site: Rows = np.full(n, -1)
        self.upper, self.lower, self._best_cost = np.inf, 0.0, np.inf
        self._coins = np.array([coins], np.uint64)
        self._state: tuple[Rows, Rows] | None = None
        self._root: Ascent | None = None
        self._seen: set[bytes] = set()
        self._settled = False

    def _start(self, rows: Rows, site: Rows | None) -> None:
        """Begin the local search at these rows; `site`: which of them serves each client."""
        has_dummy = self.unserved_cost is not None
        if self._state is None:
            columns, min_load = self.costs.T, np.full(len(self.capacity), self.rules.min_load)
            rows_of = [self._limits, min_load, self.rules.opening_cost, self.place, self.size]
            rows_of.append(self.rules.max_open)
            # A dummy site for the unserved: always open, without limit.
            if self.unserved_cost is not None:
                columns = np.vstack([self.costs, self.unserved_cost]).T
                more = (np.inf, 0.0, 0.0, self._places, self._sizes, 1)
                rows_of = [np.r_[a, b] for a, b in zip(rows_of, more)]
            self._sites = Sites(np.ascontiguousarray(columns), self.loads, *rows_of)
            near = min(_NEAR_SITES, self._places)
            own = np.argpartition(self.costs[: self._places], near - 1, axis=0)[:near].T
            shifts = np.arange(self._sizes) * self._places
            self._near = (own[:, :, None] + shifts).reshape(len(own), -1).copy()
            unit = columns.mean() / (float(self.loads.mean()) or 1.0)
            self._penalties = np.array([0.1, 0.01, 1e4]) * max(unit, 1e-300)
        nobody = np.full(int(has_dummy), len(self.capacity))
        required = rows[self._required[rows]]
        rows = np.r_[nobody, required, rows[~self._required[rows]]].astype(np.int64)
        sites = self._sites
        costs, capacity = np.ascontiguousarray(sites.costs[:, rows].T), sites.capacity[rows]
        slot = None if site is None else site + has_dummy
        if slot is None:
            unit = costs / np.where(self.loads > 0, self.loads, 1.0)
            flow, slot = np.empty_like(unit), costs.argmin(axis=0)
            if transport(unit, self.loads, np.minimum(capacity, self.loads.sum()), flow):
                slot = np.where(self.loads > 0, flow.argmax(axis=0), slot)
        self._state = (rows, slot.astype(np.int64))

    @property
    def limited(self) -> bool:
        """Whether to search on until the time limit, as long as there is a gap."""
        return self.deadline.seconds is not None and not self._ends_early

    @property
    def proven(self) -> bool:
        """Whether the best rows are optimal, or the bound exceeds the cutoff."""
        return self._settled or self.lower >= self.upper or self.lower > self.rules.cutoff

    def run(self, first: Rows, site: Rows | None = None) -> None:
        """Search from these rows (and this assignment), raise the bound, solve what it leaves open;
        repeat until the time limit, if there is one.
        """
        self._start(self.with_capacity(first), site)
        rounds = self._search(self._rounds, 0.0)
        if not self._wants_bound():
            self._search_until_stalled(rounds, _STALLED)
            return
        self._search_until_stalled(rounds, _STALLED // 4)
        if not np.isfinite(self.upper) and not self._find_feasible():
            return
        self._raise_bound()
        self._search_until_stalled(rounds, _STALLED)
        self._improve_parts()
        limited, solved_at = self.limited, np.inf
        while not (self.proven or self.deadline.over):
            if self.upper < solved_at:
                if solved_at < np.inf:
                    self._raise_bound()
                solved_at = self.upper
                self._solve_remaining(limited)
            elif not limited:
                break
            if limited:
                rounds = self._search(rounds, _SLICE)
        self._improve_sizes()
        self.lower = min(self.lower, self.upper)

    def _improve_parts(self) -> None:
        """What subclasses do between rounds."""

    def _improve_sizes(self) -> None:
        """Try other sizes of the sites found, each at the cost of its best shares."""
        better = self._sizes > 1 and not self.single_source and not self.proven
        while better and self.rows is not None:
            before = self.upper
            for a, size in product(range(self.k), range(self._sizes)):
                others = np.flatnonzero(self.size[self.rows] == size)
                for b in [a, *others]:
                    tried = self.size[self.rows]
                    tried[b], tried[a] = tried[a], size
                    self.consider(tried * self._places + self.place[self.rows])
            better = self.upper < before and not self.deadline.over

    def serve(self, site: Rows | None) -> None:
        """Find who is served where when all places are open, from an assignment; stops early."""
        self._start(self.with_capacity(np.arange(self._places)), site)
        rounds = self._search(self._rounds, 0.0)
        self._search_until_stalled(rounds, _STALLED // 10)
        if not np.isfinite(self.upper):
            self._find_feasible()
        if self._wants_bound() and np.isfinite(self.upper):
            self._raise_bound()
            self._solve_remaining(False)

    def _wants_bound(self) -> bool:
        """Whether a bound is computed."""
        return True

    def _search_until_stalled(self, rounds: int, max_stalled: int) -> None:
        stalled, max_stalled = 0, min(max_stalled, 20 + 2_000_000 // len(self.loads))
        while stalled < max_stalled and not (self.deadline.over or self.proven):
            before = self.upper
            self.deadline.tell(self.upper, self.lower)
            rounds = self._search(rounds, 0.0)
            stalled = stalled + rounds if self.upper >= before else 0

    def _search(self, rounds: int, seconds: float) -> int:
        """Run so many rounds of the local search. Returns how many take about `seconds`."""
        assert self._state is not None
        begin = time.thread_time()
        rows, site = self._state
        best_rows, best_site = rows.copy(), site.copy()
        cost = local_search(
            self._sites,
            rows,
            site,
            len(rows) - self.k + len(self.fixed),
            self._near,
            self._coins,
            self._penalties,
            _TEMPERATURE * (self._best_cost if np.isfinite(self._best_cost) else 0.0),
            rounds,
            len(self.loads) <= _MOST_CHAINED,
            best_rows,
            best_site,
            self._best_cost,
        )
        n_dummy = len(rows) - self.k
        if cost < self._best_cost:
            self._best_cost = cost
            self._record(best_rows[n_dummy:], best_site - n_dummy, cost)
        elif np.isinf(self._best_cost):
            self._record(rows[n_dummy:], site - n_dummy, np.inf)
        spent = max(time.thread_time() - begin, 1e-6)
        return rounds if seconds == 0.0 else int(np.clip(rounds * seconds / spent, 1, 10_000))

    def _record(self, rows: Rows, site: Rows, cost: float) -> None:
        """Keep what the local search found, if it is better."""
        self.consider(rows)

    def consider(self, rows: Rows) -> None:
        """Keep these rows if their sizes are allowed and they cost less than the best."""
        name, of_size = np.sort(rows).tobytes(), np.bincount(self.size[rows])
        if name in self._seen or (of_size > self.rules.max_open[: len(of_size)]).any():
            return
        self._seen.add(name)
        value = self.flow(rows)[0]
        if value < self.upper:
            self.upper, self.rows = value, rows.copy()

    def _find_feasible(self) -> bool:
        """Ask HiGHS for a feasible solution: of the largest sites, then of all. Whether there is
        one.
        """
        every = np.arange(len(self.costs))
        roomiest = self.with_capacity(np.r_[self.fixed, np.argsort(-self.capacity, kind="stable")])
        for rows in (roomiest, every):
            if not np.isfinite(self.upper) and len(rows) * len(self.loads) <= _PROGRAM_PAIRS:
                self._program(rows, proves=len(rows) == len(every))
        return bool(np.isfinite(self.upper))

    def remaining(self, upper: float) -> Rows:
        """Rows that a solution of at most this cost may use: its bound does not exclude them."""
        found: Rows = np.flatnonzero(self._bound_with <= upper)
        return found if self.rows is None else np.union1d(found, self.rows)

    def with_capacity(self, rows: Rows) -> Rows:
        """The first k of these rows, after exchanges of the smallest for the roomiest until all
        demand fits; of several sizes the largest go where most demand is nearest.
        """
        if self._sizes > 1:
            every = np.arange(self._places)
            places = opened_first(self.fixed, self.place[rows])
            places = opened_first(places, every)[: self.k]
            order = np.argsort(-self.capacity[:: self._places], kind="stable")
            own = np.repeat(order, np.minimum(self.rules.max_open, self.k)[order])[: self.k]
            near = np.bincount(self.costs[places].argmin(axis=0), self.loads, self.k)
            large = np.empty(self.k, np.int64)
            large[np.argsort(-near, kind="stable")] = own
            return large * self._places + places
        need = self.loads.sum() if self.unserved_cost is None else 0.0
        rows = rows[np.sort(np.unique(rows, return_index=True)[1])][: self.k].astype(np.int64)
        others = [
            i for i in np.argsort(-self.capacity, kind="stable") if i not in set(rows.tolist())
        ]
        free = np.setdiff1d(rows, self.fixed)
        for out, into in zip(free[np.argsort(self.capacity[free], kind="stable")], others):
            if self.capacity[rows].sum() >= need:
                break
            rows[rows == out] = into
        return rows

    def flow(self, rows: Rows) -> tuple[float, Floats | None]:
        """Cost and loads of the best shares from these rows; infinite if they do not fit."""
        per = np.where(self.loads > 0, self.loads, np.inf)
        unit, capacity, k, min_load = (
            self.costs[rows] / per,
            self.capacity[rows],
            len(rows),
            self.rules.min_load,
        )
        if min_load > 0:  # the least load as a cheaper part of the capacity
            dear = (k + 1.0) * max(float(unit.max()), 1e-300)
            unit = np.vstack([unit, unit + dear])
            capacity = np.r_[np.minimum(capacity, min_load), np.maximum(capacity - min_load, 0.0)]
        if self.unserved_cost is not None:
            unit, capacity = (
                np.vstack([unit, self.unserved_cost / per]),
                np.r_[capacity, self.loads.sum()],
            )
        flow = np.empty_like(unit)
        if not transport(np.ascontiguousarray(unit), self.loads, capacity, flow):
            return np.inf, None
        if min_load > 0:
            if (flow[:k].sum(axis=1) < min_load * (1 - 1e-9)).any():
                return np.inf, None
            flow = flow[:k] + flow[k:]
            unit = unit[:k]
        free = self.loads <= 0  # clients of no load are served by the cheapest
        cost = float((unit * flow).sum() + self.rules.opening_cost[rows].sum())
        if free.any():
            bare = self.costs[rows][:, free].min(axis=0)
            cost += float(
                (
                    bare
                    if self.unserved_cost is None
                    else np.minimum(bare, self.unserved_cost[free])
                ).sum()
            )
        return cost, flow

    def _cutoff(self) -> float:
        """Only what costs less than this is better."""
        return self.upper * (1 - _MIP_GAP / 10)

    def _raise_lower(self, value: float) -> None:
        self.lower = max(self.lower, value)
        if self.lower >= self._cutoff():
            self.lower = self.upper

    def _raise_bound(self) -> None:
        """The Lagrangian bound of all solutions, over dual prices of "each client is served once",
        and for each row of those that use it.
        """
        m = len(self.costs)
        prices = None if self._root is None else self._root.prices
        if prices is None:
            prices = np.partition(self.costs, min(2, m - 1), axis=0)[min(2, m - 1)] * 1.5
            if self.unserved_cost is not None:
                prices = np.maximum(prices, self.unserved_cost / 2)
        self._root = root = self._ascend(self._relaxed_choice, prices, _ROOT_ASCENT)
        self._raise_lower(root.bound)
        # A row that is opened replaces the worst of those chosen, or its place's required row.
        own = np.full(self._places, -np.inf)
        np.maximum.at(own, self.place, root.worth)
        free = root.chosen[~self._required[root.chosen]]
        last = root.worth[free].min() if len(free) else np.inf
        self._bound_with = root.bound + np.where(self._required, own[self.place], last) - root.worth

    def _ascend(
        self, choose: Callable[[Floats], Rows], prices: Floats, pace: tuple[int, float, int]
    ) -> Ascent:
        """Subgradient ascent of the Lagrangian bound; `choose` opens rows by their worth; `pace` as
        in `_ROOT_ASCENT`.
        """
        steps, step_length, patience = pace
        costs, loads, capacity, m = self.costs, self.loads, self._limits, len(self.costs)
        min_load = self.rules.min_load
        packs = self.single_source and min_load == 0
        goal = self.upper * 1.001 if np.isfinite(self.upper) else float(costs.max(axis=0).sum())
        every, few = np.arange(m), 3 * self.k + 10
        all_ = self._sizes > 1 or few >= m or costs.size <= _ALL_ROWS
        worth, active, frequency, stalled = np.empty(m), every, np.zeros(m), 0
        best: Ascent | None = None
        # Between evaluations of all rows only the `active` ones are evaluated, for direction alone.
        for step in range(steps):
            full = all_ or step % _FULL_EVERY == 0
            if self.unserved_cost is not None:
                prices = np.minimum(prices, self.unserved_cost)
            worth[:] = -np.inf
            rows = every if full else active
            knapsacks(costs, prices, loads, capacity, min_load, packs, rows, worth)
            worth[rows] -= self.rules.opening_cost[rows]
            chosen = choose(worth)
            value = float(prices.sum() - worth[chosen].sum())
            if full:
                if not all_:
                    likely = np.argpartition(-worth, few)[:few]
                    active = np.union1d(likely, chosen)  # these satisfy all counts
                opened = np.bincount(chosen, minlength=m).astype(np.float64)
                frequency = opened if best is None else 0.95 * frequency + 0.05 * opened
                gains = best is None or value > best.bound + 1e-6 * abs(self.upper)
                stalled = 0 if gains else stalled + (1 if all_ else _FULL_EVERY)
                if best is None or value > best.bound:
                    best = Ascent(value, prices.copy(), worth.copy(), chosen, frequency)
                if step % _TRY_EVERY == 0:
                    self._try_rows(chosen)
                self.deadline.tell(self.upper, self.lower)
                done = best.bound >= self._cutoff() or best.bound > self.rules.cutoff
                if done or step_length < 1e-3:
                    break
                if self.deadline.over:
                    break
                if stalled >= patience:
                    step_length, stalled, prices = 0.7 * step_length, 0, best.prices.copy()
                    continue
            served = np.zeros(len(loads))
            for i in chosen:
                knapsack(costs[i], prices, loads, capacity[i], min_load, packs, served, 1.0)
            slope = 1.0 - served
            length = float(slope @ slope)
            if length == 0.0:
                if full:
                    break
                continue
            prices = np.maximum(prices + step_length * (goal - value) / length * slope, 0.0)
        assert best is not None
        rounding = 1e-12 * float(np.abs(best.prices).sum())
        return best._replace(bound=best.bound - rounding, frequency=frequency)

    def _try_rows(self, rows: Rows) -> None:
        """Evaluate rows that the relaxation opens; go on with the local search from better ones."""
        before = self.upper
        if not self.single_source and len(np.unique(self.place[rows])) == self.k:
            self.consider(self.with_capacity(rows) if self._sizes == 1 else rows)
        if self.upper < before and self.rows is not None:
            self._start(self.rows, None)
            self._search(self._rounds, 0.0)

    def _relaxed_choice(self, worth: Floats) -> Rows:
        """The rows that the relaxation opens: with scarce sizes a place may open twice."""
        by_place = worth.reshape(self._sizes, -1)
        required = by_place[:, self.fixed].argmax(axis=0) * self._places + self.fixed
        remaining, max_open = self.k - len(self.fixed), self.rules.max_open
        order = np.argsort(-worth, kind="stable")
        order = order[~self._required[order]]
        if max_open.min() >= self.k:
            if self._sizes > 1:
                order = order[np.sort(np.unique(self.place[order], return_index=True)[1])]
            return np.r_[required, order[:remaining]].astype(np.int64)
        kept = [order[self.size[order] == s][: max_open[s]] for s in range(self._sizes)]
        likely = np.concatenate(kept)
        likely = likely[np.argsort(-worth[likely], kind="stable")[:remaining]]
        return np.r_[required, likely].astype(np.int64)

    def _solve_remaining(self, limited: bool) -> None:
        """HiGHS on the rows left, or on the most promising ones, which proves nothing; then branch
        and bound.
        """
        rows, n = self.remaining(self.upper), max(len(self.loads), 1)
        most = np.inf if limited else self._most_branches * (self.costs.size <= _ALL_ROWS)
        branches = most > 0 and self._sizes == 1 and self.k < len(self.costs) <= _BRANCHED
        promising = not (self.single_source or (branches and limited))
        if len(rows) * n <= _PROGRAM_PAIRS and not self._partitions:
            short = min(_SHORT, self.deadline.left / 4.0)
            self._program(rows, seconds=short if branches and limited else _SECONDS)
        elif promising and _LEAST_MULTIPLE * self.k * n <= _PROGRAM_PAIRS:
            fit = _PROGRAM_PAIRS // n
            hopeful = rows[np.argsort(self._bound_with[rows], kind="stable")[:fit]]
            known = np.empty(0, np.int64) if self.rows is None else self.rows
            self._program(np.union1d(hopeful, known), proves=False)
        if branches and not self.proven:
            self._branch(most)

    def _branch(self, most: float) -> None:
        """At most so many branches, the least bound first, on how many rows open in groups of them;
        the local search goes on from what each branch opens.
        """
        assert self._root is not None
        groups = SiteGroups(self.costs)
        root = groups.root(self.k, self.fixed)
        queue = [Branch(self._root.bound, 0, root, self._root)]
        made, unresolved, rounds = 0, np.inf, 10
        while queue and not self.deadline.over and made < most:
            self._raise_lower(min(queue[0].bound, unresolved))
            if self.proven:
                return
            branch = heappop(queue)
            sides = groups.branches(branch)
            bound = self._resolved(branch, groups, decided=not sides)
            if not sides:
                unresolved = min(unresolved, bound)
            for counts in sides if bound < self._cutoff() else ():
                begin = time.thread_time()
                ascent = self._ascend(
                    partial(groups.chosen, counts=counts), branch.ascent.prices, _BRANCH_ASCENT
                )
                made += 1
                least = max(bound, ascent.bound)
                if least < self._cutoff():
                    heappush(queue, Branch(least, made, counts, ascent))
                    rounds = self._search_from(
                        ascent.chosen, rounds, (time.thread_time() - begin) / 2
                    )
        self._raise_lower(min(queue[0].bound if queue else self.upper, unresolved, self.upper))

    def _search_from(self, rows: Rows, rounds: int, seconds: float) -> int:
        """The local search for so many rounds from some rows, and for so many seconds from the best
        ones. Returns how many rounds these take.
        """
        best = self.upper
        self._start(rows, None)
        self._search(self._rounds, 0.0)
        if self.upper >= best and self.rows is not None:
            self._start(self.rows, self.site if self.single_source else None)
        return self._search(rounds, seconds)

    def _resolved(self, branch: Branch, groups: SiteGroups, decided: bool) -> float:
        """A bound of a branch, infinite where nothing better is left in it; `decided`: whether it
        leaves no choice of rows.
        """
        if decided:
            self.consider(branch.ascent.chosen)
        return np.inf if decided else branch.bound

    def _program(self, rows: Rows, proves: bool = True, seconds: float = _SECONDS) -> float:
        """HiGHS on some rows; returns its bound. `proves`: whether nothing outside of them can be
        better.
        """
        answer = self.program(rows, single_source=self.single_source, seconds=seconds)
        if answer.x is not None:
            self._consider_program(rows, answer.x)
        if proves:
            self._raise_lower(min(answer.bound, self.upper))
            self._settled = answer.proven
        return answer.bound

    def _consider_program(self, rows: Rows, x: Floats) -> None:
        """Keep the rows of a program's solution if they are better."""
        order = np.argsort(-x[: len(rows)], kind="stable")[: self.k]
        self.consider(rows[np.sort(order)])

    def program(
        self, rows: Rows, *, single_source: bool = False, seconds: float = _SECONDS
    ) -> Optimum:
        """The integer program of some rows, by HiGHS. Its variables: whether each row is open, then
        the share of each client that each row serves (0 or 1 if `single_source`), then shares
        unserved.
        """
        m, n = len(rows), len(self.loads)
        unserved_cost = n if self.unserved_cost is not None else 0
        every, pairs = eye_array(n), eye_array(m * n)
        served = [kron(np.ones((1, m)), every)] + ([every] if unserved_cost else [])
        rules = [Constraint(side_by_side(m, *served), 1.0, 1.0)]
        filled = kron(eye_array(m), self.loads[None, :])
        capacity = np.minimum(self.capacity[rows], self.loads.sum())
        # exactly: HiGHS errs by coefficients like 1 + 1e-9
        rules.append(
            Constraint(side_by_side(diags_array(-capacity), filled, unserved_cost), -np.inf, 0.0)
        )
        if self.rules.min_load > 0:
            empty = diags_array(np.full(m, -self.rules.min_load))
            rules.append(Constraint(side_by_side(empty, filled, unserved_cost), 0.0, np.inf))
        linked = kron(eye_array(m), np.ones((n, 1)))
        rules.append(Constraint(side_by_side(linked, -pairs, unserved_cost), 0.0, np.inf))
        rules.append(
            Constraint(
                side_by_side(np.ones((1, m)), m * n + unserved_cost), float(self.k), float(self.k)
            )
        )
        required = np.isin(np.arange(self._places), self.fixed).astype(np.float64)
        for group, low, high in (
            (self.place[rows], required, np.ones(self._places)),
            (self.size[rows], np.zeros(self._sizes), self.rules.max_open.astype(np.float64)),
        ):
            if self._sizes > 1 or (low > 0).any():
                own = csr_array((np.ones(m), (group, np.arange(m))), (len(low), m))
                rules.append(Constraint(side_by_side(own, m * n + unserved_cost), low, high))
        unserved = [] if self.unserved_cost is None else [self.unserved_cost]
        cost = np.concatenate([self.rules.opening_cost[rows], self.costs[rows].ravel(), *unserved])
        n_whole = len(cost) if single_source else m
        return minimized(cost, rules, n_whole, self.deadline, seconds=seconds, gap=_MIP_GAP)
