"""Prices of demand that k sites are to cover: a linear program of millions of entries, nearly.

Shares of sites and prices of demand move by turns against each other (primal-dual hybrid gradients:
Chambolle & Pock, J. Math. Imaging Vision 40, 2011), from the mean of their steps now and then
(restarts: Applegate et al., NeurIPS 2021). Whatever prices come of it, what they prove is summed
anew by their user.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from metricdp.arrays import Floats, Ints
from metricdp.solvers.stopping import Deadline

Singles = NDArray[np.float32]
_STEPS, _LOOK, _CLOSE = 1600, 50, 0.002
"""Most steps, those between two looks at the gap, and the gap that is small enough: beyond it, that
sites out of the program collect more costs more."""
_STALE, _HALVED = 8, 0.5
"""Looks from one restart to the next at most; by what the gap falls for one."""
_POWERS, _HALVINGS = 12, 40
"""Iterations of the largest singular value, and of the sum of shares: single precision."""


def cover_prices(
    reach: csr_array,
    levels: Floats,
    k: int,
    fixed: Ints,
    begin: tuple[Floats, Floats],
    deadline: Deadline,
) -> tuple[Floats, Floats]:
    """Prices (n_cells,) of a low upper bound of what k sites cover, and shares (n_sites,) of sites.

    `reach` (n_sites, n_cells): the part of each cell that a site reaches; `levels` (n_levels,
    n_cells): what covering it once, and once more, is worth; `fixed`: sites that are among the k;
    `begin`: prices and shares to begin with.
    """
    program = _Program(reach, levels, k, fixed)
    q, x = program.begin(*begin)
    balance = float(np.linalg.norm(program.worth) / np.sqrt(k)) or 1.0
    began, sums, count, gap = (q, x), (0 * q, 0 * x), 0, np.inf
    for step in range(1, _STEPS + 1):
        q, x = program.moved(q, x, balance)
        sums, count = (sums[0] + q, sums[1] + x), count + 1
        if step % _LOOK:
            continue
        mean = sums[0] / np.float32(count), sums[1] / np.float32(count)
        gaps = program.judged(q, x), program.judged(*mean)
        if program.upper - program.lower <= _CLOSE * program.upper or deadline.over:
            break
        if min(gaps) > _HALVED * gap and count < _STALE * _LOOK:
            continue
        q, x = mean if gaps[1] < gaps[0] else (q, x)
        far = float(np.linalg.norm(q - began[0])), float(np.linalg.norm(x - began[1]))
        if min(far) > 0:
            balance = float(np.sqrt(balance * far[0] / far[1]))
        began, sums, count, gap = (q, x), (0 * q, 0 * x), 0, min(gaps)
    return (program.price * program.scale).astype(float), program.shares.astype(float)


class _Program:
    """The program in scaled prices, and the best that was found.

    `price`, `upper`: of the lowest bound; `shares`, `lower`: of the highest value.
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
        """Scaled prices, and the nearest shares that are allowed."""
        self.price = (price / self.scale).astype(np.float32)
        self.shares = _shared(shares.astype(np.float32), self.k, self.least)
        self.judged(self.price, self.shares)
        return self.price, self.shares

    def moved(self, q: Singles, x: Singles, balance: float) -> tuple[Singles, Singles]:
        """Both after a step each; a larger balance moves prices more, and shares less."""
        step = np.float32(balance / self.norm)
        after = _taken(q - step * (self.rows @ x), step * self.scale, self.worth)
        far = np.float32(1 / (balance * self.norm))
        return after, _shared(x + far * (self.columns @ (2 * after - q)), self.k, self.least)

    def judged(self, q: Singles, x: Singles) -> float:
        """The gap between the bound of prices and the value of shares; the best are kept."""
        high = float(np.maximum(self.worth - q, 0).sum(axis=0) @ self.scale)
        high += most_collected(self.columns @ q, self.k, self.fixed)
        often = (self.rows @ x) / self.scale
        taken = [level * np.clip(often - t, 0, 1) for t, level in enumerate(self.worth)]
        low = float(np.sum(taken, axis=0) @ self.scale)
        if high < self.upper:
            self.price, self.upper = q, high
        if low > self.lower:
            self.shares, self.lower = x, low
        return high - low


def most_collected(collected: NDArray[Any], k: int, fixed: Ints) -> float:
    """What k sites collect at most, the fixed ones among them."""
    free, left = np.delete(collected, fixed), k - len(fixed)
    total = float(collected[fixed].sum())
    return total + float(np.partition(free, -left)[-left:].sum() if left else 0.0)


def _norm(columns: csr_array, rows: csr_array) -> float:
    """Largest singular value, by powers; 1 of an empty matrix."""
    v, length = np.ones(columns.shape[1], np.float32), 0.0
    for _ in range(_POWERS):
        v = np.asarray(rows @ (columns @ v))
        length = float(np.linalg.norm(v))
        v /= length or 1.0
    return float(np.sqrt(length)) or 1.0


def _taken(q: Singles, step: Singles, worth: Singles) -> Singles:
    """Prices that trade their distance from q against the levels that are worth more than they.

    With t levels above it a price rises by t steps; at a level it stops.
    """
    found = np.maximum(q, 0.0)
    for t, level in enumerate(worth):
        found = np.maximum(found, np.minimum(level, q + (t + 1) * step))
    return found


def _shared(x: Singles, k: int, least: Singles) -> Singles:
    """The nearest shares from `least` to 1 that sum to k, by halving."""
    low, high = float(x.min()) - 1.0, float(x.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if np.clip(x - middle, least, 1.0).sum() > k:
            low = middle
        else:
            high = middle
    return np.clip(x - high, least, 1.0)
