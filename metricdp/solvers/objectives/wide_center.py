"""p-center in large universes: a search on a few demand points, and a lower bound by their prices.

Exchanges guided by weights (`metricdp.kernels.row_weighting`) look for k sites that reach the
listed demand points; sites move to where their farthest demand is nearest, and demand left out
joins. The bound is a linear program's: prices such that no site collects more than 1 within a
radius, and more than k in all, prove that k sites do not reach everybody. HiGHS raises it in the
time there is.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from metricdp.arrays import Ints
from metricdp.kernels.row_weighting import cover_rows
from metricdp.solvers.objectives.center_search import CLOSE, CenterSearch
from metricdp.solvers.objectives.instance import WITHIN, Floats, Instance, Positions
from metricdp.solvers.objectives.kinds import Kinds, matrix_of, maximal
from metricdp.solvers.objectives.nearness import Nearness, sites_filled
from metricdp.solvers.objectives.rows import Around, ReachLists
from metricdp.solvers.programs import greedy_columns

_LISTED, _LEAST_LISTED, _ENTRIES = 10, 100, 90_000_000
"""Demand points listed to begin with, for each of k, and at least; most pairs listed."""
_FIRST = 0.7
"""Radius of the first lists, in radii of farthest-first sites, which are up to twice the best."""
_SAMPLE = 16_000
"""Sites among which those of the search and of the linear program are chosen."""
_STEPS, _MOVES = 30_000, 3
_JOINED, _BESIDE = 1, 0.1
"""Demand points that join at a time, for each of k, and how far from each other, in radii."""
_STEP = 0.02
"""By what part of the radius known sites are first tried to be improved."""
_PRICED, _VIOLATED = 8, 150
"""Rounds of adding sites to a linear program, and sites added in one."""
_FIRST_PRICED, _PRICES = 0.95, 1500
"""Part of the radius that is first bounded, and demand points that have prices: of those not listed
only sites of the sample are known. A bound is no better than they are dense."""
_COLUMNS, _OVER, _NEARLY = 1000, 1.0005, 0.05
"""Sites of a linear program to begin with, or that join; what they collect to join, and how much
less they collect to stay in the next one."""
_SEARCHES, _ROWS, _SECONDS = 180.0, 4000.0, 30.0
"""Most searches or rows; the time of so many searches, and least seconds."""
_ROUGH, _BOUNDED, _FINE = 0.5, 0.6, 0.85
"""Parts of the time at which searches from below, prices and searches from above end."""
_WIDE, _LONGER = 0.02, (2.0, 2.5)
"""Gaps from which the time is so many times as long: until searches from above end once more, with
more demand points, and prices of these."""
_NONE = np.empty(0, np.int64)


class WideSearch(CenterSearch):
    """Exchanges for the sites, prices and programs for the bound."""

    def __init__(self, instance: Instance, clients: Positions, k: int) -> None:
        super().__init__(instance, clients, k)
        n = len(instance.allowed)
        self._count, self._worst = np.zeros(n, np.int32), np.zeros(n)
        self._slot = np.full(n, -1, np.int32)
        self._sample = _NONE
        self._short: list[tuple[NDArray[np.int32], Floats]] = []
        self._extend(np.sort(self._rng.choice(n, min(n, _SAMPLE), replace=False)))
        self._client_at: Ints | None = None
        if instance.metric.sites is instance.metric.ids:
            self._client_at = np.full(len(instance.metric), -1)
            self._client_at[clients] = np.arange(len(clients))
        self._end = self._start = time.process_time()
        self._priced: list[int] = []
        self._thin, self._thin_away = _NONE, np.empty(0)
        self._thin_lists: list[tuple[NDArray[np.int32], Floats]] = []
        self._longer = 1.0
        self._thin_sample, self._tight, self._total = 0, _NONE, 0.0

    def run(self) -> None:
        """Search for sites, then for a bound, until both are close or searches are used up."""
        self._start = time.process_time()
        spread = self._spread()
        self.lists.radius = min(_FIRST * self.upper, self.upper)
        self._list(spread)
        self._from_below()
        if self.upper > self.lists.radius:  # lists are too short, as where places are few
            self._relist()
            self._from_below()
        self.lists.shorten(self.upper)
        high = min(self.upper, self.lists.radius)
        self._refute(high, 0.95 * high, self._refuted, lambda: self._tired(_BOUNDED))
        self._from_above()
        self.lists.shorten(self.upper)
        high = min(self.upper, self.lists.radius)
        self._refute(high, (self.lower + high) / 2, self._impossible, self._tired)
        if self.upper > self.lower * (1 + _WIDE):
            self._longer = _LONGER[0]
            self._scatter()
            self._from_above()
            self.lists.shorten(self.upper)
            self._longer = _LONGER[1]
            high = min(self.upper, self.lists.radius)
            first = max(_FIRST_PRICED * high, (self.lower + high) / 2)
            self._refute(high, first, self._refuted, lambda: self._late(1.0), self._by_area)

    def _tired(self, part: float = 1.0) -> bool:
        """Whether this part of the time or of the searches is used up, or all room for lists."""
        return self.lists.entries > _ENTRIES or self._late(part)

    def _late(self, part: float) -> bool:
        """Whether this part of the time or of the searches is used up."""
        self.instance.deadline.tell(self.upper, self.lower)
        part *= self._longer
        late = time.process_time() > self._start + part * (self._end - self._start)
        most = _SEARCHES if self.instance.metric.network is not None else _ROWS
        return late or self.lists.around.searched > part * most or self.instance.deadline.over

    def _spread(self) -> list[int]:
        """The farthest demand in turn; sites near the first k are a start (Gonzalez 1985)."""
        instance, clients = self.instance, self.clients
        size = min(max(_LISTED * self.k, _LEAST_LISTED), len(clients))
        near, found = Nearness(instance), list[int]()
        sites = [int(site) for site in instance.opened]
        for client, site in self._farthest(near):
            found.append(client)
            if len(sites) < self.k:
                sites.append(site)
            if len(found) == 1:
                self._end = self._start + max(_SEARCHES * near.seconds, _SECONDS)
            if len(found) >= size and len(sites) >= self.k:
                break
        self.lists.around.searched += near.searched
        self.best = sites_filled(instance, np.array(sites, np.int64), _NONE, self.k)
        self._judged(self.best)
        return found

    def _extend(self, sites: Ints) -> None:
        """Sites (indices) join the sample."""
        fresh = sites[self._slot[sites] < 0]
        self._slot[fresh] = np.arange(len(self._sample), len(self._sample) + len(fresh))
        self._sample = np.r_[self._sample, fresh]
        self._short = []

    def _list(self, clients: list[int]) -> None:
        for client in clients:
            self.lists.add([client])
            if self.lists.entries > _ENTRIES:
                break

    def _relist(self) -> None:
        """The same lists, as long as the best radius."""
        before, self.lists = self.lists, ReachLists(self.instance, self.clients)
        self._kinds = Kinds(self.lists, len(self.instance.allowed), self._rng)
        self.lists.radius, self._short = self.upper, []
        self.lists.around.searched = before.around.searched
        self._list(before.numbers)

    def _scatter(self) -> None:
        """More demand far from each other and from that listed, and the sample's sites near it."""
        if self._client_at is None:
            return
        instance, thin = self.instance, list[int]()
        listed = self.clients[np.array(self.lists.numbers)]
        away = instance.metric.symmetric.nearest_to(listed)[1][self.clients]
        while len(thin) + len(listed) < _PRICES and not self._late(1.0):
            client = int(np.argmax(away))
            if away[client] <= 0.0:
                break
            places, distance = self.lists.around(int(self.clients[client]), float(away[client]))
            near = self._client_at[places]
            distance, near = distance[near >= 0], near[near >= 0]
            away[near] = np.minimum(away[near], distance)
            away[client] = 0.0
            thin.append(client)
            self._thin_lists.append(self._in_sample(*self.lists.near(client)))
        self._thin, self._thin_sample = np.array(thin, np.int64), len(self._sample)
        self._thin_away = np.full(len(thin), np.inf)
        if len(instance.opened):
            self._thin_away = self._distances(instance.opened)[1][self._thin]

    def _in_sample(self, sites: Positions, distance: Floats) -> tuple[NDArray[np.int32], Floats]:
        """Slots of those sites of a list that are in the sample, and their distances."""
        slots = self._slot[sites]
        return slots[slots >= 0], distance[slots >= 0]

    def _extend_thin(self) -> None:
        """Distances to sites that joined the sample since."""
        place = np.full(len(self.instance.metric), -1, np.int32)
        place[self.clients[self._thin]] = np.arange(len(self._thin))
        fresh: list[list[tuple[int, float]]] = [[] for _ in self._thin]
        around = Around(self.instance)
        for slot in range(self._thin_sample, len(self._sample)):
            site = int(self.instance.allowed[self._sample[slot]])
            at, distance = around(site, self.lists.radius)
            which = place[at]
            for t, d in zip(which[which >= 0].tolist(), distance[which >= 0].tolist()):
                fresh[t].append((slot, d))
        for t, more in enumerate(fresh):
            slots, distance = self._thin_lists[t]
            added = np.array(more).reshape(-1, 2)
            slots = np.r_[slots, added[:, 0].astype(np.int32)]
            self._thin_lists[t] = slots, np.r_[distance, added[:, 1]]
        self.lists.around.searched += around.searched
        self._thin_sample = len(self._sample)

    def _columns(
        self, open_: list[int], radius: float, first: Ints = _NONE, thin: Ints = _NONE
    ) -> tuple[Ints, csr_array]:
        """Sites of the sample with different reach, and the matrix sites × clients."""
        while len(self._short) < len(self.lists):
            self._short.append(self._in_sample(*self.lists[len(self._short)]))
        if len(thin) and self._thin_sample < len(self._sample):
            self._extend_thin()
        within = radius * (1 + WITHIN)
        lists = [self._short[j] for j in open_] + [self._thin_lists[t] for t in thin]
        rows = [slots[distance <= within] for slots, distance in lists]
        columns = csr_array(matrix_of(rows, len(self._sample)).T.tocsr())
        kept = maximal(columns, first)
        return kept, csr_array(columns[kept])

    def _cover(self, radius: float, start: Positions = _NONE) -> Positions | None:
        """k sites of the sample that reach all listed clients, from some sites."""
        instance = self.instance
        left = self._left
        free = np.searchsorted(instance.allowed, np.setdiff1d(start, instance.opened))
        self._extend(free)
        open_ = self._open(radius)
        if not open_:
            return self._with(_NONE)
        thin = np.flatnonzero(self._thin_away > radius * (1 + WITHIN))
        slots, columns = self._columns(open_, radius, self._slot[free].astype(np.int64), thin)
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
            found, _ = cover_rows(*pair, chosen, _STEPS, int(self._rng.integers(2**32)))
            if not found:
                return None
        return self._with(instance.allowed[self._sample[slots[chosen]]])

    def _from_below(self) -> None:
        """The least radius that reaches all listed, again as those left out join."""
        low, radius = 0.5 * self.upper, min(self.lists.radius, self.upper)
        sites = self._cover(radius)
        while not self._tired(_ROUGH):
            if sites is None:
                if radius >= self.upper * (1 - CLOSE):
                    break
                low, radius = radius, radius * (1 + CLOSE)
                sites = self._cover(radius)
                continue
            while radius - low > CLOSE * radius and not self._tired(_ROUGH):
                middle = (low + radius) / 2
                found = self._cover(middle)
                if found is None:
                    low = middle
                else:
                    sites, radius = found, middle
            if self._settled(sites, radius):
                break
            low = radius / (1 + CLOSE)
            sites = self._cover(radius)

    def _from_above(self) -> None:
        """Exchanges that bring the best sites' radius down, by smaller and smaller steps."""
        step = _STEP
        while step > CLOSE / 2 and not self._tired(_FINE):
            if self.upper <= self.lower * (1 + CLOSE):
                break
            radius = max(self.upper * (1 - step), self.lower)
            before, sites = self.upper, self._cover(radius, self.best)
            while sites is not None and not self._tired(_FINE):
                if self._settled(sites, radius):
                    break
                sites = self._cover(radius, sites)
            if self.upper > before * (1 - step / 2):
                step /= 2

    def _settled(self, sites: Positions, radius: float) -> bool:
        """Whether sites moved to the middle of their demand reach nearly everybody."""
        label, distance = self._judged(sites)
        for _ in range(_MOVES):
            if distance.max() <= radius * (1 + CLOSE / 2) or self._tired():
                break
            self._join(distance, radius)
            moved = self._recentered(sites, label)
            if np.array_equal(moved, sites):
                break
            sites = moved
            label, distance = self._judged(sites)
        return bool(distance.max() <= radius * (1 + CLOSE / 2))

    def _join(self, distance: Floats, radius: float) -> None:
        """List demand beyond the radius, the farthest first, and none near what was just listed."""
        out = distance > radius * (1 + WITHIN)
        order = np.flatnonzero(out)
        order = order[np.argsort(-distance[order], kind="stable")]
        joined = 0
        for client in order.tolist():
            if not out[client]:
                continue
            self._list([client])
            joined += 1
            if joined >= _JOINED * self.k or self.lists.entries > _ENTRIES:
                break
            if self._client_at is not None and client == self.lists.numbers[-1]:
                at, away = self.lists[len(self.lists) - 1]
                near = self._client_at[self.instance.allowed[at[away <= _BESIDE * radius]]]
                out[near[near >= 0]] = False

    def _recentered(self, sites: Positions, label: Positions) -> Positions:
        """Every free site where the farthest of its listed clients is nearest, among all sites."""
        nearest = label[np.array(self.lists.numbers)]
        moved = np.array(sites)
        for t, site in enumerate(sites):
            mine = np.flatnonzero(nearest == t)
            if len(mine) and site not in self.instance.opened:
                moved[t] = self._middle(mine, int(site))
        return moved if len(np.unique(moved)) == len(moved) else sites

    def _middle(self, listed: Ints, site: int) -> int:
        """The listed site whose largest distance to these clients is least, or `site`."""
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

    def _by_area(self, radius: float) -> float:
        """The radius that a sum of prices tells, as if balls had areas of the plane."""
        return radius * (1 - CLOSE) * float(np.sqrt(self._total / max(self._left, 1)))

    def _refuted(self, radius: float) -> bool:
        """Whether prices prove that k sites do not reach everybody within a radius."""
        left, open_, within = self._left, self._open(radius), radius * (1 + WITHIN)
        thin = np.flatnonzero(self._thin_away > within)
        for _ in range(_PRICED):
            slots, columns = self._columns(open_, radius, thin=thin)
            tight = np.flatnonzero(np.isin(slots, self._tight))
            prices, tight = _prices(columns, tight)
            self._tight = slots[tight]
            self._total = total = float(prices.sum())
            self._priced = [j for j, price in zip(open_, prices) if price > 0]
            if total <= left * (1 + 1e-9):
                return False
            collected = np.zeros(len(self.instance.allowed))
            for i in np.flatnonzero(prices > 0):
                if i < len(open_):
                    at, away = self.lists[open_[i]]
                else:
                    at, away = self.lists.near(int(self._thin[thin[i - len(open_)]]))
                collected[at[away <= within]] += prices[i]
            if total > left * max(float(collected.max()), 1e-300) * (1 + 1e-9):
                return True
            over = np.flatnonzero(collected > 1 + 1e-6)
            worst = over[np.argsort(-collected[over])[: _VIOLATED // 3]]
            more = self._rng.choice(over, min(len(over), _VIOLATED), replace=False)
            before = len(self._sample)
            self._extend(np.union1d(worst, more))
            if len(self._sample) == before or self._late(1.0):
                break
        return False

    def _impossible(self, radius: float) -> bool:
        """Whether HiGHS proves that k sites do not reach some listed clients within a radius."""
        within, open_ = radius * (1 + WITHIN), self._open(radius)
        which = [j for j in self._priced if j in set(open_)] or open_[: 2 * self.k]
        while not self._tired():
            sites, proven = self._sites(which, radius, max(self._end - time.process_time(), 0.1))
            if sites is None:
                return proven
            chosen = np.zeros(len(self.instance.allowed), bool)
            chosen[np.searchsorted(self.instance.allowed, sites)] = True
            known = set(which)
            out = [
                j
                for j in open_
                if j not in known and not chosen[self.lists[j][0][self.lists[j][1] <= within]].any()
            ]
            if not out:
                return False
            which = which + out[: self.k]
        return False


def _prices(columns: csr_array, some: Ints) -> tuple[Floats, Ints]:
    """Prices of rows of a large sum such that no column has more than 1, and the columns that have
    nearly as much: to `some` in a linear program those join that have more, until there are none.
    """
    from scipy.optimize import linprog

    n_columns, n_rows = columns.shape
    if n_columns == 0:  # nobody is reached by any site
        return np.ones(n_rows), _NONE
    spread = np.linspace(0, n_columns - 1, _COLUMNS).astype(np.int64)
    some = np.union1d(some, spread)
    while True:
        found = linprog(
            -np.ones(n_rows),
            A_ub=columns[some],
            b_ub=np.ones(len(some)),
            bounds=(0, 1),
            method="highs-ipm",
        )
        if found.status != 0:
            return np.zeros(n_rows), some
        prices = np.clip(found.x, 0.0, 1.0)
        collected = columns @ prices
        over = np.setdiff1d(np.flatnonzero(collected > _OVER), some)
        if len(over) == 0:
            tight = np.flatnonzero(collected > 1 - _NEARLY)
            return prices / max(1.0, float(collected.max())), tight
        some = np.union1d(some, over[np.argsort(-collected[over])[:_COLUMNS]])
