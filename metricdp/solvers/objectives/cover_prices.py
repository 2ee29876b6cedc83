"""Dual prices for maximum coverage: a linear program of millions of entries, solved approximately.

Primal-dual hybrid gradient (Chambolle & Pock, J. Math. Imaging Vision 40, 2011) on shares of sites
and prices of demand, restarted from averages (PDLP: Applegate et al., NeurIPS 2021). The prices
need not be optimal: any prices prove a bound, which `cover_bound` computes anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from metricdp.arguments import Floats, Ints
from metricdp.solvers.stopping import Deadline

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
