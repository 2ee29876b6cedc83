"""Maximum coverage on listed pairs: greedy and swaps, a Lagrangian bound, HiGHS."""

import numpy as np
from scipy.sparse import csr_array

from metricdp.arguments import Ints
from metricdp.kernels.covering import cover_local_search, fill_greedily
from metricdp.solvers.objectives.instance import Floats, Instance
from metricdp.solvers.programs import most_covered

_PROGRAM_ENTRIES = 1_500_000
"""Most pairs within the limit for which HiGHS is asked."""
_PASSES = 50
_PERTURBATIONS, _PERTURBED_ENTRIES = 20, 20_000_000
_STEPS, _STEP_ENTRIES = 300, 600_000_000
"""Subgradient steps, and the pairs that all of them read at most."""
_EQUAL = 1e-9  # above rounding of sums, below any real gain


class CoverSearch:
    """Maximum coverage where all pairs within the limit are listed.

    `reach` (n_sites, n_clients); `worth` (n_levels, n_clients): of covering a client once, and once
    more, never growing.
    """

    def __init__(self, instance: Instance, reach: csr_array, worth: Floats, k: int) -> None:
        self.instance, self.k = instance, k
        self.fixed = np.searchsorted(instance.allowed, instance.opened)
        self.rng = np.random.default_rng(instance.seed)
        self.reach, self.worth = _merge_equal_clients(reach, worth, self.rng)
        self._free = np.ones(self.reach.shape[0], bool)
        self._free[self.fixed] = False
        by_client = csr_array(self.reach.T.tocsr())
        self._csr_lists = (
            self.reach.indptr.astype(np.int64),
            self.reach.indices.astype(np.int32),
            by_client.indptr.astype(np.int64),
            by_client.indices.astype(np.int32),
        )
        self._by_client = by_client
        self._gain_table = np.vstack([self.worth, np.zeros((1, self.worth.shape[1]))])

    def solve(self) -> tuple[float, Ints, float]:
        """Value, sites (indices) and an upper bound."""
        sites = self.search()
        value = self.value(sites)
        bound, candidates = self.bound(value)
        if bound <= value * (1 + _EQUAL):
            return value, sites, value
        if self.reach.nnz <= _PROGRAM_ENTRIES and not self.instance.deadline.over:
            kept = np.union1d(candidates, np.r_[self.fixed, sites]).astype(np.int64)
            answer = most_covered(
                csr_array(self._by_client[:, kept]),
                self._gain_table[0],
                self._gain_table[1],
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
        """Coverage of these sites (indices)."""
        count = np.asarray(self.reach[sites].sum(axis=0)).ravel()
        return float(sum(level @ (count > t) for t, level in enumerate(self.worth)))

    def search(self) -> Ints:
        """Greedy and swaps; then again from a random part of the best sites."""
        best, most = np.empty(0, np.int64), -1.0
        kept = self.fixed
        for attempt in range(_PERTURBATIONS):
            sites = self._local_search(kept)
            value = self.value(sites)
            if value > most * (1 + _EQUAL):
                best, most = sites, value
            if self.instance.deadline.over or attempt * self.reach.nnz > _PERTURBED_ENTRIES:
                break
            free = np.setdiff1d(best, self.fixed)
            n_kept = max(0, len(free) - max(2, len(free) // 4))
            drawn = self.rng.choice(free, n_kept, replace=False)
            kept = np.r_[self.fixed, drawn].astype(np.int64)
            if attempt % 2 and len(kept) < self.k:
                others = np.setdiff1d(np.arange(self.reach.shape[0]), kept)
                kept = np.r_[kept, self.rng.choice(others, 1)]
        return best

    def _local_search(self, kept: Ints) -> Ints:
        count = np.zeros(self.reach.shape[1], np.int64)
        count += np.asarray(self.reach[kept].sum(axis=0)).ravel().astype(np.int64)
        last = len(self._gain_table) - 1
        gain = self._gain_table[np.minimum(count, last), np.arange(len(count))]
        gains = np.asarray(self.reach @ gain)
        is_open = np.zeros(self.reach.shape[0], bool)
        is_open[kept] = True
        chosen = np.empty(self.k, np.int64)
        chosen[: len(kept)] = kept
        state = (self._csr_lists, gains, self._gain_table, count, chosen, is_open)
        fill_greedily(state, len(kept))
        cover_local_search(state, len(self.fixed), _PASSES)
        return chosen

    def bound(self, value: float) -> tuple[float, Ints]:
        """Lagrangian upper bound, and the sites that a solution better than `value` may use. Its
        relaxation: a client takes the levels worth more than its price, and the k sites that
        collect most prices open.
        """
        best_prices = self._subgradient_prices(value)
        total, _, collected, chosen = self._relaxation(best_prices)
        free = chosen[len(self.fixed) :]
        if len(free) == 0:
            return total, chosen
        bound_with = total - collected[free].min() + collected
        candidates = np.flatnonzero(bound_with > value * (1 - _EQUAL))
        return total, np.union1d(candidates, chosen)

    def _subgradient_prices(self, value: float) -> Floats:
        """Prices of a low upper bound, by subgradient steps."""
        price = self.worth[0] * 0.5
        best, best_prices = np.inf, price
        step_length, stalled = 1.0, 0
        for _ in range(min(_STEPS, max(40, _STEP_ENTRIES // max(self.reach.nnz, 1)))):
            total, subgradient, _, _ = self._relaxation(price)
            if total < best * (1 - 1e-6):
                best, best_prices, stalled = total, price, 0
            else:
                best, best_prices = (total, price) if total < best else (best, best_prices)
                stalled += 1
            self.instance.deadline.tell(value, best)
            if best <= value * (1 + _EQUAL) or step_length < 1e-3 or self.instance.deadline.over:
                break
            if stalled >= 12:
                step_length, stalled, price = step_length / 2, 0, best_prices
                continue
            length = float(subgradient @ subgradient)
            if length == 0:
                break
            move = step_length * (total - value * (1 - 1e-6)) / length
            price = np.clip(price - move * subgradient, 0.0, self.worth[0])
        return best_prices

    def _relaxation(self, price: Floats) -> tuple[float, Floats, Floats, Ints]:
        """The bound, a subgradient, what sites collect, and the sites opened, fixed ones first."""
        taken = self.worth > price
        collected = np.asarray(self.reach @ price)
        n_free = self.k - len(self.fixed)
        top = np.flatnonzero(self._free)
        if n_free < len(top):
            offered = np.where(self._free, -collected, np.inf)
            top = np.argpartition(offered, n_free)[:n_free] if n_free else top[:0]
        chosen = np.r_[self.fixed, top].astype(np.int64)
        total = float(np.maximum(self.worth - price, 0.0).sum() + collected[chosen].sum())
        subgradient = np.asarray(self.reach[chosen].sum(axis=0)).ravel() - taken.sum(axis=0)
        rounding = len(price) * np.finfo(float).eps * total
        return total + rounding, subgradient.astype(np.float64), collected, chosen


def _merge_equal_clients(
    reach: csr_array, worth: Floats, rng: np.random.Generator
) -> tuple[csr_array, Floats]:
    """Merge clients that the same sites reach; drop those without any.

    Sums of two random words per site tell sets apart, but for a chance of 2**-120 a pair.
    """
    by_client = csr_array(reach.T.tocsr())
    random_bits = rng.integers(1, 2**63, (reach.shape[0], 2))
    ones = csr_array(
        (np.ones(by_client.nnz, np.int64), by_client.indices, by_client.indptr),
        shape=by_client.shape,
    )
    seen = np.flatnonzero(np.diff(by_client.indptr))
    _, first, of_seen = np.unique(
        (ones @ random_bits)[seen], axis=0, return_index=True, return_inverse=True
    )
    summed = [np.bincount(of_seen.ravel(), level[seen], len(first)) for level in worth]
    return csr_array(by_client[seen[first]].T.tocsr()), np.stack(summed).astype(np.float64)
