"""A search that uses its time: many centers are improved part by part.

Some centers near each other are taken out together, and the small problem of where as many should
stand, with all others in place, is searched from several starts (Taillard & Voss, POPMUSIC, 2001).
Single swaps cannot do that: what improves is often an exchange of three or four at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.solvers.block import TOLERANCE, Found, block_search
from metricdp.solvers.stopping import NEVER, Deadline

_POINTS = 500
_FEWEST, _MOST = 6, 24
"""Centers of a part: as many as serve so many points on average, within these bounds."""
_SEARCHES = 4
"""Starts in a part: from four on, what lies between their results is searched too."""
_IN_VAIN = 6
_IN_VAIN_MORE = 30
"""Rounds over all centers, and parts besides, without improvement after which a search ends."""
_SOLUTIONS = 4
_RELINKED = 8
_VAIN_ROUNDS = 2
"""Searches whose centers are searched together; starts of that search; so often in vain."""


def thorough_search(
    block: NDArray[Any],
    weights: NDArray[np.float64],
    k: int,
    rng: np.random.Generator,
    *,
    first: NDArray[np.int64],
    opened: NDArray[np.int64] | None = None,
    deadline: Deadline = NEVER,
    endless: bool = False,
) -> tuple[NDArray[np.int64], float]:
    """Improve rows of a block: part by part, from several starts, and what lies between them.

    Parameters
    ----------
    block : ndarray, shape (n_candidates, n_demand)
        Cost of serving each demand point from each candidate, finite, in C order.
    weights : ndarray of float64, shape (n_demand,)
        Demand; may be negative.
    k : int
    rng : numpy Generator
        Public coins.
    first : ndarray of int64, shape (k,)
        Rows to begin with: the answer is no worse.
    opened : ndarray of int64, optional
        Rows that stay.
    deadline : Deadline
        When it is over, the best so far is returned.
    endless : bool
        Go on until then; the deadline must come.

    Returns
    -------
    rows : ndarray of int64, shape (k,)
        `opened` first.
    cost : float

    Notes
    -----
    Without `endless` the search ends by itself and does not depend on the machine's speed.

    Examples
    --------
    >>> line = np.abs(np.subtract.outer(np.arange(60.0), np.arange(60.0)))
    >>> rng = np.random.default_rng(0)
    >>> thorough_search(line, np.ones(60), 20, rng, first=np.arange(20))[1]
    40.0
    """
    fixed = np.empty(0, np.int64) if opened is None else np.unique(opened)
    best: Found = _Parts(block, weights, first, fixed, rng, deadline).improved()
    vain = 0
    while (endless or vain < _VAIN_ROUNDS) and not deadline.over:
        others = [best]
        for _ in range(_SOLUTIONS - 1):
            if deadline.over:
                break
            start, _ = block_search(block, weights, k, rng, opened=fixed, deadline=deadline)
            others.append(_Parts(block, weights, start, fixed, rng, deadline).improved())
        found = _between(block, weights, others, fixed, rng, deadline)
        vain = 0 if found[0] < best[0] - TOLERANCE * abs(best[0]) else vain + 1
        best = min(best, found, key=lambda one: one[0])
    return best[1], best[0]


def _between(
    block: NDArray[Any],
    weights: NDArray[np.float64],
    found: list[Found],
    fixed: NDArray[np.int64],
    rng: np.random.Generator,
    deadline: Deadline,
) -> Found:
    """What a search among the centers of several solutions finds, improved part by part."""
    best = min(found, key=lambda one: one[0])
    union = np.unique(np.concatenate([rows for _, rows in found]))
    if len(union) == len(best[1]) or deadline.over:
        return best
    rows, _ = block_search(
        block[union],
        weights,
        len(best[1]),
        rng,
        starts=_RELINKED,
        first_start=np.searchsorted(union, best[1]),
        opened=np.searchsorted(union, fixed),
        deadline=deadline,
    )
    return min(
        best,
        _Parts(block, weights, union[rows], fixed, rng, deadline).improved(),
        key=lambda one: one[0],
    )


class _Parts:
    """One solution that is improved part by part.

    Attributes
    ----------
    centers : ndarray of int64, shape (k,)
        The opened first.
    label : ndarray of int64, shape (n_demand,)
        Number of the center that serves each point, and `near`, at what cost.
    home : ndarray of int64, shape (n_candidates,)
        The point that is cheapest from each candidate: who serves it has the candidate in its part.
    """

    def __init__(
        self,
        block: NDArray[Any],
        weights: NDArray[np.float64],
        centers: NDArray[np.int64],
        fixed: NDArray[np.int64],
        rng: np.random.Generator,
        deadline: Deadline,
    ) -> None:
        self.block = block
        self.weights = weights
        self.fixed = fixed
        self.rng = rng
        self.deadline = deadline
        self.centers = np.r_[fixed, np.setdiff1d(centers, fixed)]
        self.home = block.argmin(axis=1)
        self.label, self.near = self._labeled(self.centers)
        self.cost = float(weights @ self.near)

    def _labeled(self, centers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        costs = self.block[centers]
        label = costs.argmin(axis=0)
        near = np.take_along_axis(costs, label[None], axis=0)[0]
        return label, near.astype(np.float64)

    def improved(self) -> Found:
        """Search parts around random points until many in a row have brought nothing."""
        free = len(self.centers) - len(self.fixed)
        if free < 2:
            return self.cost, self.centers
        usual = _POINTS * free // max(len(self.weights), 1)
        most = min(int(np.clip(usual, _FEWEST, _MOST)), free)
        vain = 0
        while vain < _IN_VAIN * free // most + _IN_VAIN_MORE and not self.deadline.over:
            pivot = int(self.rng.integers(len(self.weights)))
            size = int(self.rng.integers(min(max(most // 2, 2), most), most + 1))
            before = self.cost
            self._search(pivot, size)
            vain = 0 if self.cost < before - TOLERANCE * abs(before) else vain + 1
            if most == free and vain >= 2:
                break  # every part is the whole
        return self.cost, self.centers

    def _search(self, pivot: int, size: int) -> None:
        """Take out `size` centers near a point and put as many where they cost least; equally good
        places are taken too, which leads on over plateaus.
        """
        opened = len(self.fixed)
        far = self.block[self.centers[opened:], pivot]
        taken = np.zeros(len(self.centers), bool)
        taken[opened + np.argpartition(far, size - 1)[:size]] = True
        inside, outside = self.centers[taken], self.centers[~taken]
        columns = np.flatnonzero(taken[self.label])
        rows = np.flatnonzero(taken[self.label[self.home]])
        rows = np.setdiff1d(np.union1d(rows, inside), outside)
        if len(rows) == size or len(columns) == 0:
            return
        part = self.block[np.ix_(rows, columns)]
        if len(outside):
            part = np.minimum(part, self.block[np.ix_(outside, columns)].min(axis=0))
        chosen, cost = block_search(
            part,
            self.weights[columns],
            size,
            self.rng,
            starts=_SEARCHES,
            first_start=np.searchsorted(rows, inside),
            deadline=self.deadline,
        )
        slack = TOLERANCE * abs(self.cost)
        if cost > self.weights[columns] @ self.near[columns] + slack:
            return
        centers = self.centers.copy()
        centers[taken] = rows[chosen]
        if np.isin(centers[taken], inside).all():
            return
        label, near = self._labeled(centers)
        total = float(self.weights @ near)
        if total <= self.cost + slack:
            self.centers, self.label, self.near, self.cost = centers, label, near, total
