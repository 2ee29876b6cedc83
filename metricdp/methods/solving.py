"""`solve`: every objective, for public weights and for releases.

**Privacy.** A release answers by post-processing its noisy weights: free, any number of times.
Private demand itself is never an argument here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metricdp.arguments import Floats, opened_first, shown
from metricdp.errors import InputError
from metricdp.methods.question import (
    NET_POINTS,
    checked_time_limit,
    public_demand,
    public_weights,
    site_positions,
)
from metricdp.methods.solution import Solution
from metricdp.metrics.base import Metric, metric_of
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.options import Coins, Ids, Weights, checked_seed, coins
from metricdp.releases import Receipt
from metricdp.solvers.objectives.instance import Chosen, Instance
from metricdp.solvers.objectives.objective import Objective, Size
from metricdp.solvers.objectives.scenarios import (
    CombinedMetric,
    Scenarios,
    check_additive,
    checked_shares,
    combined_weights,
)
from metricdp.solvers.stopping import Deadline


def solve(
    universe: Any,
    objective: Objective,
    *,
    weights: Weights | None = None,
    loads: Weights | None = None,
    candidates: Ids | None = None,
    opened: Ids | None = None,
    forbidden: Ids | None = None,
    seed: int = 0,
    rng: Coins | None = None,
    time_limit: float | None = None,
    start: Ids | None = None,
    scenarios: str | ArrayLike | None = None,
) -> Solution:
    """Sites for an objective of `metricdp.objectives`: for public demand, or from a release, which
    answers any number of such questions at no further cost.

    Parameters
    ----------
    universe : Metric, EuclideanSpace or release, or a list of metrics or releases
        A release answers for its noisy weights, and its solution says so. A box is represented by a
        public net of 4,096 points, a box's release by its weighted points, with those of a net
        where they are few: bounds hold for sites among these. A list of finite universes with the
        same sites is one of scenarios, such as times of day: one set of sites serves all.
    objective : Objective
        Such as ``mdp.objectives.MaxCoverage(k=10, limit=900)``.
    weights : array_like of shape (n_points,) or mapping from id to weight, optional
        Public demand, none negative; by default, and where all are zero, 1 everywhere. Not with a
        release. Of a list of universes a list of such, none of them all zero.
    loads : the same, optional
        What a point uses of a site's capacity, and the unit of loads, where that is not its weight:
        vehicles, where weights are people. Points of weight 0 are not served and use none.
    candidates : iterable of ids, optional
        Where sites may be; anywhere by default.
    opened : iterable of ids, optional
        Required sites: they are among the sites chosen, come first and count towards k. They need
        not be candidates.
    forbidden : iterable of ids, optional
        Where no site may be.
    seed, rng : int; Generator, SeedSequence or int
        Public coins of the searches, by `metricdp.options.coins`.
    time_limit : float, optional
        Seconds after which the best that was found is returned, with the bound so far.
    start : iterable of ids, optional
        A warm start, such as the sites of another plan: the answer is no worse, and capacitated
        searches begin there.
    scenarios : {"mean", "worst"} or array_like of shape (n_scenarios,), optional
        For a list of universes: whether the value is the mean over them (the default), that of the
        worst, or the mean by these weights. For that, the weights of all scenarios are scaled to
        the same total. `Solution.scenarios` has each, in its own weights.

    Raises
    ------
    InputError
        A bad argument, or the instance is infeasible.

    Notes
    -----
    What is proved for each objective: ``docs/objectives.md``. Beyond 20 million distances no matrix
    of them is held.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> mdp.solve(metric, mdp.objectives.MaxCoverage(k=1, limit=2), forbidden=[4, 5, 6]).value
    5.0
    >>> release = mdp.release(metric, mdp.PrivateDemand(metric, [7] * 900), epsilon=1)
    >>> plan = mdp.solve(release, mdp.objectives.KMedian(k=1))
    >>> plan.centers, plan.noisy
    ([7], True)
    >>> day = mdp.solve([metric] * 2, mdp.objectives.KMedian(k=1), weights=[[9] + [1] * 8, [1] * 9])
    >>> day.centers, [round(one.mean, 2) for one in day.scenarios]
    ([3], [2.65, 2.33])
    """
    if not isinstance(objective, Objective):
        raise InputError(
            f"objective must be one of mdp.objectives, such as mdp.objectives.MaxCoverage(k=10, "
            f"limit=900); got {shown(objective)}"
        )
    seed = coins(seed, rng)
    asked: dict[str, Any] = {"candidates": candidates, "opened": opened, "forbidden": forbidden}
    asked |= {"loads": loads, "seed": seed, "time_limit": time_limit, "start": start}
    if isinstance(universe, list | tuple):
        return _for_scenarios(universe, objective, weights, scenarios, asked)
    if scenarios is not None:
        raise InputError("scenarios= is for a list of universes or of releases")
    kind = getattr(universe, "kind", None)
    if kind == "finite":
        return answered(universe, objective, public_demand(universe, weights), **asked)
    if kind == "box":
        return _box_solved(universe, objective, weights, asked)
    answer = getattr(universe, "solve", None)
    if not callable(answer):
        raise InputError(
            f"solve needs a universe or a release (mdp.release), got {type(universe).__name__}"
        )
    if weights is not None:
        raise InputError("a release has weights of its own: leave weights= out")
    found: Solution = answer(objective, **asked)
    return found


def _box_solved(
    space: EuclideanSpace, objective: Objective, weights: Any, asked: dict[str, Any]
) -> Solution:
    net = space.net(NET_POINTS, checked_seed(asked["seed"]))
    if weights is not None:
        raise InputError("weights needs a finite universe; sites in a box are free points")
    return answered_in_box(space, net, np.ones(len(net)), objective, **asked)


def _for_scenarios(
    universes: Sequence[Any],
    objective: Objective,
    weights: Any,
    scenarios: Any,
    asked: dict[str, Any],
) -> Solution:
    """One set of sites for several demands, by `Scenarios`."""
    check_additive(objective)
    n = len(universes)
    held = [None] * n if weights is None else weights
    if n == 0 or isinstance(held, Mapping) or not hasattr(held, "__len__") or len(held) != n:
        raise InputError(f"of {n:,} scenarios, at least one, weights= must be a list of {n:,}")
    parts = [_scenario(one, own) for one, own in zip(universes, held)]
    shares = checked_shares("mean" if scenarios is None else scenarios, len(parts))
    metrics = [metric for metric, _, _ in parts]
    if any(m is not metrics[0] and list(m.sites) != list(metrics[0].sites) for m in metrics):
        raise InputError("all scenarios need the same sites, in the same order")
    same = all(m is metrics[0] for m in metrics)
    if not same and asked["loads"] is not None:
        raise InputError("loads= of scenarios needs the same universe in all of them")
    totals = np.array([held.sum() for _, held, _ in parts])
    if not totals.all():
        raise InputError("a scenario has no demand")
    # scale all scenarios to the same total, and solve for all of them together
    scaled = [held * (totals.mean() / held.sum()) for _, held, _ in parts]
    place = metrics[0] if same else CombinedMetric(metrics)
    even = np.full(n, 1 / n)
    whole = instance_of(
        place, combined_weights(place, scaled, even if shares is None else shares), **asked
    )
    own = [
        replace(whole, metric=metric, weights=held, kept={})
        for metric, held in zip(metrics, scaled)
    ]
    both = Scenarios(objective, own, shares)
    both.check(whole)
    with whole.deadline:
        chosen = _no_worse(both, whole)
    # then state each scenario's own figures, in its own weights
    sites = [whole.metric.sites[i] for i in chosen.sites]
    seen = []
    for metric, held, release in parts:
        instance = replace(whole, metric=metric, weights=held, kept={})
        answer = objective.judge(instance, chosen.sites)
        seen.append(_solution(sites, instance, answer, objective, release, universe=metric))
    whole.kept["scenarios"] = tuple(seen)
    first = _solution(sites, whole, chosen, both, None, universe=whole.metric)
    releases = tuple(one for _, _, one in parts if one is not None)
    if not releases:
        return first
    receipt = Receipt.combined([one.receipt for one in releases])
    return replace(first, method=str(releases[0].method), receipt=receipt, release=releases)


def _scenario(universe: Any, weights: Any) -> tuple[Metric, Floats, Any]:
    """A scenario's metric and weights, and the release they come from, if any."""
    if getattr(universe, "kind", None) == "finite":
        return universe, public_weights(universe, weights), None
    rule = "scenarios are finite universes, or releases of such"
    metric = metric_of(getattr(universe, "universe", None), "scenarios", rule)
    if getattr(universe, "space", None) is not None:
        raise InputError(rule)
    if weights is not None:
        raise InputError("releases have weights of their own: leave weights= out")
    return metric, np.maximum(universe.weights, 0.0), universe


_PLACES = ("loads", "candidates", "opened", "forbidden", "start")
_BOX_PLACES = 1024
"""Candidate sites in a box, at least: points of a public net are added to fewer weighted points."""


def answered_in_box(
    space: EuclideanSpace,
    points: EuclideanMetric,
    weights: Floats,
    objective: Objective,
    *,
    release: Any = None,
    **asked: Any,
) -> Solution:
    """The solution in a box for weighted points of it: sites are among these and a public net's."""
    finite = [name for name in _PLACES if asked.pop(name, None) is not None]
    if finite:
        raise InputError(f"{finite[0]} needs a finite universe; sites in a box are free points")
    for name in ("costs", "capacities"):
        value = getattr(objective, name, 0)
        sized = isinstance(value, tuple) and all(isinstance(one, Size) for one in value)
        if not sized and (np.ndim(value) or hasattr(value, "keys")):
            raise InputError(f"{name} must be one number in a box: sites there are free points")
    n, places = len(points), points
    if n < _BOX_PLACES:
        net = space.net(_BOX_PLACES, checked_seed(asked.get("seed", 0))).points
        own = set(map(tuple, points.points.tolist()))
        more = [place for place in net.tolist() if tuple(place) not in own][: _BOX_PLACES - n]
        places = EuclideanMetric(np.concatenate([points.points, more]))
        weights = np.r_[weights, np.zeros(len(more))]
    return answered(places, objective, weights, space=space, n_points=n, release=release, **asked)


def answered(
    metric: Metric,
    objective: Objective,
    weights: Floats,
    *,
    space: EuclideanSpace | None = None,
    n_points: int | None = None,
    release: Any = None,
    **asked: Any,
) -> Solution:
    """The solution for weights that are public, or were released."""
    instance = instance_of(metric, weights, **asked)
    objective.check(instance)
    with instance.deadline:
        chosen = _no_worse(objective, instance)

    places: Any = metric
    boxed = space is not None
    sites = places.points[chosen.sites] if boxed else [metric.sites[i] for i in chosen.sites]
    where = space or metric
    return _solution(sites, instance, chosen, objective, release, universe=where, n_points=n_points)


def _no_worse(objective: Objective, instance: Instance) -> Chosen:
    """The sites that an objective chooses, or the warm start where that is better."""
    given = instance.start
    chosen = objective.choose(instance)
    if given is None:
        return chosen
    try:
        own = objective.judge(instance, given)
    except InputError:  # the warm start is infeasible
        return chosen
    better = own.value > chosen.value if objective.maximized else own.value < chosen.value
    return replace(own, bound=chosen.bound) if better else chosen


def _solution(
    sites: Any,
    instance: Instance,
    chosen: Chosen,
    objective: Objective,
    release: Any,
    *,
    universe: Any,
    n_points: int | None = None,
) -> Solution:
    """The `Solution` of an objective's choice."""
    return Solution(
        sites,
        len(sites),
        "public" if release is None else str(release.method),
        None if release is None else release.receipt,
        release,
        universe=universe,
        weights=instance.weights[:n_points],
        objective=objective,
        _asked=instance,
        _answered=chosen,
    )


def instance_of(
    metric: Metric,
    weights: Floats,
    *,
    loads: Weights | None = None,
    candidates: Ids | None = None,
    opened: Ids | None = None,
    forbidden: Ids | None = None,
    seed: Any = 0,
    time_limit: Any = None,
    start: Ids | None = None,
) -> Instance:
    """The instance of a call of `solve`, checked."""
    allowed = np.arange(len(metric.sites))
    if candidates is not None:
        allowed = site_positions(metric, candidates)
    fixed = np.empty(0, np.int64)
    if opened is not None:
        fixed = site_positions(metric, opened)
    if forbidden is not None:
        barred = site_positions(metric, forbidden)
        both = np.intersect1d(barred, fixed)
        if len(both):
            raise InputError(
                f"the site {shown(metric.sites[both[0]])} is both opened and forbidden"
            )
        allowed = np.setdiff1d(allowed, barred)
    allowed = np.union1d(allowed, fixed).astype(np.int64)
    if len(allowed) == 0:
        raise InputError(
            "there is no place where a site may stand: candidates are none, or all forbidden"
        )
    first = None
    if start is not None:
        named = site_positions(metric, start)
        out = np.r_[np.setdiff1d(named, allowed), np.setdiff1d(fixed, named)]
        if len(out):
            raise InputError(
                f"start must name sites that are allowed, the opened ones among them: see "
                f"{shown(metric.sites[out[0]])}"
            )
        first = opened_first(fixed, named)
    return Instance(
        metric,
        weights,
        allowed,
        fixed,
        None if loads is None else public_weights(metric, loads, "loads"),
        checked_seed(seed),
        Deadline(checked_time_limit(time_limit), catches=True),
        start=first,
    )
