"""Where sites may stand, for which demand: what every objective is given, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from metricdp.arrays import Floats, Ints, opened_first
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.solvers.stopping import NEVER, Deadline

WITHIN = 1e-9
"""A distance exceeds a limit only by more than this fraction of it: sums of lengths are rounded."""
WHOLE_BLOCK = 20_000_000
"""Most distances, sites × demand points, held at a time: 160 MB."""

Positions = Ints


@dataclass(frozen=True)
class Instance:
    """Public demand, and the places among which sites are chosen.

    `metric`: ``distances(site, v)`` is the cost of serving v from the site; `weights` (n_points,):
    demand at every position, none negative; what distances and coverage count; `allowed`: positions
    where sites may stand, ascending, those of `opened` among them; `opened`: positions of required
    sites, ascending; `loads` (n_points,): what a point uses of a site's capacity, if that is not
    its weight: vehicles rather than people; `seed`: public coins; `start`:
    sites known to be good, the required ones first; `kept`: what an objective found out once and
    needs again; `prove`: whether a bound is wanted.
    """

    metric: Metric
    weights: Floats
    allowed: Positions
    opened: Positions = field(default_factory=lambda: np.empty(0, np.int64))
    loads: Floats | None = None
    seed: int = 0
    deadline: Deadline = NEVER
    start: Positions | None = None
    kept: dict[str, Any] = field(default_factory=dict)
    prove: bool = True

    @cached_property
    def demand(self) -> Positions:
        """Positions of positive weight; all of them where there is no weight at all."""
        at = np.flatnonzero(self.weights > 0)
        return at if len(at) else np.arange(len(self.metric))

    @cached_property
    def weight(self) -> Floats:
        """Weights of the demand points; 1 each where there is no weight at all."""
        weight = self.weights[self.demand]
        return weight if weight.any() else np.ones(len(weight))

    @cached_property
    def load(self) -> Floats:
        """Loads of the demand points."""
        return self.weight if self.loads is None else self.loads[self.demand]

    @property
    def free(self) -> Positions:
        """Places where sites may stand and need not."""
        return np.setdiff1d(self.allowed, self.opened)

    @property
    def fits(self) -> bool:
        """Whether all distances between sites and demand points can be held."""
        return len(self.allowed) * len(self.demand) <= WHOLE_BLOCK

    def block(self, sites: Positions | None = None, clients: Positions | None = None) -> Floats:
        """Costs of serving clients from sites, (n_sites, n_clients)."""
        sites = self.allowed if sites is None else sites
        clients = self.demand if clients is None else clients
        return costs_between(self.metric, sites, clients)

    def nearest(self, sites: Positions) -> tuple[Positions, Floats]:
        """Index of the nearest site and the distance from it, for every demand point."""
        label, distance = self.metric.nearest_to(sites)
        return label[self.demand], distance[self.demand]

    def check_count(self, k: int) -> None:
        """Refuse a number of sites that cannot be."""
        if k > len(self.allowed):
            raise InputError(
                f"k must be an integer from 1 to {len(self.allowed):,}, the number of places where "
                f"a site may stand; got {k}"
            )
        if k < len(self.opened):
            raise InputError(
                f"k counts the required sites: it must be at least their number, "
                f"{len(self.opened):,}; got {k}"
            )


def costs_between(metric: Metric, sites: Positions, clients: Positions) -> Floats:
    """Costs of serving clients from sites, shape (n_sites, n_clients)."""
    if len(sites) <= len(clients) or metric.directed:
        return metric.distance_rows(sites, clients)
    return np.ascontiguousarray(metric.distance_rows(clients, sites).T)


@dataclass(frozen=True)
class Assignment:
    """Who is served by which site, where that is not simply the nearest.

    `clients` (n_pairs,): indices into the demand points; one that several sites share occurs
    several times; `sites` (n_pairs,): indices into the sites chosen; `shares` (n_pairs,): of the
    client's demand; they sum to 1.
    """

    clients: Positions
    sites: Positions
    shares: Floats


@dataclass(frozen=True)
class Chosen:
    """Sites that an objective has chosen.

    `sites` (k,): positions, the required ones first; `value`: of the objective; `bound`: no choice
    is better than this: at most the least possible value, or at least the largest one. None where
    nothing is proven; `assignment`: none: everybody is served by the nearest site.
    """

    sites: Positions
    value: float
    bound: float | None = None
    assignment: Assignment | None = None
    capacities: Floats | None = None


def first_opened(instance: Instance, sites: Positions) -> Positions:
    """The same sites, the required ones first."""
    return opened_first(instance.opened, sites)
