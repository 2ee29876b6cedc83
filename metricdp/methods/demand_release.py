"""A private release of where demand is: weights on a public universe, for any question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints, count, listed, shown
from metricdp.errors import InputError
from metricdp.methods import saving
from metricdp.methods.box.anywhere import by_density, on_points
from metricdp.methods.finite.rounds import FAST_GROWTH
from metricdp.methods.heat import ERROR, smoothed
from metricdp.methods.question import BoxQuestion, PointsQuestion, Question, Result
from metricdp.methods.solution import Solution
from metricdp.methods.solving import answered, answered_in_box
from metricdp.methods.summary import (
    AnotherSearch,
    Places,
    Stability,
    Summary,
    checked_level,
    mean_distance,
    stability_of,
    summarized,
)
from metricdp.methods.views import axes_of
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.options import Centers, Coins, Ids, Length, coins
from metricdp.partitions.finite.ward import PartitionTree, hierarchy
from metricdp.releases import Receipt
from metricdp.releases import Release as Noisy
from metricdp.report.heat.heatmap import Heatmap
from metricdp.report.layers import crs_of
from metricdp.report.point_files import Columns, checked_ending, write_points
from metricdp.solvers.effort import Effort
from metricdp.solvers.estimate.credible import HUBS, ROADS, Credible, in_cells
from metricdp.solvers.estimate.intervals import LEVEL, Interval
from metricdp.solvers.estimate.smoothing import drawn_demand
from metricdp.solvers.estimate.tree_posterior import Estimate
from metricdp.solvers.lloyd import condensed
from metricdp.solvers.objectives.objective import Objective

_PARTS = 1024
"""Parts in the order of the hierarchy; inside a part, points are in the order of ids."""
MOST = 10**8
"""Most points of a sample."""


@dataclass(eq=False, repr=False)
class SyntheticPoints(Sequence[Any]):
    """n synthetic points: a sequence of ids, or of points of a box, that may be published.

    Attributes
    ----------
    points : list of ids, or ndarray of float64, shape (n, d), in a box
    coordinates : ndarray of float64, shape (n, 2), or None
        Those of the points, where the universe has coordinates; in a box the points themselves.
    system : {"lonlat", "xy"} or None
        Kind of the coordinates.
    receipt : Receipt
        The release's.
    crs : str or None
        The coordinate reference system of `coordinates`, where it is known.
    """

    points: Any
    coordinates: Floats | None
    system: str | None
    receipt: Receipt
    crs: str | None = None

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, at: Any) -> Any:
        return self.points[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.points)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.points, dtype=dtype)

    def __repr__(self) -> str:
        return f"SyntheticPoints({len(self):,} points, epsilon {float(self.receipt.epsilon):g})"

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the points to a file, wholly or not at all, as CSV, GeoJSON or (Geo)Parquet by the
        ending of its name; return its path.

        Parameters
        ----------
        path : path
            ``.csv`` and ``.parquet``: columns ``vertex``, and ``lon`` and ``lat`` or ``x`` and
            ``y`` where there are coordinates (in a box ``x`` and ``y``, or ``x1`` to ``xd``);
            Parquet also has a column ``geometry`` (GeoParquet 1.0). ``.geojson``: a point each.
        """
        ending = checked_ending(path, self.coordinates, "synthetic sample", self.crs)
        ids: Columns = {} if isinstance(self.points, np.ndarray) else {"vertex": self.points}
        axes = {} if self.coordinates is None else axes_of(self.coordinates, self.system)
        columns = {**ids, **axes}
        names = ids or {"number": list(range(len(self)))}
        planar = self.coordinates is not None and self.coordinates.shape[1] == 2
        places = self.coordinates if planar else None
        return write_points(path, ending, columns, places, names, geometry=True, crs=self.crs)


def drawn(universe: Metric, weights: Floats, n: int, coins: np.random.Generator) -> Ints:
    """Positions (n,) by systematic sampling of the weights along the order of `nearby`; where no
    weight is positive, of equal weights.
    """
    positive = np.maximum(weights, 0.0) if (weights > 0).any() else np.ones(len(universe))
    order = nearby(universe)
    order = order[positive[order] > 0]
    weight = np.cumsum(positive[order])
    steps = (np.arange(n) + coins.random()) / n * weight[-1]
    last = len(order) - 1  # rounding may put a step past the end
    return coins.permutation(order[np.minimum(np.searchsorted(weight, steps, side="right"), last)])


def nearby(universe: Metric) -> Ints:
    """All positions in a public order in which near points come together."""
    if len(universe) < 2:
        return np.arange(len(universe))
    parts = hierarchy(universe).cut(_PARTS)
    return np.argsort(leaf_order(parts)[parts.labels], kind="stable")


def leaf_order(tree: PartitionTree) -> Ints:
    """Rank of each part among the leaves from left to right, shape (n_parts,)."""
    m = tree.n_parts
    place = np.empty(m, np.int64)
    stack, seen = [2 * m - 2], 0
    while stack:
        node = stack.pop()
        if node < m:
            place[node], seen = seen, seen + 1
        else:
            stack += tree.children[node - m, ::-1].tolist()
    return place


_A_CENTER, _FEWEST = 14, 5
"""Points of a small coreset for each center, and the least number of centers it is made for."""
_PIECES = 1 << 17
"""Most pieces of a box's cells for its intervals, but cells are halved along each side once in any
case. More represent distances inside cells better, and take time.
"""

Search = Callable[[Any, Any], NDArray[Any]]
"""From a release and a checked question to centers: positions, shape (k,), or points, (k, d)."""


def on_weights(release: Release, question: Question) -> Ints:
    """Positions of centers for the weights, shape (k,)."""
    return question.answer(release.weights)


class _Pair(NamedTuple):
    points: Any
    weights: Floats


class Coreset(_Pair):
    """Weighted points that represent the private demand: a pair (points, weights) that may be
    published, like everything computed from it.

    Parameters
    ----------
    points : list of ids, or ndarray of float64 of shape (n_points, d) in a box
    weights : ndarray of float64, shape (n_points,)
        Noisy.
    coordinates : ndarray of float64, shape (n_points, 2), optional
        Those of the points, in a finite universe that has coordinates.
    crs : str, optional
        Their coordinate reference system, where it is known.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> coreset = mdp.release(metric, demand, epsilon=4).coreset()
    >>> len(coreset.points) == len(coreset.weights), bool(9000 < coreset.weights.sum() < 11000)
    (True, True)
    """

    coordinates: Floats | None
    crs: str | None

    def __new__(
        cls, points: Any, weights: Floats, coordinates: Floats | None = None, crs: str | None = None
    ) -> Coreset:
        """Make the pair, with its coordinates as attributes."""
        made = super().__new__(cls, points, weights)
        made.coordinates = (
            points if coordinates is None and isinstance(points, np.ndarray) else coordinates
        )
        made.crs = crs
        return made

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the coreset to a file, wholly or not at all, as CSV, GeoJSON or Parquet by the
        ending of its name; return its path.

        Parameters
        ----------
        path : path
            ``.csv`` and ``.parquet``: columns ``vertex`` (in a box ``x`` and ``y``, or ``x1`` to
            ``xd``) and ``weight``. ``.geojson``: a point each, with properties ``vertex`` and
            ``weight``, where there are coordinates in the plane; readers of the format assume
            longitude and latitude.
        """
        ending = checked_ending(path, self.coordinates, crs=self.crs)
        ids = {} if isinstance(self.points, np.ndarray) else {"vertex": list(self.points)}
        weight = {"weight": self.weights.tolist()}
        columns = {**(ids or axes_of(self.points, None)), **weight}
        return write_points(
            path, ending, columns, self.coordinates, {**ids, **weight}, crs=self.crs
        )


class Release:
    """A private release of where the demand is: it answers any number of questions.

    Attributes
    ----------
    universe : Metric
        The finite universe of the answers; for a box, a public net of its points.
    space : EuclideanSpace or None
        The box that the universe's points lie in, if it is a net of one.
    weights : ndarray of float64, shape (n_points,), read-only
        Estimated demand at every point, in the order of ``universe.ids``: noisy; in records, or in
        users who have one unit of weight each.
    receipt : Receipt
        What it cost.
    method : str
        Name of the method that made it.
    estimate : Estimate or None
        The estimate from the noisy counts, in a release of counts of parts.
    growth : float
        The dimension in which the universe's balls grow, where there is an estimate.
    partition : PartitionTree
        The parts of all rounds together, in a release of counts of parts.
    histograms : tuple of metricdp.releases.Release
        The noisy counts themselves, a release a round, from coarse to fine; `histogram` is the
        last.
    search : callable
        The search for centers: a function of the release and a question.
    asks : type
        Class of its questions: `BoxQuestion` where centers may be anywhere in a box.
    **facts
        Further attributes by method: ``regions`` (epsilon of each), ``counts`` of a tree, the
        ``day`` of a stream, the ``sides`` of a box's cells, shape (n_points, d), in which `sample`
        draws.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> release = mdp.release(metric, demand, epsilon=4)
    >>> sorted(release.k_median(k=2).centers), len(release.sample(3))
    ([1, 7], 3)
    """

    universe: Any
    space: Any
    search: Search
    counts: Any
    sides: Floats | None = None
    subspace: Any
    day: int
    label: str | None

    method: str = "partition"

    def __init__(
        self,
        universe: Metric,
        weights: Floats,
        receipt: Receipt,
        *,
        space: EuclideanSpace | None = None,
        method: str | None = None,
        partition: Any = None,
        histograms: tuple[Noisy, ...] = (),
        estimate: Estimate | None = None,
        growth: float = 2.0,
        search: Search | None = None,
        asks: Any = None,
        **facts: Any,
    ) -> None:
        self.universe = universe
        self.space = space
        self.weights = weights if receipt.grains == 1 else weights / receipt.grains
        self.weights.setflags(write=False)
        self.receipt = receipt
        self.estimate = estimate
        self.growth = growth
        if method is not None:
            self.method = method
        if partition is not None:
            self.partition = partition
            self.histograms = histograms
        if histograms:
            self.histogram = histograms[-1]
        self.search = search or (on_weights if space is None else on_points)
        self.asks = asks or (Question if space is None else BoxQuestion)
        vars(self).update(facts)

    def __repr__(self) -> str:
        parts = getattr(getattr(self, "partition", None), "n_parts", None)
        interval = "" if parts is None else f"{parts:,} parts, "
        interval += f"epsilon {float(self.receipt.epsilon):g}"
        return f"Release({self._where.name}, {self.method}, {interval})"

    def k_median(
        self,
        k: int,
        *,
        candidates: Ids | None = None,
        opened: Ids | None = None,
        seed: int = 0,
        rng: Coins | None = None,
        time_limit: float | None = None,
        effort: Effort = "quick",
    ) -> Result:
        """k centers of low sum of distances: post-processing, free.

        Parameters
        ----------
        k : int
        candidates : iterable of ids, optional
            Where centers may stand; anywhere by default.
        opened : iterable of ids, optional
            Required centers, such as facilities that exist already: they count towards k.
        seed, rng : int; Generator, SeedSequence or int
            Public coins of the solver, by `metricdp.options.coins`.
        time_limit : float, optional
            Seconds after which the best centers found so far are returned; Ctrl-C then ends the
            search as well.
        effort : {"quick", "thorough"} or float
            How much time the search spends, as in `metricdp.k_median`; it costs no privacy.

        Examples
        --------
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
        >>> release = mdp.release(metric, demand, epsilon=4)
        >>> sorted(release.k_median(k=2).centers)
        [1, 7]
        >>> release.k_median(k=1, candidates=[0, 4]).centers
        [4]
        """
        return self._asked(k, 1, candidates, opened, coins(seed, rng), time_limit, effort)

    def k_means(
        self,
        k: int,
        *,
        candidates: Ids | None = None,
        opened: Ids | None = None,
        seed: int = 0,
        rng: Coins | None = None,
        time_limit: float | None = None,
        effort: Effort = "quick",
    ) -> Result:
        """k centers of low sum of squared distances; parameters as `k_median`."""
        return self._asked(k, 2, candidates, opened, coins(seed, rng), time_limit, effort)

    def solve(self, objective: Any, **asked: Any) -> Solution:
        """Sites for any objective of `metricdp.objectives`, for the non-negative part of `weights`:
        post-processing, free. All figures of the solution are of the noisy weights.

        Parameters
        ----------
        objective : Objective
        **asked
            `loads`, `candidates`, `opened`, `forbidden`, `start`, `seed` (or `rng`) and
            `time_limit` of `metricdp.solve`; a box takes the last two.

        Examples
        --------
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> release = mdp.release(metric, mdp.PrivateDemand(metric, [7] * 900), epsilon=1)
        >>> release.solve(mdp.objectives.PCenter(k=1, threshold=100)).centers
        [7]
        """
        if not isinstance(objective, Objective):
            raise InputError(f"objective must be one of mdp.objectives, got {shown(objective)}")
        asked["seed"] = coins(asked.get("seed", 0), asked.pop("rng", None))
        weights = np.maximum(self.weights, 0.0)
        if self.space is None:
            return answered(self.universe, objective, weights, release=self, **asked)
        points: Any = self.universe
        return answered_in_box(self.space, points, weights, objective, release=self, **asked)

    def interval(
        self, centers: Centers, *, within: Length | None = None, level: float = LEVEL
    ) -> Interval:
        """Mean distance of the demand to the nearest of these centers, with its interval: free.

        Parameters
        ----------
        centers : iterable of ids
        within : float, optional
            A distance in the metric's units: the share of the demand that has a center so near.
        level : float
            Probability with which the interval contains the true value, under the model.

        Returns
        -------
        Interval
            With ``.estimate``, ``.low`` and ``.high``: a credible interval of a model
            (`metricdp.solvers.estimate.credible`). `metricdp.evaluate` measures the same by new
            counts, with intervals that hold for every demand.

        Examples
        --------
        >>> metric = mdp.GraphMetric(nx.path_graph(50), weight=None)
        >>> homes = mdp.PrivateDemand(metric, [7] * 300 + [40] * 300)
        >>> release = mdp.release(metric, homes, epsilon=1)
        >>> interval = release.interval([7, 40])
        >>> interval.low <= interval.estimate <= interval.high
        True
        >>> release.interval([7, 40], within=5).high <= 1
        True
        """
        return mean_distance(self._places, centers, within, level)

    def summary(
        self, centers: Centers, *, stability: bool = False, level: float = LEVEL
    ) -> Summary:
        """Figures of an answer with their intervals: mean distance, demand of each territory.

        Parameters
        ----------
        centers : iterable of ids
        stability : bool
            Also the stability of the centers: 24 searches on demand drawn from the posterior.
        level : float
            As `interval`, as are the errors.
        """
        named = listed(centers, "centers")
        return summarized(self._places, named, self.stability(named) if stability else None, level)

    def stability(
        self, centers: Centers, *, within: Length | None = None, again: AnotherSearch | None = None
    ) -> Stability:
        """The stability of these centers, by searches on demand drawn from the posterior.

        Parameters
        ----------
        centers : iterable of ids
        within : float or str, optional
            The distance up to which a new center counts as the same: by default half of the
            demand's mean distance.
        again : callable, optional
            Another search than that for k-median: `metricdp.methods.summary.AnotherSearch`.

        Raises
        ------
        InputError, UnknownIdError
            As `interval`.
        """
        named = listed(centers, "centers")
        if self.space is not None:
            raise InputError("stability is reported for finite universes, not for a box")
        credible, metric = self._credible, self.universe
        return stability_of(credible, metric, metric.site_positions(named), within, again)

    def heatmap(self, *, bandwidth: Length | None = None, error: float = ERROR) -> Heatmap:
        """A heat map of the demand, smoothed along shortest paths as much as its noise requires:
        post-processing, free. Kernel and densities are those of `metricdp.heatmap`.

        Parameters
        ----------
        bandwidth : float or str, optional
            By default the smallest, in steps of 20 %, at which the standard error of the density is
            at most `error` of it for half of the demand: no detail is shown that may be noise.
            Errors are of demand drawn from the posterior (`metricdp.solvers.estimate.smoothing`).
        error : float

        Raises
        ------
        InputError
            The release is of a box: `sample` gives points to draw. A release that is not of counts
            of parts needs a bandwidth, and its map has no standard error.

        Examples
        --------
        >>> metric = mdp.GraphMetric(nx.path_graph(50), weight=None)
        >>> homes = mdp.PrivateDemand(metric, [7] * 3000 + [40] * 3000)
        >>> heat = mdp.release(metric, homes, epsilon=2).heatmap(bandwidth=3)
        >>> bool(5800 < heat.density.sum() < 6200), heat.bandwidth
        (True, 3.0)
        """
        if self.space is not None:
            raise InputError(
                "a heat map is of a finite universe: draw a box's `sample` or `coreset`"
            )
        drawn = drawn_demand(self._credible) if self.has_intervals else None
        weights = np.maximum(self.weights, 0.0)
        return smoothed(self.universe, weights, drawn, bandwidth, error, self.receipt)

    def load_intervals(
        self, points: Ints, sites: Ints, shares: Floats, k: int, level: float = LEVEL
    ) -> Interval:
        """Credible intervals of the loads of k sites, arrays of shape (k,), for `Solution`.

        `points`, `sites`, `shares`: which site serves what share of each point's demand.
        """
        return self._credible.shared(points, sites, shares, k, checked_level(level))

    @property
    def has_intervals(self) -> bool:
        """Whether `interval` and `summary` can answer."""
        return self.estimate is not None

    @cached_property
    def _credible(self) -> Credible:
        if self.estimate is None:
            raise InputError(
                f"free intervals need a release of counts of parts (method 'partition'); this one "
                f"is of method {self.method!r}: metricdp.evaluate measures it privately"
            )
        if self.estimate.by_chance:
            shift = ROADS
        elif self.space is not None:
            shift = in_cells(self.estimate.uneven)
        else:
            shift = HUBS if self.growth > FAST_GROWTH else ROADS
        credible = Credible(self.estimate, weight_units=self.receipt.grains, shift=shift)
        # in a box each part is one point, whatever its size, which is a volume
        here = np.arange(len(self.weights))
        return credible if self.space is None else credible.split(here, self.weights)

    @cached_property
    def _places(self) -> Places:
        credible = self._credible
        if self.space is None or self.sides is None:
            return Places(credible, self._where, np.arange(len(self.weights)))
        pieces = by_density(self.universe.points, self.weights, self.sides)
        while len(pieces.points) << self.space.dimension <= _PIECES:
            pieces = by_density(*pieces)
        whole = np.repeat(np.arange(len(self.weights)), len(pieces.points) // len(self.weights))
        return Places(credible.split(whole, pieces.weights), self.space, pieces.points)

    def coreset(self, k: int | None = None) -> Coreset:
        """The points of positive estimated demand and that demand: a weighted set that may be
        published.

        Parameters
        ----------
        k : int, optional
            In a box: a small coreset for so many centers, of up to 14 k points, each the mean of
            those nearest to it (`metricdp.solvers.lloyd.condensed`).
        """
        at = np.flatnonzero(self.weights > 0)
        if k is not None:
            question = PointsQuestion.checked(self.universe, k, 1)
            if self.space is None:
                raise InputError(
                    "a small coreset needs a box: in a finite universe, its points would be means"
                )
            number = _A_CENTER * max(question.k, _FEWEST)
            small = condensed(self.universe.points, self.weights, number)
            return Coreset(*small, crs=crs_of(self._where))
        where = None if self.universe.coordinates is None else self.universe.coordinates[at]
        return Coreset(self._named(at), self.weights[at], where, crs_of(self._where))

    def sample(
        self, n: int, seed: int | None = None, *, rng: Coins | None = None
    ) -> SyntheticPoints:
        """n synthetic points, distributed as the released weights: post-processing, free, any
        number of times. O(n log n) time, and once a universe that of its public hierarchy.

        They replace jittered points (geomasking), which have no guarantee. n points are taken at
        equal steps of the released weight along a public order in which near points come together,
        with one random offset, and shuffled. In a box each moves to a uniform point of its cell.
        """
        number = count(n, "the number of points", 1, MOST)
        drawing = np.random.default_rng(None if seed is rng is None else coins(seed, rng))
        at = drawn(self.universe, self.weights, number, drawing)
        points, crs = self._named(at), crs_of(self._where)
        if self.space is None:
            where, system = self.universe.coordinates, self.universe.coordinate_system
            places = None if where is None else where[at]
            return SyntheticPoints(points, places, system, self.receipt, crs)
        if self.sides is not None:
            shift = (drawing.random((len(at), self.space.dimension)) - 0.5) * self.sides[at]
            points = self.space.clip(points + shift)
        return SyntheticPoints(points, points, None, self.receipt, crs)

    @property
    def _where(self) -> Any:
        """The universe of the demand: a box, or a finite universe."""
        return self.universe if self.space is None else self.space

    def _named(self, at: Ints) -> Any:
        """Ids of weighted points, or their coordinates in a box, shape (n, d)."""
        if self.space is not None:
            return self.universe.points[at]
        return [self.universe.ids[i] for i in at.tolist()]

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the release to a file (``.release`` by custom), for free answers later (`load`);
        return its path.
        """
        return saving.save(self, path)

    @staticmethod
    def load(path: str | PathLike[str], universe: Any) -> Release:
        """Read a release that `save` wrote, with the universe it was made for; it gives the same
        answers and intervals.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> metric = mdp.GraphMetric(nx.path_graph(5), weight=None)
        >>> release = mdp.release(metric, mdp.PrivateDemand(metric, [3] * 900), epsilon=1)
        >>> path = release.save(pathlib.Path(tempfile.mkdtemp()) / "homes.release")
        >>> mdp.Release.load(path, metric).k_median(k=1).centers
        [3]
        """
        return Release(**saving.load(path, universe))

    def answer(self, question: Any) -> Result:
        """Centers for a checked question: post-processing, free."""
        found = self.search(self, question)
        centers = found if found.ndim == 2 else question.names(found)
        return Result(centers, question.k, self.method, self.receipt, self, power=question.power)

    def _asked(
        self,
        k: int,
        power: int,
        candidates: Ids | None,
        opened: Ids | None,
        seed: int,
        time_limit: float | None,
        effort: Effort,
    ) -> Result:
        where = self.space if self.asks is BoxQuestion else self.universe
        places = {"candidates": candidates, "opened": opened}
        search: dict[str, Any] = {"seed": seed, "time_limit": time_limit, "effort": effort}
        return self.answer(self.asks.checked(where, k, power, **places, **search))


PartitionRelease = Release
"""The same class, by the name that it had until 0.1.0 in a finite universe."""
