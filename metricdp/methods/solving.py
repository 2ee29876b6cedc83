"""`solve`: every objective, for public weights and for releases.

**Privacy.** A release answers by post-processing its noisy weights: free, any number of times.
Private demand itself is never an argument here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import shown
from metricdp.errors import InputError
from metricdp.methods.question import NET_POINTS, checked_time_limit
from metricdp.methods.result import checked_seed, public_weights
from metricdp.methods.solution import Solution
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
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
        public net of 4,096 points.
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

    Returns
    -------
    Solution

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
    >>> import networkx as nx, metricdp as mdp
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
    if isinstance(universe, EuclideanSpace):
        box = [name for name in ("weights", *_PLACES) if (asked | {"weights": weights})[name]]
        if box:
            raise InputError(f"{box[0]} needs a finite universe; sites in a box are free points")
        net = universe.net(NET_POINTS, checked_seed(seed))
        return answered(net, objective, np.ones(len(net)), points=True, **asked)
    if isinstance(universe, Metric):
        return answered(universe, objective, public_weights(universe, weights), **asked)
    answer = getattr(universe, "solve", None)
    if not callable(answer):
        raise InputError(
            f"solve needs a universe or a release (mdp.release), got {type(universe).__name__}"
        )
    if weights is not None:
        raise InputError("a release has weights of its own: leave weights= out")
    found: Solution = answer(objective, **asked)
    return found


_PLACES = ("loads", "candidates", "opened", "forbidden")


def answered(
    metric: Metric,
    objective: Objective,
    weights: NDArray[np.float64],
    *,
    points: bool = False,
    release: Any = None,
    **asked: Any,
) -> Solution:
    """Sites for weights that are public, or were released.

    Parameters
    ----------
    metric : Metric
    objective : Objective
    weights : ndarray of float64, shape (n_points,)
        None negative.
    points : bool
        Whether sites are told by coordinates: the metric's are points of a box.
    release : release, optional
        That the weights are of.
    **asked
        `loads`, `candidates`, `opened`, `forbidden`, `seed` and `time_limit` of `solve`.
    """
    siting = siting_of(metric, weights, **asked)
    objective.check(siting)
    with siting.deadline:
        chosen = objective.choose(siting)

    def names(positions: NDArray[np.int64]) -> Any:
        return metric.points[positions] if points else [metric.ids[i] for i in positions]  # type: ignore[attr-defined]

    centers = names(chosen.sites) if points else [metric.sites[i] for i in chosen.sites]
    return Solution(
        objective,
        centers,
        float(chosen.value),
        None if chosen.bound is None else float(chosen.bound),
        release is not None,
        None if release is None else release.receipt,
        release,
        siting,
        chosen,
        names,
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
    """The question of `solve`, checked.

    Raises
    ------
    InputError
        An argument breaks its rule.
    """
    allowed = np.arange(len(metric.sites))
    if candidates is not None:
        allowed = np.unique(metric.site_positions(candidates))
    fixed = np.empty(0, np.int64)
    if opened is not None:
        fixed = np.unique(metric.site_positions(opened))
    if forbidden is not None:
        barred = np.unique(metric.site_positions(forbidden))
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
