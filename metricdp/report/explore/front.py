"""The explore page: privacy levels compared on one self-contained HTML page.

Each level shows its coreset, centers, territories and predicted accuracy. The same page can show a
plan, from synthetic demand only.

**Privacy.** Each level is a release, and readers of the page see all of them, so the sum of all
epsilons is charged at once, before data are read. All else is post-processing, public simulation,
or the caller's own centers without privacy, under a banner.

References
----------
Feldman, D., Xiang, C., Zhu, R. & Rus, D. (2017). Coresets for differentially private k-means
clustering and applications to privacy in mobile sensor networks. IPSN 2017, Section 6 and Figure 8.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from metricdp.accounting import Budget
from metricdp.arguments import Amount, chosen, count, file_path, listed
from metricdp.atomic import write_whole
from metricdp.errors import InputError
from metricdp.interruption import held
from metricdp.methods.expected import Expectation
from metricdp.methods.method import Method
from metricdp.methods.question import asked_of
from metricdp.methods.registry import answering, expecting
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.options import Centers, Coins, coins
from metricdp.privacy import PrivateDemand
from metricdp.releases import Receipt
from metricdp.report.explore.page import explore_page
from metricdp.report.explore.scene import Level, level_names, stage_kind
from metricdp.running.attesting import attested, provenance
from metricdp.running.charging import Accountant, checked_universe
from metricdp.running.front import k_means, k_median
from metricdp.running.planning import EPSILONS, MOST, Objective, Plan, checked_epsilons, plan

SIMULATING = 30.0
"""Time limit in seconds of the predictions of a page: more runs give tighter predictions."""
SIMULATED = 1_000_000
"""Most records of a prediction, if their number is the noisy one: with a tiny epsilon that may be
thousands of millions. With more records centers are better than predicted.
"""
_FRAME = (
    '<iframe sandbox="allow-scripts allow-downloads" '
    'style="width:100%;height:720px;border:1px solid #dfdcd4" srcdoc="{}"></iframe>'
)


@dataclass(frozen=True, eq=False, repr=False)
class Exploration:
    """Releases at several privacy levels, and the page that shows them.

    Attributes
    ----------
    universe : Metric or EuclideanSpace
    k : int
    levels : tuple of Level
        By descending epsilon, as on the slider.
    receipt : Receipt or None
        Cost of all levels together; None for a plan's page.
    plan : Plan or None
        The public simulation behind the predictions.
    exact_centers : list, ndarray or None
        Centers without privacy. If they are from private demand, this object and its page must not
        be published.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> levels = mdp.explore(metric, demand, epsilons=[1, 4], k=2, repeats=0)
    >>> [float(level.epsilon) for level in levels.levels]
    [4.0, 1.0]
    """

    universe: Metric | EuclideanSpace
    k: int
    levels: tuple[Level, ...]
    receipt: Receipt | None
    plan: Plan | None = None
    exact_centers: Centers | None = field(default=None, repr=False)

    @classmethod
    def of_plan(cls, from_plan: Plan) -> Exploration:
        """The page of a plan: levels of one of its synthetic demands. Nothing on it is private."""
        if not isinstance(from_plan, Plan):
            raise InputError(
                f"a Plan is needed, got {type(from_plan).__name__}: mdp.plan(...) makes one"
            )
        stage_kind(from_plan.universe).check(from_plan.universe)
        if any(result.release is None for result in from_plan.example):
            raise InputError(
                f"the method {from_plan.method} releases no weights, so there is no coreset to show"
            )
        names = dict(zip(from_plan.epsilons, level_names(from_plan.epsilons)))
        levels = _levels(names, from_plan.example, from_plan)
        return cls(
            from_plan.universe, from_plan.k, levels, None, from_plan, from_plan.example_centers
        )

    @property
    def made_up(self) -> bool:
        """Whether it shows a plan, from synthetic demand only."""
        return self.receipt is None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready levels, centers and receipt; never the centers without privacy."""
        levels = []
        for level in self.levels:
            facts = {"name": level.name, "epsilon": float(level.epsilon)}
            levels.append({**facts, **_regions(level.result.release), **level.result.to_dict()})
        plan = {} if self.plan is None else {"prediction": self.plan.to_dict()}
        receipt = self.receipt and self.receipt.to_dict()
        return {"k": self.k, "levels": levels, "receipt": receipt, **plan}

    def page(self, title: str | None = None, *, attribution: str | None = None) -> str:
        """The HTML page.

        Parameters
        ----------
        title : str, optional
        attribution : str, optional
            Credit for the network's data, shown on the map.

        Returns
        -------
        str
            About 60 kB, and 8 bytes for each vertex of a large network.

        Notes
        -----
        Complexity: one search for the nearest centers a level, a picture of half a million pixels,
        sorting and compressing.
        """
        if not all(text is None or isinstance(text, str) for text in (title, attribution)):
            raise InputError("title and attribution must be text")
        return explore_page(self, title, attribution)

    def write(
        self, path: str | os.PathLike[str], title: str | None = None, *, attribution: Any = None
    ) -> Path:
        """Write the page to a file atomically; return the path."""
        return write_whole(file_path(path, "path"), self.page(title, attribution=attribution))

    def _repr_html_(self) -> str:
        """The page in an iframe, for notebooks; it needs no widgets, kernel or network."""
        return _FRAME.format(escape(self.page(), quote=True))

    def __repr__(self) -> str:
        text = ", ".join(f"{level.name} ({float(level.epsilon):g})" for level in self.levels)
        return f"Exploration({self.universe.name}, k={self.k:,}, {text})"


def explore(
    universe: Metric | EuclideanSpace,
    demand: PrivateDemand,
    epsilons: Iterable[Amount] = EPSILONS,
    k: int = 10,
    *,
    delta: Amount = 0,
    ledger: Budget | None = None,
    method: str | Method = "partition",
    expected: Expectation | None = None,
    objective: Objective = "k-median",
    names: Sequence[str] | None = None,
    records: int | None = None,
    repeats: int = 1,
    administrator: Budget | None = None,
    seed: int = 0,
    rng: Coins | None = None,
) -> Exploration:
    """Release the demand at several privacy levels, charged together, and show them on one page.

    Parameters
    ----------
    universe : Metric or EuclideanSpace
        A box must be of two dimensions.
    demand : PrivateDemand
    epsilons : iterable of int, float, str, Decimal or Fraction
        Distinct, one for each level. Their sum is charged.
    k : int
    delta : same
        Delta that each level may spend, for methods that can use it.
    ledger : Ledger (or BudgetSlice), optional
        By default a fresh one of the sum, add-remove neighbors.
    method : str or Method
        A method with a release, so that there is a coreset to show. With
        `metricdp.methods.Regional` an epsilon is that of the least private region; the page shows
        it, and ``to_dict`` those of all regions.
    expected : optional
        Where demand is expected by public knowledge, as `metricdp.k_median`.
    objective : {"k-median", "k-means"}
    names : sequence of str, optional
        Names of the levels, in the order of `epsilons`.
    records : int, optional
        A public guess of the number of records, for the predictions; by default the noisy total of
        the most accurate release.
    repeats : int
        Synthetic demands of each shape for the predictions (`metricdp.plan`); with 0, or after
        Ctrl-C during the simulation, there are no predictions.
    administrator : list of ids, or ndarray of shape (n, d), optional
        The records again, in the clear: the page then also shows centers without privacy, and must
        not be published.
    seed, rng : int; Generator, SeedSequence or int
        Public randomness.

    Returns
    -------
    Exploration
        Shows itself in notebooks; ``write(path)`` makes the page.

    Notes
    -----
    **Privacy.** (sum of epsilons, sum of deltas)-differential privacy by basic composition: one
    charge for all levels, before any of them reads the demand. Predictions are public simulation;
    their number of records is post-processing of a release, or the caller's guess.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.grid_2d_graph(6, 6), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [(0, 0)] * 500 + [(5, 5)] * 500)
    >>> ledger = mdp.Ledger(epsilon=2)
    >>> levels = mdp.explore(metric, demand, epsilons=["0.5", 1], k=2, ledger=ledger, repeats=0)
    >>> ledger.left, [level.name for level in levels.levels]
    (Fraction(1, 2), ['Good', 'Strong'])
    """
    seed = coins(seed, rng)
    recipe = expecting(answering(method, checked_universe(universe)), universe, expected)
    order = _named(epsilons, names)
    power = 2 if chosen(objective, ("k-median", "k-means"), "objective") == "k-means" else 1
    solve = (k_median, k_means)[power - 1]
    _check(universe, recipe, records, repeats)
    accountant = Accountant(universe, demand, ledger)
    question = asked_of(universe, k, power, seed=seed)
    exact = None
    if administrator is not None:
        exact = stage_kind(universe).unprotected(universe, administrator, k, power, seed)
    confirm = partial(recipe.confirm, question=question)
    asked_for: dict[str, Any] = {"delta": delta, "method": recipe, "seed": seed}
    simulated: dict[str, Any] = {**asked_for, "k": k, "epsilons": tuple(order)}
    simulated |= {"objective": objective, "neighboring": accountant.neighboring, "repeats": repeats}
    each = demand.max_contributions // demand.weight_units
    simulated |= {"max_contributions": each, "time_limit": SIMULATING}
    asked: dict[str, Any] = {"k": int(k), "objective": objective, "seed": seed}
    asked["epsilons"] = ", ".join(f"{float(epsilon):g}" for epsilon in order)
    with held(deliver=False) as stop:  # all levels are charged at once, so Ctrl-C must not lose one
        budget = accountant.charge(recipe.priced, confirm, [(e, delta) for e in order], "explore")
        results = [solve(universe, demand, k, epsilon=e, ledger=budget, **asked_for) for e in order]
        guess = records or min(_rounded(results[-1].release.weights.sum()), SIMULATED)
        simulate = partial(plan, universe, records=guess, **simulated)
        prediction = stop.optional(simulate) if repeats else None
        together = Receipt.combined([r.receipt for r in results if r.receipt is not None])
        chooses = f"Levels are chosen beforehand and charged together. Each: {recipe.chooses}"
        made = provenance("explore", demand, budget, recipe, asked, chooses)
        receipt = attested(together, made)
    levels = _levels(order, results, prediction)
    return Exploration(universe, int(k), levels, receipt, prediction, exact)


def _rounded(noisy: float) -> int:
    """A noisy number of records, rounded to two digits."""
    return max(1, round(float(f"{max(noisy, 1.0):.2g}")))


def _regions(release: Any) -> dict[str, Any]:
    """Epsilons of regions, if the method has them."""
    regions = getattr(release, "regions", None)
    return {} if regions is None else {"regions": {n: float(e) for n, e in regions.items()}}


def _named(epsilons: Iterable[Any], names: Sequence[str] | None) -> dict[Any, str]:
    """Name of each epsilon, ascending."""
    given = listed([epsilons] if isinstance(epsilons, str) else epsilons, "epsilons")
    budgets = checked_epsilons(given)
    if names is None:
        return dict(zip(budgets, level_names(budgets)))
    texts = listed(names, "names")
    if len(texts) != len(given) or not all(
        isinstance(name, str) and name.strip() for name in texts
    ):
        raise InputError(
            f"names must be {len(given)} texts that are not empty, one for each epsilon"
        )
    of = {checked_epsilons([value])[0]: name for value, name in zip(given, texts)}
    return {budget: of[budget] for budget in budgets}


def _levels(
    names: dict[Any, str], results: Sequence[Any], forecasts: Plan | None
) -> tuple[Level, ...]:
    """The levels, by descending epsilon; `names`: by epsilon, ascending."""
    every = enumerate(zip(names.values(), names, results))
    levels = [Level(*each, forecasts.forecast(i) if forecasts else None) for i, each in every]
    return tuple(reversed(levels))


def _check(universe: Any, recipe: Method, records: Any, repeats: Any) -> None:
    """Refuse bad arguments that no later check before the charge refuses."""
    stage_kind(universe).check(universe)
    if not recipe.releases:
        raise InputError(
            f"the method {recipe.name} releases no weights, so there is no coreset to show"
        )
    if records is not None:
        count(records, "records", 1, MOST)
    count(repeats, "repeats", 0, MOST)
