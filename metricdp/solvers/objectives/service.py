"""Sites of limited capacity: what all objectives with capacities share (`Service`; they differ in
the cost of serving each client from each place), and the capacitated p-center (`FullCenters`).

The latter bisects over distances. For each, a capacitated search finds sites that leave as little
demand as possible unserved, with a lower bound of what any leave (Özsoy & Pınar, Comput. Oper. Res.
2006).
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from metricdp.arguments import Floats, shown
from metricdp.errors import InputError
from metricdp.solvers.objectives.capacity_search import CapacitySearch, SiteRules
from metricdp.solvers.objectives.instance import WITHIN, Assignment, Chosen, Instance, Positions
from metricdp.solvers.objectives.objective import Size, per_site
from metricdp.solvers.objectives.single_source import SingleSourceSearch
from metricdp.solvers.stopping import NEVER

_LEAST_SHARE = 1e-9
"""Shares up to this are dropped: rounding."""
_NO_ROOM = "the capacities of these sites are below the demand"
_NONE_SINGLE = (
    "no assignment of every point to a single site was found: more capacity, more sites, or leave "
    "single_source out, and sites may share points"
)
_NONE_MINIMUM = "no sites were found that all serve the minimum: fewer sites, or a lower minimum"


Costs = Callable[[Positions], tuple[Floats, Floats | None]]
"""Of places: costs (n_places, n_clients) of serving all of each client, and of leaving each one
unserved; None where all must be served.
"""


@dataclass(frozen=True)
class Service:
    """k sites that serve the demand within their capacities at least cost, and who is served where.

    `minimum`: least load of every site; `cutoff`: a search may end when its bound is above it;
    `priced_sizes`: whether sizes can have costs.
    """

    instance: Instance
    k: int
    capacities: Any
    single_source: bool
    costs: Costs
    minimum: float = 0.0
    cutoff: float = np.inf
    priced_sizes: bool = True

    @cached_property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes to choose from; empty if each place has one capacity."""
        sizes = self.capacities
        return sizes if isinstance(sizes, tuple) and sizes and isinstance(sizes[0], Size) else ()

    def capacity(self, places: Positions) -> Floats:
        """Largest load of each place, in every size in turn."""
        if self.sizes:
            return np.repeat([size.capacity for size in self.sizes], len(places))
        instance = self.instance
        known = Instance(instance.metric, instance.weights, places)
        return per_site(self.capacities, known, "capacities")

    @cached_property
    def _max_open(self) -> Positions:
        most = [self.k if size.most is None else size.most for size in self.sizes]
        return np.array(most or [self.k], np.int64)

    def check(self, may_leave_out: bool) -> None:
        """Refuse capacities too small for all demand, unless sites `may_leave_out` some."""
        instance, load = self.instance, self.instance.load
        capacity = self.capacity(instance.allowed)
        if not self.priced_sizes and any(size.cost for size in self.sizes):
            raise InputError("costs of sizes apply to mdp.objectives.Capacitated alone")
        if self._max_open.sum() < self.k:
            raise InputError(f"sizes allow {self._max_open.sum():,} sites, fewer than k={self.k:,}")
        if 0 < load.sum() * (1 + 1e-9) < self.minimum * self.k:
            raise InputError(
                f"{self.k:,} sites that serve at least {self.minimum:g} each serve "
                f"{self.minimum * self.k:g}, and the load is {load.sum():g}: fewer sites, or less"
            )
        if may_leave_out:
            return
        if self.single_source and load.max() > capacity.max() * (1 + 1e-9):
            largest = int(load.argmax())
            raise InputError(
                f"{shown(instance.metric.ids[instance.demand[largest]])} has a load of "
                f"{load[largest]:g}, more than any site can serve ({capacity.max():g}): leave "
                f"single_source out, and several sites share it"
            )
        if self.sizes:
            each = np.repeat([s.capacity for s in self.sizes], np.minimum(self._max_open, self.k))
            most = float(np.sort(each)[::-1][: self.k].sum())
        else:
            fixed = np.searchsorted(instance.allowed, instance.opened)
            others = np.sort(np.delete(capacity, fixed))[::-1][: self.k - len(fixed)]
            most = float(capacity[fixed].sum() + others.sum())
        if most < load.sum() * (1 - 1e-9):
            raise InputError(
                f"the capacities are below the demand: the {self.k:,} roomiest sites that may be "
                f"chosen can serve {most:g}, and the load is {load.sum():g}; more sites, more "
                f"capacity, or a limit beyond which nobody is served"
            )

    def choose(self, start: Positions) -> Chosen:
        """The best sites found, who serves whom, and a bound."""
        instance = self.instance
        places = instance.opened if len(instance.opened) == self.k else instance.allowed
        search = self.search(places, self.k, instance.opened)
        search.run(np.searchsorted(places, start))
        found = self._chosen(search, places, search.lower)
        instance.kept["served"] = found
        return found

    def with_capacity(self, sites: Positions, may_leave_out: bool) -> Positions:
        """These sites, after exchanges of the smallest for the roomiest until all demand fits."""
        if self.sizes:
            return sites
        instance = self.instance
        search = CapacitySearch(
            np.zeros((len(instance.allowed), 1)),
            instance.load.sum(keepdims=True),
            self.capacity(instance.allowed),
            self.k,
            np.searchsorted(instance.allowed, instance.opened),
            np.zeros(1) if may_leave_out else None,
            instance.deadline,
        )
        rows = search.with_capacity(np.searchsorted(instance.allowed, sites))
        return instance.required_first(instance.allowed[rows])

    def judge(self, sites: Positions) -> Chosen:
        """Cheapest service from these sites."""
        known: Chosen | None = self.instance.kept.get("served")
        if known is not None and np.array_equal(known.sites, sites):
            return known
        if self.instance.deadline is not NEVER:
            return replace(self, instance=replace(self.instance, deadline=NEVER)).judge(sites)
        search = self.search(sites, len(sites), sites)
        if self.single_source or self.sizes:
            search.serve(None)
        else:
            search.consider(np.arange(len(sites)))
        bound = None if self._one_size else min(search.lower, search.upper)
        return self._chosen(search, sites, bound)

    @property
    def _one_size(self) -> bool:
        return not self.sizes and self.minimum == 0

    def search(self, places: Positions, k: int, fixed: Positions) -> CapacitySearch:
        """A search for k of these places, `fixed` ones among them."""
        costs, unserved_cost = self.costs(places)
        opening_cost = np.repeat([size.cost for size in self.sizes] or [0.0], len(places))
        rules = SiteRules(self._max_open, opening_cost, self.minimum, self.cutoff)
        all_open = len(fixed) == len(places)
        own = np.arange(len(places)) if all_open else np.searchsorted(places, fixed)
        kind = SingleSourceSearch if self.single_source else CapacitySearch
        return kind(
            costs if len(self._max_open) == 1 else np.tile(costs, (len(self._max_open), 1)),
            self.instance.load,
            self.capacity(places),
            k,
            own,
            unserved_cost,
            self.instance.deadline,
            self.instance.seed,
            rules,
        )

    def _chosen(self, search: CapacitySearch, places: Positions, bound: float | None) -> Chosen:
        """The solution that a search found."""
        if search.rows is None:
            short = self._one_size and len(places) == search.k
            short = short and search.capacity.sum() < search.loads.sum() * (1 - 1e-9)
            none = _NONE_SINGLE if self.single_source else _NO_ROOM
            raise InputError(_NO_ROOM if short else _NONE_MINIMUM if self.minimum else none)
        rows = search.rows
        if self.single_source:
            clients = np.flatnonzero(search.site >= 0)
            served = Assignment(clients, search.site[clients], np.ones(len(clients)))
            return self._ordered(search, places, rows, search.upper, bound, served)
        value, flow = search.flow(rows)
        assert flow is not None
        served = self._assignment(search, flow, rows)
        bound = None if bound is None else min(bound, value)
        return self._ordered(search, places, rows, value, bound, served)

    def _ordered(
        self,
        search: CapacitySearch,
        places: Positions,
        rows: Positions,
        value: float,
        bound: float | None,
        served: Assignment,
    ) -> Chosen:
        """The solution with required sites first; sites that were given keep their order."""
        sites = places[search.place[rows]]
        searched = places is self.instance.allowed
        order = self.instance.required_first(sites) if searched else places
        order_of = np.argsort(sites)[np.searchsorted(np.sort(sites), order)]
        slot = np.empty(len(rows), np.int64)
        slot[order_of] = np.arange(len(rows))
        sizes = Assignment(served.clients, slot[served.sites], served.shares)
        return Chosen(order, value, bound, sizes, search.capacity[rows[order_of]])

    def _assignment(self, search: CapacitySearch, flow: Floats, rows: Positions) -> Assignment:
        """Shares from loads; clients without load go to the nearest site that may serve them."""
        load = self.instance.load
        sites, clients = np.nonzero(flow[: len(rows)])
        shares = flow[sites, clients] / load[clients]
        free = np.flatnonzero(load <= 0)
        if len(free):
            near = search.costs[rows][:, free].argmin(axis=0)
            cost = search.costs[rows[near], free]
            served = (
                np.ones(len(free), bool)
                if search.unserved_cost is None
                else cost <= search.unserved_cost[free]
            )
            sites, clients = np.r_[sites, near[served]], np.r_[clients, free[served]]
            shares = np.r_[shares, np.ones(served.sum())]
        kept = shares > _LEAST_SHARE
        return Assignment(clients[kept], sites[kept], shares[kept])


_LEFT_OUT, _ROUNDING = 1e-6, 1e-3
"""Least share of the demand that counts as left out; up to this part of it is rounding."""
_NOTHING = np.empty((0, 0))
_NONE = (
    "no sites were found that can serve everybody within any distance: more capacity, more sites, "
    "or leave single_source out"
)


@dataclass(frozen=True)
class FullCenters:
    """The problem; `clients`: positions of the demand that counts."""

    instance: Instance
    clients: Positions
    k: int
    capacities: Any
    single_source: bool

    def check(self) -> None:
        """Refuse capacities by which nobody can serve all."""
        self._service(_NOTHING, np.inf).check(False)

    def choose(self, start: Positions, low: float) -> Chosen:
        """Search from `start`. `low` is the lower bound without capacities."""
        instance, best = self._counting_only, None
        start = self._service(_NOTHING, np.inf).with_capacity(start, False)
        with suppress(InputError):
            best = self.judge(start)
        bound: float | None = low
        if instance.fits:
            block = instance.block()
            radii = np.unique(block[block >= low * (1 - WITHIN)])
            if best is not None:
                radii = radii[radii < best.value * (1 - WITHIN)]
            found, bound = self._bisect(block, radii, start)
            if found is not None:  # time may have ended before the least distance of its sites
                with suppress(InputError):
                    best = self.judge(found.sites)
                best = found if best is None or found.value < best.value else best
        if best is None:
            raise InputError(_NONE)
        bound = best.value if bound is None else min(max(bound, low), best.value)
        best = replace(best, bound=bound)
        self.instance.kept["served"] = best
        return best

    def judge(self, sites: Positions) -> Chosen:
        """The least distance within which these sites can serve everybody."""
        cached: Chosen | None = self.instance.kept.get("served")
        if cached is not None and np.array_equal(cached.sites, sites):
            return cached
        block = self._counting_only.block(sites)
        radii = np.unique(block[block >= block.min(axis=0).max()])
        found, _ = self._bisect(block, radii, sites, sites)
        if found is None:
            raise InputError(_NONE)
        return replace(found, bound=None)

    @cached_property
    def _counting_only(self) -> Instance:
        """The instance in which only `clients` have weight."""
        instance = self.instance
        weights, loads = np.zeros((2, len(instance.metric)))
        weights[self.clients], loads[instance.demand] = 1.0, instance.load
        return replace(instance, weights=weights, loads=loads)

    def _service(self, block: Floats, radius: float) -> Service:
        instance = replace(self._counting_only, kept={})
        left_out = np.maximum(instance.load, instance.load.mean() or 1.0)

        def costs(places: Positions) -> tuple[Floats, Floats]:
            rows = block
            if len(places) < len(block):
                rows = block[np.searchsorted(instance.allowed, places)]
            return np.where(rows > radius * (1 + WITHIN), 2 * left_out, 0.0), left_out

        cutoff = _LEFT_OUT * float(left_out.sum())
        asked = self.k, self.capacities, self.single_source
        return Service(instance, *asked, costs, cutoff=cutoff, priced_sizes=False)

    def _bisect(
        self, block: Floats, radii: Floats, start: Positions, sites: Positions | None = None
    ) -> tuple[Chosen | None, float | None]:
        """The best solution at the least of these distances that was found sufficient, for any k
        sites or the given ones; and the least distance that is not refuted, None where that is the
        same.
        """
        instance, best = self.instance, None
        low, high, proven = 0, len(radii), 0
        while low < high and not (sites is None and best is not None and instance.deadline.over):
            middle = (low + high) // 2
            service = self._service(block, float(radii[middle]))
            found = service.choose(start) if sites is None else service.judge(sites)
            if found.value <= _ROUNDING * service.cutoff:
                best, high = self._with_radius(found), middle
                start = found.sites
                continue
            low = middle + 1
            if found.bound is not None and found.bound > service.cutoff:
                proven = low
        return best, None if proven >= high else float(radii[proven])

    def _with_radius(self, found: Chosen) -> Chosen:
        """The solution in terms of all demand; its value is the largest distance served."""
        instance, served = self._counting_only, found.assignment
        assert served is not None
        at, value = instance.demand[served.clients], 0.0
        for i, site in enumerate(found.sites):
            its_clients = at[served.sites == i]
            if len(its_clients):
                value = max(
                    value, float(instance.metric.distance_rows(site[None], its_clients).max())
                )
        clients = np.searchsorted(self.instance.demand, at)
        return replace(
            found, value=value, assignment=Assignment(clients, served.sites, served.shares)
        )
