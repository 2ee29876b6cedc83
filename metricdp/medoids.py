"""Public k-medoids as a scikit-learn estimator: `metricdp.sklearn.KMedoids`. No privacy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from metricdp.arguments import Floats, Ints, count
from metricdp.errors import InputError, MissingExtraError
from metricdp.methods.question import checked_effort, checked_time_limit
from metricdp.metrics import ChebyshevMetric, EuclideanMetric, ManhattanMetric, Metric, RowMetric
from metricdp.solvers.effort import Effort, solve_with
from metricdp.solvers.kmedian import WHOLE_BLOCK

try:
    from sklearn.base import (
        BaseEstimator,
        ClassNamePrefixFeaturesOutMixin,
        ClusterMixin,
        TransformerMixin,
    )
    from sklearn.metrics import pairwise_distances
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError("metricdp.sklearn", "sklearn") from None

Distance = Callable[[Floats, Floats], float]
Coin = int | np.random.RandomState | None
"""Public coins, as scikit-learn takes them."""
PRECOMPUTED = "precomputed"
KNOWN: dict[str, Callable[[Floats], Metric]] = {
    **dict.fromkeys(("euclidean", "l2"), EuclideanMetric),
    **dict.fromkeys(("manhattan", "cityblock", "l1"), ManhattanMetric),
    "chebyshev": ChebyshevMetric,
}
"""Distances that the solver computes from points; scikit-learn computes all others."""
_STARTS = (4, 2)
"""Starts with a block of all distances, and without: they cost at most what FasterPAM does.
`k_median`'s dozens and six take 3 to 15 times as long for .1 % less (``benchmarks/medoids.md``).
"""


class _Asked(RowMetric):
    """Points with scikit-learn's distances, by rows on demand."""

    def __init__(self, points: Floats, metric: Any) -> None:
        self.points, self._metric = points, metric
        self.ids = range(len(points))

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Distances, shape (sources, targets)."""
        at = np.arange(len(self.points)) if targets is None else targets
        found = pairwise_distances(self.points[sources], self.points[at], metric=self._metric)
        if isinstance(self._metric, str):  # cosines of zero vectors, and rounding errors
            found[sources[:, None] == at] = 0.0
            np.maximum(found, 0.0, out=found)
        return _distances(found, self._metric)


def _distances(found: Floats, metric: Any) -> Floats:
    if not ((found >= 0.0) & (found < np.inf)).all():
        needs = "distances must be finite numbers, none negative"
        raise InputError(f"{needs}; those of {metric} are not")
    return found


class _Matrix(RowMetric):
    """A matrix, perhaps not symmetric: row i has the costs of serving row i."""

    in_memory = True

    def __init__(self, matrix: Floats) -> None:
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError(
                f"a precomputed X must be a square matrix of distances, got shape {matrix.shape}"
            )
        if (matrix < 0).any():
            raise InputError("Negative values in data: a precomputed X must hold distances")
        self._served, self.ids = matrix.T, range(len(matrix))

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Costs of serving all or some rows from each source, (n_sources, n_targets)."""
        return self._served[sources] if targets is None else self._served[np.ix_(sources, targets)]


class Clusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Base class of all estimators here."""

    random_state: Coin

    def _seed(self) -> int:
        """Public coins from `random_state`."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))


class KMedoids(Clusterer):
    """k rows of X of low sum of distances: for public data.

    The search is that of `metricdp.k_median`: swaps from several starts. Up to some 4,000 rows all
    distances are computed at once, beyond on demand, without a matrix of all of them.

    Parameters
    ----------
    n_clusters : int
    metric : str, callable or metricdp.metrics.Metric
        "precomputed": X is a square matrix, row i the distances from i to all. A name of
        `sklearn.metrics.pairwise_distances`, or a function of two points. With a `Metric`, such as
        a road network, X is a sequence of ids. The search expects the triangle inequality; without
        it, answers are valid but may be worse.
    init : array_like of shape (n_clusters,), optional
        Indices of initial rows.
    effort : {"quick", "thorough"} or float
        As in `metricdp.k_median`; a number is seconds.
    time_limit : float, optional
        Seconds after which the best medoids found so far are returned.
    random_state : int, RandomState or None

    Attributes
    ----------
    medoid_indices_ : ndarray of int64, shape (n_clusters,)
        Indices of the medoids' rows. Rows of weight 0 are never chosen.
    cluster_centers_ : ndarray of float64, shape (n_clusters, d), or None
        These rows, in lexicographic order; None for a matrix. For a `Metric`, a list of ids.
    labels_ : ndarray of int64, shape (n,)
    inertia_ : float
        Sum of weights times distances to the nearest medoid (scikit-learn's k-means has squares).
    n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    O(n · k) memory beyond a block, and n · d for the points.

    Examples
    --------
    >>> from metricdp.sklearn import KMedoids
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [13.0]]
    >>> model = KMedoids(2).fit(X)
    >>> model.medoid_indices_.tolist(), model.labels_.tolist(), model.inertia_
    ([1, 4], [0, 0, 0, 1, 1, 1], 5.0)
    >>> KMedoids(2).fit(X, sample_weight=[9, 1, 1, 1, 1, 9]).cluster_centers_.tolist()
    [[0.0], [13.0]]
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: str | Distance | Metric = "euclidean",
        init: ArrayLike | None = None,
        effort: Effort = "quick",
        time_limit: float | None = None,
        random_state: Coin = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.init = init
        self.effort = effort
        self.time_limit = time_limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> KMedoids:
        """Choose medoids among the rows of X."""
        k = count(self.n_clusters, "n_clusters")
        rows, universe, at = self._read(X)
        weight = _check_sample_weight(sample_weight, at, dtype=np.float64)
        if not (weight >= 0).all():
            raise InputError("sample_weight must not be negative")
        total = np.bincount(at, weight, len(universe)).astype(np.float64)
        allowed = np.flatnonzero(total)
        if k > len(allowed):
            raise InputError(
                f"n_clusters={k} needs as many rows with a weight, got n_samples={len(allowed)}"
            )
        found = solve_with(
            checked_effort(self.effort),
            universe,
            total,
            k,
            candidates=allowed,
            seed=self._seed(),
            starts=_STARTS[len(universe) * len(allowed) > WHOLE_BLOCK],
            time_limit=checked_time_limit(self.time_limit),
            first=self._first(at, k, total),
        )
        where = {int(position): i for i, position in reversed(list(enumerate(at)))}
        medoids = np.array([where[int(position)] for position in found.centers], np.int64)
        # of points lexicographic, independent of the rows' order
        order = np.argsort(medoids) if rows is None else np.lexsort(rows[medoids].T[::-1])
        medoids = medoids[order]
        label, distance = universe.nearest_to(at[medoids])
        self.medoid_indices_ = medoids
        self.cluster_centers_: Any = None if rows is None else rows[medoids]
        if self._given is not None:
            self.cluster_centers_ = [self._given.ids[i] for i in at[medoids]]
        self.labels_ = label[at].astype(np.int64)
        self.inertia_ = float(weight @ distance[at])
        return self

    @property
    def _given(self) -> Metric | None:
        """The given `Metric`, if `metric` is one."""
        return self.metric if isinstance(self.metric, Metric) else None

    def _read(self, X: Any) -> tuple[Floats | None, Metric, Ints]:
        """Points, if there are any, the universe, and each row's position in it."""
        if self._given is not None:
            return None, self._given, np.asarray(self._given.positions(list(X)), np.int64)
        rows: Floats = validate_data(self, X, dtype=np.float64)
        every = np.arange(len(rows))
        if self.metric == PRECOMPUTED:
            return None, _Matrix(rows), every
        if isinstance(self.metric, str) and self.metric in KNOWN:
            return rows, KNOWN[self.metric](rows), every
        return rows, _Asked(rows, self.metric), every

    def _first(self, at: Ints, k: int, total: Floats) -> Ints | None:
        """Initial positions from `init`, checked; None without it."""
        if self.init is None:
            return None
        given = np.asarray(self.init)
        rule = f"init must be {k} numbers of different rows with a weight, as n_clusters says"
        if given.shape != (k,) or given.dtype.kind not in "iu" or len(set(given.tolist())) < k:
            raise InputError(rule)
        if given.min() < 0 or given.max() >= len(at):
            raise InputError(rule)
        first = at[given]
        if len(set(first.tolist())) < k or not total[first].all():
            raise InputError(rule)
        return first

    def predict(self, X: Any) -> Ints:
        """Index of the nearest medoid of each row, shape (n,).

        With a precomputed metric X has the distances to the fitted rows, shape (n, n_fitted).
        """
        return self.transform(X).argmin(axis=1)

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Minus the sum of weights times distances to the nearest medoid, as `inertia_`."""
        distance = self.transform(X).min(axis=1)
        weight = _check_sample_weight(sample_weight, distance, dtype=np.float64)
        return -float(weight @ distance)

    def transform(self, X: Any) -> Floats:
        """Distances to the medoids, shape (n, n_clusters)."""
        check_is_fitted(self)
        if self._given is not None:
            return self._given.distances(self.cluster_centers_, list(X)).T
        rows: Floats = validate_data(self, X, reset=False, dtype=np.float64)
        if self.metric == PRECOMPUTED:
            return rows[:, self.medoid_indices_]
        if self.metric in ("euclidean", "l2"):  # scikit-learn's lose all digits far from the origin
            return cdist(rows, self.cluster_centers_)
        found = pairwise_distances(rows, self.cluster_centers_, metric=self.metric)
        if isinstance(self.metric, str):
            np.maximum(found, 0.0, out=found)  # cosines: rounding errors
        return _distances(found, self.metric)

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == PRECOMPUTED
        tags.input_tags.positive_only = tags.input_tags.pairwise
        return tags
