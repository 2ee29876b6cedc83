"""What searches for k sites of least largest distance have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from metricdp.solvers.objectives.instance import WITHIN, Floats, Instance, Positions
from metricdp.solvers.objectives.kinds import Kinds
from metricdp.solvers.objectives.nearness import Nearness, sites_filled
from metricdp.solvers.objectives.rows import ReachLists
from metricdp.solvers.programs import fewest_columns

CLOSE = 0.003
"""Searches in large universes end when what is left open is a smaller part of the radius."""


class CenterSearch:
    """k sites that reach everybody within `upper`, and the radius `lower` that none go below.

    `clients`: positions of the demand that counts; `lists`: sites near some of them; `best` (k,):
    positions of sites.
    """

    def __init__(self, instance: Instance, clients: Positions, k: int) -> None:
        self.instance, self.clients, self.k = instance, clients, k
        self.lists = ReachLists(instance, clients)
        self.best, self.upper, self.lower = np.empty(0, np.int64), np.inf, 0.0
        self._rng = np.random.default_rng(instance.seed)
        self._fixed = np.searchsorted(instance.allowed, instance.opened)
        self._left = k - len(self._fixed)
        self._kinds = Kinds(self.lists, len(instance.allowed), self._rng)

    def _distances(self, sites: Positions) -> tuple[Positions, Floats]:
        """Of each client the index of its site, and its distance."""
        self.lists.around.searched += 1.0 if len(sites) == 1 else 1.5
        label, distance = self.instance.metric.nearest_to(sites)
        return label[self.clients], distance[self.clients]

    def _judged(self, sites: Positions) -> tuple[Positions, Floats]:
        """The same; the best sites are kept."""
        label, distance = self._distances(sites)
        if distance.max() < self.upper:
            self.best, self.upper = sites, float(distance.max())
        return label, distance

    def _farthest(self, near: Nearness, within: float = 0.0) -> Iterator[tuple[int, int]]:
        """Clients that are farthest in turn, each with the site near it that joins then (Gonzalez
        1985); the mandatory sites come first. One client at least, then those beyond a radius.
        """
        taken = [int(site) for site in self.instance.opened]
        for site in taken:
            near.add(site)
        done = np.zeros(len(self.clients), bool)
        while True:
            distance = np.where(done, -1.0, near.distance[self.clients])
            client = int(np.argmax(distance))
            if distance[client] <= within and done.any():
                return
            done[client] = True
            taken.append(near.site_of(int(self.clients[client]), taken))
            near.add(taken[-1])
            yield client, taken[-1]

    def _open(self, radius: float) -> list[int]:
        """Listed clients that no mandatory site reaches."""
        reached = self.lists.near_any(self._fixed, radius * (1 + WITHIN))
        return [j for j in range(len(self.lists)) if not reached[j]]

    def _with(self, more: Positions) -> Positions:
        """k sites: the mandatory ones, these, and others where that is not enough."""
        sites = np.r_[self.instance.opened, more].astype(np.int64)
        return sites_filled(self.instance, sites, self.best, self.k)

    def _sites(self, which: list[int], radius: float, most: float) -> tuple[Positions | None, bool]:
        """Free sites that reach some listed clients within a radius, by an integer program of so
        many seconds, and whether it is settled that there are some or none.
        """
        if not which:
            return np.empty(0, np.int64), True
        columns, covers = self._kinds.columns(which, radius * (1 + WITHIN))
        rows, _, proven = fewest_columns(
            covers, self.instance.deadline, at_most=self._left, seconds=most
        )
        return (None if rows is None else self.instance.allowed[columns[rows]]), proven

    def _refute(
        self,
        high: float,
        first: float,
        refuted: Callable[[float], bool],
        over: Callable[[], bool],
        guess: Callable[[float], float] = lambda radius: 0.0,
    ) -> None:
        """Raise `lower` below `high`, from a first radius on, until both are close: by what is
        guessed after each radius if it is between the two, else by bisection.
        """
        radius = first
        while high - self.lower > CLOSE * self.upper and not over():
            if refuted(radius):
                self.lower = radius
            else:
                high = radius
            radius = guess(radius)
            if not self.lower < radius < high:
                radius = (self.lower + high) / 2 if self.lower else 0.9 * high
