"""What a clustering call returns, and the checks of its public arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import by_id, check_distinct, floats, integer, shown
from metricdp.errors import InputError
from metricdp.methods.layers import crs_of
from metricdp.methods.views import Views
from metricdp.metrics.base import Metric
from metricdp.releases import Receipt
from metricdp.solvers.bounds import Certificate
from metricdp.solvers.estimate.intervals import LEVEL, Interval


@dataclass(frozen=True)
class Result(Views):
    """Centers, and what they cost in privacy. Nothing here was computed from private data except
    through the receipt's releases.

    Attributes
    ----------
    centers : list of the user's own ids, length k, distinct; ndarray of shape (k, d) in a box
    k : int
    method : str
    receipt : Receipt or None
        None without private demand.
    release : PartitionRelease or None
        The release the centers were computed from, for further questions.
    certificate : Certificate or None
        Proof of how far the centers can be from the best, where it was asked for: only of public
        demand.
    universe : Metric or EuclideanSpace or None
        The public universe of the centers.
    weights : ndarray of float64, shape (n_points,), or None
        Public weights that the centers are best for; None for private demand.
    power : {1, 2}
        Whether the cost sums distances or their squares.

    Examples
    --------
    >>> import networkx as nx, metricdp as mdp
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> result = mdp.k_median(metric, demand, k=2, epsilon=4)
    >>> sorted(result.centers), result.k, result.method, float(result.receipt.epsilon)
    ([1, 7], 2, 'partition', 4.0)
    """

    centers: Any
    k: int
    method: str
    receipt: Receipt | None = None
    release: Any = field(default=None, repr=False)
    certificate: Certificate | None = None
    universe: Any = field(default=None, repr=False, compare=False)
    weights: Any = field(default=None, repr=False, compare=False)
    power: int = field(default=1, repr=False, compare=False)

    @property
    def has_interval(self) -> bool:
        """Whether there is a release that tells how far off it may be.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
        >>> mdp.k_median(metric, k=2).has_interval
        False
        >>> mdp.k_median(metric, demand, k=2, epsilon=1).has_interval
        True
        """
        return bool(getattr(self.release, "has_intervals", False))

    @cached_property
    def interval(self) -> Interval | None:
        """Mean distance of the demand to its center, with a 95 % credible interval: free, from what
        was released; None where there is no release of counts (`DemandRelease.interval`).

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
        >>> mean = mdp.k_median(metric, demand, k=2, epsilon=4).interval
        >>> mean.low <= mean.estimate <= mean.high < 1
        True
        """
        if not self.has_interval:
            return None
        told: Interval = self.release.interval(self.centers)
        return told

    def summary(self, *, stability: bool = False, level: float = LEVEL) -> Any:
        """Figures of the answer with their intervals: `DemandRelease.summary` of its centers.

        Raises
        ------
        InputError
            There is no release of counts behind it.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(50), weight=None)
        >>> homes = mdp.PrivateDemand(metric, [7] * 300 + [40] * 300)
        >>> told = mdp.k_median(metric, homes, k=2, epsilon=1).summary(stability=True)
        >>> told.loads.estimate.shape, told.stability.stays.shape
        ((2,), (2,))
        """
        if self.release is None:
            raise InputError(
                "free intervals need a release of counts: the default method makes one; "
                "metricdp.evaluate measures any centers privately"
            )
        return self.release.summary(self.centers, stability=stability, level=level)

    @property
    def lower_bound(self) -> float | None:
        """What any choice of k centers costs at least; None without a certificate.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> result = mdp.k_median(metric, k=2, exact=True)
        >>> result.cost, result.lower_bound
        (10.0, 10.0)
        """
        return None if self.certificate is None else self.certificate.lower_bound

    @property
    def gap(self) -> float | None:
        """The centers are within this fraction of the best cost: 0 if proven optimal, None without
        a certificate.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> mdp.k_median(metric, k=2).gap, mdp.k_median(metric, k=2, exact=True).gap
        (None, 0.0)
        """
        return None if self.certificate is None else self.certificate.gap

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: centers, k, method, receipt; where the universe has them, the centers'
        coordinates and their system; where it was asked for, the certificate; nothing else.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
        >>> told = mdp.k_median(metric, demand, k=2, epsilon="1/2").to_dict()
        >>> sorted(told), told["receipt"]["epsilon_exact"]
        (['centers', 'k', 'method', 'receipt'], '1/2')
        """
        centers = [plain_id(c) for c in self.centers]
        plain = {
            "centers": centers,
            "k": int(self.k),
            "method": self.method,
            "receipt": self.receipt and self.receipt.to_dict(),
        }
        if isinstance(self.universe, Metric) and self.coordinates is not None:
            plain["coordinates"] = [
                at if all(map(math.isfinite, at)) else None for at in self.coordinates.tolist()
            ]
            plain["crs"] = crs_of(self.universe)
        return (
            plain
            if self.certificate is None
            else plain | {"certificate": self.certificate.to_dict()}
        )


def plain_id(value: Any) -> Any:
    """An id, or a row of coordinates, as JSON has it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value if isinstance(value, str | int | float) else str(value)


def checked_candidates(
    universe: Metric, k: int, candidates: Any, opened: NDArray[np.int64] | None = None
) -> NDArray[np.int64] | None:
    """Positions where centers may stand (None: anywhere), after checking them and k; `opened` ones
    may be others.

    Raises
    ------
    InputError
        An unknown candidate; k is no integer from 1 to the number of candidates.
    """
    allowed = None if candidates is None else np.unique(universe.site_positions(candidates))
    most = (
        len(universe.sites)
        if allowed is None
        else len(np.union1d(allowed, [] if opened is None else opened))
    )
    if not 1 <= (integer(k) or 0) <= most:
        everywhere = "points" if universe.sites is universe.ids else "sites"
        what = everywhere if allowed is None else "candidates"
        raise InputError(
            f"k must be an integer from 1 to {most:,}, the number of {what}; got {shown(k)}"
        )
    return allowed


def public_weights(
    metric: Metric, weights: Any, name: str = "weights", *, signed: bool = False
) -> NDArray[np.float64]:
    """Public weights of all points, shape (n_points,), 1 each by default.

    Raises
    ------
    InputError
        They are not one number a point, finite and, unless `signed`, not negative.
    """
    if weights is None:
        return np.ones(len(metric))
    least, number = ("", "weight") if signed else (" none negative,", "number")
    rule = (
        f"{name} must be {len(metric):,} finite numbers,{least} one a point in the order of "
        f"metric.ids, or a mapping from id to {number}"
    )
    told = by_id(weights)
    array = given = floats(weights if told is None else told[1], rule)
    if told is not None:
        at = metric.positions(told[0])
        check_distinct(told[0], f"{name} must name every id once")
        array = np.zeros(len(metric))
        array[at] = given
    allowed = np.isfinite(array) if signed else np.isfinite(array) & (array >= 0)
    if array.shape != (len(metric),) or not allowed.all():
        raise InputError(rule)
    return array


def checked_seed(seed: Any) -> int:
    """The seed of public coins as a plain integer.

    Raises
    ------
    InputError
        It is no integer, or negative: found out before anything is charged.
    """
    number = integer(seed)
    if number is None or number < 0:
        raise InputError(f"seed must be an integer of at least 0, got {shown(seed)}")
    return number
