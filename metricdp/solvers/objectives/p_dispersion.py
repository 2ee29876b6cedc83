"""p-dispersion: sites as far from each other as possible, by independent sets of a fixed size: rows
no two of which are near each other.

A linear program with cliques, of which any independent set has one row at most, bounds its size.
Rows that the bound excludes, and those that others dominate, are dropped (reduced costs; Sayah &
Irnich, EJOR 256, 2017, have the program). An integer program decides what is left. Cliques are
added where a solution violates them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from metricdp.arguments import Bools, Floats, Ints
from metricdp.errors import InputError
from metricdp.solvers.objectives.instance import WHOLE_BLOCK, WITHIN, Chosen, Instance, Positions
from metricdp.solvers.objectives.objective import Objective
from metricdp.solvers.objectives.reach import matrix_of, maximal
from metricdp.solvers.programs import Constraint, exchanged, minimized, relaxed, seconds_of_rounds
from metricdp.solvers.stopping import Deadline

_ROUNDING, _VIOLATED = 1e-6, 1e-3
"""Of a program's value; by how much a solution must violate a clique that is added."""
_LINEAR_SECONDS = 20.0
"""Most seconds of the linear programs, so that many rows end undecided."""


def independent_rows(
    near: Bools, k: int, deadline: Deadline, seconds: float
) -> tuple[Ints | None, bool]:
    """k rows no two of which are near each other (None: none found), and whether that is proven.

    `near` (n, n): symmetric; `seconds`: of an integer program, 0 for none. O(n³) a reduction of
    rows at most, O(n²) for each row of a linear program's solution.
    """
    near = near | np.eye(len(near), dtype=np.bool_)
    rows = np.arange(len(near))
    if k == 1 and len(rows):
        return rows[:1], True
    cliques: list[NDArray[np.int32]] = []
    linear = Deadline(min(_LINEAR_SECONDS, deadline.left))
    degree = near.sum(axis=1) / len(near) if len(near) else np.empty(0)
    reduced = True
    while True:
        if reduced:  # a row that is near all that another is near can be exchanged for that one
            rows = rows[maximal(csr_array(~near[np.ix_(rows, rows)], dtype=np.float64))]
        if len(rows) < k:
            return None, True
        if linear.over or deadline.over:
            return None, False
        x, prices, excess = _sized(matrix_of(cliques, len(near))[:, rows], deadline, linear.left)
        bound = prices.sum() + np.maximum(excess, 0.0).sum()
        if bound < k - _ROUNDING:
            return None, True
        worth = np.full(len(near), -1.0)
        worth[rows] = x + _ROUNDING * degree[rows]
        grown = (_clique(near, [i], worth) for i in rows[x > _ROUNDING])
        violated = {c.tobytes(): c for c in grown if worth[c].sum() > 1 + _VIOLATED}
        if violated:
            cliques += list(violated.values())
            reduced = False
            continue
        inside = bound + np.minimum(excess, 0.0) >= k - _ROUNDING
        reduced = not inside.all()
        rows = rows[inside]
        if not reduced:
            return _decided(near, rows, k, cliques, degree, deadline, seconds)


def _sized(cliques: csr_array, deadline: Deadline, seconds: float) -> tuple[Floats, Floats, Floats]:
    """Most rows by a linear program: the share of each, prices of cliques, and what each row is
    worth more than its cliques' prices. Prices bound the size, whatever the rounding.
    """
    n_cliques, n_rows = cliques.shape
    found = relaxed(-np.ones(n_rows), cliques, np.ones(n_cliques), deadline, seconds=seconds)
    if found is None:
        return np.zeros(n_rows), np.zeros(n_cliques), np.ones(n_rows)
    prices = np.maximum(-found.ineqlin.marginals, 0.0)
    return found.x, prices, 1.0 - cliques.T @ prices


def _decided(
    near: Bools,
    rows: Ints,
    k: int,
    cliques: list[NDArray[np.int32]],
    degree: Floats,
    deadline: Deadline,
    seconds: float,
) -> tuple[Ints | None, bool]:
    """The answer of an integer program; pairs that its solutions violate get cliques."""
    worth = np.full(len(near), -1.0)
    worth[rows] = degree[rows]
    count = Constraint(np.ones((1, len(rows))), float(k), float(k))
    time = Deadline(min(seconds, deadline.left))
    while not time.over and not deadline.over:
        apart = Constraint(matrix_of(cliques, len(near))[:, rows], 0.0, 1.0)
        rules = [count, apart]
        answer = minimized(np.zeros(len(rows)), rules, len(rows), deadline, seconds=time.left)
        if answer.x is None:
            return None, answer.proven
        chosen = rows[answer.x > 0.5]
        pairs = np.argwhere(np.triu(near[np.ix_(chosen, chosen)], 1))
        if len(pairs) == 0:
            return chosen, True
        cliques = cliques + [_clique(near, list(chosen[pair]), worth) for pair in pairs]
    return None, False


def _clique(near: Bools, clique: list[int], worth: Floats) -> NDArray[np.int32]:
    """These rows, and more of large worth, none negative, that are all near each other."""
    worth = np.where(near[clique].all(axis=0), worth, -1.0)
    clique = list(clique)
    worth[clique] = -1.0
    while worth.max() >= 0.0:
        clique.append(int(worth.argmax()))
        worth[~near[clique[-1]]] = -1.0
        worth[clique[-1]] = -1.0
    return np.sort(np.array(clique, np.int32))


_STARTS = 30
"""Starts of the farthest-first heuristic, where all distances fit in memory."""
_PAIRS, _EXCHANGES = 1_000_000, (100_000, 50_000_000)
"""Most close pairs for exchanges; their limits: about 1 s (700 points, k = 5 to 100)."""
_SECONDS, _CLOSE = 20.0, 0.003
"""Of an integer program at first; relative gap up to which bounds without one are bisected."""


@dataclass(frozen=True)
class PDispersion(Objective):
    """k sites whose least distance from each other is as large as possible: *p-dispersion*, for
    what should not stand close together. Demand does not count.

    Parameters
    ----------
    k : int
        At least 2.

    Notes
    -----
    Farthest-first from many starts, swaps and exchanges. Then linear and integer programs decide
    by cliques of places that are too close whether a larger distance is possible (Erkut 1990; Sayah
    & Irnich 2017): without a time limit for some minutes, with one until it ends. Beyond 20 million
    pairs the bound is by the pigeonhole principle: two of any k sites have the same nearest one of
    the first k - 1 sites, so their distance is at most twice that of the last one. There is
    none for directed distances, and without the triangle inequality.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(7), weight=None)
    >>> plan = mdp.solve(metric, mdp.objectives.PDispersion(k=3))
    >>> sorted(plan.centers), plan.value, plan.gap
    ([0, 3, 6], 3.0, 0.0)
    """

    name: ClassVar[str] = "p-dispersion"
    arcgis: ClassVar[str] = "none"
    spopt: ClassVar[str] = "PDispersion"
    maximized: ClassVar[bool] = True

    k: int

    def check(self, instance: Instance) -> None:
        """See `Objective`; besides, distances between sites must be known."""
        super().check(instance)
        if self.k < 2:
            raise InputError("p-dispersion needs two sites at least: k=1 has no distance")
        if instance.metric.sites is not instance.metric.ids:
            raise InputError(
                "p-dispersion needs distances between sites; a table of costs has those from sites "
                "to clients alone"
            )

    def choose(self, instance: Instance) -> Chosen:
        """See the notes of the class."""
        sites, bound = _farthest_first(instance, self.k, instance.seed)
        value = _least_distance(_distances_between(instance, sites))
        if len(instance.allowed) ** 2 <= WHOLE_BLOCK:
            at = np.searchsorted(instance.allowed, sites)
            fixed = np.searchsorted(instance.allowed, instance.opened)
            block = _distances_between(instance, instance.allowed)
            search = _Search(block, self.k, fixed, instance)
            search.run(at, bound)
            sites, value, bound = instance.allowed[search.best], search.lower, search.upper
        if len(instance.opened) == self.k:
            bound = value
        known = max(bound, value) if np.isfinite(bound) else None
        return Chosen(instance.required_first(sites), value, known)

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """See `Objective`; infinite for one site."""
        return Chosen(sites, _least_distance(_distances_between(instance, sites)))


def _distances_between(instance: Instance, sites: Positions) -> Floats:
    """Distances between sites, the shorter of the two directions."""
    rows = np.array(instance.metric.distance_rows(sites, sites), np.float64)
    return np.minimum(rows, rows.T)


def _least_distance(block: Floats) -> float:
    distances = block[np.triu_indices(len(block), 1)]
    return float(distances.min()) if len(distances) else float("inf")


def _farthest_first(instance: Instance, k: int, seed: int) -> tuple[Positions, float]:
    """Farthest-first sites (Gonzalez 1985), and an upper bound of the least distance of any k."""
    metric, allowed = instance.metric, instance.allowed
    sites = list(instance.opened)
    if not sites:
        sites = [int(allowed[np.random.default_rng(seed).integers(len(allowed))])]
        sites = [int(allowed[np.argmax(_from(instance, sites))])]
    distance, last = _from(instance, sites), float("inf")
    for _ in range(k - len(sites)):
        sites.append(int(allowed[np.argmax(distance)]))
        last = float(distance.max())
        distance = np.minimum(distance, _from(instance, sites[-1:]))
    found = np.array(sites, np.int64)
    return found, 2.0 * last if metric.triangular and not metric.directed else float("inf")


def _from(instance: Instance, sites: list[int]) -> Floats:
    """Distance of each place from the nearest of these sites, in the shorter direction."""
    far = instance.metric.nearest_to(np.array(sites))[1][instance.allowed]
    if instance.metric.directed:
        back = instance.metric.distance_rows(instance.allowed, np.array(sites)).min(axis=1)
        far = np.minimum(far, back)
    far[np.isin(instance.allowed, sites)] = -1.0
    return far


class _Search:
    """Dispersion of rows of a block of distances. `best` has the least distance `lower`; none has
    more than `upper`.
    """

    def __init__(self, block: Floats, k: int, fixed: Positions, instance: Instance) -> None:
        self.block, self.k, self.fixed, self.instance = block, k, fixed, instance
        np.fill_diagonal(block, -1.0)  # no row twice
        self.best, self.lower, self.upper = np.empty(0, np.int64), -1.0, np.inf

    def run(self, first: Positions, bound: float) -> None:
        """Local search from several starts, then bisection: without integer programs, then with
        them, for twice the time each time if there is a time limit.
        """
        rng = np.random.default_rng(self.instance.seed)
        pairs = np.sort(self.block[np.triu_indices(len(self.block), 1)])
        need = self.k * (self.k - 1) // 2
        self.upper = min(bound, float(pairs[len(pairs) - need]))
        pairs = np.unique(pairs)
        if len(self.fixed) > 1:
            self.upper = min(self.upper, self._kept(self.fixed))
        self._improve(first)
        for start in rng.permutation(len(self.block))[:_STARTS]:
            if self.lower >= self.upper or self.instance.deadline.over:
                break
            self._improve(
                self._add_farthest(np.append(self.fixed, start)[: max(len(self.fixed), 1)])
            )
        self._exchange(pairs)
        for seconds in seconds_of_rounds(_SECONDS, self.instance.deadline):
            if self.lower >= self.upper:
                break
            self._bisect(pairs, seconds)

    def _bisect(self, pairs: Floats, seconds: float) -> None:
        """Lower `upper` where a distance is refuted. Integer programs, of so many seconds, begin
        with the least distance above `lower`: that it is too large ends the search.
        """
        low = self.lower
        while not self.instance.deadline.over:
            self.instance.deadline.tell(self.lower, self.upper)
            left = pairs[(pairs > low * (1 + WITHIN)) & (pairs <= self.upper)]
            if len(left) == 0:
                self.upper = max(low, self.lower)
                break
            first = low == self.lower and seconds > 0
            if not first and self.upper - low <= _CLOSE * self.upper:
                break
            middle = int(np.searchsorted(left, (low + self.upper) / 2))
            radius = float(left[0 if first else min(middle, len(left) - 1)])
            rows, near = self._free(radius)
            found, proven = independent_rows(
                near, self.k - len(self.fixed), self.instance.deadline, seconds
            )
            if found is not None:
                self._improve(np.r_[self.fixed, rows[found]])
                self._exchange(pairs)
                low = self.lower
            elif proven:
                self.upper = max(float(pairs[pairs < radius].max(initial=0.0)), self.lower)
            else:
                low = radius

    def _free(self, radius: float) -> tuple[Positions, Bools]:
        """Rows that can join the fixed ones at this distance, and which of them are closer."""
        near = self.block < radius * (1 - WITHIN)
        rows = np.setdiff1d(np.flatnonzero(~near[self.fixed].any(axis=0)), self.fixed)
        return rows, near[np.ix_(rows, rows)]

    def _exchange(self, pairs: Floats) -> None:
        """Exchange rows for a larger distance, while that helps: the rows not chosen are to cover
        all pairs that are closer.
        """
        k = self.k - len(self.fixed)
        while self.lower < self.upper and not self.instance.deadline.over:
            above = pairs[pairs > self.lower * (1 + WITHIN)]
            if len(above) == 0:  # larger ones differ by rounding
                break
            rows, near = self._free(float(above[0]))
            close = np.argwhere(np.triu(near, 1))
            others = np.argsort(np.isin(rows, self.best), kind="stable")[: max(len(rows) - k, 0)]
            if len(rows) < k or len(close) > _PAIRS:
                break
            if not exchanged(matrix_of(list(close), len(rows)), others, _EXCHANGES):
                break
            self._improve(np.r_[self.fixed, np.delete(rows, others)])

    def _kept(self, rows: Positions) -> float:
        return _least_distance(self.block[np.ix_(rows, rows)])

    def _add_farthest(self, rows: Positions) -> Positions:
        near = self.block[:, rows].min(axis=1)
        while len(rows) < self.k:
            rows = np.append(rows, np.argmax(near))
            near = np.minimum(near, self.block[:, rows[-1]])
        return rows

    def _improve(self, rows: Positions) -> None:
        """Swap one of the two closest rows for the one farthest from the others, while that
        helps.
        """
        current = self._kept(rows)
        while True:
            inside = self.block[np.ix_(rows, rows)]
            inside[inside < 0] = np.inf
            ends = np.unravel_index(int(inside.argmin()), inside.shape)
            better = False
            for i in ends:
                others = np.delete(rows, i)
                into = int(self.block[:, others].min(axis=1).argmax())
                value = self._kept(np.append(others, into))
                if rows[i] not in self.fixed and value > current:
                    rows, current, better = np.append(others, into), value, True
                    break
            if not better:
                break
        if current > self.lower:
            self.best, self.lower = rows, current
