"""Estimators for scikit-learn: ``PrivateKMeans``, ``PrivateKMedian``, and ``KMedoids`` for public
data, without privacy. Needs the extra ``sklearn``.

A fitted estimator holds released centers, their receipt and public parameters, and may be
published. Results of `predict`, `fit_predict`, `transform` and `score` are exact functions of the
table, and may not be published.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from metricdp.accounting import Budget
from metricdp.arguments import Amount, Floats, Ints, count, floats, listed
from metricdp.errors import InputError, MissingExtraError
from metricdp.kernels.points import nearest_centers
from metricdp.methods.method import Method
from metricdp.methods.question import checked_effort, checked_time_limit
from metricdp.methods.remarks import not_distinguished, too_few
from metricdp.metrics import ChebyshevMetric, EuclideanMetric, ManhattanMetric, Metric, RowMetric
from metricdp.releases import Neighboring
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

__all__ = ["KMedoids", "PrivateKMeans", "PrivateKMedian"]


def __dir__() -> list[str]:
    return __all__


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
_STARTS, _FEW_PAIRS = (16, 4, 2), 100_000
"""Starts with few distances, with a block of all, and without: they cost at most what FasterPAM
does. `k_median`'s dozens and six take 3 to 15 times as long for .1 % less, but of four starts on
12 to 150 rows one in 150 ended 1.5 to 7 % dearer (``benchmarks/medoids.md``).
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
        pairs = len(universe) * len(allowed)
        found = solve_with(
            checked_effort(self.effort),
            universe,
            total,
            k,
            candidates=allowed,
            seed=self._seed(),
            starts=_STARTS[(pairs > _FEW_PAIRS) + (pairs > WHOLE_BLOCK)],
            time_limit=checked_time_limit(self.time_limit),
            first=self._first(at, k, total),
        )
        where = {int(at[i]): i for i in np.flatnonzero(weight)[::-1]}  # the first of equal ids
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
            if self._given.sites is not self._given.ids:
                raise InputError("a table of costs has no medoids: mdp.k_median chooses its sites")
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
        check_is_fitted(self)
        if self._given is not None:  # of equally near ones the same as in `labels_`
            nearest = self._given.nearest(self.cluster_centers_)[0]
            return nearest[self._given.positions(list(X))].astype(np.int64)
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


_SPOKEN = (
    # numbers and names of columns are public; text of an entry comes later in a message
    (r"^X has \d+ features?, but \w+ is expecting \d+ features? as input", None),
    (r"^(The feature|Feature) names", None),
    (r"^Sparse data was passed", None),
    (r"Complex data not supported", "Complex data not supported"),
    (
        r"0 feature\(s\)",
        "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.",
    ),
    (r"NaN|infinity", "Input X contains NaN, infinity or a value too large for dtype('float64')."),
    (
        r"Reshape your data|Expected 2D|dim ",
        "Expected a 2D array of shape (n, d). Reshape your data: X.reshape(-1, 1) for one feature.",
    ),
    (r"argument must be", "Every entry's argument must be a string or a real number"),
)
"""Patterns of scikit-learn's errors, and safe messages for them: they may quote entries or rows."""


class _PrivateCenters(Clusterer):
    _power: ClassVar[int]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: Amount | None = None,
        delta: Amount = 0,
        bounds: Any = None,
        method: str | Method = "partition",
        neighboring: Neighboring = "add-remove",
        max_contributions: int | None = None,
        random_state: Coin = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.method = method
        self.neighboring = neighboring
        self.max_contributions = max_contributions
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,
        *,
        user: Sequence[Any] | None = None,
        ledger: Budget | None = None,
    ) -> Self:
        """Release centers of the rows of X: every call spends epsilon and delta.

        Parameters
        ----------
        X : array_like or data frame, shape (n, d)
            Private. Rows outside the bounds are clipped to them. It may have no rows.
        user : sequence of length n, optional
            The user of each row: then users are protected, with `max_contributions` rows of each.
        ledger : metricdp.Ledger, optional
            The ledger to charge, with its neighboring relation. Without one the costs of several
            calls are not counted, but add up all the same.

        Raises
        ------
        InputError (a ValueError), BudgetError
            A wrong argument, or a budget that does not suffice: nothing was charged.
        """
        import metricdp as mdp

        if self.epsilon is None:
            raise InputError("epsilon= is needed: how much of the privacy budget one fit spends")
        if self.bounds is None:
            raise InputError(
                "bounds=(lower, upper) are needed, numbers or one for each feature, from public "
                "knowledge: never from X"
            )
        count(self.n_clusters, "n_clusters")
        rows = self._rows(X, reset=True)
        space = mdp.EuclideanSpace(*_corners(self.bounds, self.n_features_in_))
        demand = mdp.PrivateDemand(space, rows, user=user, max_contributions=self.max_contributions)
        budget = (
            mdp.Ledger(self.epsilon, self.delta, self.neighboring) if ledger is None else ledger
        )
        ask = (mdp.k_median, mdp.k_means)[self._power - 1]
        spend: dict[str, Any] = {"epsilon": self.epsilon, "delta": self.delta, "ledger": budget}
        seed = self._seed()
        result = ask(space, demand, self.n_clusters, **spend, method=self.method, seed=seed)
        self.cluster_centers_, self.receipt_ = result.centers, result.receipt
        self.release_ = result.release
        self._warn_of_few()
        return self

    def _warn_of_few(self) -> None:
        """Warn that the noisy count is too small for k, or that centers coincide."""
        weights = getattr(self.release_, "weights", None)
        known = np.inf if weights is None else float(np.sum(weights))
        said = too_few(known, self.n_clusters, "n_clusters")
        if not said:
            said = not_distinguished(self._places(), self.n_clusters, "n_clusters")
        if said:
            warnings.warn(said, UserWarning, stacklevel=3)
        elif len(np.unique(self.cluster_centers_.round(12), axis=0)) < len(self.cluster_centers_):
            warnings.warn(
                f"some of the n_clusters={self.n_clusters} centers coincide",
                UserWarning,
                stacklevel=3,
            )

    def _places(self) -> int:
        """Number of places that the release distinguishes; that of the centers if not known."""
        universe = getattr(self.release_, "universe", None)
        known = self.n_clusters if universe is None else len(universe)
        return int(getattr(self.release_, "n_means", known))

    def predict(self, X: ArrayLike) -> Ints:
        """Nearest center of every row (n,): exact, for those who may see the row."""
        check_is_fitted(self, "cluster_centers_")
        return nearest_centers(self._rows(X, reset=False), self.cluster_centers_)[0]

    def fit_predict(self, X: ArrayLike, y: Any = None, **options: Any) -> Ints:
        """``fit(X).predict(X)``: labels for the caller, who has X; they are not stored."""
        return self.fit(X, y, **options).predict(X)

    def transform(self, X: ArrayLike) -> Floats:
        """Distance of every row to every center (n, n_clusters): exact, like `predict`."""
        check_is_fitted(self, "cluster_centers_")
        return cdist(self._rows(X, reset=False), self.cluster_centers_)

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Minus the cost of the centers on X: the sum of the rows' (squared) distances to their
        nearest center. Exact, hence it warns.

        Choosing parameters by it (`GridSearchCV`) reads X without protection, and fits once for
        each choice and split: use public or synthetic data. ``search.fit(X, ledger=ledger)``
        charges all fits.
        """
        from metricdp.privacy import PrivateDataWarning

        check_is_fitted(self, "cluster_centers_")
        rows = self._rows(X, reset=False)
        warnings.warn(
            "score is an exact function of X, without any protection: do not publish it; a search "
            "that scores fits once for each choice and split, and spends epsilon each time: "
            "search.fit(X, ledger=metricdp.Ledger(...)) counts it",
            PrivateDataWarning,
            stacklevel=2,
        )
        square = nearest_centers(rows, self.cluster_centers_)[1]
        return -float((square ** (self._power / 2)).sum())

    def _rows(self, X: ArrayLike, *, reset: bool) -> Floats:
        """X, checked by scikit-learn; messages quote no entry."""
        kind: type[Exception] = InputError
        message = (
            "X must hold real numbers, one row a record; its entries are not quoted, as they may "
            "be private"
        )
        try:
            with np.errstate(all="ignore"):  # a warning would tell that some entry overflows
                return validate_data(self, X, reset=reset, dtype=np.float64, ensure_min_samples=0)
        except Exception as error:  # whatever it is, it may quote an entry
            text = str(error)
            kind = TypeError if isinstance(error, TypeError) else InputError
            for pattern, said in _SPOKEN:
                if re.search(pattern, text):
                    message = text if said is None else said
                    break
        raise kind(message)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # noise has no seed
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)


class PrivateKMeans(_PrivateCenters):
    """Differentially private k-means as a scikit-learn estimator.

    Parameters
    ----------
    n_clusters : int
    epsilon : int, float, str, Decimal or Fraction
        Cost of one `fit`. Required.
    delta : same
        The default method uses it in more than three dimensions.
    bounds : (lower, upper)
        Public: two numbers for all features, two arrays of shape (d,), or a pair (least, most) for
        each feature. Required, and never measured on X. What is a box either way with two features
        is read as corners; ``{"lower": ..., "upper": ...}`` says so.
    method : str or metricdp.methods.Method
        One that answers in a box: "partition" (the default), "quadtree", …
    neighboring : {"add-remove", "replace-one"}
    max_contributions : int, optional
        Rows kept of each user, if `fit` is given users.
    random_state : int, RandomState or None
        Public coins of partitions and solvers. Noise is never seeded: two fits differ.

    Attributes
    ----------
    cluster_centers_ : ndarray of float64, shape (n_clusters, d)
        Distinct, inside the bounds.
    receipt_ : metricdp.Receipt
        What the fit cost, and by which mechanisms.
    release_ : object or None
        The release that the centers were computed from, if the method has one:
        ``release_.k_means(20)`` and `coreset()` are free.
    n_features_in_, feature_names_in_
        As usual.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for each fit, for rows or users: see
    `metricdp.k_means`. There is no ``labels_`` and no ``inertia_``: both would be exact functions
    of X. There is no ``sample_weight``: it would multiply a row's sensitivity and the noise; repeat
    rows by public integers instead, and bound them by `user`. Neither X nor its demand is stored,
    so that a pickled estimator holds releases and public parameters only. `score` and choices by it
    are not private.

    Examples
    --------
    >>> from metricdp.sklearn import PrivateKMeans
    >>> X = [[0.2, 0.2]] * 3000 + [[0.8, 0.6]] * 2000
    >>> model = PrivateKMeans(2, epsilon=1, bounds=(0, 1), random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.round(1).tolist()), float(model.receipt_.epsilon)
    ([[0.2, 0.2], [0.8, 0.6]], 1.0)
    >>> len(set(model.predict([[0.2, 0.2], [0.8, 0.6]])))
    2
    """

    _power = 2


class PrivateKMedian(_PrivateCenters):
    """Differentially private k-median: sums of distances instead of squares; everything else as
    `PrivateKMeans`.

    Examples
    --------
    >>> from metricdp.sklearn import PrivateKMedian
    >>> PrivateKMedian(n_clusters=2, epsilon=1).fit([[0.0]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    metricdp.errors.InputError: bounds=(lower, upper) are needed, ...
    """

    _power = 1


def _corners(bounds: Any, d: int) -> tuple[Floats, Floats]:
    """Lower and upper corner, shape (d,) each, from either form of `bounds`."""
    rule = (
        f"bounds must be (lower, upper), two numbers or two arrays of {d:,} numbers, or a pair "
        f"(least, most) for each of {d:,} features"
    )
    named = isinstance(bounds, Mapping) and set(bounds) == {"lower", "upper"}
    pair = [bounds["lower"], bounds["upper"]] if named else listed(bounds, "bounds")
    if len(pair) == d != 2 and not named:
        table = floats(pair, rule)
        if table.shape != (d, 2):
            raise InputError(rule)
        return table[:, 0].copy(), table[:, 1].copy()
    if len(pair) != 2:
        raise InputError(rule)
    corners = [floats(corner, rule) for corner in pair]
    if any(corner.shape not in ((), (d,)) for corner in corners):
        raise InputError(rule)
    lower, upper = (np.broadcast_to(corner, d).copy() for corner in corners)
    if d == 2 and not named and corners[0].shape == corners[1].shape == (2,):
        return _distinguished(lower, upper)
    return lower, upper


def _distinguished(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """The corners of two features' bounds: read as pairs only if they are no box as corners."""
    as_corners = bool((first < second).all())
    as_pairs = bool(first[0] < first[1] and second[0] < second[1])
    if as_pairs and not as_corners:
        return np.array([first[0], second[0]]), np.array([first[1], second[1]])
    return first, second
