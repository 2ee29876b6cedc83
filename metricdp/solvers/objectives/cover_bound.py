"""Maximum coverage without listing who reaches whom: the dual prices of the demand within the limit
of each site ("what the site collects"), and the upper bound of coverage that they prove.

Sites form groups of neighbors. All that a group reaches lies within the limit plus the group's
radius of its center, so one search bounds what each of its sites collects. Groups that this leaves
in question are summed site by site, on graphs in one search for many sites (`ball_sums`).
"""

from __future__ import annotations

import os
import queue
import time

import numpy as np

from metricdp.kernels.ball_sums import ball_sums
from metricdp.kernels.reach import bounded_search
from metricdp.kernels.shortest_paths import workspace
from metricdp.solvers.objectives.cover_prices import most_collected
from metricdp.solvers.objectives.instance import WITHIN, Floats, Instance, Positions, costs_between
from metricdp.threads import in_threads

_GROUP = 256
"""Average sites in a group: larger ones need fewer searches, and their bounds are worse."""
_MOST_DISTANCES = 8_000_000
"""Distances computed at a time, where there is no graph."""
_FLOAT_BITS = 23
"""Bits of integers that single precision adds exactly."""


class PriceSums:
    """Sums of the prices of demand points within a limit, for all allowed sites.

    `groups`: of neighbors, as indices into the allowed sites. Without the triangle inequality
    groups bound nothing.
    """

    def __init__(self, instance: Instance, limit: float, rng: np.random.Generator) -> None:
        self.instance, self.limit = instance, limit
        metric, allowed = instance.metric, instance.allowed
        self._threads = os.cpu_count() or 1
        count = max(len(allowed) // _GROUP, 1)
        self._centers = np.sort(rng.choice(len(allowed), count, replace=False))
        away = np.full(len(allowed), np.inf)
        if metric.triangular:
            label, distance = metric.symmetric.nearest_to(allowed[self._centers])
            group, away = label[allowed], distance[allowed]
        else:
            group = np.searchsorted(self._centers[1:], np.arange(len(allowed)), side="right")
        order = np.argsort(group, kind="stable")
        self.groups = np.split(order, np.searchsorted(group[order], np.arange(1, count)))
        self._group_radius = [self.limit + away[group].max(initial=0.0) for group in self.groups]
        self._workspaces: queue.SimpleQueue[tuple] = queue.SimpleQueue()
        if metric.network is not None:
            n, arcs = len(metric), len(metric.network.csr[1])
            for _ in range(self._threads):
                space = np.full(n, -1, np.int32), np.empty(n, np.int64), workspace(n, arcs)
                self._workspaces.put(space)

    def exact_sums(self, numbers: Positions, prices: Floats) -> list[Floats]:
        """For each of these groups the sums of its sites; on graphs the limit is exceeded by up to
        2**-23 of it, so sums are never too small.
        """
        amounts, found = self._by_vertex(prices), [np.empty(0)] * len(numbers)

        def fill(i: int) -> None:
            found[i] = self._group_sums(int(numbers[i]), prices, amounts)

        in_threads(fill, range(len(numbers)))
        return found

    def upper_bounds(self, prices: Floats, k: int, end: float) -> Floats:
        """Upper bounds of all sums, exact for the k largest if processor time `end` does
        not pass.
        """
        amounts, whole = self._by_vertex(prices), float(prices.sum())
        bounds = np.full(len(self.groups), whole)
        out_of_time = self._out_of_time

        def bound(g: int) -> None:
            if not out_of_time(end):
                bounds[g] = self._group_bound(g, prices, amounts)

        if self.instance.metric.triangular:
            in_threads(bound, range(len(bounds)))
        order = np.argsort(-bounds, kind="stable")
        collected = np.empty(len(self.instance.allowed))
        for g, group in enumerate(self.groups):
            collected[group] = bounds[g]
        largest = np.empty(0)
        for first in range(0, len(order), 8 * self._threads):
            some = order[first : first + 8 * self._threads]
            if out_of_time(end) or (len(largest) >= k and bounds[some[0]] <= largest.min()):
                break
            for g, sums in zip(some, self.exact_sums(some, prices)):
                collected[self.groups[g]] = sums
                largest = np.sort(np.r_[largest, sums])[-k:]
        return collected

    def _out_of_time(self, end: float) -> bool:
        return self.instance.deadline.over or time.process_time() > end

    def _by_vertex(self, prices: Floats) -> Floats:
        """Prices in the order of the graph's vertices."""
        network = self.instance.metric.network
        if network is None:
            return prices
        amounts = np.zeros(len(self.instance.metric))
        amounts[network.rank[self.instance.demand]] = prices
        return amounts

    def _steps(self, radius: float) -> int:
        network = self.instance.metric.network
        assert network is not None
        return int(min(radius * (1 + WITHIN) / network.unit, 2.0**60))

    def _center(self, g: int) -> int:
        """A group's center in the order of the graph's vertices."""
        network = self.instance.metric.network
        assert network is not None
        return int(network.rank[self.instance.allowed[self._centers[g]]])

    def _group_bound(self, g: int, prices: Floats, amounts: Floats) -> float:
        """An upper bound of the sum of each site in a group."""
        instance, network = self.instance, self.instance.metric.network
        if network is None:
            return float(prices[self._near(g)].sum())
        slot, reached, space = self._workspaces.get()
        center, group_radius = self._center(g), self._steps(self._group_radius[g])
        count = bounded_search(network.csr, center, group_radius, reached, space)
        total = float(amounts[space.touched[:count]].sum())
        self._workspaces.put((slot, reached, space))
        return total * (1 + len(instance.demand) * np.finfo(float).eps)

    def _near(self, g: int) -> Positions:
        """Demand points (indices) that sites of a group may reach."""
        instance = self.instance
        if not instance.metric.triangular:
            return np.arange(len(instance.demand))
        center = instance.allowed[self._centers[g : g + 1]]
        row = costs_between(instance.metric, center, instance.demand)[0]
        return np.flatnonzero(row <= self._group_radius[g] * (1 + WITHIN))

    def _group_sums(self, g: int, prices: Floats, amounts: Floats) -> Floats:
        instance, network = self.instance, self.instance.metric.network
        sites = instance.allowed[self.groups[g]]
        if network is None:
            near = self._near(g)
            clients, found, step = (
                instance.demand[near],
                [],
                max(_MOST_DISTANCES // max(len(near), 1), 1),
            )
            for at in range(0, len(sites), step):
                rows = costs_between(instance.metric, sites[at : at + step], clients)
                found.append((rows <= self.limit * (1 + WITHIN)) @ prices[near])
            return np.concatenate(found) if found else np.empty(0)
        radius = self._steps(self.limit)
        shift = max(radius.bit_length() - _FLOAT_BITS, 0)
        slot, reached, space = self._workspaces.get()
        center, group_radius = self._center(g), self._steps(self._group_radius[g])
        inner = network.rank[sites]
        sums = ball_sums(
            network.csr, center, inner, group_radius, radius, shift, amounts, slot, reached, space
        )
        self._workspaces.put((slot, reached, space))
        return np.asarray(sums, np.float64)


def cover_bound(
    instance: Instance, price_sums: PriceSums, worth: Floats, prices: Floats, k: int, end: float
) -> tuple[float, Floats]:
    """Lagrangian upper bound of the coverage of any k sites, and upper bounds of what each allowed
    site collects, by any `prices` (n_demand,).

    Every client takes the levels worth more than its price, and the k sites that collect most are
    opened.
    """
    fixed = np.searchsorted(instance.allowed, instance.opened)
    collected = price_sums.upper_bounds(prices, k, end)
    total = float(np.maximum(worth - prices, 0.0).sum()) + most_collected(collected, k, fixed)
    whole = float(worth.sum())
    return min(total * (1 + len(prices) * np.finfo(float).eps), whole), collected
