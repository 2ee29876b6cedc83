"""How far everything is from sites that join one by one, and sites that fill up a choice."""

from __future__ import annotations

import time

import numpy as np

from metricdp.kernels.shortest_paths import FAR, add_sources
from metricdp.solvers.objectives.instance import Floats, Instance, Positions, costs_between


class Nearness:
    """Distance of every point from the nearest of some sites that join one by one.

    `distance` (n_points,); `searched`: searches of the whole universe so far; `seconds`: processor
    time that the longest took.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance, self.searched, self.seconds = instance, 0.0, 0.0
        self.network = instance.metric.network
        n = len(instance.metric)
        self.distance = np.full(n, np.inf)
        self._label: Positions | None = None
        if self.network is not None:
            room = len(self.network.csr[1]) + 1
            self._steps, self._labels = np.full(n, FAR), np.zeros(n, np.int64)
            self._space = np.empty(room, np.int64), np.empty(room, np.int64)

    def add(self, site: int) -> None:
        """A site's position joins."""
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
        """What `distance` would be with one more, which does not join."""
        network = self.network
        if network is None:
            row = self.instance.metric.distance_rows(np.array([site]))[0]
            return np.asarray(np.minimum(self.distance, row), np.float64)
        steps, inner = self._steps.copy(), network.rank[[site]]
        add_sources(network.csr, inner, 0, steps, self._labels.copy(), *self._space)
        return np.asarray(steps[network.rank] * network.unit, np.float64)

    def site_of(self, client: int, taken: list[int]) -> int:
        """Position of the site that serves a client best and is not taken."""
        instance = self.instance
        everywhere = instance.metric.sites is instance.metric.ids
        if everywhere and len(instance.allowed) == len(instance.metric):
            if client not in taken:
                return client
        elif self.network is not None:
            if self._label is None:
                self._label = instance.metric.nearest_to(instance.allowed)[0]
                self.searched += 1.5
            site = int(instance.allowed[self._label[client]])
            if site not in taken:
                return site
        row = costs_between(instance.metric, instance.allowed, np.array([client]))[:, 0]
        if len(taken) < len(instance.allowed):
            row[np.isin(instance.allowed, taken)] = np.inf
        return int(instance.allowed[np.argmin(row)])


def sites_filled(instance: Instance, sites: Positions, more: Positions, k: int) -> Positions:
    """k distinct sites, these among them, and others from `more`."""
    sites = np.unique(sites)
    others = np.setdiff1d(np.r_[more, instance.allowed[: 2 * k]], sites)
    return np.r_[sites, others[: k - len(sites)]].astype(np.int64)
