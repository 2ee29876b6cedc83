"""`Solution`: the result of `k_median`, `k_means` and `solve`, for public weights, for a release
and for private demand.

Everything in it is post-processing of released centers and weights, and of public facts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from metricdp.arguments import Floats, Ints, floats, listed
from metricdp.errors import InputError
from metricdp.methods import views
from metricdp.methods.summary import Stability, Summary
from metricdp.metrics.base import Metric, metric_of
from metricdp.metrics.units import in_units_of
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.options import Length
from metricdp.releases import Receipt
from metricdp.report.bands import Bands, bands_of
from metricdp.report.layers import Layers, center_facts, crs_of
from metricdp.solvers.bounds import Certificate
from metricdp.solvers.estimate.intervals import LEVEL, Interval
from metricdp.solvers.objectives.instance import WITHIN, Assignment, Chosen, Instance
from metricdp.solvers.objectives.medians import KMeans, KMedian
from metricdp.solvers.objectives.nested import Stage
from metricdp.solvers.objectives.objective import steps_of
from metricdp.solvers.objectives.site_costs import SiteCosts, site_costs

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from matplotlib.axes import Axes
    from networkx import Graph
    from pandas import DataFrame

_NAMED = 6
"""Centers in a repr."""
PERCENTILES = (50.0, 90.0, 95.0, 100.0)  # those that planners report


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """Centers, the assignment of the demand to them, their cost, and the privacy receipt.

    All figures are of the public weights, or of the noisy weights of a release: then `noisy` is
    true, and no figure is exact for the private demand. Methods that release centers alone leave
    the weights unknown: then `cost`, `loads`, `mean` and `served` are None.

    Attributes
    ----------
    centers : list of the user's own ids, length k, distinct; ndarray of shape (k, d) in a box
        The required ones first.
    k : int
    method : str
        Name of the private method, or ``"public"``.
    receipt : Receipt or None
        What the release cost; None without private demand.
    release : release or None
        The release the centers were computed from, for further questions.
    certificate : Certificate or None
        Proof of the optimality gap, where it was asked for.
    universe : Metric or EuclideanSpace or None
        The public universe of the centers.
    weights : ndarray of float64, shape (n_points,), or None
        Demand of every point, public or released, in the order of the universe's ids; in a box that
        of the release's points.
    power : {1, 2}
        Whether the cost of k centers sums distances or their squares.
    objective : Objective
        What the centers minimize or maximize.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
    >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
    >>> plan.centers, plan.cost, plan.labels
    (['a', 'd'], 1.0, array([0, 0, 1, 1]))
    >>> plan.loads, round(plan.mean, 3), plan.to_frame()["center"].tolist()
    ({'a': 4.0, 'd': 2.0}, 0.167, ['a', 'd'])
    >>> demand = mdp.PrivateDemand(metric, ["a"] * 5000 + ["d"] * 5000)
    >>> plan = mdp.k_median(metric, demand, k=2, epsilon=4)
    >>> sorted(plan.centers), plan.method, plan.noisy, float(plan.receipt.epsilon)
    (['a', 'd'], 'partition', True, 4.0)
    """

    centers: Any
    k: int
    method: str
    receipt: Receipt | None = None
    release: Any = field(default=None, repr=False)
    certificate: Certificate | None = None
    universe: Any = field(default=None, repr=False)
    weights: Floats | None = field(default=None, repr=False)
    power: int = field(default=1, repr=False)
    objective: Any = None
    _asked: Instance | None = field(default=None, repr=False)
    _answered: Chosen | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        known: dict[str, Any] = {}
        if self.universe is None and self.release is not None:
            known["universe"] = getattr(self.release, "space", None)
            known["universe"] = known["universe"] or getattr(self.release, "universe", None)
        if self._answered is None:
            known["objective"] = (KMedian, KMeans)[self.power - 1](self.k)
        universe = known.get("universe", self.universe)
        if self.weights is None and universe is not None:
            found = getattr(self.release, "weights", None)
            if found is not None and (self._in_a_box or len(found) == len(universe)):
                known["weights"] = found
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @property
    def _in_a_box(self) -> bool:
        return isinstance(self.centers, np.ndarray)

    @cached_property
    def _instance(self) -> Instance:
        """The instance that was solved; of a method, the finite points with its centers."""
        if self._asked is not None:
            return self._asked
        if self._in_a_box:
            space = self.universe
            points = getattr(getattr(self.release, "universe", None), "points", self.centers[:0])
            names = [*range(len(points)), *(f"center {i + 1}" for i in range(len(self.centers)))]
            places: Metric = EuclideanMetric(np.concatenate([points, self.centers]), ids=names)
            places.crs = getattr(space, "crs", None)
            places.name = getattr(space, "name", places.name)
            weights = np.zeros(len(places))
            weights[: len(points)] = 0.0 if self.weights is None else self.weights
            sites = np.arange(len(points), len(places))
        else:
            places = metric_of(self.universe, "centers that are ids")
            weights = np.zeros(len(places)) if self.weights is None else self.weights
            sites = np.unique(places.site_positions(self.centers))
        return Instance(places, np.maximum(weights, 0.0), sites)

    @cached_property
    def _chosen(self) -> Chosen:
        if self._answered is not None:
            return self._answered
        instance = self._instance
        sites = instance.allowed if self._in_a_box else instance.metric.site_positions(self.centers)
        return Chosen(np.asarray(sites, np.int64), math.nan)

    @property
    def _n_points(self) -> int:
        """Number of points, in a box of weighted ones: the first of `_instance`."""
        if self.weights is not None:
            return len(self.weights)
        return 0 if self._in_a_box else len(self._instance.metric)

    @cached_property
    def _nearest(self) -> tuple[Ints, Floats]:
        """Index of the nearest center of every point of the instance, and its distance."""
        label, distance = self._instance.metric.nearest_to(self._chosen.sites)
        return label.astype(np.int64), np.asarray(distance, np.float64)

    @property
    def noisy(self) -> bool:
        """Whether the weights are those of a private release."""
        return self.release is not None

    @cached_property
    def value(self) -> float | None:
        """The objective's value for the weights: a cost, a distance, a number of sites, or the
        demand covered. Never for the private demand itself: `metricdp.evaluate` measures that, for
        some epsilon.
        """
        if self._answered is not None:
            return float(self._answered.value)
        if self.weights is None:
            return None
        asked = self._instance
        return float(asked.weight @ self._nearest[1][asked.demand] ** self.power)

    @property
    def cost(self) -> float | None:
        """The same as `value`."""
        return self.value

    @property
    def bound(self) -> float | None:
        """A proven bound: no choice of sites has a better value. None where none is known."""
        if self.certificate is not None:
            return self.certificate.lower_bound
        bound = None if self._answered is None else self._answered.bound
        return None if bound is None else float(bound)

    @property
    def lower_bound(self) -> float | None:
        """The same as `bound`, for objectives that are minimized; else None."""
        return None if self.objective.maximized else self.bound

    @property
    def gap(self) -> float | None:
        """The optimality gap: the value is within this fraction of the best. 0 if it is proven to
        be optimal, None if no bound is known.
        """
        if self.certificate is not None:
            return self.certificate.gap
        if self.bound is None or self.value is None:
            return None
        better = self.bound - self.value if self.objective.maximized else self.value - self.bound
        best = self.bound if self.objective.maximized else self.value
        return 0.0 if better <= 0 else float(better / abs(best))

    @cached_property
    def _served(self) -> Assignment:
        """The assignment of clients to sites; none farther than the objective's limit."""
        if self._chosen.assignment is not None:
            return self._chosen.assignment
        at = self._instance.demand
        label, distance = self._nearest
        clients = np.flatnonzero(distance[at] <= self._limit)
        return Assignment(clients, label[at[clients]], np.ones(len(clients)))

    @property
    def _limit(self) -> float:
        reach = self.objective.reach
        return math.inf if reach is None else steps_of(reach, self._instance.metric) * (1 + WITHIN)

    @cached_property
    def _distances(self) -> Floats:
        """The distance of every pair in `_served`."""
        served, instance = self._served, self._instance
        if self._chosen.assignment is None:
            return self._nearest[1][instance.demand[served.clients]]
        found = np.empty(len(served.clients))
        for i, site in enumerate(self._chosen.sites):
            mine = np.flatnonzero(served.sites == i)
            if len(mine):
                clients = instance.demand[served.clients[mine]]
                found[mine] = instance.metric.distance_rows(np.array([site]), clients)[0]
        return found

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of `mdp.objectives.Nested`, each with its value and the cost of nesting.

        Raises
        ------
        InputError
            The objective is another.
        """
        found: tuple[Stage, ...] | None = self._instance.kept.get("stages")
        if found is None:
            raise InputError("stages are of mdp.objectives.Nested(ks=[5, 10, 20])")
        return found

    @property
    def scenarios(self) -> tuple[Solution, ...]:
        """The same sites for each of several demands (`metricdp.solve` of a list), with its own
        weights, value, loads and receipt.

        Raises
        ------
        InputError
            There was one demand.
        """
        found: tuple[Solution, ...] | None = self._instance.kept.get("scenarios")
        if found is None:
            raise InputError("scenarios are of metricdp.solve([a, b], …)")
        return found

    @property
    def labels(self) -> Ints:
        """Index of the center that serves each point, shape (n_points,), in the order of the
        universe's ids, or of the release's points in a box: the center with the largest share of
        the point, or the nearest one if the point has no demand; -1 beyond the objective's limit.
        """
        served, instance = self._served, self._instance
        label = np.where(self._nearest[1] <= self._limit, self._nearest[0], -1)
        label[instance.demand] = -1
        order = np.argsort(served.shares, kind="stable")
        label[instance.demand[served.clients[order]]] = served.sites[order]
        return label[: self._n_points]

    @property
    def loads(self) -> Any:
        """The load of each site, of `loads=` if given, else of the weights: a mapping from id, or
        in a box an array in the order of `centers`. Noisy where the weights are.
        """
        if self.weights is None:
            return None
        served = self._served
        amounts = self._instance.load[served.clients] * served.shares
        # where nobody is served, bincount counts in integers
        totals = np.bincount(served.sites, amounts, len(self.centers)).astype(np.float64)
        return totals if self._in_a_box else dict(zip(self.centers, totals.tolist()))

    @property
    def capacities(self) -> list[float] | None:
        """Capacity of each site, in the order of `centers`; None where there are no capacities."""
        capacities = self._chosen.capacities
        return None if capacities is None else capacities.tolist()

    @property
    def _load_list(self) -> list[float] | None:
        loads = self.loads
        if loads is None:
            return None
        return list(loads.values()) if isinstance(loads, dict) else loads.tolist()

    @property
    def _weight(self) -> Floats:
        """The weight of every pair in `_served`."""
        if self.weights is None:
            raise self._unknown
        return self._instance.weight[self._served.clients] * self._served.shares

    @property
    def _unknown(self) -> InputError:
        return InputError(
            f"method {self.method!r} released centers alone, so no weights are known here: "
            f"metricdp.evaluate measures how well they serve, at a price"
        )

    @property
    def served(self) -> float | None:
        """The weight that is served: all of it, unless the objective has a limit."""
        return None if self.weights is None else float(self._weight.sum())

    @property
    def mean(self) -> float | None:
        """Mean distance to the serving site, over the weight that is served."""
        if self.weights is None:
            return None
        weight = self._weight
        return float(weight @ self._distances / weight.sum()) if weight.sum() > 0 else math.nan

    @property
    def percentiles(self) -> dict[float, float]:
        """The 50th, 90th, 95th and 100th percentiles of the distance, over the weight served."""
        return dict(zip(PERCENTILES, self.percentile(PERCENTILES)))

    def percentile(self, percents: Iterable[float]) -> list[float]:
        """Percentiles of the distance, over the weight that is served."""
        rule = "percentiles must be numbers from 0 to 100"
        wanted = floats(listed(percents, "percentiles"), rule)
        if not ((wanted >= 0) & (wanted <= 100)).all():
            raise InputError(rule)
        order = np.argsort(self._distances, kind="stable")
        below = np.cumsum(self._weight[order])
        if len(below) == 0:
            return [math.nan] * len(wanted)
        at = np.searchsorted(below, wanted / 100 * below[-1] * (1 - 1e-12))
        found: list[float] = self._distances[order][np.minimum(at, len(order) - 1)].tolist()
        return found

    @property
    def has_interval(self) -> bool:
        """Whether `interval` and `summary` can answer: there is a release of counts."""
        return bool(getattr(self.release, "has_intervals", False))

    @property
    def has_intervals(self) -> bool:
        """Whether `load_intervals` can answer."""
        return self.has_interval and (self._asked is None or self._asked.loads is None)

    @cached_property
    def interval(self) -> Interval | None:
        """Mean distance of the demand to its nearest center, with a 95 % credible interval: free
        post-processing (`Release.interval`). None where there is no release of counts.
        """
        return self.release.interval(self.centers) if self.has_interval else None

    def summary(self, *, stability: bool = False, level: float = LEVEL) -> Summary:
        """Figures of the answer with their intervals: `Release.summary` of its centers.

        Examples
        --------
        >>> metric = mdp.GraphMetric(nx.path_graph(50), weight=None)
        >>> homes = mdp.PrivateDemand(metric, [7] * 300 + [40] * 300)
        >>> summary = mdp.k_median(metric, homes, k=2, epsilon=1).summary(stability=True)
        >>> summary.loads.estimate.shape, summary.stability.stays.shape
        ((2,), (2,))
        """
        if not hasattr(self.release, "summary"):
            raise InputError(
                "free intervals need a release of counts: the default method makes one; "
                "metricdp.evaluate measures any centers privately"
            )
        if not stability and level == LEVEL:
            return self._summarized
        summary: Summary = self.release.summary(self.centers, stability=stability, level=level)
        return summary

    @cached_property
    def _summarized(self) -> Summary:
        """The summary with default arguments, cached for tables and pages."""
        summary: Summary = self.release.summary(self.centers)
        return summary

    def stability(self, *, within: Length | None = None) -> Stability | SiteCosts:
        """The stability of each center.

        For a release: how often a center stays where it is, on demand drawn from the posterior
        (`Release.stability`, free). For public weights: the cost of removing it, and of moving it.

        Parameters
        ----------
        within : float or str, optional
            The distance up to which a center counts as the same; by default half of the demand's
            mean distance.

        Raises
        ------
        InputError
            No weights are known, or the release is not of counts.

        Examples
        --------
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> firm = plan.stability()
        >>> firm.removal, firm.moving, firm.places
        (array([10.,  6.]), array([2., 2.]), ['b', 'c'])
        """
        if self.weights is None:
            raise self._unknown
        if self.noisy:
            if not hasattr(self.release, "stability"):
                raise InputError("stability of noisy demand needs a release of counts")
            plain = self._asked is None and self.power == 1
            again = None if plain else self._found_anew
            found: Stability = self.release.stability(self.centers, within=within, again=again)
            return found
        instance = self._instance
        if within is None:
            limit = 0.5 * (_finite(self.mean) or 0.0)
        else:
            limit = in_units_of(instance.metric, within, "within")
        return site_costs(instance, self.objective, self._chosen.sites, limit)

    def _found_anew(self, weights: Floats) -> tuple[Ints, float]:
        """Sites for other weights, and their gain over these as a share of the value."""
        instance = replace(self._instance, weights=weights, kept={}, prove=False)
        found = self.objective.choose(instance)
        before = float(self.objective.judge(instance, self._chosen.sites).value)
        sign = -1 if self.objective.maximized else 1
        return found.sites, sign * (before - found.value) / (abs(before) or 1.0)

    def bands(self, limits: Iterable[Length]) -> Bands:
        """Service bands: the points and demand within each of these distances of the nearest
        center, beyond the distance before.

        Parameters
        ----------
        limits : iterable of float or str
            Growing distances in the units of the universe, or such as ``"10 min"``.

        Returns
        -------
        Bands
            Points, demand and share of demand in each band, with intervals if there is a release;
            as areas and streets for maps.

        Raises
        ------
        InputError
            They are not increasing distances.
        """
        n = self._n_points or len(self._instance.metric)
        distance = self._nearest[1][:n]
        metric = self._instance.metric
        return bands_of(limits, metric, distance, self.weights, self)

    def load_intervals(self, level: float = LEVEL) -> Interval:
        """Credible intervals of the sites' loads of the private demand behind a release. Capacities
        hold for the noisy `loads`: the intervals say how far the true ones may exceed them.

        Points without noisy demand belong to the nearest site, as in `labels`.

        Parameters
        ----------
        level : float
            Probability with which each interval contains the true load, under the model; for all k
            at once take ``1 - (1 - level) / k``.

        Returns
        -------
        Interval
            Arrays in the order of `centers`, of a model (`metricdp.solvers.estimate.credible`):
            free post-processing of the release.

        Raises
        ------
        InputError
            Weights or `loads=` are public, so that loads are exact; the release is not of counts of
            parts of a finite universe; `level` is not between 0 and 1.

        Examples
        --------
        >>> metric = mdp.GraphMetric(nx.path_graph(50), weight=None)
        >>> homes = mdp.PrivateDemand(metric, [7] * 300 + [40] * 300)
        >>> release = mdp.release(metric, homes, epsilon=1)
        >>> plan = mdp.solve(release, mdp.objectives.Capacitated(k=2, capacities=400))
        >>> summary = plan.load_intervals()
        >>> bool((summary.low <= summary.high).all()), len(summary.high)
        (True, 2)
        """
        if not hasattr(self.release, "load_intervals"):
            raise InputError(
                "there are no intervals: the weights are public, so `loads` are exact, or they are "
                "of several releases, each of which has intervals of its own (`scenarios`)"
            )
        if self._instance.loads is not None:
            raise InputError("loads= are public: `loads` are exact, there are no intervals")
        if self._answered is None:
            return self.summary(level=level).loads
        served, instance = self._served, self._instance
        points = instance.demand[served.clients]
        everyone = np.arange(self._n_points or len(instance.metric))
        others = np.setdiff1d(everyone, instance.demand)
        label, distance = self._nearest
        others = others[distance[others] <= self._limit]
        found: Interval = self.release.load_intervals(
            np.r_[points, others],
            np.r_[served.sites, label[others]],
            np.r_[served.shares, np.ones(len(others))],
            self.k,
            level,
        )
        return found

    def compare(self, sites: Iterable[Any]) -> dict[str, float]:
        """The objective's value at these sites (``value``) and at others (``other``), and
        ``ratio``, other over value.

        Parameters
        ----------
        sites : iterable of ids, or array_like of shape (n_sites, d) in a box
            Any number of them, anywhere in a box.

        Examples
        --------
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.compare(["b", "c"])
        {'value': 1.0, 'other': 5.0, 'ratio': 5.0}
        """
        if self._in_a_box:
            instance, at = self._with_points(sites)
        else:
            instance = self._instance
            at = np.unique(instance.metric.site_positions(sites))
        if len(at) == 0:
            raise InputError("compare needs at least one site")
        own = self.value
        if own is None:
            raise self._unknown
        other = self.objective.judge(instance, at).value
        ratio = other / own if own else float("nan" if other == 0 else "inf")
        return {"value": own, "other": other, "ratio": ratio}

    def _with_points(self, sites: Any) -> tuple[Instance, Ints]:
        """The instance with these points of a box as its sites, and their positions."""
        instance: Any = self._instance
        d = self.centers.shape[1]
        rule = f"sites in a box are points: an array of finite numbers of shape (n_sites, {d})"
        points = floats(sites, rule)
        if points.shape == (0,):
            return instance, np.empty(0, np.int64)
        if points.ndim != 2 or points.shape[1] != d or not np.isfinite(points).all():
            raise InputError(rule)
        points = np.unique(points, axis=0)
        places = instance.metric.points
        at = np.arange(len(places), len(places) + len(points))
        metric = EuclideanMetric(np.concatenate([places, points]))
        weights = np.zeros(len(metric))
        weights[instance.demand] = instance.weight
        return replace(instance, metric=metric, weights=weights, allowed=at), at

    @property
    def coordinates(self) -> Floats | None:
        """Places of the centers (k, d), in the universe's system; None without coordinates."""
        if self._in_a_box:
            return np.asarray(self.centers, np.float64)
        where = getattr(self.universe, "coordinates", None)
        if where is None or self.universe.sites is not self.universe.ids:
            return None
        return np.asarray(where[self._chosen.sites], np.float64)

    def to_columns(self) -> dict[str, list[Any]]:
        """`to_frame` as a mapping from column to list, without pandas."""
        n = self._n_points
        names = list(range(self.k)) if self._in_a_box else list(self.centers)
        facts = center_facts(
            names,
            self._nearest[0][:n],
            self._nearest[1][:n],
            self.weights,
            self._load_list,
            self._instance.metric.measured,
        )
        if self.capacities is not None:
            facts["capacity"] = self.capacities
        return views.placed(facts, self.coordinates, self._instance.metric.coordinate_system)

    def to_frame(self, *, assignments: bool = False) -> DataFrame:
        """A table as a data frame of pandas.

        A row a center, in every universe: ``rank`` from 1, ``center`` (its id; its row of `centers`
        in a box), the place (``lon`` and ``lat``, ``x`` and ``y``, or ``x1`` to ``xd``),
        ``points`` of the territory, and, where weights are known, the territory's ``demand`` and
        its ``mean_distance``, ``distance_unit``, and the ``load`` that the center serves, with its
        ``capacity`` where it has one.

        Parameters
        ----------
        assignments : bool
            Instead a row for each point, in the order of the universe's ids, and each site that
            serves it: columns ``vertex``, ``center``, ``distance``, ``weight`` (``noisy_weight`` of
            a release, none where no weights are known) and ``share``. Points that no site serves
            have no center.

        Examples
        --------
        >>> metric = mdp.GraphMetric(nx.path_graph(["a", "b", "c", "d"]), weight=None)
        >>> plan = mdp.solve(metric, mdp.objectives.KMedian(k=2), weights={"a": 3, "b": 1, "d": 2})
        >>> plan.to_frame()[["rank", "center", "demand"]].values.tolist()
        [[1, 'a', 4.0], [2, 'd', 2.0]]
        >>> plan.to_frame(assignments=True)[["vertex", "center", "distance"]].values.tolist()
        [['a', 'a', 0.0], ['b', 'a', 1.0], ['c', 'd', 1.0], ['d', 'd', 0.0]]
        """
        return views.frame(self._assignments() if assignments else self.to_columns())

    def _assignments(self) -> dict[str, Any]:
        served, instance, n = self._served, self._instance, self._n_points
        at = instance.demand[served.clients]
        others = np.setdiff1d(np.arange(n), at)
        label = self.labels[others]
        point = np.r_[at, others]
        order = np.argsort(point, kind="stable")[: np.count_nonzero(point < n)]
        center = np.r_[served.sites, label][order]
        away = np.where(label < 0, np.nan, self._nearest[1][others])
        in_a_box = self._in_a_box
        places: Any = instance.metric
        columns: dict[str, Any] = {
            "vertex": [
                tuple(places.points[i].tolist()) if in_a_box else places.ids[i]
                for i in point[order].tolist()
            ],
            "center": [
                None if i < 0 else i if in_a_box else self.centers[i] for i in center.tolist()
            ],
            "distance": np.r_[self._distances, away][order],
        }
        if self.weights is not None:
            name = "noisy_weight" if self.noisy else "weight"
            columns[name] = instance.weights[point[order]]
        columns["share"] = np.r_[served.shares, (label >= 0).astype(np.float64)][order]
        return columns

    def layers(self) -> Layers:
        """The plan as geographic layers: sites, territories, streets, spider and demand.

        Examples
        --------
        >>> metric = mdp.HaversineMetric([[-71.34, -29.95], [-71.25, -29.9], [-71.2, -30.1]])
        >>> mdp.k_median(metric, k=1).layers().names
        ['sites', 'territories', 'spider', 'demand']
        """
        weights = None if self.weights is None else self._instance.weights
        parts = getattr(getattr(self.release, "partition", None), "labels", None)
        parts = None if parts is None or self._in_a_box else parts.astype(np.int64)
        sites = self._chosen.sites
        return Layers(self._instance.metric, sites, self._facts(), weights, parts)

    def _facts(self) -> dict[str, list[Any]]:
        """The columns without coordinates, which are in the geometry."""
        return {n: c for n, c in self.to_columns().items() if n not in ("x", "y", "lon", "lat")}

    def to_geopandas(self, layer: str = "sites") -> GeoDataFrame:
        """A layer of the plan as a GeoDataFrame, in the universe's coordinate system.

        Parameters
        ----------
        layer : {"sites", "territories", "streets", "spider", "demand"}
            The centers; their territories, by the nearest center whatever the objective's limits
            and capacities; these as streets; lines from the parts of the noisy demand to their
            center; the noisy demand by part.
        """
        return self.layers().layer(layer)

    def to_networkx(self) -> Graph:
        """The public graph with the solution as attributes of its nodes: ``center`` (the id of the
        nearest), ``distance`` to it, ``is_center``, ``demand`` where weights are known, and ``x``,
        ``y``. Edges have their ``length``. A directed universe gives a DiGraph with all arcs.
        """
        return views.graph(self._instance.metric, self.centers, self._nearest, self.weights)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw network, territories, noisy demand and centers by matplotlib; returns the axes."""
        places = self.coordinates
        ax = views.axes(places, ax)
        demand = self._instance.weights if self.noisy and self.weights is not None else None
        views.draw(ax, self._instance.metric, self._nearest[0], places, demand)
        ax.set_title(f"{self.k:,} centers, {self.method}")
        return ax

    def page(
        self,
        *,
        title: str | None = None,
        attribution: str | None = None,
        basis: Literal["public", "non-private"] = "public",
        stability: bool = False,
    ) -> str:
        """A self-contained HTML page with the network, the centers, their territories and the
        demand: `metricdp.report.map_page`, which explains the arguments. Without a receipt the page
        names the `basis` of the weights. With `stability`, halos and a sentence show
        `Solution.stability`.
        """
        from metricdp.report.map.page import map_page

        places = self._instance.metric
        weights = self.weights
        if weights is not None:
            weights = np.r_[weights, np.zeros(len(places) - len(weights))]
        return map_page(
            places,
            [places.sites[i] for i in self._chosen.sites.tolist()],
            weights=weights,
            title=title,
            receipt=self.receipt,
            method=None if self.receipt is None else self.method,
            k=self.k,
            basis=basis if self.receipt is None else None,
            attribution=attribution,
            evaluation=self.summary() if self.has_interval else None,
            stability=self._stability if stability else None,
        )

    @cached_property
    def _stability(self) -> Stability | SiteCosts:
        """The stability with default arguments, cached for pages and files."""
        return self.stability()

    def save(
        self,
        path: str | PathLike[str],
        *,
        stability: bool = False,
        bands: Iterable[Length] | None = None,
        **page: Any,
    ) -> Path:
        """Write the plan to a file, wholly or not at all, in the format of its ending; return its
        path.

        Parameters
        ----------
        path : path
            ``.json``: `to_dict`. ``.csv``, ``.parquet`` (GeoParquet where there are coordinates)
            and ``.geojson`` (always longitude and latitude): the rows of `to_frame`. ``.gpkg``: the
            layers with styles that QGIS applies by itself, and the receipt as metadata and as a
            table. ``.html``: `page`. ``.png``: `plot`.
        stability : bool
            Also the stability of each center: as halos and a sentence on the page, in columns of
            the layer ``sites``, and in JSON.
        bands : iterable of float or str, optional
            Distances of `Solution.bands`: in a GeoPackage as layers, and in JSON.
        **page
            Arguments of `page`; other formats ignore them.

        Raises
        ------
        InputError
            An unknown ending, or one that needs coordinates, or their system, that are not known.
        MissingExtraError
            The extra of the ending is not installed: ``geo``, ``parquet`` or ``plots``.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> plan = mdp.k_median(mdp.GraphMetric(nx.path_graph(5), weight=None), k=1)
        >>> file = plan.save(pathlib.Path(tempfile.mkdtemp()) / "plan.csv")
        >>> file.read_text().splitlines()
        ['rank,center,points,demand,mean_distance,distance_unit,load', '1,2,5,5.0,1.2,hops,5.0']
        """
        from metricdp.report.plan_files import write_plan

        firm = self._stability if stability else None
        return write_plan(path, self, firm, None if bands is None else self.bands(bands), page)

    def __repr__(self) -> str:
        names = [str(center) for center in self.centers[:_NAMED]]
        names += ["…"] * (len(self.centers) > _NAMED)
        price = "" if self.receipt is None else f", epsilon {float(self.receipt.epsilon):g}"
        called = self.objective.name if self.method == "public" else f"method {self.method}"
        return f"Solution({self.k:,} centers: {', '.join(names)}; {called}{price})"

    def _repr_html_(self) -> str:
        basis = "noisy" if self.noisy else "public"
        cost = "" if self.value is None else f", cost {self.value:,.6g} on {basis} weights"
        return views.html(self, cost)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: centers, k, method, receipt; of `solve` also the objective's figures;
        the centers' coordinates and their system, where the universe has them; the certificate,
        where it was asked for; nothing else.
        """
        facts: dict[str, Any] = {
            "centers": [plain_id(center) for center in self.centers],
            "k": int(self.k),
            "method": self.method,
            **({} if self._answered is None else self._objective_facts()),
            "receipt": self.receipt and self.receipt.to_dict(),
        }
        where = self.coordinates
        if where is not None and not self._in_a_box:
            facts["coordinates"] = [
                at if all(map(math.isfinite, at)) else None for at in where.tolist()
            ]
            facts["crs"] = crs_of(self.universe)
        if self.certificate is not None:
            facts["certificate"] = self.certificate.to_dict()
        return facts

    def _objective_facts(self) -> dict[str, Any]:
        """The objective's figures for the weights, JSON-ready."""
        intervals = self.load_intervals() if self.has_intervals else None
        stages = self._instance.kept.get("stages")
        days = self._instance.kept.get("scenarios", ())
        scenarios = [{n: _finite(getattr(day, n)) for n in ("value", "mean")} for day in days]
        facts = {
            **({} if stages is None else {"stages": [asdict(stage) for stage in stages]}),
            **({"scenarios": scenarios} if days else {}),
            "objective": self.objective.name,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "weights": "noisy" if self.noisy else "public",
            "loads": self._load_list,
            **({} if self.capacities is None else {"capacities": self.capacities}),
            "load_intervals": intervals
            and {"basis": "release", "level": intervals.level, **intervals.to_dict()},
            "served": self.served,
            "mean": self.mean,
            "percentiles": {f"{p:g}": _finite(d) for p, d in self.percentiles.items()},
            "distance_unit": self._instance.metric.measured,
        }
        return {name: _finite(x) for name, x in facts.items()}


def _finite(value: Any) -> Any:
    """The value, or None for infinities and NaN, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain_id(value: Any) -> Any:
    """An id, or a row of coordinates, as a JSON value."""
    if isinstance(value, np.ndarray | np.number | np.bool):
        value = value.tolist()
    plain = isinstance(value, str | int | list) or (
        isinstance(value, float) and math.isfinite(value)
    )
    return value if plain else str(value)
