"""k-median on any metric by rows of distances, without a matrix: the exact 1-median of a part, by
bounds from the triangle inequality, and swap local search.
"""

from dataclasses import dataclass

import numpy as np

from metricdp.arguments import Floats, Ints, chunks
from metricdp.kernels.block_swaps import Labels, block_losses, row_changes
from metricdp.metrics.base import Metric
from metricdp.progress import progress
from metricdp.solvers.stopping import NEVER, Deadline

_ROUNDING = 1e-12  # above rounding of a sum of distances


@dataclass(frozen=True)
class PartMedian:
    """Position of the center, its cost, and a lower bound, which is equal if it is proven best."""

    center: int
    cost: float
    bound: float


def part_median(
    metric: Metric,
    weights: Floats,
    part: Ints | None = None,
    *,
    power: int = 1,
    allowed: Ints | None = None,
    searches: int = 64,
    deadline: Deadline = NEVER,
) -> PartMedian:
    """The position that serves a part at the least cost ``sum over v of weights[v] · d(c,
    v)**power``.

    Centers may stand in the part itself, or in `allowed`. At most `searches` rows of distances; on
    graphs each is a search that ends when the part and the candidates are reached.

    By the triangle inequality (Minkowski's, for squares) the costs of two positions satisfy
    ``f(c)**(1/p) - f(u)**(1/p) <= W**(1/p) · d(c, u)`` and, where distances are symmetric,
    ``f(u)**(1/p) >= W**(1/p) · d(c, u) - f(c)**(1/p)``. Every row bounds all other candidates; the
    next one is that of least bound, until no bound is below the best cost (as in trimed: Newling &
    Fleuret, AISTATS 2017). Some √n rows prove it where few places are nearly as good.
    """
    part = np.arange(len(metric)) if part is None else np.asarray(part, np.int64)
    candidates = part if allowed is None else np.asarray(allowed, np.int64)
    demand = part[weights[part] != 0]
    weight = weights[demand]
    total = weight.sum() ** (1 / power)
    targets = np.r_[candidates, demand]
    lower = np.zeros(len(candidates))
    tried = np.zeros(len(candidates), bool)
    best = 0
    least = np.inf
    for search in range(min(searches, len(candidates))):
        candidate = int(np.argmin(np.where(tried, np.inf, lower)))
        if lower[candidate] >= least * (1 - _ROUNDING) or (search and deadline.over):
            break
        row = metric.distance_rows(candidates[candidate : candidate + 1], targets)[0]
        root_cost = float((weight @ row[len(candidates) :] ** power) ** (1 / power))
        away = total * row[: len(candidates)]
        lower = np.maximum(lower, root_cost - away if metric.directed else np.abs(away - root_cost))
        lower[candidate] = root_cost
        tried[candidate] = True
        if root_cost < least:
            best = candidate
            least = root_cost
    bound = least if lower.min() >= least * (1 - _ROUNDING) else float(lower.min())
    return PartMedian(int(candidates[best]), least**power, bound**power)


_ROWS_FASTER = 8
"""Rows of distances are faster than a search for all points up to 1 / so many of them."""
_TOLERANCE = 1e-7  # least relative gain of a swap
_SLACK = 1e-9  # keeps points that rounding would lose


def served(metric: Metric, centers: Ints, points: Ints) -> tuple[Ints, Floats]:
    """Slot of the nearest center of these points, and its distance; by rows where they are few."""
    if _ROWS_FASTER * len(points) > len(metric):
        label, distance = metric.nearest_to(centers)
        return label[points], distance[points]
    label, distance = np.empty(len(points), np.int64), np.empty(len(points))
    for part in chunks(len(points), len(centers)):
        rows = metric.distance_rows(centers, points[part])
        label[part], distance[part] = rows.argmin(axis=0), rows.min(axis=0)
    return label, distance


class RowSearch:
    """Centers, and the nearest and second-nearest of every demand point, kept exact through swaps.

    `centers` (k,); `tried`: candidates evaluated so far.

    By the triangle inequality, the row of distances from the center that serves a candidate tells
    which demand points may be nearer to the candidate than to their second-nearest center: about
    7·n/k in low dimension. A batch of b candidates costs n + 7·b·n/k distances, a swap n + 2·n
    more; memory is O(n + k), and 32 MB.
    """

    def __init__(
        self,
        metric: Metric,
        weights: Floats,
        centers: Ints,
        power: int = 1,
        *,
        allowed: Ints | None = None,
        opened: int = 0,
        deadline: Deadline = NEVER,
    ) -> None:
        self.metric = metric
        self.power = power
        self.deadline = deadline
        self.tried, self.budget = 0, float("inf")
        self.centers = np.array(centers, np.int64)
        self._allowed = np.arange(len(metric)) if allowed is None else np.asarray(allowed, np.int64)
        self._opened = opened
        self._demand = np.flatnonzero(weights)
        self._weights = weights[self._demand]
        n = len(self._demand)
        self._first, self._second = np.zeros(n, np.int32), np.full(n, -1, np.int32)
        self._near, self._far = np.full(n, np.inf), np.full(n, np.inf)
        self._losses = np.empty(len(centers))
        self._label(np.arange(n))
        self._recompute_losses()

    def _label(self, which: Ints) -> None:
        """Two nearest centers of some demand points, by comparison with all centers."""
        k = len(self.centers)
        for part in chunks(len(which), k):
            some = which[part]
            at = np.arange(len(some))
            rows = self.metric.distance_rows(self.centers, self._demand[some])
            self._first[some] = rows.argmin(axis=0)
            self._near[some] = rows[self._first[some], at]
            if k > 1:
                rows[self._first[some], at] = np.inf
                self._second[some] = rows.argmin(axis=0)
                self._far[some] = rows[self._second[some], at]

    def _recompute_losses(self) -> None:
        # a single center counts twice
        far = np.where(np.isfinite(self._far), self._far, self._near)
        costs = self._near**self.power, far**self.power
        self._labels = Labels(self._first, self._second, *costs)
        self.cost = block_losses(self._weights, self._opened, self._labels, self._losses)

    def improve(self, slot: int, candidates: Ints) -> int:
        """Evaluate candidates that a slot serves, and take the best swaps; returns their number."""
        candidates = np.setdiff1d(candidates, self.centers)
        row = self.metric.distance_rows(self.centers[slot : slot + 1], self._demand)[0]
        reach = (
            self.metric.distance_rows(self.centers[slot : slot + 1], candidates)[0]
            if len(candidates)
            else np.empty(0)
        )
        swaps = 0
        while len(candidates) and not self.deadline.over:
            slots, changes = self._evaluate(row, reach, candidates)
            better = np.flatnonzero(changes < -_TOLERANCE * abs(self.cost))
            if len(better) == 0:
                break
            best = better[np.argmin(changes[better])]
            self._swap(int(slots[best]), int(candidates[best]))
            swaps += 1
            rest = better[better != best]  # the others again, against the current centers
            candidates = candidates[rest]
            reach = reach[rest]
        return swaps

    def _evaluate(self, row: Floats, reach: Floats, candidates: Ints) -> tuple[Ints, Floats]:
        """Slot to replace and change of cost of every candidate, from rows of distances."""
        slots = np.empty(len(candidates), np.int64)
        changes = np.empty(len(candidates))
        some = np.flatnonzero(row - reach.max() < self._far * (1 + _SLACK))
        labels = Labels(*(values[some] for values in self._labels))
        for part in chunks(len(candidates), len(some)):
            rows = self.metric.distance_rows(candidates[part], self._demand[some]) ** self.power
            mine = slots[part], changes[part]
            row_changes(rows, self._weights[some], labels, self._losses, *mine)
        self.tried += len(candidates)
        return slots, changes

    def _swap(self, slot: int, vertex: int) -> None:
        self.centers[slot] = vertex
        row = self.metric.distance_rows(np.array([vertex]), self._demand)[0]
        orphaned = (self._first == slot) | (self._second == slot)
        nearer = ~orphaned & (row < self._near)
        self._second[nearer], self._far[nearer] = self._first[nearer], self._near[nearer]
        self._first[nearer], self._near[nearer] = slot, row[nearer]
        second = ~orphaned & ~nearer & (row < self._far)
        self._second[second], self._far[second] = slot, row[second]
        self._label(np.flatnonzero(orphaned))
        self._recompute_losses()

    def round(
        self, share: int, sample: int, rng: np.random.Generator, slots: Ints | None = None
    ) -> Ints:
        """Try up to `sample` random points near each center, of the nearest 1 / `share` of its
        cell. Returns the slots whose demand changed.
        """
        label, distance = served(self.metric, self.centers, self._allowed)
        order = np.lexsort((distance, label))
        bounds = np.searchsorted(label[order], np.arange(len(self.centers) + 1))
        order = self._allowed[order]
        before = self._first.copy()
        centers = self.centers.copy()
        chosen = rng.permutation(len(self.centers) if slots is None else slots)
        for slot in progress(chosen, label="moving centers", unit="center"):
            if self.deadline.over:
                break
            own = order[bounds[slot] : bounds[slot + 1]]
            own = own[: max(sample + 1, len(own) // share)]
            self.improve(
                int(slot), own if len(own) <= sample + 1 else rng.choice(own, sample, replace=False)
            )
        won = self._first != before
        return np.unique(
            np.r_[self._first[won], before[won], np.flatnonzero(self.centers != centers)]
        )

    def descend(self, reach: int, rng: np.random.Generator, rounds: int = 20) -> bool:
        """Until no move to one of the `reach` nearest points of a center helps; whether
        it ended.
        """
        slots: Ints | None = None
        for _ in range(rounds):
            changed = self.round(len(self.metric), reach, rng, slots)
            if self.deadline.over:
                return False
            if len(changed) == 0 and slots is None:
                return True
            slots = changed if len(changed) else None
        return False
