"""What sites collect of prices within a limit, where reach cannot be listed.

Sites fall into groups of neighbors. All that a group reaches lies within the limit and the group's
radius of its middle, so one search bounds what each of them collects; the groups that this leaves
in question are then summed site by site, those of a graph in one search (`ball_sums`).
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
"""Sites of a group, on average: more share a search, and its bound is worse."""
_AT_ONCE = 8_000_000
"""Distances found at a time, where there is no graph."""
_FLOAT_BITS = 23
"""Whole numbers that single precision adds without error."""


class Collecting:
    """Sums of prices of demand points within a limit of every allowed site.

    `groups`: neighbors, indices into the allowed sites. Without the triangle inequality they tell
    nothing about their sites.
    """

    def __init__(self, instance: Instance, limit: float, rng: np.random.Generator) -> None:
        self.instance, self.limit = instance, limit
        metric, allowed = instance.metric, instance.allowed
        self._threads = os.cpu_count() or 1
        count = max(len(allowed) // _GROUP, 1)
        self._middles = np.sort(rng.choice(len(allowed), count, replace=False))
        away = np.full(len(allowed), np.inf)
        if metric.triangular:
            label, distance = metric.symmetric.nearest_to(allowed[self._middles])
            group, away = label[allowed], distance[allowed]
        else:
            group = np.searchsorted(self._middles[1:], np.arange(len(allowed)), side="right")
        order = np.argsort(group, kind="stable")
        self.groups = np.split(order, np.searchsorted(group[order], np.arange(1, count)))
        self._around = [self.limit + away[group].max(initial=0.0) for group in self.groups]
        self._spaces: queue.SimpleQueue[tuple] = queue.SimpleQueue()
        if metric.network is not None:
            n, arcs = len(metric), len(metric.network.csr[1])
            for _ in range(self._threads):
                space = np.full(n, -1, np.int32), np.empty(n, np.int64), workspace(n, arcs)
                self._spaces.put(space)

    def each(self, which: Positions, prices: Floats) -> list[Floats]:
        """Of some groups, exact sums of each site; on graphs an error of 2**-23 of the limit, which
        is never to its disadvantage.
        """
        amounts, found = self._amounts(prices), [np.empty(0)] * len(which)

        def fill(i: int) -> None:
            found[i] = self._exactly(int(which[i]), prices, amounts)

        in_threads(fill, range(len(which)))
        return found

    def most(self, prices: Floats, k: int, end: float) -> Floats:
        """Upper bounds of what sites collect, exact for the k that collect most, if the processor
        time `end` is not passed before.
        """
        amounts, whole = self._amounts(prices), float(prices.sum())
        bounds = np.full(len(self.groups), whole)
        late = self._late

        def bound(g: int) -> None:
            if not late(end):
                bounds[g] = self._roughly(g, prices, amounts)

        if self.instance.metric.triangular:
            in_threads(bound, range(len(bounds)))
        order = np.argsort(-bounds, kind="stable")
        collected = np.empty(len(self.instance.allowed))
        for g, group in enumerate(self.groups):
            collected[group] = bounds[g]
        exact = np.empty(0)
        for first in range(0, len(order), 8 * self._threads):
            some = order[first : first + 8 * self._threads]
            if late(end) or (len(exact) >= k and bounds[some[0]] <= exact.min()):
                break
            for g, sums in zip(some, self.each(some, prices)):
                collected[self.groups[g]] = sums
                exact = np.sort(np.r_[exact, sums])[-k:]
        return collected

    def _late(self, end: float) -> bool:
        return self.instance.deadline.over or time.process_time() > end

    def _amounts(self, prices: Floats) -> Floats:
        """Prices by the graph's own order of vertices."""
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

    def _middle(self, g: int) -> int:
        """A group's middle, in the graph's own order."""
        network = self.instance.metric.network
        assert network is not None
        return int(network.rank[self.instance.allowed[self._middles[g]]])

    def _roughly(self, g: int, prices: Floats, amounts: Floats) -> float:
        """More than any site of a group collects."""
        instance, network = self.instance, self.instance.metric.network
        if network is None:
            return float(prices[self._near(g)].sum())
        slot, reached, space = self._spaces.get()
        middle, around = self._middle(g), self._steps(self._around[g])
        count = bounded_search(network.csr, middle, around, reached, space)
        total = float(amounts[space.touched[:count]].sum())
        self._spaces.put((slot, reached, space))
        return total * (1 + len(instance.demand) * np.finfo(float).eps)

    def _near(self, g: int) -> Positions:
        """Demand points (indices) that sites of a group may reach."""
        instance = self.instance
        if not instance.metric.triangular:
            return np.arange(len(instance.demand))
        middle = instance.allowed[self._middles[g : g + 1]]
        row = costs_between(instance.metric, middle, instance.demand)[0]
        return np.flatnonzero(row <= self._around[g] * (1 + WITHIN))

    def _exactly(self, g: int, prices: Floats, amounts: Floats) -> Floats:
        instance, network = self.instance, self.instance.metric.network
        sites = instance.allowed[self.groups[g]]
        if network is None:
            near = self._near(g)
            clients, found, step = instance.demand[near], [], max(_AT_ONCE // max(len(near), 1), 1)
            for at in range(0, len(sites), step):
                rows = costs_between(instance.metric, sites[at : at + step], clients)
                found.append((rows <= self.limit * (1 + WITHIN)) @ prices[near])
            return np.concatenate(found) if found else np.empty(0)
        radius = self._steps(self.limit)
        shift = max(radius.bit_length() - _FLOAT_BITS, 0)
        slot, reached, space = self._spaces.get()
        middle, around = self._middle(g), self._steps(self._around[g])
        inner = network.rank[sites]
        sums = ball_sums(
            network.csr, middle, inner, around, radius, shift, amounts, slot, reached, space
        )
        self._spaces.put((slot, reached, space))
        return np.asarray(sums, np.float64)


def cover_bound(
    instance: Instance, collecting: Collecting, worth: Floats, paid: Floats, k: int, end: float
) -> tuple[float, Floats]:
    """Of the coverage of any k sites, and what each allowed site collects at most.

    Everybody takes the levels that are worth more than the price `paid` (n_demand,), and the k
    places that collect most are opened.
    """
    fixed = np.searchsorted(instance.allowed, instance.opened)
    collected = collecting.most(paid, k, end)
    total = float(np.maximum(worth - paid, 0.0).sum()) + most_collected(collected, k, fixed)
    whole = float(worth.sum())
    return min(total * (1 + len(paid) * np.finfo(float).eps), whole), collected
