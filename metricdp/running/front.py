"""`k_median` and `k_means`: the main public functions, for every universe and method.

Without private demand the modules of the gate are not imported.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from metricdp.arguments import Amount
from metricdp.errors import InputError
from metricdp.methods.question import (
    NOT_PROVABLE,
    BoxQuestion,
    Question,
    Result,
    asked_of,
    public_demand,
)
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.options import Coins, Ids, Weights, coins, flag
from metricdp.protocols import space_of
from metricdp.running.call import Call
from metricdp.solvers.effort import Effort

if TYPE_CHECKING:
    from metricdp.methods.expected import Expectation
    from metricdp.methods.method import Method
    from metricdp.privacy import Budget, PrivateDemand


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
        Private records in this same universe object.
    k : int
        Number of centers, 1 to the number of points; required.
    epsilon : int, float, str, Decimal or Fraction
        Privacy budget of this call; required with `demand`.
    delta : same
        Delta that this call may spend; methods that cannot use it do not charge it.
    ledger : Ledger (or BudgetSlice), optional
        Is charged before any data is read; a fresh one of that size by default (add-remove
        neighbors).
    method : str or Method
        One of `metricdp.METHODS`, or an object of `metricdp.methods` with options of its own.
    weights : array_like of shape (n_points,) or mapping from id to weight, optional
        Public demand, instead of `demand`. By default, and if all are zero, 1 everywhere.
    candidates : iterable of ids, optional
        Where centers may be; anywhere by default.
    opened : iterable of ids, optional
        Required facilities: they count towards k, are centers and come first among them. They need
        not be candidates.
    records_hint : float, optional
        A public guess of the number of records, which saves the budget of a noisy count.
    expected : array_like, mapping from id to weight, Release, GeoDataFrame or "streets", optional
        Where demand is expected by public knowledge: weights of points, polygons with a
        column ``weight``, or the length of street at each vertex (`docs/partition-method.md`). In a
        box of up to three dimensions, a pair (points, weights), or a release.
    seed, rng : int; Generator, SeedSequence or int
        Public randomness of partitions and solvers, by `metricdp.options.coins`. Noise has no seed.
    time_limit : float, optional
        Seconds after which the search returns the best centers so far; Ctrl-C then does the same.
        Partitions and releases have no limit; a certificate gets the same time again.
    certificate : bool
        Also compute a lower bound: `Result.lower_bound` and `Result.gap`. Only without `demand`.
        The bound is weak for large instances with few centers. For a release's centers, pass its
        noisy `weights`.
    effort : {"quick", "thorough"} or float
        Search time: a second or two, about ten times as long, or a number of seconds. It costs no
        privacy. In a box it applies to searches among points.
    exact : bool
        Solve to proven optimality within `time_limit` (600 s by default): `Result.gap` is then 0.
        Conditions as for a certificate.

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
    demand's unit; the proof is in the method's module in `metricdp.methods`. The receipt states
    what was spent. "uniform" reads nothing and is 0-DP.

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
    places = {"candidates": candidates, "opened": opened}
    search = {"seed": coins(seed, rng), "time_limit": time_limit, "effort": effort}
    asked = {"k": k, "power": 1, **places, **search}
    call = Call(demand, (epsilon, delta), ledger, method, records_hint, expected, weights)
    return _clustered(universe, call, asked, certificate, exact)


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
    """k centers that minimize the sum of *squared* distances; all else as `k_median`.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> mdp.k_means(space, demand, k=2, epsilon=1).centers.shape
    (2, 2)
    """
    places = {"candidates": candidates, "opened": opened}
    search = {"seed": coins(seed, rng), "time_limit": time_limit, "effort": effort}
    asked = {"k": k, "power": 2, **places, **search}
    call = Call(demand, (epsilon, delta), ledger, method, records_hint, expected, weights)
    return _clustered(universe, call, asked, certificate, exact)


def _clustered(
    universe: Metric | EuclideanSpace,
    call: Call,
    asked: dict[str, Any],
    certificate: bool,
    exact: bool,
) -> Result:
    proofs = flag(certificate, "certificate") or flag(exact, "exact")
    if call.demand is not None:
        from metricdp.running.privately import clustered

        return clustered(universe, call, proofs, asked)
    space_of(universe)
    usual = isinstance(call.method, str) and call.method == "partition"
    if not usual or call.records_hint is not None:
        from metricdp.methods.registry import answering

        answering(call.method, universe, call.records_hint)
    if call.expected is not None:
        raise InputError("expected= is for private demand; public demand is given as weights=")
    question = asked_of(universe, **asked)
    if proofs and not question.provable:
        raise InputError(NOT_PROVABLE)
    epsilon, delta = call.budget
    if epsilon is not None or call.ledger is not None or delta != 0:
        raise InputError(
            "epsilon, delta and ledger are for private demand: give "
            "demand=PrivateDemand(...), or leave them out"
        )
    return _public(question, call.weights, proofs, exact)


def _public(
    question: Question | BoxQuestion, weights: Weights | None, certify: bool, exact: bool
) -> Result:
    """Centers for public demand."""
    finite = question.on_net()
    public = public_demand(finite.metric, weights, signed=True)
    if certify:
        finite.check_certifiable(public)
    found, proof = finite.exactly(public) if exact else (finite.answer(public), None)
    if certify and proof is None:
        proof = finite.certificate(public, found)
    result = Result(finite.names(found), finite.k, "public", certificate=proof)
    shared_weights = public if finite.metric is question.universe else None
    return replace(result, universe=question.universe, weights=shared_weights, power=finite.power)
