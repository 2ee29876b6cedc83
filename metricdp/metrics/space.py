"""EuclideanSpace: a public box in R^d; demand and centers are any points in it."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arguments import CRS, Floats, floats
from metricdp.errors import InputError
from metricdp.metrics.base import checked_extent
from metricdp.metrics.corners import Corners
from metricdp.metrics.placing import placing
from metricdp.metrics.searches import ServedPoints
from metricdp.metrics.snapping import CoordinatePlacing, finite_points
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.options import Coins, coins
from metricdp.universe.crs import crs_text

_SAMPLE = 20_000
"""Public points that represent an unknown demand."""


class EuclideanSpace(Corners):
    """The box ``lower <= x <= upper`` in R^d with the Euclidean distance.

    `lower`, `upper` (d,): public corners; they must come from public knowledge, never from the
    data. Points outside are clipped to the box. `crs`: coordinate reference system of the plane,
    such as ``"EPSG:32719"``.

    Examples
    --------
    >>> space = EuclideanSpace([0, 0], [1, 2])
    >>> space.clip([[0.5, 3.0]])
    array([[0.5, 2. ]])
    >>> round(space.diameter_bound(), 3)
    2.236
    """

    coordinate_system = "xy"
    directed = False

    def __init__(self, lower: ArrayLike, upper: ArrayLike, *, crs: CRS | None = None) -> None:
        self.crs = crs_text(crs)
        self.lower, self.upper = (
            np.atleast_1d(floats(corner, "lower and upper must be numbers")).copy()
            for corner in (lower, upper)
        )
        if self.lower.ndim != 1 or self.lower.shape != self.upper.shape or len(self.lower) == 0:
            raise InputError(
                f"lower and upper must have the same shape (d,), got {self.lower.shape} and "
                f"{self.upper.shape}"
            )
        if not (np.isfinite([self.lower, self.upper]).all() and (self.lower < self.upper).all()):
            raise InputError("the box needs finite corners with lower < upper in every coordinate")
        with np.errstate(over="ignore"):
            checked_extent(float(np.hypot.reduce(self.upper - self.lower)))
        self.name = f"a box in R^{self.dimension}"
        self._nets: dict[tuple[int, int], EuclideanMetric] = {}

    def __getstate__(self) -> dict[str, object]:
        """Pickled without its cached nets."""
        return {**self.__dict__, "_nets": {}}

    def __repr__(self) -> str:
        return f"EuclideanSpace(lower={self.lower.tolist()}, upper={self.upper.tolist()})"

    def diameter_bound(self) -> float:
        """Length of the box's diagonal: its exact diameter."""
        return float(np.linalg.norm(self.upper - self.lower))

    def check(self) -> None:
        """Nothing: corners were checked when the box was made."""

    def placer(self, max_snap: float | None = None) -> tuple[Any, int]:
        """`clip`; refuses `max_snap`, as no point is far from a box's points."""
        if max_snap is not None:
            raise InputError("max_snap is about the points of a finite universe, and a box has all")
        return self.clip, self.dimension

    def placing(self, **where: Any) -> CoordinatePlacing:
        """The map from coordinates in a stated system: `metricdp.metrics.placing.placing`."""
        return placing(self, **where)

    def served_by(self, centers: Any) -> tuple[ServedPoints, float]:
        """The nearest center of each point, and a bound of all distances: the least, over centers,
        of the distance of the farthest corner.
        """
        there = finite_points(centers, self.dimension)
        corners = np.maximum(np.abs(there - self.lower), np.abs(self.upper - there))
        return ServedPoints(there), float(np.linalg.norm(corners, axis=1).min())

    def facts(self) -> dict[str, Any]:
        """Dimension, corners, and their SHA-256, for a receipt."""
        corners = np.stack([self.lower, self.upper]).astype("<f8")
        digest = hashlib.sha256(corners.tobytes()).hexdigest()
        return {"dimension": self.dimension, "box": corners.tolist(), "sha256": digest}

    def expected(self) -> tuple[NDArray[Any], Floats]:
        """A public prior of the demand: records, and their shares."""
        coins = np.random.default_rng(0)  # public
        places = coins.uniform(self.lower, self.upper, (_SAMPLE, self.dimension))
        return places, np.full(_SAMPLE, 1 / _SAMPLE)

    def net(self, n_points: int, seed: int = 0, *, rng: Coins | None = None) -> EuclideanMetric:
        """A public universe of `n_points` well-spread points of the box: a scrambled Sobol sequence
        (Owen 1998), kept for the next call.

        Examples
        --------
        >>> net = mdp.EuclideanSpace([0, 0], [1, 2]).net(16)
        >>> len(net), bool((net.points <= [1, 2]).all())
        (16, True)
        """
        from scipy.stats import qmc

        seed = coins(seed, rng)
        if (n_points, seed) not in self._nets:
            power = max(0, int(np.ceil(np.log2(max(n_points, 1)))))
            unit = qmc.Sobol(self.dimension, seed=seed).random_base2(power)[:n_points]
            self._nets[n_points, seed] = EuclideanMetric(
                self.lower + unit * (self.upper - self.lower)
            )
        return self._nets[n_points, seed]
