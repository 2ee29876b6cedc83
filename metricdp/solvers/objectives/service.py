"""Sites with room for a part of the demand: what all objectives with capacities share.

A cost of serving every client from every place is all that tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from metricdp.arguments import positive, shown
from metricdp.errors import InputError
from metricdp.solvers.objectives.capacity_search import CapacitySearch, Rules
from metricdp.solvers.objectives.instance import (
    Assignment,
    Chosen,
    Floats,
    Instance,
    Positions,
    first_opened,
)
from metricdp.solvers.objectives.objective import checked_k, per_site
from metricdp.solvers.objectives.whole_search import WholeSearch
from metricdp.solvers.stopping import NEVER

_PARTED = 1e-9
"""Shares below this are nobody's."""
_PAIRS = 20_000
"""Pairs of site and client of which HiGHS serves each client whole."""
_NO_ROOM = "these sites have not room enough for all demand"
_NONE_WHOLE = (
    "no service of every point by one site alone was found: more capacity, more sites, or leave "
    "single_source out, and sites may share points"
)
_NONE_LEAST = "no sites were found that all serve the minimum: fewer sites, or a lower minimum"


@dataclass(frozen=True)
class Size:
    """A size in which sites can be opened: `capacity` is the most load that one serves, `cost` what
    opening one adds to the value, `most` how many there can be (by default any number).

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(6), weight=None)
    >>> sizes = [mdp.objectives.Size(2), mdp.objectives.Size(4, most=1)]
    >>> plan = mdp.solve(metric, mdp.objectives.Capacitated(k=2, capacities=sizes))
    >>> plan.value, sorted(plan.capacities)
    (5.0, [2.0, 4.0])
    """

    capacity: float
    cost: float = 0.0
    most: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "capacity", positive(self.capacity, "capacity"))
        object.__setattr__(self, "cost", positive(self.cost, "cost", or_zero=True))
        if self.most is not None:
            object.__setattr__(self, "most", checked_k(self.most))


Costs = Callable[[Positions], tuple[Floats, Floats | None]]
"""Of places: costs (n_places, n_clients) of serving all of each client, and what leaving each one
unserved costs; none where all must be served.
"""


def checked_capacities(capacities: Any) -> Any:
    """Capacities as they were given; several sizes as a tuple."""
    if isinstance(capacities, str | bytes | bool):
        raise InputError(f"capacities must be numbers, got {capacities!r}")
    if isinstance(capacities, list | tuple) and any(isinstance(s, Size) for s in capacities):
        if not all(isinstance(one, Size) for one in capacities):
            raise InputError("capacities must be all of mdp.objectives.Size, or all numbers")
        return tuple(capacities)
    return capacities


@dataclass(frozen=True)
class Service:
    """k sites of least cost of service within their room, and who is served where.

    `minimum`: load that every site serves at least; `enough`: a bound above it ends the search;
    `costly`: whether sizes can have costs.
    """

    instance: Instance
    k: int
    capacities: Any
    single_source: bool
    costs: Costs
    minimum: float = 0.0
    enough: float = np.inf
    costly: bool = True

    @cached_property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes of sites, if there are several to choose from."""
        told = self.capacities
        return told if isinstance(told, tuple) and told and isinstance(told[0], Size) else ()

    def room(self, places: Positions, sizes: Positions | None = None) -> Floats:
        """Most load of each place; of all sizes, size by size, where none are given."""
        if self.sizes:
            each = np.array([size.capacity for size in self.sizes])
            return np.repeat(each, len(places)) if sizes is None else each[sizes]
        instance = self.instance
        known = Instance(instance.metric, instance.weights, places)
        return per_site(self.capacities, known, "capacities")

    @cached_property
    def _most(self) -> Positions:
        most = [self.k if size.most is None else size.most for size in self.sizes]
        return np.array(most or [self.k], np.int64)

    def check(self, leaves_out: bool) -> None:
        """Refuse numbers by which no k sites serve all, unless demand may be left out."""
        instance, load = self.instance, self.instance.load
        room = self.room(instance.allowed)
        if not self.costly and any(size.cost for size in self.sizes):
            raise InputError("what sizes cost counts with mdp.objectives.Capacitated alone")
        if self._most.sum() < self.k:
            raise InputError(f"sizes allow {self._most.sum():,} sites, fewer than k={self.k:,}")
        if 0 < load.sum() * (1 + 1e-9) < self.minimum * self.k:
            raise InputError(
                f"{self.k:,} sites that serve at least {self.minimum:g} each serve "
                f"{self.minimum * self.k:g}, and the load is {load.sum():g}: fewer sites, or less"
            )
        if leaves_out:
            return
        if self.single_source and load.max() > room.max() * (1 + 1e-9):
            largest = int(load.argmax())
            raise InputError(
                f"{shown(instance.metric.ids[instance.demand[largest]])} has a load of "
                f"{load[largest]:g}, more than any site can serve ({room.max():g}): leave "
                f"single_source out, and several sites share it"
            )
        if self.sizes:
            each = np.repeat([s.capacity for s in self.sizes], np.minimum(self._most, self.k))
            most = float(np.sort(each)[::-1][: self.k].sum())
        else:
            fixed = np.searchsorted(instance.allowed, instance.opened)
            others = np.sort(np.delete(room, fixed))[::-1][: self.k - len(fixed)]
            most = float(room[fixed].sum() + others.sum())
        if most < load.sum() * (1 - 1e-9):
            raise InputError(
                f"the capacities are below the demand: the {self.k:,} roomiest sites that may be "
                f"chosen can serve {most:g}, and the load is {load.sum():g}; more sites, more "
                f"capacity, or a limit beyond which nobody is served"
            )

    @property
    def _plainly_whole(self) -> bool:
        """Whether the search for single sources knows all that is asked."""
        return self.single_source and not self.sizes and self.minimum == 0

    def choose(self, start: Positions) -> Chosen:
        """Sites, who is served, and a bound."""
        instance = self.instance
        if self._plainly_whole:
            found = self._whole(start)
        else:
            fixed = np.searchsorted(instance.allowed, instance.opened)
            search = self.search(instance.allowed, self.k, fixed)
            search.run(np.searchsorted(instance.allowed, start))
            if not np.isfinite(search.upper):
                raise InputError(_NONE_LEAST if self.minimum else _NO_ROOM)
            told = self._settled if self.single_source else self._shared
            found = told(search, instance.allowed)
        instance.kept["served"] = found
        return found

    def roomy(self, sites: Positions, leaves_out: bool) -> Positions:
        """The same sites, the smallest exchanged for the roomiest until all demand has room."""
        if self.sizes:
            return sites
        instance = self.instance
        search = CapacitySearch(
            np.zeros((len(instance.allowed), 1)),
            instance.load.sum(keepdims=True),
            self.room(instance.allowed),
            self.k,
            np.searchsorted(instance.allowed, instance.opened),
            np.zeros(1) if leaves_out else None,
            instance.deadline,
        )
        rows = search.with_room(np.searchsorted(instance.allowed, sites))
        return first_opened(instance, instance.allowed[rows])

    def judge(self, sites: Positions) -> Chosen:
        """Cheapest service from given sites."""
        known: Chosen | None = self.instance.kept.get("served")
        if known is not None and np.array_equal(known.sites, sites):
            return known
        if self.instance.deadline is not NEVER:
            return replace(self, instance=replace(self.instance, deadline=NEVER)).judge(sites)
        if self._plainly_whole:
            asked = self._asked(sites, len(sites), sites)
            search = WholeSearch(*asked, NEVER, self.instance.seed)
            search.serve(None)
            if search.rows is None:
                short = search.room.sum() < self.instance.load.sum() * (1 - 1e-9)
                raise InputError(_NO_ROOM if short else _NONE_WHOLE)
            return self._told(sites, search, None)
        shared = self.search(sites, len(sites), np.arange(len(sites)))
        if self.sizes:
            shared.run(np.arange(len(sites)))
        else:
            shared.best = np.arange(len(sites))
            shared.upper = shared.flow(shared.best)[0]
        if not np.isfinite(shared.upper):
            raise InputError(_NONE_LEAST if self.minimum else _NO_ROOM)
        return self._settled(shared, sites) if self.single_source else self._shared(shared, sites)

    def search(self, places: Positions, k: int, fixed: Positions) -> CapacitySearch:
        """A search where several sites may share a client; `fixed`: indices into the places."""
        costs, load, room, k, fixed, spare = self._asked(places, k, places[fixed])
        rules = None
        if self.sizes or self.minimum > 0 or self.enough < np.inf:
            fee = np.repeat([size.cost for size in self.sizes] or [0.0], len(places))
            rules = Rules(self._most, fee, self.minimum, self.enough)
            costs = np.tile(costs, (len(self._most), 1))
        return CapacitySearch(costs, load, room, k, fixed, spare, self.instance.deadline, rules)

    def _asked(
        self, places: Positions, k: int, fixed: Positions
    ) -> tuple[Floats, Floats, Floats, int, Positions, Floats | None]:
        """What searches are given."""
        costs, spare = self.costs(places)
        all_ = len(fixed) == len(places)
        own = np.arange(len(places)) if all_ else np.searchsorted(places, fixed)
        return costs, self.instance.load, self.room(places), k, own, spare

    def _whole(self, start: Positions) -> Chosen:
        """A single source for everybody."""
        instance = self.instance
        all_opened = len(instance.opened) == self.k
        places = instance.opened if all_opened else instance.allowed
        asked = self._asked(places, self.k, instance.opened)
        search = WholeSearch(*asked, instance.deadline, instance.seed)
        search.enough = self.enough
        search.run(np.searchsorted(places, start))
        if search.rows is None:
            raise InputError(_NONE_WHOLE)
        return self._told(places[search.rows], search, search.lower)

    def _settled(self, search: CapacitySearch, places: Positions) -> Chosen:
        """A single source for everybody at sites that were chosen as if clients could be shared, or
        at those that HiGHS finds better.
        """
        rows, n, fee = search.best, len(search.loads), search.rules.fee
        found: tuple[float, Positions, Positions] | None = None
        if self.minimum == 0:
            order = np.arange(len(rows))
            asked = search.costs[rows], search.loads, search.room[rows], len(rows), order
            whole = WholeSearch(*asked, search.spare, self.instance.deadline, self.instance.seed)
            whole.serve(None)
            if whole.rows is not None:
                found = whole.upper + float(fee[rows].sum()), rows, whole.site
        left = search.left(np.inf if found is None else found[0])
        lower, tried = search.lower, [left, rows] if found is None else [left]
        for some in tried:
            if len(some) * n > _PAIRS:
                continue
            x, bound = search.program(some, whole=True)
            if x is not None:
                own = self._chosen_whole(search, some, x)
                found = own if found is None or own[0] < found[0] else found
            if some is left:
                lower = max(lower, bound)
            if found is not None:
                break
        if found is None:
            raise InputError(_NONE_LEAST if self.minimum else _NONE_WHOLE)
        value, rows, site = found
        clients = np.flatnonzero(site >= 0)
        served = Assignment(clients, site[clients], np.ones(len(clients)))
        return self._with_rooms(search, places, rows, value, min(lower, value), served)

    def _chosen_whole(
        self, search: CapacitySearch, rows: Positions, x: Floats
    ) -> tuple[float, Positions, Positions]:
        """Cost, rows and each client's site (an index into them) of a program's answer."""
        m, n = len(rows), len(search.loads)
        opened = np.sort(np.argsort(-x[:m], kind="stable")[: search.k])
        share = x[m : m + m * n].reshape(m, n)[opened]
        site = np.where(share.max(axis=0) > 0.5, share.argmax(axis=0), -1)
        chosen = rows[opened]
        cost = float(search.rules.fee[chosen].sum())
        cost += float(search.costs[chosen[site], np.arange(n)][site >= 0].sum())
        if search.spare is not None:
            cost += float(search.spare[site < 0].sum())
        return cost, chosen, site

    def _shared(self, search: CapacitySearch, places: Positions) -> Chosen:
        value, flow = search.flow(search.best)
        assert flow is not None
        lower, rows = min(search.lower, value), search.best
        assignment = self._assignment(search, flow, rows)
        return self._with_rooms(search, places, rows, value, lower, assignment)

    def _with_rooms(
        self,
        search: CapacitySearch,
        places: Positions,
        rows: Positions,
        value: float,
        bound: float,
        served: Assignment,
    ) -> Chosen:
        """The mandatory sites first."""
        sites = places[search.place[rows]]
        order = first_opened(self.instance, sites) if len(places) > len(rows) else sites
        turn = np.argsort(sites)[np.searchsorted(np.sort(sites), order)]
        slot = np.empty(len(rows), np.int64)
        slot[turn] = np.arange(len(rows))
        told = Assignment(served.clients, slot[served.sites], served.shares)
        return Chosen(order, value, bound, told, search.room[rows[turn]])

    def _assignment(self, search: CapacitySearch, flow: Floats, rows: Positions) -> Assignment:
        """Shares from loads; clients of no load go to the nearest site that may serve them."""
        load = self.instance.load
        sites, clients = np.nonzero(flow[: len(rows)])
        shares = flow[sites, clients] / load[clients]
        free = np.flatnonzero(load <= 0)
        if len(free):
            near = search.costs[rows][:, free].argmin(axis=0)
            cost = search.costs[rows[near], free]
            served = (
                np.ones(len(free), bool) if search.spare is None else cost <= search.spare[free]
            )
            sites, clients = np.r_[sites, near[served]], np.r_[clients, free[served]]
            shares = np.r_[shares, np.ones(served.sum())]
        kept = shares > _PARTED
        return Assignment(clients[kept], sites[kept], shares[kept])

    def _told(self, sites: Positions, search: WholeSearch, bound: float | None) -> Chosen:
        """What a search of single sources found."""
        clients = np.flatnonzero(search.site >= 0)
        at = search.site[clients]
        assignment = Assignment(clients, at, np.ones(len(clients)))
        return Chosen(sites, search.upper, bound, assignment, self.room(sites))
