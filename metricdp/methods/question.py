"""The public arguments of a clustering call, checked before anything is charged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from metricdp.arguments import Floats, Ints, count, opened_first, positive, shown
from metricdp.errors import InputError
from metricdp.methods.solution import Solution
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.options import checked_seed, numbers
from metricdp.partitions.box.cells import NetCells
from metricdp.protocols import Kind
from metricdp.solvers.bounds import Certificate, certificate, check_size
from metricdp.solvers.effort import QUICK, THOROUGH, Effort, solve_with
from metricdp.solvers.exact import solve_exactly

Result = Solution
"""The same class, by the name that it had until 0.1.0 for `k_median` and `k_means`."""

LARGEST = 1e30
"""Largest weight: sums of weights times powers of distances (1e18, e**600) are finite."""


def site_positions(universe: Metric, ids: Any) -> Ints:
    """Positions of named sites, ascending, without repeats; a text is one name."""
    if str(getattr(ids, "dtype", "")).startswith("bool"):
        raise InputError("sites are named by their ids, not by a mask")
    return np.unique(universe.site_positions([ids] if isinstance(ids, str) else ids))


def checked_candidates(
    universe: Metric, k: int, candidates: Any, opened: Ints | None = None
) -> Ints | None:
    """Positions where centers may be (None: anywhere), after a check of these and of k."""
    allowed = None if candidates is None else site_positions(universe, candidates)
    most = (
        len(universe.sites)
        if allowed is None
        else len(np.union1d(allowed, [] if opened is None else opened))
    )
    everywhere = "points" if universe.sites is universe.ids else "sites"
    count(k, "k", 1, most, f"the number of {everywhere if allowed is None else 'candidates'}")
    return allowed


def public_weights(
    metric: Metric, weights: Any, name: str = "weights", *, signed: bool = False
) -> Floats:
    """Public weights of all points, shape (n_points,), 1 each by default."""
    if weights is None:
        return np.ones(len(metric))
    least, number = ("", "weight") if signed else (", none negative", "number")
    rule = (
        f"{name} must be {len(metric):,} finite numbers{least}, of at most {LARGEST:g}, one a "
        f"point in the order of metric.ids, or a mapping from id to {number}"
    )
    array = numbers(weights, metric.positions, len(metric), rule)
    if not (np.abs(array) <= LARGEST).all() or not (signed or (array >= 0).all()):
        raise InputError(rule)
    return array


def public_demand(metric: Metric, weights: Any, *, signed: bool = False) -> Floats:
    """`public_weights`; 1 each where all are zero."""
    found = public_weights(metric, weights, signed=signed)
    return found if found.any() else np.ones(len(found))


NET_POINTS = 4096
"""Public points that represent a box; also the most centers in a box."""


@dataclass(frozen=True)
class Question:
    """A question for k centers of a finite universe: public arguments.

    `candidates`, `opened`: positions, the latter of required centers; `power`: sum of distances or
    of squared distances; `effort`: a name or seconds; `provable`: whether answers can be certified.
    """

    metric: Metric
    k: int
    power: int
    candidates: Ints | None
    opened: Ints
    seed: int
    time_limit: float | None
    effort: Effort | Literal["rough"] = QUICK

    provable: ClassVar[bool] = True
    space: ClassVar[EuclideanSpace | None] = None

    @property
    def universe(self) -> Metric:
        """The metric."""
        return self.metric

    def coarse(self, dimensions: int) -> bool:
        """Whether a net is too coarse for the universe: for a box of more than `dimensions`."""
        return False

    def on_net(self) -> Self:
        """The question on a public net of the universe: itself, as a finite one needs none."""
        return self

    def parts(self, partition: Any) -> Any:
        """The partition of the universe that a partition of the net gives: itself."""
        return partition

    @classmethod
    def checked(
        cls,
        metric: Metric,
        k: Any,
        power: int,
        *,
        candidates: Any = None,
        opened: Any = None,
        **search: Any,
    ) -> Self:
        """Check ids, k, seed, time limit and effort."""
        fixed = np.empty(0, np.int64)
        if opened is not None:
            fixed = site_positions(metric, opened)
        allowed = checked_candidates(metric, k, candidates, fixed)
        if len(fixed) > k:
            raise InputError(
                f"k counts the opened facilities: it must be at least their number, "
                f"{len(fixed):,}; got {k}"
            )
        return cls(metric, int(k), power, allowed, fixed, **checked_search(**search))

    @property
    def _asked(self) -> dict[str, Any]:
        """Arguments of every search and bound."""
        facts = {"power": self.power, "candidates": self.candidates, "opened": self.opened}
        return {**facts, "time_limit": self.time_limit}

    @property
    def places(self) -> Ints:
        """Positions where centers may be, the required ones among them."""
        if self.candidates is None:
            return np.arange(len(self.metric.sites))
        return np.union1d(self.candidates, self.opened)

    def answer(self, weights: Floats) -> Ints:
        """Positions of centers (k,) for demand `weights`, the required ones first."""
        found = solve_with(self.effort, self.metric, weights, self.k, seed=self.seed, **self._asked)
        return opened_first(self.opened, found.centers)

    def exactly(self, weights: Floats) -> tuple[Ints, Certificate]:
        """Centers of public `weights` from an exact search, and the certificate of their gap."""
        effort = THOROUGH if isinstance(self.effort, str) else self.effort
        search = {"seed": self.seed, "effort": effort, **self._asked}
        found, proof = solve_exactly(self.metric, weights, self.k, **search)
        return opened_first(self.opened, found), proof

    def names(self, positions: Ints) -> Any:
        """The user's ids of positions."""
        return [self.metric.sites[i] for i in positions]

    def check_certifiable(self, weights: Floats) -> None:
        """Refuse an instance that is too large to be certified, before a search."""
        demand = np.count_nonzero(weights) or len(weights)
        check_size(len(self.places), int(demand), weights)

    def certificate(self, weights: Floats, centers: Ints) -> Certificate:
        """The certificate of centers for public `weights`, in a time limit of its own."""
        return certificate(self.metric, weights, centers, **self._asked)


class PointsQuestion(Question):
    """A question for k of some points of a box, the metric's; centers are named by coordinates."""

    def names(self, positions: Ints) -> Any:
        """Coordinates of positions, shape (n, d)."""
        points: Floats = self.metric.points  # type: ignore[attr-defined]
        return points[positions]


@dataclass(frozen=True)
class BoxQuestion:
    """A question for k centers anywhere in a box: public arguments.

    `power`: sum of distances or of squared distances; `seed`: public coins; `time_limit`: seconds
    for the search; `effort`: of searches among points of the box.
    """

    space: EuclideanSpace
    k: int
    power: int
    seed: int
    time_limit: float | None
    effort: Effort = QUICK

    provable: ClassVar[bool] = False

    @property
    def universe(self) -> EuclideanSpace:
        """The box."""
        return self.space

    def coarse(self, dimensions: int) -> bool:
        """Whether the box has more than `dimensions`."""
        return self.space.dimension > dimensions

    def parts(self, partition: Any) -> NetCells:
        """The partition of the box by the parts of its nearest net points."""
        return NetCells(self.space, partition)

    @classmethod
    def checked(
        cls,
        space: EuclideanSpace,
        k: Any,
        power: int,
        *,
        candidates: Any = None,
        opened: Any = None,
        **search: Any,
    ) -> BoxQuestion:
        """Check k, seed, time limit and effort; refuse candidates and required centers."""
        for name, given in (("candidates", candidates), ("opened", opened)):
            if given is not None:
                raise InputError(f"{name} need a finite universe; centers in a box are free points")
        number = count(k, "k", 1, NET_POINTS, "the number of points")
        return cls(space, number, power, **checked_search(**search))

    def among(self, points: EuclideanMetric) -> PointsQuestion:
        """The same question about some points of the box."""
        nothing = np.empty(0, np.int64)
        return PointsQuestion(
            points, self.k, self.power, None, nothing, self.seed, self.time_limit, self.effort
        )

    def on_net(self) -> PointsQuestion:
        """The same question about a public net of the box."""
        return self.among(self.space.net(NET_POINTS, self.seed))


def asked_of(universe: Metric | EuclideanSpace, k: Any, power: int, **asked: Any) -> Any:
    """The question of a universe: a `Question` of a metric, a `BoxQuestion` of a box."""
    if k is None:
        raise InputError("k= is needed: how many centers, an integer of at least 1")
    return _QUESTIONS[universe.kind].checked(universe, k, power, **asked)


NOT_PROVABLE = (
    "a certificate is for public demand in a finite universe: the exact cost of private demand "
    "stays private; of a release, pass weights=release.weights in place of demand= to certify the "
    "cost on its noisy weights"
)

_QUESTIONS: dict[Kind, Any] = {"finite": Question, "box": BoxQuestion}


def checked_search(seed: Any = 0, time_limit: Any = None, effort: Any = QUICK) -> dict[str, Any]:
    """The checked options of a search: public coins, time limit and effort."""
    found = {"seed": checked_seed(seed), "time_limit": checked_time_limit(time_limit)}
    return {**found, "effort": checked_effort(effort)}


def checked_time_limit(time_limit: Any) -> float | None:
    """Seconds, or None; errors as `positive`."""
    if time_limit is None or (isinstance(time_limit, float) and time_limit == float("inf")):
        return time_limit
    return positive(time_limit, "time_limit")


def checked_effort(effort: Any) -> Effort:
    """ "quick", "thorough" or seconds."""
    if isinstance(effort, str) and effort in (QUICK, THOROUGH):
        return effort
    if isinstance(effort, str):
        raise InputError(
            f"effort must be 'quick', 'thorough' or a number of seconds, got {shown(effort)}"
        )
    return positive(effort, "effort")
