"""k-median and k-means for every metric, without a full distance matrix."""

from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from metricdp.arguments import Floats, Ints, Singles, opened_first
from metricdp.metrics.base import Metric
from metricdp.metrics.identity_cache import IdentityCache
from metricdp.metrics.landmarks import LANDMARKS, landmarks
from metricdp.metrics.structures import Network
from metricdp.solvers.block import block_search
from metricdp.solvers.graph_search import GraphSearch
from metricdp.solvers.near_lists import BlockCosts, MetricCosts, places
from metricdp.solvers.neighborhoods import near_search, thorough_search
from metricdp.solvers.row_search import RowSearch, part_median, served
from metricdp.solvers.stopping import NEVER, Deadline

WHOLE_BLOCK = 20_000_000
"""Largest candidates × demand block searched as a whole: 80 MB."""
_UNION = 20_000_000
"""Largest block of the centers of several searches that is searched as a whole."""
LARGE = 60_000
"""Graphs of more vertices are first solved on a graph of cells."""
_VISITS = 12_000_000
_VISITS_EACH = 12
"""Vertices that a search at one resolution may visit: in all, or for each vertex."""
_EFFORT = 0.4
_LAST_VISITS = 4
"""On large graphs with `starts`: share of those visits, and visits of the last descent for each
vertex.
"""
_PASSES = 3
"""All vertices are tried if the visits suffice for so many passes over them."""
_STARTS = 4
_RELINKED = 8
_SEARCHES = 64
"""Default starts; starts of the search among their centers; rows of distances for a single
center.
"""
_MANY_CENTERS = 40
"""From so many centers on half as many searches: their results differ less."""
_CHAINED_STARTS = 3
_CHAINED_BLOCK = 1_000_000
"""Starts before chains of kicks, for many centers on blocks of at least so many entries: recombined
starts end twice as far from the best there (``benchmarks/tsplib.md``).
"""
_ROW_CANDIDATES = 24
_ROW_SHARES = (1, 2, 8)
"""Away from graphs: candidates tried for each center, from the nearest 1 / share of its points."""
_ROW_STARTS = 6
_ROWS_SAMPLED = 20_000
_CANDIDATES = 5
"""Searches away from graphs; most demand points in all but the last; candidates for each of these.
More cost time and gain .1 % (``benchmarks/medoids.py``).
"""
_LISTS = 5
"""Lists of near candidates are faster if k² is at least this many times the demand points: with
6,000 and 20,000 points in the plane from 170 and 300 centers on.
"""
_ENTRY_SECONDS = 1e-6
"""With less time than this for each distance from the sample, distances between cells are used."""
_MOST_SAMPLED = 6000
"""Most candidates of a coarse search: 144 MB of distances."""


S = TypeVar("S", GraphSearch, RowSearch)


@dataclass(frozen=True)
class Found:
    """Centers (k,), distinct positions, and their cost on their weights."""

    centers: Ints
    cost: float


@dataclass(frozen=True)
class _Problem:
    metric: Metric
    weights: Floats
    k: int
    power: int
    allowed: Ints
    rng: np.random.Generator
    opened: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    deadline: Deadline = NEVER
    effort: float = 1.0
    chains: bool = True
    first: Ints | None = None
    terms: tuple[float, ...] | None = None

    def start_search(self, kind: type[S], metric: Any, centers: Ints) -> S:
        """A search from these centers, on this metric or a coarser one."""
        impedance: Any = self.power if self.terms is None else self.terms
        return kind(
            metric,
            self.weights,
            centers,
            impedance,
            allowed=self.allowed,
            opened=len(self.opened),
            deadline=self.deadline,
        )


def solve(
    metric: Metric,
    weights: Floats,
    k: int,
    *,
    power: int = 1,
    candidates: Ints | None = None,
    opened: Ints | None = None,
    seed: int = 0,
    starts: int | None = 3,
    time_limit: float | None = None,
    first: Ints | None = None,
    share: float = 1.0,
    chains: bool = True,
    terms: tuple[float, ...] | None = None,
) -> Found:
    """Find k centers of low cost ``sum over v of weights[v] · min over centers c of d(v,
    c)**power``.

    Up to 20 M candidates × demand points: swap local search from k-median++ on a block of all costs
    (`metricdp.solvers.block`), with many centers also chains of kicks. Beyond, on graphs by pruned
    searches (`metricdp.solvers.graph_search`): over all candidates from several starts where that
    is cheap (many centers), else first on a sample of 1,280 candidates, beyond 60,000 vertices on a
    graph of cells, then at full resolution. In the end no center of a graph can be improved by a
    move to a neighboring vertex, unless a time limit struck. Elsewhere by rows of distances
    (`metricdp.solvers.row_search`), beyond 20,000 demand points first on a sample of them; with
    many centers in few dimensions by iterated local search on lists from a k-d tree
    (`metricdp.solvers.neighborhoods`). The centers of several searches are the candidates of a last
    one, on exact rows. Memory O(n + m), at most 160 MB of rows. `chains`: whether the kicks follow.
    `terms`: of the impedance, if costs are not a power of the distances along edges. Callers have
    checked that k is possible, and that `first` is k candidates with those of `opened`. Figures in
    ``benchmarks/graph_solver.md`` and ``benchmarks/medoids.md``.
    """
    weights, demand, allowed, fixed = places(metric, weights, candidates, opened)
    # With no choice left no search is needed.
    if k in (len(allowed), len(fixed)):
        everything = opened_first(fixed, allowed)[:k]
        cost = float(weights @ metric.nearest_to(everything)[1] ** power)
        return Found(everything, cost)
    rough = starts is not None and len(metric) > LARGE and terms is None
    problem = _Problem(
        metric,
        weights,
        k,
        power,
        allowed,
        np.random.default_rng(seed),
        opened=fixed,
        deadline=Deadline(time_limit),
        effort=share * (_EFFORT if rough else 1.0),
        chains=chains,
        first=None if first is None else opened_first(fixed, np.unique(first)),
        terms=terms,
    )
    with problem.deadline:
        if metric.in_memory or len(allowed) * len(demand) <= WHOLE_BLOCK:
            return _solve_on_block(problem, demand, starts)
        if metric.network is not None:
            search: GraphSearch | RowSearch = _solve_on_network(problem, metric.network, starts)
        elif k * k >= _LISTS * len(demand) and (found := _solve_on_lists(problem, starts)):
            return found
        else:
            search = _solve_on_points(problem, starts)
        return Found(search.centers, search.cost)


def _solve_on_block(problem: _Problem, demand: Ints, starts: int | None) -> Found:
    """Local search on the block of all costs, with many centers also chains of kicks."""
    allowed, weights, fixed = problem.allowed, problem.weights, problem.opened
    size = len(allowed) * len(demand)
    many_centers = problem.k - len(fixed) >= _MANY_CENTERS
    chained = starts is None and many_centers and _CHAINED_BLOCK <= size <= WHOLE_BLOCK
    chained = chained and bool((weights >= 0).all())
    block = costs_between(problem.metric, allowed, demand, problem.power)
    rows, cost = block_search(
        block,
        weights[demand],
        problem.k,
        problem.rng,
        starts=_CHAINED_STARTS if chained else starts,
        opened=np.searchsorted(allowed, fixed),
        deadline=problem.deadline,
        first_start=None if problem.first is None else np.searchsorted(allowed, problem.first),
    )
    if chained and problem.chains:
        rows, cost = thorough_search(
            BlockCosts(block, weights[demand], problem.deadline),
            problem.k,
            problem.rng,
            first=rows,
            opened=np.searchsorted(allowed, fixed),
            deadline=problem.deadline,
            rounds=1,
        )
    return Found(allowed[rows], cost)


_matrices = IdentityCache()
# distances of small universes, cached for the next call


def costs_between(metric: Metric, sources: Ints, targets: Ints, power: int) -> Singles:
    """Costs sources × targets; all distances of a small universe are cached."""
    n = len(metric)
    small = not metric.in_memory and n * n <= WHOLE_BLOCK
    if small and max(len(sources), len(targets)) > n // 4:
        kept = _matrices.of(metric)
        if "all" not in kept:
            kept["all"] = metric.distance_rows(np.arange(n)).astype(np.float32)
        block = kept["all"]
        if len(sources) < n or len(targets) < n:
            block = block[np.ix_(sources, targets)]
    else:
        block = metric.distance_block(sources, targets)
    return block if power == 1 else block**power


def _cell_weights(label: Ints, weights: Floats, m: int) -> Floats:
    """Sum of the weights in each of m cells."""
    return np.bincount(label, weights, m).astype(np.float64)


def _coarse_centers(problem: _Problem, starts: int | None) -> Ints:
    """Centers by local search on a sample of candidates, on exact rows if they fit."""
    metric, weights, fixed = problem.metric, problem.weights, problem.opened
    m = _sample_size(problem)
    if m == 0:
        return _sample_candidates(problem, problem.k, np.maximum(weights, 0.0))
    seconds = problem.deadline.seconds
    if (
        len(problem.allowed) == len(metric)
        and len(fixed) == 0
        and (seconds is None or m * len(metric) * _ENTRY_SECONDS < seconds)
    ):
        public = landmarks(metric, m)
        sample = public.positions
        block = public.rows
        demand = weights
        if block is None:
            block = public.between
            demand = _cell_weights(public.label, weights, m)
    else:
        sample = _sample_candidates(problem, m, np.ones(len(metric)))
        label, distance = metric.nearest_to(sample)
        block = metric.cell_distances(sample, label, distance)
        demand = _cell_weights(label, weights, m)
    costs = block if problem.power == 1 else block**2
    return _solve_on_sample(problem, sample, costs, demand, starts or _STARTS)


def _sample_size(problem: _Problem) -> int:
    """Candidates of a coarse search; 0 where k is too large or time too short for one."""
    m = min(max(LANDMARKS, 8 * problem.k), len(problem.allowed))
    return 0 if m > _MOST_SAMPLED or 2 * problem.k > m or problem.deadline.over else m


def _solve_on_sample(
    problem: _Problem, sample: Ints, costs: Singles, demand: Floats, starts: int
) -> Ints:
    """Centers among some candidates, the opened first, by `costs` for aggregated demand."""
    chosen, _ = block_search(
        costs,
        demand,
        problem.k,
        problem.rng,
        starts=starts,
        opened=np.arange(len(problem.opened)),
        deadline=problem.deadline,
    )
    return sample[chosen]


def _sample_candidates(problem: _Problem, m: int, weight: Floats) -> Ints:
    """m positions: required ones, then candidates drawn by k-median++, then any others."""
    allowed, opened = problem.allowed, problem.opened
    inside = np.zeros(len(weight))
    inside[allowed] = weight[allowed]
    drawn = problem.metric.seed_centers(m, inside, problem.rng)[0]
    # Once no weight is left, seeding also draws places that are no candidates.
    drawn = drawn[np.isin(drawn, allowed) & ~np.isin(drawn, opened)]
    drawn = np.r_[opened, drawn][:m]
    return np.r_[drawn, np.setdiff1d(allowed, drawn)[: m - len(drawn)]]


def _initial_centers(problem: _Problem) -> Ints | None:
    """Initial centers, if given or known: exact for k = 1, or of a symmetric bound."""
    if problem.first is not None:
        return problem.first
    if problem.k == 1 and len(problem.metric) <= LARGE and (problem.weights >= 0).all():
        median = part_median(
            problem.metric,
            problem.weights,
            power=problem.power,
            allowed=problem.allowed,
            searches=_SEARCHES,
            deadline=problem.deadline,
        )
        return np.array([median.center])
    bound = problem.metric.symmetric
    if len(bound) > LARGE and bound.network is not None and problem.metric.network is None:
        bounded = replace(problem, metric=bound, effort=_EFFORT)
        return _solve_on_network(
            bounded, bound.network, 1
        ).centers  # a graph search is cheap where rows are not
    return None


def _solve_on_network(problem: _Problem, metric: Network, starts: int | None) -> GraphSearch:
    """The best of some searches, then moves to neighboring vertices."""
    sweeps = _can_sweep(problem)
    small = len(metric) <= LARGE and problem.k > 1
    usual = round(problem.effort * (_STARTS if problem.k < _MANY_CENTERS else _STARTS // 2))
    count = min(starts or usual, usual) if sweeps or (starts is None and small) else 1
    found: list[GraphSearch] = []
    while len(found) < count and (not found or not problem.deadline.over):
        if found or (sweeps and problem.first is None):
            centers = _sample_candidates(problem, problem.k, np.maximum(problem.weights, 0.0))
        else:
            start = _initial_centers(problem)
            centers = _coarse_centers(problem, starts) if start is None else start
        found.append(_search_network(problem, metric, centers))
    search = _search_union(problem, found)
    search.descend(visits=float("inf") if problem.effort == 1 else _LAST_VISITS * len(metric))
    return search


def _solve_on_points(problem: _Problem, starts: int | None) -> RowSearch:
    """The best of some searches, on a sample if there are many points."""
    start = _initial_centers(problem)
    if start is not None:
        return _search_rows(problem, start)
    reduced = _sampled_problem(problem, _ROWS_SAMPLED)
    usual = _ROW_STARTS if problem.k < _MANY_CENTERS else _ROW_STARTS // 2
    count = (starts or usual) if problem.effort == 1 and problem.k > 1 else 1
    found: list[RowSearch] = []
    while len(found) < count and (not found or not problem.deadline.over):
        found.append(_search_rows(reduced, _coarse_by_cells(reduced)))
    search = _search_union(reduced, found)
    if reduced is not problem:
        return _search_rows(problem, search.centers)
    if len(found) > 1:
        search.descend(_ROW_CANDIDATES, problem.rng)
    return search


def _sampled_problem(problem: _Problem, m: int) -> _Problem:
    """The problem with m demand points drawn by weight, and fewer candidates."""
    weight = np.abs(problem.weights)
    if m >= max(int(np.count_nonzero(weight)), len(problem.allowed)):
        return problem
    total = weight.sum()
    drawn = problem.rng.choice(len(weight), m, p=weight / total)
    weights = np.bincount(drawn, minlength=len(weight)) * np.sign(problem.weights) * (total / m)
    n_some = min(_CANDIDATES * m, len(problem.allowed))
    some = problem.rng.choice(problem.allowed, n_some, replace=False)
    return replace(problem, weights=weights, allowed=np.union1d(some, problem.opened))


def _coarse_by_cells(problem: _Problem) -> Ints:
    """Centers by local search on the Voronoi cells of a sample of candidates, the opened first."""
    fixed = problem.opened
    m = _sample_size(problem)
    if m == 0:
        return _sample_candidates(problem, problem.k, np.maximum(problem.weights, 0.0))
    others = np.setdiff1d(problem.allowed, fixed)
    sample = np.r_[fixed, problem.rng.choice(others, m - len(fixed), replace=False)]
    demand = np.flatnonzero(problem.weights)
    label = served(problem.metric, sample, demand)[0]
    costs = costs_between(problem.metric, sample, sample, problem.power)
    return _solve_on_sample(
        problem, sample, costs, _cell_weights(label, problem.weights[demand], m), 1
    )


def _search_union(problem: _Problem, found: list[S]) -> S:
    """The best of some searches, or of one more among all their centers."""
    best = min(found, key=lambda one: one.cost)
    union = np.unique(np.concatenate([one.centers for one in found]))
    demand = np.flatnonzero(problem.weights)
    if len(union) == problem.k or len(union) * len(demand) > _UNION or problem.deadline.over:
        return best
    block = costs_between(problem.metric, union, demand, problem.power)
    start, fixed = (np.searchsorted(union, centers) for centers in (best.centers, problem.opened))
    rows, cost = block_search(
        block,
        problem.weights[demand],
        problem.k,
        problem.rng,
        starts=_RELINKED,
        first_start=start,
        opened=fixed,
        deadline=problem.deadline,
    )
    if cost >= best.cost:
        return best
    search = problem.start_search(type(best), best.metric, union[rows])
    search.budget = best.budget
    return search


def _can_sweep(problem: _Problem) -> bool:
    """Whether all candidates can be tried several times at full resolution."""
    n = len(problem.metric)
    return n <= LARGE and 2 * n * len(problem.allowed) * _PASSES <= _VISITS * problem.k


def _search_network(problem: _Problem, metric: Network, centers: Ints) -> GraphSearch:
    """Search on the graph of cells first if the graph is large, then at full resolution."""
    n = len(metric)
    k = problem.k
    by_distance = problem.terms is None  # as paths between cells are
    if by_distance and n > LARGE and k <= n // 4 and not problem.deadline.over:
        centers = _solve_on_cells(problem, metric, centers)
    search = problem.start_search(GraphSearch, metric, centers)
    search.budget = problem.effort * max(_VISITS, _VISITS_EACH * n)
    if (sweeps := _can_sweep(problem)) or k > 1 or n > LARGE:
        search.explore(problem.rng, search.budget, sweeps)
    return search


def _solve_on_cells(problem: _Problem, metric: Network, centers: Ints) -> Ints:
    """Search in the graph of some n / 16 Voronoi cells, from these centers."""
    drawn = problem.rng.choice(
        problem.allowed, min(len(metric) // 16, len(problem.allowed)), replace=False
    )
    cells = np.union1d(centers, drawn)
    label, distance = problem.metric.nearest_to(cells)
    coarse = metric.quotient(cells, label, distance)
    weight = _cell_weights(label, problem.weights, len(cells))
    start = np.searchsorted(cells, centers)
    inner = replace(
        problem,
        metric=coarse,
        weights=weight,
        allowed=np.arange(len(cells)),
        opened=start[: len(problem.opened)],
    )
    return cells[_search_network(inner, coarse, start).centers]


def _solve_on_lists(problem: _Problem, starts: int | None) -> Found | None:
    """Iterated local search on lists of near candidates, where a k-d tree finds them."""
    demand = np.flatnonzero(problem.weights)
    weights = problem.weights[demand]
    costs = MetricCosts(problem.metric, problem.allowed, demand, weights, problem.power)
    if not costs.by_tree or (weights < 0).any() or problem.deadline.over:
        return None
    start = _initial_centers(problem)
    found = near_search(
        costs,
        problem.rng,
        first=np.searchsorted(
            problem.allowed, _coarse_centers(problem, starts) if start is None else start
        ),
        opened=np.searchsorted(problem.allowed, problem.opened),
        deadline=problem.deadline,
    )
    return None if found is None else Found(problem.allowed[found[1]], found[0])


def _search_rows(problem: _Problem, centers: Ints) -> RowSearch:
    """Swaps with candidates around each center, from farther away first."""
    search = problem.start_search(RowSearch, problem.metric, centers)
    for share in _ROW_SHARES:
        search.round(share, _ROW_CANDIDATES, problem.rng)
    search.descend(_ROW_CANDIDATES // 2, problem.rng)
    return search
