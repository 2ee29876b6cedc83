"""Public weights of points: where demand is expected.

**Privacy.** Public facts alone. Whoever gives them vouches that they were not computed from the
demand that is to be protected. A release of another year was paid for when it was made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from metricdp.arguments import Floats
from metricdp.errors import InputError
from metricdp.methods.demand_release import Release
from metricdp.methods.question import public_weights
from metricdp.metrics.snapping import finite_points
from metricdp.metrics.space import EuclideanSpace
from metricdp.options import Weights
from metricdp.partitions.areas import spread_evenly
from metricdp.partitions.box.halving import Halving
from metricdp.protocols import finite

STREETS = "streets"
Expectation = Weights | Release | tuple[ArrayLike, ArrayLike]
"""What `Expected.of` accepts; the only text is `STREETS`."""
EVEN = 0.05
"""Share of the expected weight that is spread evenly, so that no point has weight 0."""


@dataclass(frozen=True, eq=False)
class Expected:
    """Public weights of points, positive, of mean 1.

    `weights` (n_points,); `source`: where they come from, for the receipt.
    """

    weights: Floats
    source: str

    def __repr__(self) -> str:
        return f"Expected({len(self.weights):,} public weights, {self.source})"

    @staticmethod
    def of(metric: Any, given: Any) -> Expected:
        """Weights from a mapping, an array, a release, polygons with a column ``weight`` (each
        spread over the points in it), or "streets" (half the length of a vertex's edges).
        """
        finite(metric, "expected=")
        source = "weights"
        if isinstance(given, str):
            if given != STREETS:
                raise InputError(
                    "expected must be weights of points, a release, polygons, or 'streets'"
                )
            weights, source = street_lengths(metric), STREETS
        elif isinstance(given, Release):
            if given.space is not None or list(given.universe.ids) != list(metric.ids):
                raise InputError("expected= needs a release of the same universe")
            weights, source = np.maximum(given.weights, 0.0), "a release"
        elif hasattr(given, "geometry"):
            weights, source = spread_evenly(metric, given, "weight"), "polygons"
        else:
            weights = public_weights(metric, given, "expected")
        with np.errstate(over="ignore"):  # refused below
            mean = float(weights.mean())
        if not 0 < mean < np.inf:
            raise InputError("expected must be positive somewhere, and of a finite sum")
        return Expected((1 - EVEN) * weights / mean + EVEN, source)


@dataclass(frozen=True, eq=False)
class ExpectedPoints:
    """Public weights of points (n, d) of a box, of sum 1.

    Of more than `MOST` points, those in a common cell are replaced by their mean.
    """

    EVEN: ClassVar[float] = EVEN
    MOST: ClassVar[int] = 1 << 13

    points: Floats
    weights: Floats
    source: str

    def __repr__(self) -> str:
        return f"ExpectedPoints({len(self.weights):,} public weights, {self.source})"

    @staticmethod
    def of(space: EuclideanSpace, given: Any) -> ExpectedPoints:
        """Weights from a pair (points, weights), clipped to the box, or from a release of it."""
        source = "weights"
        if isinstance(given, Release):
            if given.space is None or given.space.facts() != space.facts():
                raise InputError("expected= needs a release of the same box")
            source = "a release"
            given = given.coreset()
        if not isinstance(given, tuple) or len(given) != 2:
            raise InputError("expected= of a box must be a pair (points, weights), or a release")
        points = space.clip(finite_points(given[0], space.dimension))
        weights = np.asarray(given[1], np.float64)
        with np.errstate(over="ignore"):
            total = float(weights.sum())
        if weights.shape != (len(points),) or not (weights >= 0).all() or not 0 < total < np.inf:
            raise InputError(
                "expected= of a box needs a weight for each point, none negative, positive "
                "somewhere, and of a finite sum"
            )
        points, weights = points[weights > 0], weights[weights > 0] / total
        if len(points) > ExpectedPoints.MOST:
            label = Halving(space, (points, weights)).cut(ExpectedPoints.MOST).cells.encode(points)
            label = np.unique(label, return_inverse=True)[1]
            weight = np.bincount(label, weights).astype(np.float64)
            means = [np.bincount(label, weights * column) / weight for column in points.T]
            points, weights = np.stack(means, axis=1), weight
        return ExpectedPoints(points, weights, source)


def street_lengths(metric: Any) -> Floats:
    """Half the length of the edges at each vertex of a graph, shape (n_points,)."""
    graph = getattr(metric, "graph", None)
    if graph is None:
        raise InputError("expected='streets' needs a graph (mdp.GraphMetric, mdp.read_graph)")
    return np.bincount(graph.tails(), graph.lengths, len(metric)) / 2
