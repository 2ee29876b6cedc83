"""Sites with room for a part of the demand: what all objectives with capacities share.

A cost of serving every client from every place is all that tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from metricdp.arguments import shown
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
from metricdp.solvers.objectives.objective import per_site
from metricdp.solvers.objectives.sizes import Size
from metricdp.solvers.objectives.whole_search import WholeSearch
from metricdp.solvers.stopping import NEVER

_PARTED = 1e-9
"""Shares below this are nobody's."""
_NO_ROOM = "these sites have not room enough for all demand"
_NONE_WHOLE = (
    "no service of every point by one site alone was found: more capacity, more sites, or leave "
    "single_source out, and sites may share points"
)
_NONE_LEAST = "no sites were found that all serve the minimum: fewer sites, or a lower minimum"


Costs = Callable[[Positions], tuple[Floats, Floats | None]]
"""Of places: costs (n_places, n_clients) of serving all of each client, and what leaving each one
unserved costs; none where all must be served.
"""


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
        sizes = self.capacities
        return sizes if isinstance(sizes, tuple) and sizes and isinstance(sizes[0], Size) else ()

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

    def choose(self, start: Positions) -> Chosen:
        """Sites, who is served, and a bound."""
        instance = self.instance
        places = instance.opened if len(instance.opened) == self.k else instance.allowed
        search = self.search(places, self.k, instance.opened)
        search.run(np.searchsorted(places, start))
        found = self._chosen(search, places, search.lower)
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
        search = self.search(sites, len(sites), sites)
        if self.single_source or self.sizes:
            search.serve(None)
        else:
            search.take(np.arange(len(sites)))
        bound = None if self._plain else min(search.lower, search.upper)
        return self._chosen(search, sites, bound)

    @property
    def _plain(self) -> bool:
        return not self.sizes and self.minimum == 0

    def search(self, places: Positions, k: int, fixed: Positions) -> CapacitySearch:
        """A search for k of some places, among them those that are `fixed`."""
        costs, spare = self.costs(places)
        fee = np.repeat([size.cost for size in self.sizes] or [0.0], len(places))
        rules = Rules(self._most, fee, self.minimum, self.enough)
        all_ = len(fixed) == len(places)
        own = np.arange(len(places)) if all_ else np.searchsorted(places, fixed)
        kind = WholeSearch if self.single_source else CapacitySearch
        return kind(
            costs if len(self._most) == 1 else np.tile(costs, (len(self._most), 1)),
            self.instance.load,
            self.room(places),
            k,
            own,
            spare,
            self.instance.deadline,
            self.instance.seed,
            rules,
        )

    def _chosen(self, search: CapacitySearch, places: Positions, bound: float | None) -> Chosen:
        """What a search found."""
        if search.rows is None:
            short = self._plain and len(places) == search.k
            short = short and search.room.sum() < search.loads.sum() * (1 - 1e-9)
            none = _NONE_WHOLE if self.single_source else _NO_ROOM
            raise InputError(_NO_ROOM if short else _NONE_LEAST if self.minimum else none)
        rows = search.rows
        if self.single_source:
            clients = np.flatnonzero(search.site >= 0)
            served = Assignment(clients, search.site[clients], np.ones(len(clients)))
            return self._with_rooms(search, places, rows, search.upper, bound, served)
        value, flow = search.flow(rows)
        assert flow is not None
        served = self._assignment(search, flow, rows)
        bound = None if bound is None else min(bound, value)
        return self._with_rooms(search, places, rows, value, bound, served)

    def _with_rooms(
        self,
        search: CapacitySearch,
        places: Positions,
        rows: Positions,
        value: float,
        bound: float | None,
        served: Assignment,
    ) -> Chosen:
        """The mandatory sites first; sites that were given as they were."""
        sites = places[search.place[rows]]
        searched = places is self.instance.allowed
        order = first_opened(self.instance, sites) if searched else places
        turn = np.argsort(sites)[np.searchsorted(np.sort(sites), order)]
        slot = np.empty(len(rows), np.int64)
        slot[turn] = np.arange(len(rows))
        sizes = Assignment(served.clients, slot[served.sites], served.shares)
        return Chosen(order, value, bound, sizes, search.room[rows[turn]])

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
