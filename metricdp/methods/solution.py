"""What `metricdp.solve` returns: sites, who is served by which, and how good that is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import floats
from metricdp.errors import InputError, MissingExtraError
from metricdp.methods.result import Result, plain_id
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.releases import Receipt
from metricdp.solvers.estimate.intervals import LEVEL, Interval
from metricdp.solvers.objectives.objective import Objective, steps_of
from metricdp.solvers.objectives.siting import WITHIN, Assignment, Chosen, Siting

PERCENTILES = (50.0, 90.0, 95.0, 100.0)


@dataclass(frozen=True, eq=False)
class Solution:
    """Sites chosen for an objective. What is told of the demand is of the public weights, or of
    the noisy weights of a release: then `noisy` is true, and nothing here is exact for the private
    demand.

    Attributes
    ----------
    objective : Objective
    centers : list of the user's own ids, or ndarray of shape (k, d) in a box
        The sites, the mandatory ones first.
    value : float
        What the objective measures, of the weights: a cost, a distance, a number of sites, or the
        demand covered.
    bound : float or None
        No choice of sites has a better value: at most the least possible one, or at least the
        largest. None where nothing is proven.
    noisy : bool
        Whether the weights are those of a private release.
    receipt : Receipt or None
        What the release cost; None for public weights.
    release : release or None
        That was asked.

    Examples
    --------
    >>> import networkx as nx, metricdp as mdp
    >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
    >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
    >>> plan.centers, plan.value, plan.labels
    (['a', 'd'], 1.0, ['a', 'a', 'd', 'd'])
    >>> plan.loads, plan.mean
    ({'a': 4.0, 'd': 2.0}, 0.16666666666666666)
    """

    objective: Objective
    centers: Any
    value: float
    bound: float | None
    noisy: bool
    receipt: Receipt | None
    release: Any = field(repr=False)
    _siting: Siting = field(repr=False)
    _chosen: Chosen = field(repr=False)
    _names: Any = field(repr=False)
    _n_points: int = field(repr=False)

    @property
    def method(self) -> str:
        """How the demand was released, or ``"public"``.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.method
        'public'
        """
        return "public" if self.release is None else str(self.release.method)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Demand of every point that this was found for, in the order of the universe's ids.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.weights
        array([3., 1., 0., 2.])
        """
        return self._siting.weights[: self._n_points]

    @property
    def k(self) -> int:
        """Number of sites.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> mdp.solve(metric, mdp.objectives.SetCover(limit=1)).k
        2
        """
        return len(self._chosen.sites)

    @property
    def cost(self) -> float:
        """The same as `value`, as objectives that are made small call it.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.cost == plan.value
        True
        """
        return self.value

    @property
    def gap(self) -> float | None:
        """The value is within this fraction of the best: 0 if proven optimal, None if nothing is
        proven.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.gap
        0.0
        >>> mdp.solve(metric, mdp.objectives.PCenter(k=1)).gap
        0.0
        """
        if self.bound is None:
            return None
        better = self.bound - self.value if self.objective.maximized else self.value - self.bound
        best = self.bound if self.objective.maximized else self.value
        return 0.0 if better <= 0 else float(better / abs(best))

    @cached_property
    def _served(self) -> Assignment:
        """Who is served by which site; nobody farther than the objective's limit."""
        if self._chosen.assignment is not None:
            return self._chosen.assignment
        label, distance = self._siting.nearest(self._chosen.sites)
        at = np.arange(len(label))
        if self.objective.reach is not None:
            at = at[distance <= self._limit * (1 + WITHIN)]
        return Assignment(at, label[at], np.ones(len(at)))

    @property
    def _limit(self) -> float:
        return steps_of(self.objective.reach, self._siting.metric)

    @cached_property
    def _distances(self) -> NDArray[np.float64]:
        """Of every pair that `_served` lists."""
        served, siting = self._served, self._siting
        if self._chosen.assignment is None:
            return siting.nearest(self._chosen.sites)[1][served.clients]
        found = np.empty(len(served.clients))
        for i, site in enumerate(self._chosen.sites):
            mine = np.flatnonzero(served.sites == i)
            if len(mine):
                clients = siting.demand[served.clients[mine]]
                found[mine] = siting.metric.distance_rows(np.array([site]), clients)[0]
        return found

    @property
    def labels(self) -> list[Any]:
        """For every point of the universe, in the order of its ids, the site that serves it: the
        largest part of it, where several do, and the nearest where the point has no demand. None
        where no site does within the limit. Rows of `centers` in a box.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.labels
        ['a', 'a', 'd', 'd']
        """
        served, siting = self._served, self._siting
        label = siting.metric.nearest_to(self._chosen.sites)[0].astype(np.int64)
        if self.objective.reach is not None:
            distance = siting.metric.nearest_to(self._chosen.sites)[1]
            label[distance > self._limit * (1 + WITHIN)] = -1
        label[siting.demand] = -1
        order = np.argsort(served.shares, kind="stable")
        label[siting.demand[served.clients[order]]] = served.sites[order]
        if isinstance(self.centers, np.ndarray):
            return [None if i < 0 else int(i) for i in label[: self._n_points]]
        return [None if i < 0 else self.centers[i] for i in label]

    @property
    def loads(self) -> Any:
        """What each site serves, of the loads or else the weights: a mapping from its id, or an
        array in the order of `centers` in a box; noisy where the weights are.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.loads
        {'a': 4.0, 'd': 2.0}
        """
        served = self._served
        amounts = self._siting.load[served.clients] * served.shares
        totals = np.bincount(served.sites, amounts, self.k)
        if isinstance(self.centers, np.ndarray):
            return totals
        return dict(zip(self.centers, totals.tolist()))

    @property
    def has_intervals(self) -> bool:
        """Whether `load_intervals` can answer.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.has_intervals
        False
        """
        return self._siting.loads is None and getattr(self.release, "has_intervals", False)

    def load_intervals(self, level: float = LEVEL) -> Interval:
        """What each site serves of the private demand that a release is of, with intervals: how far
        true loads may exceed `loads`, for which capacities are kept.

        Points without noisy demand count to the nearest site, as in `labels`.

        Parameters
        ----------
        level : float
            Chance that each interval is meant to hold the truth with, each by itself; for all of k
            at once take ``1 - (1 - level) / k``.

        Returns
        -------
        Interval
            Arrays in the order of `centers`: credible, of a model
            (`metricdp.solvers.estimate.credible`), free as it is made of the release alone.

        Raises
        ------
        InputError
            Weights or loads are public, so that loads are what they are; the release is not of
            counts of parts of a finite universe; `level` is no chance.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(50), weight=None)
        >>> homes = mdp.PrivateDemand(metric, [7] * 300 + [40] * 300)
        >>> release = mdp.release(metric, homes, epsilon=1)
        >>> plan = mdp.solve(release, mdp.objectives.Capacitated(k=2, capacities=400))
        >>> told = plan.load_intervals()
        >>> bool((told.low <= told.high).all()), len(told.high)
        (True, 2)
        """
        if self.release is None:
            raise InputError("the weights are public: `loads` are exact, there are no intervals")
        if self._siting.loads is not None:
            raise InputError("loads= are public: `loads` are exact, there are no intervals")
        served, siting = self._served, self._siting
        points = siting.demand[served.clients]
        others = np.setdiff1d(np.arange(len(siting.metric)), siting.demand)
        label, distance = siting.metric.nearest_to(self._chosen.sites)
        if self.objective.reach is not None:
            others = others[distance[others] <= self._limit * (1 + WITHIN)]
        found: Interval = self.release.load_intervals(
            np.r_[points, others],
            np.r_[served.sites, label[others].astype(np.int64)],
            np.r_[served.shares, np.ones(len(others))],
            self.k,
            level,
        )
        return found

    @property
    def served(self) -> float:
        """The weight that is served: all of it, unless there is a limit.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> far = mdp.objectives.MaxCoverage(k=1, limit=1)
        >>> mdp.solve(metric, far, weights={"a": 3, "b": 1, "d": 2}).served
        4.0
        """
        served = self._served
        return float((self._siting.mass[served.clients] * served.shares).sum())

    @property
    def mean(self) -> float:
        """Mean distance from the site, over the weight that is served.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> round(plan.mean, 3)
        0.167
        """
        mass = self._siting.mass[self._served.clients] * self._served.shares
        return float(mass @ self._distances / mass.sum()) if mass.sum() > 0 else float("nan")

    @property
    def percentiles(self) -> dict[float, float]:
        """Distance within which 50, 90, 95 and 100 % of the weight that is served lies.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.percentiles
        {50.0: 0.0, 90.0: 1.0, 95.0: 1.0, 100.0: 1.0}
        """
        return dict(zip(PERCENTILES, self.percentile(PERCENTILES)))

    def percentile(self, percents: Iterable[float]) -> list[float]:
        """Distances within which so many percent of the weight that is served lie.

        Raises
        ------
        InputError
            They are not between 0 and 100.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.percentile([50, 100])
        [0.0, 1.0]
        """
        rule = "percentiles must be numbers from 0 to 100"
        wanted = floats(list(percents), rule)
        if not ((wanted >= 0) & (wanted <= 100)).all():
            raise InputError(rule)
        mass = self._siting.mass[self._served.clients] * self._served.shares
        order = np.argsort(self._distances, kind="stable")
        below = np.cumsum(mass[order])
        if len(below) == 0:
            return [float("nan")] * len(wanted)
        at = np.searchsorted(below, wanted / 100 * below[-1] * (1 - 1e-12))
        return self._distances[order][np.minimum(at, len(order) - 1)].tolist()

    def to_frame(self) -> Any:
        """One row for each demand point and site that serves it: columns ``vertex``, ``center``,
        ``distance``, ``weight`` and ``share``, as a pandas data frame; a row without a center for
        what is not served. With noisy weights the column is called ``noisy_weight``.

        Raises
        ------
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.to_frame()[["vertex", "center", "distance", "weight"]].values.tolist()
        [['a', 'a', 0.0, 3.0], ['b', 'a', 1.0, 1.0], ['d', 'd', 0.0, 2.0]]
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("a data frame", "engines") from None
        served, siting = self._served, self._siting
        left = np.setdiff1d(np.arange(len(siting.demand)), served.clients)
        clients = np.r_[served.clients, left]
        centers: list[Any] = [self._named(i) for i in served.sites]
        frame = pd.DataFrame(
            {
                "vertex": self._plain(self._names(siting.demand[clients])),
                "center": centers + [None] * len(left),
                "distance": np.r_[self._distances, np.full(len(left), np.nan)],
                "noisy_weight" if self.noisy else "weight": siting.mass[clients],
                "share": np.r_[served.shares, np.zeros(len(left))],
            }
        )
        return frame.iloc[np.argsort(clients, kind="stable")].reset_index(drop=True)

    def as_result(self) -> Result:
        """The sites as a `Result`, which knows how to be written and drawn: its territories are
        those of the nearest site, whatever the objective says of limits and capacities.

        Raises
        ------
        InputError
            It is of a box: sites there are written as JSON, or by their coordinates.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> sorted(plan.as_result().to_dict())
        ['centers', 'k', 'method', 'receipt']
        """
        if isinstance(self.centers, np.ndarray):
            raise InputError("sites in a box have no layers: they are rows of coordinates")
        shown = (
            self.objective.name if self.release is None else f"{self.method}, {self.objective.name}"
        )
        return Result(
            list(self.centers),
            self.k,
            shown,
            self.receipt,
            self.release,
            universe=self._siting.metric,
            weights=None if self.noisy else self.weights,
        )

    def to_geopandas(self, layer: str = "sites") -> Any:
        """A layer of the plan as a GeoDataFrame, in the universe's coordinate system:
        `Result.to_geopandas`, with what each site serves as column ``load`` of the sites.

        Raises
        ------
        InputError, MissingExtraError
            As there; it is of a box.

        Examples
        --------
        >>> import metricdp as mdp
        >>> homes = [[-71.34, -29.95], [-71.25, -29.9], [-71.2, -30.1]]
        >>> metric = mdp.HaversineMetric(homes, ids=["a", "b", "c"])
        >>> sites = mdp.solve(metric, mdp.objectives.KMedian(k=1)).to_geopandas()
        >>> sites["load"].tolist(), sites.geometry.geom_type.tolist()
        ([3.0], ['Point'])
        """
        frame = self.as_result().to_geopandas(layer)
        if layer == "sites":
            frame["load"] = list(self.loads.values())
        return frame

    def _named(self, i: int) -> Any:
        return int(i) if isinstance(self.centers, np.ndarray) else self.centers[i]

    def _plain(self, names: Any) -> list[Any]:
        return [tuple(x.tolist()) for x in names] if isinstance(names, np.ndarray) else list(names)

    def compare(self, sites: Iterable[Any]) -> dict[str, float]:
        """The objective's value at other sites, beside these: ``value``, ``other`` and ``ratio``,
        other over value.

        Parameters
        ----------
        sites : iterable of ids, or array_like of shape (n_sites, d) in a box
            Any number of them, anywhere in a box.

        Raises
        ------
        InputError
            Unknown ids, none, or sites that cannot serve the demand.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.compare(["b", "c"])
        {'value': 1.0, 'other': 5.0, 'ratio': 5.0}
        """
        if isinstance(self.centers, np.ndarray):
            siting, at = self._with_points(sites)
        else:
            siting = self._siting
            at = np.unique(siting.metric.site_positions(sites))
        if len(at) == 0:
            raise InputError("compare needs at least one site")
        other = self.objective.judge(siting, at).value
        ratio = other / self.value if self.value else float("nan" if other == 0 else "inf")
        return {"value": self.value, "other": other, "ratio": ratio}

    def _with_points(self, sites: Any) -> tuple[Siting, NDArray[np.int64]]:
        """The question with these points of a box for its places, and their positions."""
        siting: Any = self._siting
        d = self.centers.shape[1]
        rule = f"sites in a box are points: an array of finite numbers of shape (n_sites, {d})"
        points = floats(sites, rule)
        if points.shape == (0,):
            return siting, np.empty(0, np.int64)
        if points.ndim != 2 or points.shape[1] != d or not np.isfinite(points).all():
            raise InputError(rule)
        points = np.unique(points, axis=0)
        places = siting.metric.points
        at = np.arange(len(places), len(places) + len(points))
        metric = EuclideanMetric(np.concatenate([places, points]))
        weights = np.zeros(len(metric))
        weights[siting.demand] = siting.mass
        return replace(siting, metric=metric, weights=weights, allowed=at), at

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> told = plan.to_dict()
        >>> told["centers"], told["objective"], told["value"]
        (['a', 'd'], 'k-median', 1.0)
        """
        centers = [plain_id(center) for center in self.centers]
        loads = self.loads
        loads = loads.tolist() if isinstance(loads, np.ndarray) else list(loads.values())
        weights = "noisy" if self.noisy else "public"
        found = {
            "centers": centers,
            "k": self.k,
            "method": self.method,
            "objective": self.objective.name,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "weights": weights,
            "loads": loads,
            "load_intervals": self._told_intervals(),
            "served": self.served,
            "mean": self.mean,
            "percentiles": {f"{p:g}": d for p, d in self.percentiles.items()},
            "distance_unit": self._siting.metric.measured,
            "receipt": self.receipt and self.receipt.to_dict(),
        }
        return {name: _finite(x) for name, x in found.items()}

    def _told_intervals(self) -> dict[str, Any] | None:
        """`load_intervals`, where there are any, JSON-ready."""
        if not self.has_intervals:
            return None
        told = self.load_intervals()
        return {"basis": "release", "level": told.level, **told.to_dict()}


def _finite(value: Any) -> Any:
    """JSON has no infinities."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
