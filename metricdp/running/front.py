"""The front door: `k_median`, `k_means` and `release`, for every universe and method."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from metricdp.accounting import Grant
from metricdp.arguments import Amount, Coins, Ids, Weights, coins, flag
from metricdp.errors import InputError
from metricdp.methods.demand_release import Release
from metricdp.methods.expected import Expectation
from metricdp.methods.method import Method
from metricdp.methods.question import BoxQuestion, Question, asked_of
from metricdp.methods.registry import answering, default_of, expecting
from metricdp.methods.result import Result, public_weights
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy import Budget, PrivateDemand
from metricdp.provenance import Provenance
from metricdp.running.attesting import attest, provenance
from metricdp.running.charging import Payer, check_private, checked_universe
from metricdp.running.runner import answered, released
from metricdp.solvers.effort import Effort


def k_median(
    universe: Metric | EuclideanSpace,
    demand: PrivateDemand | None = None,
    k: int | None = None,
    *,
    epsilon: Amount | None = None,
    delta: Amount = 0,
    ledger: Budget | None = None,
    method: str | Method = "partition",
    weights: Weights | None = None,
    candidates: Ids | None = None,
    opened: Ids | None = None,
    records_hint: float | None = None,
    expected: Expectation | None = None,
    seed: int = 0,
    rng: Coins | None = None,
    time_limit: float | None = None,
    certificate: bool = False,
    effort: Effort = "quick",
    exact: bool = False,
) -> Result:
    """k centers that minimize the sum of distances from the demand to its nearest center.

    With `demand` the answer is differentially private; without, the public universe itself (or
    `weights` on it) is clustered.

    Parameters
    ----------
    universe : Metric or EuclideanSpace
    demand : PrivateDemand, optional
        Private records in this very universe.
    k : int
        Number of centers, 1 to the number of points; needed.
    epsilon : int, float, str, Decimal or Fraction
        Privacy budget of this call; needed with `demand`.
    delta : same
        What this call may spend besides; methods to which it is of no use leave it.
    ledger : Ledger (or Grant), optional
        Where it is charged, before any data is read; a fresh one of that size by default
        (add-remove neighbors).
    method : str or Method
        One of `metricdp.METHODS`, or an object of `metricdp.methods` with options of its own.
    weights : array_like of shape (n_points,) or mapping from id to weight, optional
        Public demand, in place of `demand`; by default 1 everywhere.
    candidates : iterable of ids, optional
        Where centers may stand; anywhere by default.
    opened : iterable of ids, optional
        Facilities that are open already: they count towards k, stay centers and come first among
        them. They need not be candidates.
    records_hint : float, optional
        A public guess of the number of records; saves what their noisy count would cost.
    expected : array_like, mapping from id to weight, Release, GeoDataFrame or "streets", optional
        Where demand is expected, from public knowledge alone: weights of points, polygons with a
        column ``weight``, or the length of street at each vertex (`docs/partition-method.md`). In a
        box of up to three dimensions, a pair (points, weights), or a release.
    seed, rng : int; Generator, SeedSequence or int
        Public coins of partitions and solvers, by `metricdp.arguments.coins`. Noise has no seed.
    time_limit : float, optional
        Seconds after which the search returns the best centers so far; Ctrl-C then does the same.
        Partitions and releases are not cut short; a certificate has as much time again.
    certificate : bool
        Also prove how good the centers are: `Result.lower_bound` and `Result.gap`. Only without
        `demand`; large instances of few centers get a weak bound. For a release's centers, pass its
        noisy `weights`.
    effort : {"quick", "thorough"} or float
        How much the search spends: a second or two, some ten times as long, or so many seconds. It
        costs no privacy. In a box it is for searches among points.
    exact : bool
        Search for the best centers and prove it, as far as `time_limit` (600 s by default) allows:
        `Result.gap` is then 0. Conditions as for a certificate.

    Returns
    -------
    Result
        `centers` in the user's own ids (coordinates in a box), and the `receipt`.

    Raises
    ------
    InputError
        A bad argument; nothing was charged.
    BudgetError
        The ledger does not hold `epsilon`; nothing was read.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for the ledger's neighboring relation and the
    demand's unit, by the method's recipe in `metricdp.methods`; what was spent stands on the
    receipt. "uniform" reads nothing and is 0-DP.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.grid_2d_graph(5, 5), weight=None)
    >>> mdp.k_median(metric, k=1).centers
    [(2, 2)]
    >>> mdp.k_median(metric, k=2, opened=[(0, 0)]).centers[0]
    (0, 0)
    >>> mdp.k_median(metric, k=2, certificate=True).gap
    0.0
    >>> mdp.k_median(metric, k=3, exact=True, effort="thorough").gap
    0.0
    >>> demand = mdp.PrivateDemand(metric, [(0, 0)] * 500 + [(4, 4)] * 500)
    >>> sorted(mdp.k_median(metric, demand, k=2, epsilon=1.0).centers)
    [(0, 0), (4, 4)]
    """
    asked = {
        "k": k,
        "power": 1,
        "candidates": candidates,
        "opened": opened,
        "seed": coins(seed, rng),
        "time_limit": time_limit,
        "effort": effort,
    }
    return _cluster(
        universe,
        demand,
        (epsilon, delta),
        ledger,
        method,
        (records_hint, expected),
        weights,
        certificate,
        exact,
        asked,
    )


def k_means(
    universe: Metric | EuclideanSpace,
    demand: PrivateDemand | None = None,
    k: int | None = None,
    *,
    epsilon: Amount | None = None,
    delta: Amount = 0,
    ledger: Budget | None = None,
    method: str | Method = "partition",
    weights: Weights | None = None,
    candidates: Ids | None = None,
    opened: Ids | None = None,
    records_hint: float | None = None,
    expected: Expectation | None = None,
    seed: int = 0,
    rng: Coins | None = None,
    time_limit: float | None = None,
    certificate: bool = False,
    effort: Effort = "quick",
    exact: bool = False,
) -> Result:
    """k centers that minimize the sum of *squared* distances; everything else as `k_median`.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> mdp.k_means(space, demand, k=2, epsilon=1).centers.shape
    (2, 2)
    """
    asked = {
        "k": k,
        "power": 2,
        "candidates": candidates,
        "opened": opened,
        "seed": coins(seed, rng),
        "time_limit": time_limit,
        "effort": effort,
    }
    return _cluster(
        universe,
        demand,
        (epsilon, delta),
        ledger,
        method,
        (records_hint, expected),
        weights,
        certificate,
        exact,
        asked,
    )


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
    """One private release of the demand, which then answers any k, any number of times, at no
    further cost.

    Parameters, guarantee and errors as `k_median` with the default method; a delta is of use in
    boxes of more than three dimensions, and for users with `Caps` of many parts.

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
    payer = Payer(universe, demand, ledger)
    question = replace(asked_of(universe, 1, 1, seed=seed), k=0)
    confirm = partial(recipe.confirm, question=question)
    grant = payer.charge(recipe.priced, confirm, [(epsilon, delta)], "release")
    found = released(recipe, demand, grant, question)
    return attest(found, _made("release", recipe, demand, grant, {"seed": seed}))


def _cluster(
    universe: Metric | EuclideanSpace,
    demand: PrivateDemand | None,
    budget: tuple[Any, Any],
    ledger: Budget | None,
    method: Any,
    known: tuple[float | None, Any],
    weights: Any,
    certificate: bool,
    exact: bool,
    asked: dict[str, Any],
) -> Result:
    records_hint, expected = known
    recipe = answering(method, checked_universe(universe), records_hint)
    recipe = expecting(recipe, universe, expected)
    if asked["k"] is None:
        raise InputError("k= is needed: how many centers, an integer of at least 1")
    if demand is not None:
        check_private(demand)
    question = asked_of(universe, **asked)
    proofs = flag(certificate, "certificate") or flag(exact, "exact")
    if proofs and (demand is not None or not question.provable):
        raise InputError(
            "a certificate is for public demand in a finite universe: the exact cost of private "
            "demand stays private; of a release, pass weights=release.weights in place of demand= "
            "to certify the cost on its noisy weights"
        )
    if demand is None:
        if expected is not None:
            raise InputError("expected= is for private demand; public demand is given as weights=")
        return _public(question, budget, ledger, weights, proofs, exact)
    if weights is not None:
        raise InputError("give demand (private) or weights (public), not both")
    found, grant = private_answer(recipe, demand, ledger, budget, question)
    purpose = _purpose(question)
    told = replace(found, universe=universe, power=question.power)
    return attest(told, _made(purpose, recipe, demand, grant, asked))


def private_answer(
    recipe: Method,
    demand: PrivateDemand,
    ledger: Budget | None,
    budget: tuple[Any, Any],
    question: Question | BoxQuestion,
) -> tuple[Result, Grant]:
    """Charge (epsilon, delta) for a checked question about private demand, and answer it."""
    payer = Payer(question.universe, demand, ledger)
    if recipe.free:
        grant = payer.nothing()
    else:
        confirm = partial(recipe.confirm, question=question)
        grant = payer.charge(recipe.priced, confirm, [budget], _purpose(question))
    return answered(recipe, demand, grant, question), grant


def _purpose(question: Question | BoxQuestion) -> str:
    return ("k_median", "k_means")[question.power - 1]


def _made(
    call: str, recipe: Method, demand: PrivateDemand, grant: Grant, asked: dict[str, Any]
) -> Provenance:
    """Public circumstances of a call."""
    return provenance(
        call,
        demand,
        grant,
        method=recipe.name,
        chooses=recipe.chooses,
        afterwards=recipe.afterwards,
        options={name: value for name, value in asked.items() if name != "power"},
        recipe=recipe,
    )


def _public(
    question: Any,
    budget: tuple[Any, Any],
    ledger: Budget | None,
    weights: Any,
    certify: bool,
    exact: bool,
) -> Result:
    """Centers for public demand."""
    if budget[0] is not None or ledger is not None or budget[1] != 0:
        raise InputError(
            "epsilon and ledger are for private demand, as is delta: give "
            "demand=PrivateDemand(...), or leave them out"
        )
    finite = question.on_net() if isinstance(question, BoxQuestion) else question
    public = public_weights(finite.metric, weights, signed=True)
    if certify:
        finite.check_certifiable(public)
    if exact:
        found, proof = finite.exactly(public)
    else:
        found = finite.answer(public)
        proof = finite.certificate(public, found) if certify else None
    chosen = finite.names(found)
    result = Result(chosen, finite.k, "public", certificate=proof)
    box = isinstance(question, BoxQuestion)
    space = question.space if box else finite.metric
    return replace(result, universe=space, weights=None if box else public, power=finite.power)
