"""The paper's methods and this package's own on one demand that was made up for measuring."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from metricdp.bench.paper2_tables import METHODS, NON_PRIVATE, PRIVATE, iterations
from metricdp.bench.universes import Classified
from metricdp.methods.finite.hst import DPHST
from metricdp.methods.finite.hst_counts import splitting_levels
from metricdp.methods.finite.local_search import LocalSearch
from metricdp.methods.question import Question
from metricdp.methods.shares import Terms
from metricdp.solvers.best_swaps import best_swaps
from metricdp.solvers.block import block_search
from metricdp.solvers.hst_init import hst_init

LEVELS = 6
PRIVATE_LEVELS = 8
ALPHA = 1e-3
"""The paper's: L of NDP-HST and DP-HST, and the alpha of Algorithm 1."""
REFERENCE_STARTS = 5
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Trial:
    """One demand, one tree and their coins.

    Attributes
    ----------
    universe : Classified
    positions : ndarray of int64
        The demand: made up, hence public.
    demand : PrivateDemand
        The same behind the gate.
    tree : HST
    block : ndarray of float64, shape (n_points, n_records)
        Costs of serving each record from each point.
    power, steps, seed : int
    epsilon : str
    half_search : bool
        Whether searches from public starts have half of epsilon, and leave the rest.
    """

    universe: Classified
    positions: Positions
    demand: mdp.PrivateDemand
    tree: mdp.HST
    block: NDArray[np.float64]
    power: int
    steps: int
    seed: int
    epsilon: str
    half_search: bool = False

    @classmethod
    def drawn(
        cls,
        universe: Classified,
        *,
        records: int,
        imbalanced: bool,
        power: int,
        epsilon: str,
        steps: int,
        seed: int,
        repeat: int,
        half_search: bool = False,
    ) -> Trial:
        """The demand and the tree of a repetition."""
        positions = universe.draw(
            records, np.random.default_rng([seed, repeat, imbalanced]), imbalanced=imbalanced
        )
        metric = universe.metric
        demand = mdp.PrivateDemand(metric, [metric.ids[i] for i in positions])
        block = np.ascontiguousarray(metric.distance_rows(positions).T) ** power
        coins = 1000 * seed + repeat
        return cls(
            universe,
            positions,
            demand,
            mdp.build_hst(metric, coins),
            block,
            power,
            steps,
            coins,
            epsilon,
            half_search,
        )

    def cost(self, centers: Positions) -> float:
        """Exact cost of centers, a made-up demand's."""
        return float(self.block[centers].min(axis=0).sum())

    def reference(self, k: int) -> float:
        """Cost of the best of some non-private searches."""
        rng = np.random.default_rng([self.seed, k])
        return float(
            block_search(self.block, np.ones(self.block.shape[1]), k, rng, starts=REFERENCE_STARTS)[
                1
            ]
        )

    def answered(self, k: int, method: Any, share: Fraction = Fraction(1)) -> Positions:
        """Positions of the centers of a private answer from a fresh ledger, for a share of epsilon:
        add-remove neighbors.
        """
        ask = (mdp.k_median, mdp.k_means)[self.power - 1]
        metric = self.universe.metric
        epsilon = Fraction(self.epsilon) * share
        return metric.positions(
            ask(metric, self.demand, k, epsilon=epsilon, method=method, seed=self.seed).centers
        )

    def weights(self) -> NDArray[np.float64]:
        """Records at every point."""
        return np.bincount(self.positions, minlength=len(self.universe.metric)).astype(np.float64)


def measured(trial: Trial, k: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each method's costs: `initial`, `final`, and of private searches `average`, `best` and
    `iterations`, with the `reference`.
    """
    draws = {}
    for method in METHODS:
        start = time.perf_counter()
        found = (_plain if method in NON_PRIVATE else _private if method in PRIVATE else _own)(
            trial, k, method
        )
        draws[method] = {**found, "seconds": time.perf_counter() - start}
    reference = min(trial.reference(k), *(draws[method]["final"] for method in NON_PRIVATE))
    for method, draw in draws.items():
        yield method, {"reference": reference, **draw}


def _plain(trial: Trial, k: int, method: str) -> dict[str, Any]:
    """Algorithm 1 from random centers, k-median++ on the demand (Algorithm 2), or NDP-HST
    (Algorithm 4) on the demand's counts.
    """
    rng = np.random.default_rng([trial.seed, k, NON_PRIVATE.index(method)])
    if method == "NDP-rand":
        begin = rng.choice(len(trial.universe.metric), k, replace=False)
    elif method == "NDP-kmedian++":
        begin = trial.universe.metric.seed_centers(k, trial.weights(), rng, trial.power)[0]
    else:
        begin = hst_begin(trial.tree, trial.weights(), k, trial.power)
    visited = best_swaps(
        trial.universe.metric,
        trial.positions,
        begin,
        power=trial.power,
        alpha=ALPHA,
        steps=trial.steps,
    ).centers
    return {
        "initial": trial.cost(visited[0]),
        "final": trial.cost(visited[-1]),
        "swaps": len(visited) - 1,
    }


def hst_begin(
    tree: mdp.HST, weights: NDArray[np.float64], k: int, power: int, levels: int = LEVELS
) -> Positions:
    """NDP-HST on the first `levels` levels that split a cluster: clusters of the last are not
    split, and end at a public median.
    """
    above = tree.level <= splitting_levels(tree)[:levels][-1]
    return hst_init(tree, np.where(above, tree.sums(weights), -np.inf), k, power=power, known=above)


@dataclass(frozen=True, kw_only=True)
class WatchedSearch(LocalSearch):
    """Private local search that keeps what it has visited: released by its selections, all of
    it.
    """

    seen: list[Positions] = field(default_factory=list)

    def visited(self, terms: Terms, question: Question) -> Generator[Any, Any, list[Positions]]:
        """As the method's."""
        self.seen[:] = yield from super().visited(terms, question)
        return self.seen


def _private(trial: Trial, k: int, method: str) -> dict[str, Any]:
    """Algorithm 7: from a tree's counts (the paper's budgets and L) for half of epsilon, or from a
    public start, which leaves all for the search.
    """
    starts = {"DP-rand": "random", "DP-kmedian++": "k-median++"}
    printed = method == "DP-HST-printed"
    tree = DPHST(
        tree=trial.tree,
        budget="geometric",
        levels=PRIVATE_LEVELS,
        centers="initial",
        published=printed,
    )
    search = WatchedSearch(steps=trial.steps, start=starts.get(method, tree))
    final = trial.answered(
        k, search, Fraction(1, 2) if trial.half_search and method in starts else Fraction(1)
    )
    costs = [trial.cost(centers) for centers in search.seen]
    after = costs[1:]
    average = (
        {"average": sum(after) / len(after), "best": min(after), "iterations": iterations(after)}
        if after
        else {}
    )
    return {"initial": costs[0], "final": trial.cost(final), **average}


def _own(trial: Trial, k: int, method: str) -> dict[str, Any]:
    """This package's methods with their defaults; the tree is the repetition's."""
    if method != "uniform":
        options = {"hst": DPHST(tree=trial.tree), "local-search": LocalSearch(tree=trial.tree)}
        return {"final": trial.cost(trial.answered(k, options.get(method, method)))}
    kept = trial.universe.kept
    key = (method, k, trial.power)
    if key not in kept:  # the same for all demand
        kept[key] = trial.answered(k, method)
    return {"final": trial.cost(kept[key])}
