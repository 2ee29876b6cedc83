"""Distances to the nearest of a growing set of sites."""

from __future__ import annotations

import time

import numpy as np

from metricdp.kernels.shortest_paths import FAR, add_sources
from metricdp.solvers.objectives.instance import Floats, Instance, Positions, costs_between


class Nearness:
    """Distance of every point from the nearest of some sites, to which sites are added one by one.

    `distance` (n_points,); `searched`: work so far, in searches of the whole universe; `seconds`:
    longest processor time of an addition.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance, self.searched, self.seconds = instance, 0.0, 0.0
        self.network = instance.metric.network
        n = len(instance.metric)
        self.distance = np.full(n, np.inf)
        self._label: Positions | None = None
        if self.network is not None:
            capacity = len(self.network.csr[1]) + 1
            self._steps, self._labels = np.full(n, FAR), np.zeros(n, np.int64)
            self._space = np.empty(capacity, np.int64), np.empty(capacity, np.int64)

    def add(self, site: int) -> None:
        """Add the site at a position."""
        start = time.process_time()
        network = self.network
        if network is None:
            row = self.instance.metric.distance_rows(np.array([site]))[0]
            self.distance = np.minimum(self.distance, row)
            self.searched += 1.0
        else:
            inner = network.rank[[site]]
            entered = add_sources(network.csr, inner, 0, self._steps, self._labels, *self._space)
            self.searched += entered / len(self.distance)
            self.distance = self._steps[network.rank] * network.unit
        self.seconds = max(self.seconds, time.process_time() - start)

    def distance_with(self, site: int) -> Floats:
        """`distance` if this site were added."""
        network = self.network
        if network is None:
            row = self.instance.metric.distance_rows(np.array([site]))[0]
            return np.asarray(np.minimum(self.distance, row), np.float64)
        steps, inner = self._steps.copy(), network.rank[[site]]
        add_sources(network.csr, inner, 0, steps, self._labels.copy(), *self._space)
        return np.asarray(steps[network.rank] * network.unit, np.float64)

    def site_of(self, client: int, chosen: list[int]) -> int:
        """Position of the best site for a client that is not among those chosen."""
        instance = self.instance
        points_are_sites = instance.metric.sites is instance.metric.ids
        if points_are_sites and len(instance.allowed) == len(instance.metric):
            if client not in chosen:
                return client
        elif self.network is not None:
            if self._label is None:
                self._label = instance.metric.nearest_to(instance.allowed)[0]
                self.searched += 1.5
            site = int(instance.allowed[self._label[client]])
            if site not in chosen:
                return site
        row = costs_between(instance.metric, instance.allowed, np.array([client]))[:, 0]
        if len(chosen) < len(instance.allowed):
            row[np.isin(instance.allowed, chosen)] = np.inf
        return int(instance.allowed[np.argmin(row)])


def sites_filled(instance: Instance, sites: Positions, more: Positions, k: int) -> Positions:
    """k distinct sites: these, then others from `more`."""
    sites = np.unique(sites)
    others = np.setdiff1d(np.r_[more, instance.allowed[: 2 * k]], sites)
    return np.r_[sites, others[: k - len(sites)]].astype(np.int64)
