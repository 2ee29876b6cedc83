"""A facility-location instance, and the solution of an objective: what all objectives share."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints, opened_first
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.solvers.stopping import NEVER, Deadline

WITHIN = 1e-9
"""Relative excess over a limit that still counts as within it: sums of lengths are rounded."""
WHOLE_BLOCK = 20_000_000
"""Most distances, sites × demand points, held at a time: 160 MB."""

Positions = Ints


@dataclass(frozen=True)
class Instance:
    """Public demand and the candidate places of sites.

    `metric`: ``distances(site, v)`` is the cost of serving v from the site; `weights` (n_points,):
    demand at every position, not negative, which distances and coverage count; `allowed`: candidate
    positions, ascending, with those of `opened` among them; `opened`: positions of required sites,
    ascending; `loads` (n_points,): use of a site's capacity if that is not the weight, such as
    vehicles rather than people; `seed`: public coins; `start`: known good sites, the required ones
    first; `kept`: cache of an objective; `prove`: whether a bound is wanted.
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
        """Positions of positive weight; all if there is no weight."""
        at = np.flatnonzero(self.weights > 0)
        return at if len(at) else np.arange(len(self.metric))

    @cached_property
    def weight(self) -> Floats:
        """Weights of the demand points; 1 each if there is no weight."""
        weight = self.weights[self.demand]
        return weight if weight.any() else np.ones(len(weight))

    @cached_property
    def load(self) -> Floats:
        """Loads of the demand points."""
        return self.weight if self.loads is None else self.loads[self.demand]

    @property
    def demand_weights(self) -> Floats:
        """`weight` at every position of the metric, shape (n_points,)."""
        weights = np.zeros(len(self.metric))
        weights[self.demand] = self.weight
        return weights

    def heavier_than(self, threshold: float) -> Positions:
        """Positions of the demand points of more weight; all of them if there are none."""
        at = np.flatnonzero(self.weights > threshold)
        return at if len(at) else self.demand

    @property
    def free(self) -> Positions:
        """Candidate places that are not required."""
        return np.setdiff1d(self.allowed, self.opened)

    @property
    def fits(self) -> bool:
        """Whether all distances between candidates and demand points fit in memory."""
        return len(self.allowed) * len(self.demand) <= WHOLE_BLOCK

    def block(self, sites: Positions | None = None, clients: Positions | None = None) -> Floats:
        """Costs of serving clients from sites, (n_sites, n_clients)."""
        sites = self.allowed if sites is None else sites
        clients = self.demand if clients is None else clients
        return costs_between(self.metric, sites, clients)

    def nearest(self, sites: Positions) -> tuple[Positions, Floats]:
        """For every demand point the index of the nearest site, and its distance."""
        label, distance = self.metric.nearest_to(sites)
        return label[self.demand], distance[self.demand]

    def required_first(self, sites: Positions) -> Positions:
        """The same sites, the required ones first."""
        return opened_first(self.opened, sites)

    def check_count(self, k: int) -> None:
        """Refuse an impossible number of sites."""
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
        if self.start is not None and len(self.start) != k:
            raise InputError(f"start must name k sites, {k:,}; got {len(self.start):,}")


def costs_between(metric: Metric, sites: Positions, clients: Positions) -> Floats:
    """Costs of serving clients from sites, shape (n_sites, n_clients)."""
    if len(sites) <= len(clients) or metric.directed:
        return metric.distance_rows(sites, clients)
    return np.ascontiguousarray(metric.distance_rows(clients, sites).T)


@dataclass(frozen=True)
class Assignment:
    """Who is served by which site, where that is not simply the nearest.

    `clients` (n_pairs,): indices into the demand points, repeated if several sites share one;
    `sites` (n_pairs,): indices into the sites chosen; `shares` (n_pairs,): of the client's demand,
    summing to 1.
    """

    clients: Positions
    sites: Positions
    shares: Floats


@dataclass(frozen=True)
class Chosen:
    """A solution.

    `sites` (k,): positions, the required ones first; `value`: of the objective; `bound`: no
    solution is better: a lower bound, of maximized objectives an upper one; None if nothing is
    proven; `assignment`: None if every client is served by the nearest site; `capacities` (k,): of
    the sites.
    """

    sites: Positions
    value: float
    bound: float | None = None
    assignment: Assignment | None = None
    capacities: Floats | None = None
