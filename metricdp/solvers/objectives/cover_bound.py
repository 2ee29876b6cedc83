"""Maximum coverage without listing who reaches whom: the dual prices of the demand within the limit
of each site ("what the site collects"), and the upper bound of coverage that they prove.

Sites form groups of neighbors. All that a group reaches lies within the limit plus the group's
radius of its center, so one search bounds what each of its sites collects. Groups that this leaves
in question are summed site by site, on graphs in one search for many sites (`ball_sums`).

Prices come from a linear program of millions of entries, solved approximately: primal-dual hybrid
gradient (Chambolle & Pock, J. Math. Imaging Vision 40, 2011) on shares of sites and prices of
demand, restarted from averages (PDLP: Applegate et al., NeurIPS 2021). They need not be optimal:
any prices prove a bound, which `cover_bound` computes anew.
"""

import os
import queue
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from metricdp.arguments import Floats, Ints
from metricdp.kernels.ball_sums import ball_sums
from metricdp.kernels.shortest_paths import bounded_search, workspace
from metricdp.solvers.objectives.instance import WITHIN, Instance, Positions, costs_between
from metricdp.solvers.stopping import Deadline
from metricdp.threads import in_threads

Singles = NDArray[np.float32]
_STEPS, _CHECK_EVERY, _CLOSE = 1600, 50, 0.002
"""Most steps; steps between checks of the gap; relative gap at which it ends: below it, sites
missing from the program cost more.
"""
_CHECKS_A_RESTART, _GAP_FACTOR = 8, 0.5
"""Most checks between restarts; by what factor the gap falls for one."""
_POWERS, _HALVINGS = 12, 40
"""Power iterations for the largest singular value; bisection steps of a projection, for single
precision.
"""


def cover_prices(
    reach: csr_array,
    levels: Floats,
    k: int,
    fixed: Ints,
    begin: tuple[Floats, Floats],
    deadline: Deadline,
) -> tuple[Floats, Floats]:
    """Prices (n_cells,) of a low upper bound of what k sites cover, and shares (n_sites,) of the
    sites.

    `reach` (n_sites, n_cells): the part of each cell that a site reaches; `levels` (n_levels,
    n_cells): what covering it once, and once more, is worth; `fixed`: required sites; `begin`:
    initial prices and shares.
    """
    program = _Program(reach, levels, k, fixed)
    q, x = program.begin(*begin)
    balance = float(np.linalg.norm(program.worth) / np.sqrt(k)) or 1.0
    restart, sums, n_summed, gap = (q, x), (0 * q, 0 * x), 0, np.inf
    for step in range(1, _STEPS + 1):
        q, x = program.stepped(q, x, balance)
        sums, n_summed = (sums[0] + q, sums[1] + x), n_summed + 1
        if step % _CHECK_EVERY:
            continue
        mean = sums[0] / np.float32(n_summed), sums[1] / np.float32(n_summed)
        gaps = program.gap_of(q, x), program.gap_of(*mean)
        if program.upper - program.lower <= _CLOSE * program.upper or deadline.over:
            break
        if min(gaps) > _GAP_FACTOR * gap and n_summed < _CHECKS_A_RESTART * _CHECK_EVERY:
            continue
        q, x = mean if gaps[1] < gaps[0] else (q, x)
        far = float(np.linalg.norm(q - restart[0])), float(np.linalg.norm(x - restart[1]))
        if min(far) > 0:
            balance = float(np.sqrt(balance * far[0] / far[1]))
        restart, sums, n_summed, gap = (q, x), (0 * q, 0 * x), 0, min(gaps)
    return (program.price * program.scale).astype(float), program.shares.astype(float)


class _Program:
    """The program with rescaled prices, and the best solutions so far.

    `price`, `upper`: those of the lowest bound; `shares`, `lower`: those of the highest value.
    """

    def __init__(self, reach: csr_array, levels: Floats, k: int, fixed: Ints) -> None:
        whole = levels.sum(axis=0)
        self.k, self.fixed = k, fixed
        self.scale = np.sqrt(np.where(whole > 0, whole / whole.mean(), 1.0)).astype(np.float32)
        self.columns = csr_array((reach @ diags_array(self.scale)).astype(np.float32))
        self.rows = csr_array(self.columns.T.tocsr())
        self.worth = (-np.sort(-levels, axis=0) / self.scale).astype(np.float32)
        self.least = np.zeros(reach.shape[0], np.float32)
        self.least[fixed] = 1.0
        self.norm = _norm(self.columns, self.rows)
        self.upper, self.lower = np.inf, -np.inf

    def begin(self, price: Floats, shares: Floats) -> tuple[Singles, Singles]:
        """Initial prices (rescaled), and shares projected onto the feasible ones."""
        self.price = (price / self.scale).astype(np.float32)
        self.shares = _project_shares(shares.astype(np.float32), self.k, self.least)
        self.gap_of(self.price, self.shares)
        return self.price, self.shares

    def stepped(self, q: Singles, x: Singles, balance: float) -> tuple[Singles, Singles]:
        """A step of both; a larger `balance` moves prices more and shares less."""
        step = np.float32(balance / self.norm)
        after = _proximal_prices(q - step * (self.rows @ x), step * self.scale, self.worth)
        far = np.float32(1 / (balance * self.norm))
        return after, _project_shares(
            x + far * (self.columns @ (2 * after - q)), self.k, self.least
        )

    def gap_of(self, q: Singles, x: Singles) -> float:
        """Bound of these prices less the value of these shares; keeps the best of each."""
        high = float(np.maximum(self.worth - q, 0).sum(axis=0) @ self.scale)
        high += most_collected(self.columns @ q, self.k, self.fixed)
        coverage = (self.rows @ x) / self.scale
        covered = [level * np.clip(coverage - t, 0, 1) for t, level in enumerate(self.worth)]
        low = float(np.sum(covered, axis=0) @ self.scale)
        if high < self.upper:
            self.price, self.upper = q, high
        if low > self.lower:
            self.shares, self.lower = x, low
        return high - low


def most_collected(collected: NDArray[Any], k: int, fixed: Ints) -> float:
    """The most that k sites collect, the fixed ones among them."""
    free, left = np.delete(collected, fixed), k - len(fixed)
    total = float(collected[fixed].sum())
    return total + float(np.partition(free, -left)[-left:].sum() if left else 0.0)


def _norm(columns: csr_array, rows: csr_array) -> float:
    """Largest singular value, by power iteration; 1 of an empty matrix."""
    v, length = np.ones(columns.shape[1], np.float32), 0.0
    for _ in range(_POWERS):
        v = np.asarray(rows @ (columns @ v))
        length = float(np.linalg.norm(v))
        v /= length or 1.0
    return float(np.sqrt(length)) or 1.0


def _proximal_prices(q: Singles, step: Singles, worth: Singles) -> Singles:
    """Proximal step: prices that trade their distance from q against the levels worth more than
    they are. Below t levels a price rises by t steps; it stops at a level.
    """
    found = np.maximum(q, 0.0)
    for t, level in enumerate(worth):
        found = np.maximum(found, np.minimum(level, q + (t + 1) * step))
    return found


def _project_shares(x: Singles, k: int, least: Singles) -> Singles:
    """Projection onto shares from `least` to 1 that sum to k, by bisection."""
    low, high = float(x.min()) - 1.0, float(x.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if np.clip(x - middle, least, 1.0).sum() > k:
            low = middle
        else:
            high = middle
    return np.clip(x - high, least, 1.0)


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
