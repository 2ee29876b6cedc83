"""Balls around single points, and lists of the sites near demand points: bounded searches on
graphs, rows of distances elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.kernels.reach import bounded_search
from metricdp.kernels.shortest_paths import workspace
from metricdp.solvers.objectives.instance import WITHIN, Floats, Instance, Positions, costs_between


class ReachLists:
    """For demand points that were listed, the sites within a radius that can only shrink.

    `clients`: positions of the demand points that may be listed; `numbers`: those that are, as
    indices into `clients`.
    """

    def __init__(self, instance: Instance, clients: Positions) -> None:
        self.instance, self.clients = instance, clients
        self.radius = np.inf
        self.balls = Balls(instance, to_point=True)
        self.numbers: list[int] = []
        self._lists: list[tuple[Positions, Floats]] = []
        n = len(instance.metric.sites)
        self._index: NDArray[Any] = np.full(n, -1, np.int32)
        self._index[instance.allowed] = np.arange(len(instance.allowed))

    def __len__(self) -> int:
        return len(self._lists)

    @property
    def entries(self) -> int:
        """Pairs of client and site in memory."""
        return sum(len(sites) for sites, _ in self._lists)

    def __getitem__(self, j: int) -> tuple[Positions, Floats]:
        """Indices into the allowed sites, and costs of serving the j-th listed client from them."""
        return self._lists[j]

    def add(self, which: list[int]) -> None:
        """List more clients (indices into `clients`)."""
        have = set(self.numbers)
        new = [i for i in which if i not in have]
        self.numbers += new
        for i in new:
            self._lists.append(self.near(i))

    def shorten(self, radius: float) -> None:
        """Shrink the radius. Lists are cut where that saves memory."""
        if radius >= self.radius:
            return
        before, self.radius = self.radius, radius
        if before == np.inf or radius < 0.9 * before or len(self.instance.allowed) < 20_000:
            for j, (sites, distance) in enumerate(self._lists):
                near = distance <= radius * (1 + WITHIN)
                self._lists[j] = (sites[near], distance[near])

    def values(self, low: float, high: float) -> Floats:
        """Distinct listed distances from `low` to below `high`."""
        found = [d[(d >= low) & (d < high * (1 - WITHIN))] for _, d in self._lists]
        return np.unique(np.concatenate(found))

    def within_reach_of(self, sites: Positions, radius: float) -> list[bool]:
        """Whether each listed client is within a radius of any of these sites (indices)."""
        if len(sites) == 0:
            return [False] * len(self)
        return [bool(np.isin(at[d <= radius], sites).any()) for at, d in self._lists]

    def near(self, i: int) -> tuple[Positions, Floats]:
        """Allowed sites (indices) within the radius of one of `clients`, and costs; not cached."""
        places, away = self.balls(int(self.clients[i]), self.radius)
        at = self._index[places]
        inside = at >= 0
        return at[inside], away[inside]


class Balls:
    """All within a radius of a point.

    `to_point`: sites that can serve the point, rather than points that a site can serve;
    `searched`: work so far, in searches of the whole universe.
    """

    def __init__(self, instance: Instance, to_point: bool = False) -> None:
        self.instance, self.to_point, self.searched = instance, to_point, 0.0
        self._place = np.full(len(instance.metric), -1, np.int64)
        self._place[instance.demand] = np.arange(len(instance.demand))
        self._space: Any = None

    def __call__(self, position: int, radius: float) -> tuple[Positions, Floats]:
        """Positions (without a graph and `to_point`, of allowed sites) within the radius, and
        costs.
        """
        metric, network = self.instance.metric, self.instance.metric.network
        if network is None:
            one, self.searched = np.array([position]), self.searched + 1.0
            if self.to_point:
                row = costs_between(metric, self.instance.allowed, one)[:, 0]
            else:
                row = metric.distance_rows(one)[0]
            near = np.flatnonzero(row <= radius * (1 + WITHIN))
            return self.instance.allowed[near] if self.to_point else near, row[near]
        indptr, indices, lengths = network.csr
        if self._space is None:
            self._space = workspace(len(metric), len(indices)), np.empty(len(metric), np.int64)
        space, reached = self._space
        steps = int(min(radius * (1 + WITHIN) / network.unit, 2.0**60))
        graph = (indptr, indices, network.back if self.to_point else lengths)
        count = bounded_search(graph, int(network.rank[position]), steps, reached, space)
        self.searched += count / len(metric)
        return network.order[space.touched[:count]], reached[:count] * network.unit

    def demand(self, site: int, radius: float) -> Positions:
        """Indices of the demand points within a radius of a site's position."""
        found = self._place[self(site, radius)[0]]
        return found[found >= 0]
