"""p-center in large universes: a search on a few listed demand points, and a lower bound by dual
prices.

A local search for set cover with row weights (`metricdp.kernels.covering`) finds k sites that
reach the listed demand points. Sites move to the center of their demand; demand that is not reached
is listed too. The bound is the dual of a linear program: if no site collects more than 1 of the
prices within a radius and they sum to more than k, no k sites reach everybody. HiGHS raises it in
the time left.
"""

import time

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from metricdp.arguments import Ints
from metricdp.kernels.covering import cover_rows
from metricdp.solvers.objectives import reach
from metricdp.solvers.objectives.instance import WITHIN, Floats, Instance, Positions
from metricdp.solvers.objectives.reach import CLOSE, CenterSearch
from metricdp.solvers.programs import greedy_columns, relaxed
from metricdp.solvers.stopping import Deadline

_LISTED, _LEAST_LISTED, _MOST_ENTRIES = 10, 100, 90_000_000
"""Demand points listed at first, for each of k, and at least; most pairs listed."""
_FIRST_RADIUS = 0.7
"""Radius of the first lists, as a part of that of the farthest-first sites, which is up to twice
the best.
"""
_SAMPLE = 16_000
"""Sites among which those of the local search and of the linear program are chosen."""
_COVER_LIMITS, _MOVES = (30_000, 2_000_000_000), 3
"""Most steps of a set-cover search and most updates of its scores, some 4 s; rounds in
which sites move to the center of their demand.
"""
_LISTED_A_ROUND, _LISTED_APART = 1, 0.1
"""Demand points listed in a round, for each of k, and their distance from each other, in radii."""
_STEP = 0.02
"""First relative decrease of the radius that is tried from known sites."""
_PRICE_ROUNDS, _SITES_A_ROUND = 8, 150
"""Rounds of column generation, and sites added in one."""
_SMALLER = np.array([1.0, 0.99, 0.98, 0.96, 0.94, 0.92, 0.9, 0.87, 0.84, 0.8])
"""Parts of a radius within which its prices are tried too."""
_FIRST_REFUTED, _MOST_PRICED = 0.95, 1500
"""Part of the radius that is refuted first, and demand points with prices: of those not listed only
sites of the sample are known. A bound is no better than they are dense.
"""
_COLUMNS, _VIOLATED, _TIGHT = 1000, 1.0005, 0.05
"""Sites of a linear program at first, or added at a time; how much they must collect to be added,
and how much less than 1 to stay in the next one.
"""
_SEARCHES, _ROWS, _SECONDS = 180.0, 4000.0, 30.0
"""Most searches or rows; the time is that of so many searches, or these seconds if they are
more.
"""
_UNTIL_UPWARD, _UNTIL_PRICES, _UNTIL_DOWNWARD = 0.5, 0.6, 0.85
"""Parts of the time at which upward searches, prices and downward searches end."""
_WIDE_GAP, _TIME_FACTORS = 0.02, (2.0, 2.5)
"""Gaps from which the time is multiplied: by the first factor until another downward search ends,
with more demand points, by the second for their prices.
"""
_NONE = np.empty(0, np.int64)


class WideSearch(CenterSearch):
    """p-center by local search for the sites, dual prices and integer programs for the bound."""

    def __init__(self, instance: Instance, clients: Positions, k: int) -> None:
        super().__init__(instance, clients, k)
        n = len(instance.allowed)
        self._count, self._worst = np.zeros(n, np.int32), np.zeros(n)
        self._slot = np.full(n, -1, np.int32)
        self._sample = _NONE
        self._sample_lists: list[tuple[NDArray[np.int32], Floats]] = []
        self._add_to_sample(np.sort(self._rng.choice(n, min(n, _SAMPLE), replace=False)))
        self._client_at: Ints | None = None
        if instance.metric.sites is instance.metric.ids:
            self._client_at = np.full(len(instance.metric), -1)
            self._client_at[clients] = np.arange(len(clients))
        self._end = self._start = time.process_time()
        self._priced_clients: list[int] = []
        self._extra, self._extra_to_required = _NONE, np.empty(0)
        self._extra_lists: list[tuple[NDArray[np.int32], Floats]] = []
        self._time_factor = 1.0
        self._extra_known, self._tight_slots = 0, _NONE

    def run(self) -> None:
        """Search for sites, then raise the bound, until both are close or time is over."""
        self._start = time.process_time()
        spread = self._list_farthest()
        self.lists.radius = min(_FIRST_RADIUS * self.upper, self.upper)
        self._add_lists(spread)
        self._search_upward()
        if self.upper > self.lists.radius:  # lists are too short, as where places are few
            self._rebuild_lists()
            self._search_upward()
        self.lists.shorten(self.upper)
        high = min(self.upper, self.lists.radius)
        self._raise_lower(
            high,
            0.95 * high,
            self._refuted_by_prices,
            # without any bound yet, prices are tried in any case: they need seconds
            lambda: (
                self.instance.deadline.over or (self.lower > 0 and self._out_of_time(_UNTIL_PRICES))
            ),
        )
        self._search_downward()
        self.lists.shorten(self.upper)
        high = min(self.upper, self.lists.radius)
        self._raise_lower(
            high, (self.lower + high) / 2, self._refuted_by_program, self._budget_spent
        )
        if self.upper > self.lower * (1 + _WIDE_GAP):
            self._time_factor = _TIME_FACTORS[0]
            self._add_extra_clients()
            self._search_downward()
            self.lists.shorten(self.upper)
            self._time_factor = _TIME_FACTORS[1]
            high = min(self.upper, self.lists.radius)
            first = max(_FIRST_REFUTED * high, (self.lower + high) / 2)
            self._raise_lower(high, first, self._refuted_by_prices, lambda: self._out_of_time(1.0))

    def _budget_spent(self, part: float = 1.0) -> bool:
        """Whether this part of the time or of the searches is spent, or the memory for lists."""
        return self.lists.entries > _MOST_ENTRIES or self._out_of_time(part)

    def _out_of_time(self, part: float) -> bool:
        """Whether this part of the time or of the searches is spent."""
        self.instance.deadline.tell(self.upper, self.lower)
        part *= self._time_factor
        late = time.process_time() > self._start + part * (self._end - self._start)
        most = _SEARCHES if self.instance.metric.network is not None else _ROWS
        return late or self.lists.balls.searched > part * most or self.instance.deadline.over

    def _list_farthest(self) -> list[int]:
        """Farthest-first clients (Gonzalez 1985); the first solution is near the first k."""
        instance, clients = self.instance, self.clients
        size = min(max(_LISTED * self.k, _LEAST_LISTED), len(clients))
        near, found = reach.Nearness(instance), list[int]()
        sites = [int(site) for site in instance.opened]
        for client, site in self._farthest(near):
            found.append(client)
            if len(sites) < self.k:
                sites.append(site)
            if len(found) == 1:
                self._end = self._start + max(_SEARCHES * near.seconds, _SECONDS)
            if len(found) >= size and len(sites) >= self.k:
                break
        self.lists.balls.searched += near.searched
        self.best = reach.sites_filled(instance, np.array(sites, np.int64), _NONE, self.k)
        self._evaluate(self.best)
        return found

    def _add_to_sample(self, sites: Ints) -> None:
        """Add sites (indices) to the sample."""
        fresh = sites[self._slot[sites] < 0]
        self._slot[fresh] = np.arange(len(self._sample), len(self._sample) + len(fresh))
        self._sample = np.r_[self._sample, fresh]
        self._sample_lists = []

    def _add_lists(self, clients: list[int]) -> None:
        for client in clients:
            self.lists.add([client])
            if self.lists.entries > _MOST_ENTRIES:
                break

    def _rebuild_lists(self) -> None:
        """List the same clients up to the best radius."""
        before, self.lists = self.lists, reach.ReachLists(self.instance, self.clients)
        self._undominated = reach.Undominated(self.lists, len(self.instance.allowed), self._rng)
        self.lists.radius, self._sample_lists = self.upper, []
        self.lists.balls.searched = before.balls.searched
        self._add_lists(before.numbers)

    def _add_extra_clients(self) -> None:
        """Extra demand points far from each other and from those listed, with the sites of the
        sample near them: they get prices too.
        """
        if self._client_at is None:
            return
        instance, extra = self.instance, list[int]()
        listed = self.clients[np.array(self.lists.numbers)]
        away = instance.metric.symmetric.nearest_to(listed)[1][self.clients]
        while len(extra) + len(listed) < _MOST_PRICED and not self._out_of_time(1.0):
            client = int(np.argmax(away))
            if away[client] <= 0.0:
                break
            places, distance = self.lists.balls(int(self.clients[client]), float(away[client]))
            near = self._client_at[places]
            distance, near = distance[near >= 0], near[near >= 0]
            away[near] = np.minimum(away[near], distance)
            away[client] = 0.0
            extra.append(client)
            self._extra_lists.append(self._in_sample(*self.lists.near(client)))
        self._extra, self._extra_known = np.array(extra, np.int64), len(self._sample)
        self._extra_to_required = np.full(len(extra), np.inf)
        if len(instance.opened):
            self._extra_to_required = self._nearest(instance.opened)[1][self._extra]

    def _in_sample(self, sites: Positions, distance: Floats) -> tuple[NDArray[np.int32], Floats]:
        """Slots in the sample of the sites of a list, and their distances."""
        slots = self._slot[sites]
        return slots[slots >= 0], distance[slots >= 0]

    def _update_extra(self) -> None:
        """Add sites that joined the sample since to the lists of extra clients."""
        place = np.full(len(self.instance.metric), -1, np.int32)
        place[self.clients[self._extra]] = np.arange(len(self._extra))
        fresh: list[list[tuple[int, float]]] = [[] for _ in self._extra]
        balls = reach.Balls(self.instance)
        for slot in range(self._extra_known, len(self._sample)):
            site = int(self.instance.allowed[self._sample[slot]])
            at, distance = balls(site, self.lists.radius)
            which = place[at]
            for t, d in zip(which[which >= 0].tolist(), distance[which >= 0].tolist()):
                fresh[t].append((slot, d))
        for t, more in enumerate(fresh):
            slots, distance = self._extra_lists[t]
            added = np.array(more).reshape(-1, 2)
            slots = np.r_[slots, added[:, 0].astype(np.int32)]
            self._extra_lists[t] = slots, np.r_[distance, added[:, 1]]
        self.lists.balls.searched += balls.searched
        self._extra_known = len(self._sample)

    def _columns(
        self, uncovered: list[int], radius: float, first: Ints = _NONE, extra: Ints = _NONE
    ) -> tuple[Ints, csr_array]:
        """Undominated sites of the sample, and the matrix sites × (listed, `extra`) clients."""
        while len(self._sample_lists) < len(self.lists):
            self._sample_lists.append(self._in_sample(*self.lists[len(self._sample_lists)]))
        if len(extra) and self._extra_known < len(self._sample):
            self._update_extra()
        within = radius * (1 + WITHIN)
        lists = [self._sample_lists[j] for j in uncovered] + [self._extra_lists[t] for t in extra]
        rows = [slots[distance <= within] for slots, distance in lists]
        columns = csr_array(reach.matrix_of(rows, len(self._sample)).T.tocsr())
        kept = reach.maximal(columns, first)
        return kept, csr_array(columns[kept])

    def _cover(self, radius: float, start: Positions = _NONE) -> Positions | None:
        """k sites of the sample that reach all listed clients, by a local search (from `start`)."""
        instance = self.instance
        left = self._n_free
        free = np.searchsorted(instance.allowed, np.setdiff1d(start, instance.opened))
        self._add_to_sample(free)
        uncovered = self._uncovered(radius)
        if not uncovered:
            return self._filled(_NONE)
        extra = np.flatnonzero(self._extra_to_required > radius * (1 + WITHIN))
        slots, columns = self._columns(uncovered, radius, self._slot[free].astype(np.int64), extra)
        rows = csr_array(columns.T.tocsr())
        if left == 0 or (np.diff(rows.indptr) == 0).any():
            return None
        chosen = np.flatnonzero(np.isin(slots, self._slot[free]))
        if len(start) == 0:
            chosen = greedy_columns(rows)
        if len(start) or len(chosen) > left:
            others = np.setdiff1d(np.arange(len(slots)), chosen)
            chosen = np.r_[chosen, others][:left].astype(np.int64)
            pair = [
                (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))
                for matrix in (columns, rows)
            ]
            found, _ = cover_rows(*pair, chosen, *_COVER_LIMITS, int(self._rng.integers(2**32)))
            if not found:
                return None
        return self._filled(instance.allowed[self._sample[slots[chosen]]])

    def _search_upward(self) -> None:
        """Find the least radius for the listed clients; list those left out; repeat."""
        low, radius = 0.5 * self.upper, min(self.lists.radius, self.upper)
        sites = self._cover(radius)
        while not self._budget_spent(_UNTIL_UPWARD):
            if sites is None:
                if radius >= self.upper * (1 - CLOSE):
                    break
                low, radius = radius, radius * (1 + CLOSE)
                sites = self._cover(radius)
                continue
            while radius - low > CLOSE * radius and not self._budget_spent(_UNTIL_UPWARD):
                middle = (low + radius) / 2
                found = self._cover(middle)
                if found is None:
                    low = middle
                else:
                    sites, radius = found, middle
            if self._nearly_covers(sites, radius):
                break
            low = radius / (1 + CLOSE)
            sites = self._cover(radius)

    def _search_downward(self) -> None:
        """Shrink the radius of the best sites by smaller and smaller steps."""
        step = _STEP
        while step > CLOSE / 2 and not self._budget_spent(_UNTIL_DOWNWARD):
            if self.upper <= self.lower * (1 + CLOSE):
                break
            radius = max(self.upper * (1 - step), self.lower)
            before, sites = self.upper, self._cover(radius, self.best)
            while sites is not None and not self._budget_spent(_UNTIL_DOWNWARD):
                if self._nearly_covers(sites, radius):
                    break
                sites = self._cover(radius, sites)
            if self.upper > before * (1 - step / 2):
                step /= 2

    def _nearly_covers(self, sites: Positions, radius: float) -> bool:
        """Move sites to the center of their demand; whether they then nearly reach all clients."""
        label, distance = self._evaluate(sites)
        for _ in range(_MOVES):
            if distance.max() <= radius * (1 + CLOSE / 2) or self._budget_spent():
                break
            self._list_uncovered(distance, radius)
            moved = self._recenter(sites, label)
            if np.array_equal(moved, sites):
                break
            sites = moved
            label, distance = self._evaluate(sites)
        return bool(distance.max() <= radius * (1 + CLOSE / 2))

    def _list_uncovered(self, distance: Floats, radius: float) -> None:
        """List clients beyond the radius, farthest first, none close to one just listed."""
        uncovered = distance > radius * (1 + WITHIN)
        order = np.flatnonzero(uncovered)
        order = order[np.argsort(-distance[order], kind="stable")]
        n_listed = 0
        for client in order.tolist():
            if not uncovered[client]:
                continue
            self._add_lists([client])
            n_listed += 1
            if n_listed >= _LISTED_A_ROUND * self.k or self.lists.entries > _MOST_ENTRIES:
                break
            if self._client_at is not None and client == self.lists.numbers[-1]:
                at, away = self.lists[len(self.lists) - 1]
                near = self._client_at[self.instance.allowed[at[away <= _LISTED_APART * radius]]]
                uncovered[near[near >= 0]] = False

    def _recenter(self, sites: Positions, label: Positions) -> Positions:
        """Move every free site to the center of its listed clients, if the sites stay distinct."""
        nearest = label[np.array(self.lists.numbers)]
        moved = np.array(sites)
        for t, site in enumerate(sites):
            mine = np.flatnonzero(nearest == t)
            if len(mine) and site not in self.instance.opened:
                moved[t] = self._center_of(mine, int(site))
        return moved if len(np.unique(moved)) == len(moved) else sites

    def _center_of(self, listed: Ints, site: int) -> int:
        """The site (or `site`) whose largest distance to these listed clients is least."""
        for j in listed.tolist():
            at, away = self.lists[j]
            self._count[at] += 1
            self._worst[at] = np.maximum(self._worst[at], away)
        at = self.lists[int(listed[0])][0]
        within = at[self._count[at] == len(listed)]
        best = site
        if len(within):
            best = int(self.instance.allowed[within[np.argmin(self._worst[within])]])
        for j in listed.tolist():
            self._count[self.lists[j][0]] = 0
            self._worst[self.lists[j][0]] = 0.0
        return best

    def _refuted_by_prices(self, radius: float) -> bool:
        """Whether prices prove that no k sites reach all clients within a radius: column
        generation, and a check against all sites. Prices that do not may prove a smaller one.
        """
        left, uncovered = self._n_free, self._uncovered(radius)
        radii = radius * _SMALLER
        radii = radii[(radii > self.lower) | (radii == radius)]
        extra = np.flatnonzero(self._extra_to_required > radius * (1 + WITHIN))
        for _ in range(_PRICE_ROUNDS):
            slots, columns = self._columns(uncovered, radius, extra=extra)
            tight = np.flatnonzero(np.isin(slots, self._tight_slots))
            prices, tight = _packing_prices(columns, tight, self.instance.deadline)
            self._tight_slots = slots[tight]
            total = float(prices.sum())
            self._priced_clients = [j for j, price in zip(uncovered, prices) if price > 0]
            collected = self._collected(prices, uncovered, extra, radii)
            # Scaled to what the best site collects, the prices are feasible.
            feasible = total > left * np.maximum(collected.max(axis=1), 1e-300) * (1 + 1e-9)
            self.lower = float(max([self.lower, *radii[feasible]]))
            if feasible[0] or total <= left * (1 + 1e-9):
                return bool(feasible[0])
            violated = np.flatnonzero(collected[0] > 1 + 1e-6)
            worst = violated[np.argsort(-collected[0, violated])[: _SITES_A_ROUND // 3]]
            more = self._rng.choice(violated, min(len(violated), _SITES_A_ROUND), replace=False)
            before = len(self._sample)
            self._add_to_sample(np.union1d(worst, more))
            if len(self._sample) == before or self._out_of_time(1.0):
                break
        return False

    def _collected(
        self, prices: Floats, uncovered: list[int], extra: Ints, radii: Floats
    ) -> Floats:
        """What each site collects of the prices within each of these radii, (n_radii, n_sites)."""
        collected = np.zeros((len(radii), len(self.instance.allowed)))
        for i in np.flatnonzero(prices > 0):
            if i < len(uncovered):
                at, away = self.lists[uncovered[i]]
            else:
                at, away = self.lists.near(int(self._extra[extra[i - len(uncovered)]]))
            for row, radius in zip(collected, radii):
                row[at[away <= radius * (1 + WITHIN)]] += prices[i]
        return collected

    def _refuted_by_program(self, radius: float) -> bool:
        """Whether HiGHS proves that no k sites reach some of the listed clients within a radius."""
        within, uncovered = radius * (1 + WITHIN), self._uncovered(radius)
        clients = [j for j in self._priced_clients if j in set(uncovered)] or uncovered[
            : 2 * self.k
        ]
        while not self._budget_spent():
            sites, proven = self._cover_program(
                clients, radius, max(self._end - time.process_time(), 0.1)
            )
            if sites is None:
                return proven
            chosen = np.zeros(len(self.instance.allowed), bool)
            chosen[np.searchsorted(self.instance.allowed, sites)] = True
            known = set(clients)
            unreached = [
                j
                for j in uncovered
                if j not in known and not chosen[self.lists[j][0][self.lists[j][1] <= within]].any()
            ]
            if not unreached:
                return False
            clients = clients + unreached[: self.k]
        return False


def _packing_prices(
    columns: csr_array, in_program: Ints, deadline: Deadline
) -> tuple[Floats, Ints]:
    """Prices of rows of a large sum such that no column collects more than 1, and the columns that
    collect nearly 1. The linear program starts with `in_program`; columns that violate it are
    added.
    """
    n_columns, n_rows = columns.shape
    if n_columns == 0:  # nobody is reached by any site
        return np.ones(n_rows), _NONE
    spread = np.linspace(0, n_columns - 1, _COLUMNS).astype(np.int64)
    in_program = np.union1d(in_program, spread)
    while True:
        found = relaxed(
            -np.ones(n_rows),
            columns[in_program],
            np.ones(len(in_program)),
            deadline,
            seconds=np.inf,
            method="highs-ipm",
        )
        if found is None:
            return np.zeros(n_rows), in_program
        prices = np.clip(found.x, 0.0, 1.0)
        collected = columns @ prices
        violated = np.setdiff1d(np.flatnonzero(collected > _VIOLATED), in_program)
        if len(violated) == 0:
            tight = np.flatnonzero(collected > 1 - _TIGHT)
            return prices / max(1.0, float(collected.max())), tight
        in_program = np.union1d(in_program, violated[np.argsort(-collected[violated])[:_COLUMNS]])
