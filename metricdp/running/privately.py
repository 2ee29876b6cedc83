"""Private calls of the public API: `release`, and `k_median` or `k_means` with a demand."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from metricdp.accounting import BudgetSlice
from metricdp.arguments import Amount
from metricdp.errors import InputError
from metricdp.methods.demand_release import Release
from metricdp.methods.expected import Expectation
from metricdp.methods.method import Method
from metricdp.methods.question import NOT_PROVABLE, BoxQuestion, Question, Result, asked_of
from metricdp.methods.registry import answering, default_of, expecting
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.options import Coins, coins
from metricdp.privacy import Budget, PrivateDemand
from metricdp.provenance import Provenance
from metricdp.running.attesting import attest, provenance
from metricdp.running.call import Call
from metricdp.running.charging import Accountant, check_private, checked_universe
from metricdp.running.runner import answered, released


def release(
    universe: Metric | EuclideanSpace,
    demand: PrivateDemand,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    ledger: Budget | None = None,
    records_hint: float | None = None,
    expected: Expectation | None = None,
    seed: int = 0,
    rng: Coins | None = None,
) -> Release:
    """One private release of the demand, which then answers any number of questions for any k, at
    no further cost.

    Parameters, guarantee and errors as `k_median` with the default method. A delta helps in
    boxes of more than three dimensions, and for users bounded by `Caps` of many parts.

    Examples
    --------
    >>> metric = mdp.EuclideanMetric([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0]], ids=["a", "b", "c"])
    >>> demand = mdp.PrivateDemand(metric, ["a"] * 100 + ["c"] * 900)
    >>> noisy = mdp.release(metric, demand, epsilon=1.0)
    >>> noisy.k_median(k=1).centers, sorted(noisy.k_median(k=2).centers)
    (['c'], ['a', 'c'])
    """
    recipe: Any = default_of(checked_universe(universe), records_hint)
    recipe = expecting(recipe, universe, expected)
    seed = coins(seed, rng)
    accountant = Accountant(universe, demand, ledger)
    question = replace(asked_of(universe, 1, 1, seed=seed), k=0)
    confirm = partial(recipe.confirm, question=question)
    budget = accountant.charge(recipe.priced, confirm, [(epsilon, delta)], "release")
    found = released(recipe, demand, budget, question)
    return attest(found, _provenance("release", recipe, demand, budget, {"seed": seed}))


def clustered(
    universe: Metric | EuclideanSpace, call: Call, proofs: bool, asked: dict[str, Any]
) -> Result:
    """The private answer of `k_median` or `k_means`, with its receipt."""
    recipe = answering(call.method, checked_universe(universe), call.records_hint)
    recipe = expecting(recipe, universe, call.expected)
    demand = check_private(call.demand)
    question = asked_of(universe, **asked)
    if proofs:
        raise InputError(NOT_PROVABLE)
    if call.weights is not None:
        raise InputError("give demand (private) or weights (public), not both")
    found, budget = private_answer(recipe, demand, call.ledger, call.budget, question)
    result = replace(found, universe=universe, power=question.power)
    return attest(result, _provenance(_purpose(question), recipe, demand, budget, asked))


def private_answer(
    recipe: Method,
    demand: PrivateDemand,
    ledger: Budget | None,
    budget: tuple[Any, Any],
    question: Question | BoxQuestion,
) -> tuple[Result, BudgetSlice]:
    """Charge (epsilon, delta) for a checked question, and answer it by the method."""
    accountant = Accountant(question.universe, demand, ledger)
    if recipe.asks_nothing(question):
        budget_slice = accountant.nothing()
    else:
        confirm = partial(recipe.confirm, question=question)
        budget_slice = accountant.charge(recipe.priced, confirm, [budget], _purpose(question))
    return answered(recipe, demand, budget_slice, question), budget_slice


def _purpose(question: Question | BoxQuestion) -> str:
    return ("k_median", "k_means")[question.power - 1]


def _provenance(
    call: str, recipe: Method, demand: PrivateDemand, budget: BudgetSlice, asked: dict[str, Any]
) -> Provenance:
    """The public circumstances of a call, for its receipt."""
    options = {name: value for name, value in asked.items() if name != "power"}
    return provenance(call, demand, budget, recipe, options)
