"""`solve`: every objective, for public weights and for releases.

**Privacy.** A release answers by post-processing its noisy weights: free, any number of times.
Private demand itself is never an argument here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import shown
from metricdp.errors import InputError
from metricdp.methods.question import NET_POINTS, checked_time_limit
from metricdp.methods.result import checked_seed, public_weights, site_positions
from metricdp.methods.solution import Solution
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.protocols import Kind
from metricdp.solvers.objectives.objective import Objective
from metricdp.solvers.objectives.siting import Siting
from metricdp.solvers.stopping import Deadline


def solve(
    universe: Any,
    objective: Objective,
    *,
    weights: Any = None,
    loads: Any = None,
    candidates: Any = None,
    opened: Any = None,
    forbidden: Any = None,
    seed: int = 0,
    time_limit: float | None = None,
) -> Solution:
    """Sites for an objective of `metricdp.objectives`: for public demand, or from a release, which
    answers any number of such questions at no further cost.

    Parameters
    ----------
    universe : Metric, EuclideanSpace or release
        A release answers for its noisy weights, and its solution says so. A box is answered on a
        public net of 4,096 points, a box's release on its weighted points, and on those of a net
        where they are few: bounds are of sites among these.
    objective : Objective
        Such as ``mdp.objectives.MaxCoverage(k=10, limit=900)``.
    weights : array_like of shape (n_points,) or mapping from id to weight, optional
        Public demand, none negative; by default 1 everywhere. Not with a release.
    loads : the same, optional
        What a point uses of a site's capacity, and what loads are told in, where that is not its
        weight: vehicles beside people.
    candidates : iterable of ids, optional
        Where sites may stand; anywhere by default.
    opened : iterable of ids, optional
        Mandatory sites: they are among the sites chosen, come first and count towards k. They need
        not be candidates.
    forbidden : iterable of ids, optional
        Where no site may stand.
    seed : int
        Public coins of the searches.
    time_limit : float, optional
        Seconds after which the best that was found is returned, with the bound so far.

    Raises
    ------
    InputError
        A bad argument, or no choice of sites meets the objective's conditions.

    Notes
    -----
    Complexity by objective: ``docs/objectives.md``. Without a matrix of all distances beyond 20
    million of them.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> mdp.solve(metric, mdp.objectives.MaxCoverage(k=1, limit=2), forbidden=[4, 5, 6]).value
    5.0
    >>> release = mdp.release(metric, mdp.PrivateDemand(metric, [7] * 900), epsilon=1)
    >>> plan = mdp.solve(release, mdp.objectives.KMedian(k=1))
    >>> plan.centers, plan.noisy
    ([7], True)
    """
    if not isinstance(objective, Objective):
        raise InputError(
            f"objective must be one of mdp.objectives, such as mdp.objectives.MaxCoverage(k=10, "
            f"limit=900); got {shown(objective)}"
        )
    asked = {
        "loads": loads,
        "candidates": candidates,
        "opened": opened,
        "forbidden": forbidden,
        "seed": seed,
        "time_limit": time_limit,
    }
    kind = getattr(universe, "kind", None)
    if kind is not None:
        return _SOLVED[kind](universe, objective, weights, asked)
    answer = getattr(universe, "solve", None)
    if not callable(answer):
        raise InputError(
            f"solve needs a universe or a release (mdp.release), got {type(universe).__name__}"
        )
    if weights is not None:
        raise InputError("a release has weights of its own: leave weights= out")
    found: Solution = answer(objective, **asked)
    return found


def _points_solved(
    universe: Metric, objective: Objective, weights: Any, asked: dict[str, Any]
) -> Solution:
    return answered(universe, objective, public_weights(universe, weights), **asked)


def _box_solved(
    space: EuclideanSpace, objective: Objective, weights: Any, asked: dict[str, Any]
) -> Solution:
    net = space.net(NET_POINTS, checked_seed(asked["seed"]))
    if weights is not None:
        raise InputError("weights needs a finite universe; sites in a box are free points")
    return answered_in_box(space, net, np.ones(len(net)), objective, **asked)


_SOLVED: dict[Kind, Callable[..., Solution]] = {"finite": _points_solved, "box": _box_solved}
_PLACES = ("loads", "candidates", "opened", "forbidden")
_BOX_PLACES = 1024
"""Places where a site may stand in a box, at least: a public net joins fewer weighted points."""


def answered_in_box(
    space: EuclideanSpace,
    points: EuclideanMetric,
    weights: NDArray[np.float64],
    objective: Objective,
    *,
    release: Any = None,
    **asked: Any,
) -> Solution:
    """Sites in a box for weighted points of it: they stand at these points, or at those of a
    public net.
    """
    finite = [name for name in _PLACES if asked.pop(name, None) is not None]
    if finite:
        raise InputError(f"{finite[0]} needs a finite universe; sites in a box are free points")
    for name in ("costs", "capacities"):
        told = getattr(objective, name, 0)
        if np.ndim(told) or hasattr(told, "keys"):
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
    weights: NDArray[np.float64],
    *,
    space: EuclideanSpace | None = None,
    n_points: int | None = None,
    release: Any = None,
    **asked: Any,
) -> Solution:
    """Sites for weights that are public, or were released."""
    siting = siting_of(metric, weights, **asked)
    objective.check(siting)
    with siting.deadline:
        chosen = objective.choose(siting)

    places: Any = metric
    boxed = space is not None
    sites = places.points[chosen.sites] if boxed else [metric.sites[i] for i in chosen.sites]
    return Solution(
        sites,
        len(sites),
        "public" if release is None else str(release.method),
        None if release is None else release.receipt,
        release,
        universe=space or metric,
        weights=siting.weights[:n_points],
        objective=objective,
        _asked=siting,
        _answered=chosen,
    )


def siting_of(
    metric: Metric,
    weights: NDArray[np.float64],
    *,
    loads: Any = None,
    candidates: Any = None,
    opened: Any = None,
    forbidden: Any = None,
    seed: Any = 0,
    time_limit: Any = None,
) -> Siting:
    """The question of `solve`, checked."""
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
    return Siting(
        metric,
        weights,
        allowed,
        fixed,
        None if loads is None else public_weights(metric, loads, "loads"),
        checked_seed(seed),
        Deadline(checked_time_limit(time_limit)),
    )
