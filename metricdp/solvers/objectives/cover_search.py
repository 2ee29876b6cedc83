"""Coverage with listed pairs: greedy and exchanges, a Lagrangian bound, HiGHS."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from metricdp.arrays import Ints
from metricdp.kernels.cover_swaps import cover_local_search, fill_greedily
from metricdp.solvers.objectives.instance import Floats, Instance
from metricdp.solvers.programs import most_covered

_PROGRAM_ENTRIES = 1_500_000
"""Pairs within the limit up to which HiGHS is asked for a proof."""
_PASSES = 50
_KICKS, _KICK_ENTRIES = 20, 20_000_000
_STEPS, _STEP_ENTRIES = 300, 600_000_000
"""Steps of a subgradient search, and the pairs that they look at in all."""
_EQUAL = 1e-9  # above rounding of sums, below any real gain


class CoverSearch:
    """Coverage where all pairs within the limit are listed.

    `reach` (n_sites, n_clients); `worth` (n_levels, n_clients): not growing from level to level.
    """

    def __init__(self, instance: Instance, reach: csr_array, worth: Floats, k: int) -> None:
        self.instance, self.k = instance, k
        self.fixed = np.searchsorted(instance.allowed, instance.opened)
        self.rng = np.random.default_rng(instance.seed)
        self.reach, self.worth = _merged(reach, worth, self.rng)
        self._free = np.ones(self.reach.shape[0], bool)
        self._free[self.fixed] = False
        back = csr_array(self.reach.T.tocsr())
        self._lists = (
            self.reach.indptr.astype(np.int64),
            self.reach.indices.astype(np.int32),
            back.indptr.astype(np.int64),
            back.indices.astype(np.int32),
        )
        self._back = back
        self._table = np.vstack([self.worth, np.zeros((1, self.worth.shape[1]))])

    def solve(self) -> tuple[float, Ints, float]:
        """Value, sites (indices) and an upper bound."""
        sites = self.search()
        value = self.value(sites)
        bound, hopeful = self.bound(value)
        if bound <= value * (1 + _EQUAL):
            return value, sites, value
        if self.reach.nnz <= _PROGRAM_ENTRIES and not self.instance.deadline.over:
            kept = np.union1d(hopeful, np.r_[self.fixed, sites]).astype(np.int64)
            answer = most_covered(
                csr_array(self._back[:, kept]),
                self._table[0],
                self._table[1],
                self.k,
                np.searchsorted(kept, self.fixed),
                self.instance.deadline,
            )
            if answer.x is not None:
                found = kept[np.argsort(-answer.x, kind="stable")[: self.k]]
                if self.value(found) > value:
                    value, sites = self.value(found), found
            # sites left out cannot be part of anything better than what the search found
            bound = min(bound, max(answer.bound, value))
            if answer.proven:
                bound = value
        return value, sites, max(bound, value)

    def value(self, sites: Ints) -> float:
        """Of sites given by index."""
        count = np.asarray(self.reach[sites].sum(axis=0)).ravel()
        return float(sum(level @ (count > t) for t, level in enumerate(self.worth)))

    def search(self) -> Ints:
        """Greedy, exchanges, and again after some sites were drawn anew."""
        best, most = np.empty(0, np.int64), -1.0
        kept = self.fixed
        for attempt in range(_KICKS):
            sites = self._climbed(kept)
            value = self.value(sites)
            if value > most * (1 + _EQUAL):
                best, most = sites, value
            if self.instance.deadline.over or attempt * self.reach.nnz > _KICK_ENTRIES:
                break
            free = np.setdiff1d(best, self.fixed)
            n_kept = max(0, len(free) - max(2, len(free) // 4))
            drawn = self.rng.choice(free, n_kept, replace=False)
            kept = np.r_[self.fixed, drawn].astype(np.int64)
            if attempt % 2 and len(kept) < self.k:
                others = np.setdiff1d(np.arange(self.reach.shape[0]), kept)
                kept = np.r_[kept, self.rng.choice(others, 1)]
        return best

    def _climbed(self, kept: Ints) -> Ints:
        count = np.zeros(self.reach.shape[1], np.int64)
        count += np.asarray(self.reach[kept].sum(axis=0)).ravel().astype(np.int64)
        last = len(self._table) - 1
        gain = self._table[np.minimum(count, last), np.arange(len(count))]
        gains = np.asarray(self.reach @ gain)
        open_ = np.zeros(self.reach.shape[0], bool)
        open_[kept] = True
        chosen = np.empty(self.k, np.int64)
        chosen[: len(kept)] = kept
        state = (self._lists, gains, self._table, count, chosen, open_)
        fill_greedily(*state, len(kept))
        cover_local_search(*state, len(self.fixed), _PASSES)
        return chosen

    def bound(self, value: float) -> tuple[float, Ints]:
        """Lagrangian upper bound, and the sites that can be part of anything better than `value`.

        With a price for covering each client, a client takes the levels that are worth more than
        it, and the k sites that collect most are opened.
        """
        at = self._priced(value)
        total, _, collected, chosen = self._relaxed(at)
        free = chosen[len(self.fixed) :]
        if len(free) == 0:
            return total, chosen
        margin = total - collected[free].min() + collected
        hopeful = np.flatnonzero(margin > value * (1 - _EQUAL))
        return total, np.union1d(hopeful, chosen)

    def _priced(self, value: float) -> Floats:
        """Prices of a low upper bound, by subgradients."""
        price = self.worth[0] * 0.5
        best, at = np.inf, price
        step, vain = 1.0, 0
        for _ in range(min(_STEPS, max(40, _STEP_ENTRIES // max(self.reach.nnz, 1)))):
            total, slope, _, _ = self._relaxed(price)
            if total < best * (1 - 1e-6):
                best, at, vain = total, price, 0
            else:
                best, at = (total, price) if total < best else (best, at)
                vain += 1
            self.instance.deadline.tell(value, best)
            if best <= value * (1 + _EQUAL) or step < 1e-3 or self.instance.deadline.over:
                break
            if vain >= 12:
                step, vain, price = step / 2, 0, at
                continue
            length = float(slope @ slope)
            if length == 0:
                break
            move = step * (total - value * (1 - 1e-6)) / length
            price = np.clip(price - move * slope, 0.0, self.worth[0])
        return at

    def _relaxed(self, price: Floats) -> tuple[float, Floats, Floats, Ints]:
        """Bound, a subgradient, what each site collects, and the sites opened, the fixed first."""
        taken = self.worth > price
        collected = np.asarray(self.reach @ price)
        left = self.k - len(self.fixed)
        top = np.flatnonzero(self._free)
        if left < len(top):
            offered = np.where(self._free, -collected, np.inf)
            top = np.argpartition(offered, left)[:left] if left else top[:0]
        chosen = np.r_[self.fixed, top].astype(np.int64)
        total = float(np.maximum(self.worth - price, 0.0).sum() + collected[chosen].sum())
        slope = np.asarray(self.reach[chosen].sum(axis=0)).ravel() - taken.sum(axis=0)
        rounding = len(price) * np.finfo(float).eps * total
        return total + rounding, slope.astype(np.float64), collected, chosen


def _merged(reach: csr_array, worth: Floats, rng: np.random.Generator) -> tuple[csr_array, Floats]:
    """Clients with equal sites merged; those without any are left out.

    Sums of two random words tell sites apart, but for a chance of some 2**-120 a pair.
    """
    back = csr_array(reach.T.tocsr())
    marks = rng.integers(1, 2**63, (reach.shape[0], 2))
    ones = csr_array((np.ones(back.nnz, np.int64), back.indices, back.indptr), shape=back.shape)
    seen = np.flatnonzero(np.diff(back.indptr))
    _, first, of_seen = np.unique(
        (ones @ marks)[seen], axis=0, return_index=True, return_inverse=True
    )
    summed = [np.bincount(of_seen.ravel(), level[seen], len(first)) for level in worth]
    return csr_array(back[seen[first]].T.tocsr()), np.stack(summed).astype(np.float64)
