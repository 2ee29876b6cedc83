"""What the searches for the p-center share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from metricdp.solvers.objectives.dominance import Undominated
from metricdp.solvers.objectives.instance import WITHIN, Floats, Instance, Positions
from metricdp.solvers.objectives.nearness import Nearness, sites_filled
from metricdp.solvers.objectives.rows import ReachLists
from metricdp.solvers.programs import fewest_columns

CLOSE = 0.003
"""Relative gap at which searches in large universes end."""


class CenterSearch:
    """k sites that reach all clients within `upper`, and a radius `lower` that no k sites can beat.

    `clients`: positions of the demand that counts; `lists`: sites near some of them; `best` (k,):
    positions of the best sites.
    """

    def __init__(self, instance: Instance, clients: Positions, k: int) -> None:
        self.instance, self.clients, self.k = instance, clients, k
        self.lists = ReachLists(instance, clients)
        self.best, self.upper, self.lower = np.empty(0, np.int64), np.inf, 0.0
        self._rng = np.random.default_rng(instance.seed)
        self._fixed = np.searchsorted(instance.allowed, instance.opened)
        self._n_free = k - len(self._fixed)
        self._undominated = Undominated(self.lists, len(instance.allowed), self._rng)

    def _nearest(self, sites: Positions) -> tuple[Positions, Floats]:
        """For each client the index of the nearest of these sites, and its distance."""
        self.lists.balls.searched += 1.0 if len(sites) == 1 else 1.5
        label, distance = self.instance.metric.nearest_to(sites)
        return label[self.clients], distance[self.clients]

    def _evaluate(self, sites: Positions) -> tuple[Positions, Floats]:
        """The same as `_nearest`; keeps the sites if they are the best."""
        label, distance = self._nearest(sites)
        if distance.max() < self.upper:
            self.best, self.upper = sites, float(distance.max())
        return label, distance

    def _farthest(self, near: Nearness, within: float = 0.0) -> Iterator[tuple[int, int]]:
        """Farthest-first traversal (Gonzalez 1985): clients, each with the site near it that is
        added then. Starts from the required sites; ends when all clients are `within` a radius,
        after one at least.
        """
        chosen = [int(site) for site in self.instance.opened]
        for site in chosen:
            near.add(site)
        done = np.zeros(len(self.clients), bool)
        while True:
            distance = np.where(done, -1.0, near.distance[self.clients])
            client = int(np.argmax(distance))
            if distance[client] <= within and done.any():
                return
            done[client] = True
            chosen.append(near.site_of(int(self.clients[client]), chosen))
            near.add(chosen[-1])
            yield client, chosen[-1]

    def _uncovered(self, radius: float) -> list[int]:
        """Listed clients that no required site reaches."""
        reached = self.lists.within_reach_of(self._fixed, radius * (1 + WITHIN))
        return [j for j in range(len(self.lists)) if not reached[j]]

    def _filled(self, more: Positions) -> Positions:
        """k sites: the required ones, these, and others up to k."""
        sites = np.r_[self.instance.opened, more].astype(np.int64)
        return sites_filled(self.instance, sites, self.best, self.k)

    def _cover_program(
        self, listed: list[int], radius: float, seconds: float
    ) -> tuple[Positions | None, bool]:
        """Free sites that reach these listed clients within a radius, by a set-cover program of so
        many seconds (None where none were found), and whether the answer is proven.
        """
        if not listed:
            return np.empty(0, np.int64), True
        columns, covers = self._undominated.columns(listed, radius * (1 + WITHIN))
        rows, _, proven = fewest_columns(
            covers, self.instance.deadline, at_most=self._n_free, seconds=seconds
        )
        return (None if rows is None else self.instance.allowed[columns[rows]]), proven

    def _raise_lower(
        self,
        high: float,
        radius: float,
        refuted: Callable[[float], bool],
        out_of_time: Callable[[], bool],
        next_radius: Callable[[float], float] = lambda radius: 0.0,
    ) -> None:
        """Raise `lower` until it is close to `high`: try to refute `radius`, then the `next_radius`
        if it is between the two, else their middle.
        """
        while high - self.lower > CLOSE * self.upper and not out_of_time():
            if refuted(radius):
                self.lower = radius
            else:
                high = radius
            radius = next_radius(radius)
            if not self.lower < radius < high:
                radius = (self.lower + high) / 2 if self.lower else 0.9 * high
