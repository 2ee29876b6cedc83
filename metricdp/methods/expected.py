"""What the public knows of where demand is expected: weights of the points of a finite universe.

**Privacy.** Public facts alone. Whoever gives them vouches that they were not computed from the
demand that is to be protected; a release of another year was paid for when it was made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Weights
from metricdp.errors import InputError
from metricdp.methods.demand_release import Release
from metricdp.methods.result import public_weights
from metricdp.partitions.areas import spread_evenly
from metricdp.protocols import finite

STREETS = "streets"
Expectation = Weights | Release
"""What `Expected.of` takes; of text only `STREETS`."""
EVEN = 0.05
"""Share of what is expected that is spread evenly: nowhere is nothing at all."""


@dataclass(frozen=True, eq=False)
class Expected:
    """Public weights of points, positive, of mean 1.

    `weights` (n_points,); `source`: what they were made of, for the receipt.
    """

    weights: NDArray[np.float64]
    source: str

    def __repr__(self) -> str:
        return f"Expected({len(self.weights):,} public weights, {self.source})"

    @staticmethod
    def of(metric: Any, given: Any) -> Expected:
        """Weights from a mapping, an array, a release, polygons with a column ``weight`` (each
        spread over the points in it), or "streets" (half of a vertex's edges).
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
        mean = float(weights.mean())
        if not 0 < mean < np.inf:
            raise InputError("expected must be positive somewhere, and of a finite sum")
        return Expected((1 - EVEN) * weights / mean + EVEN, source)


def street_lengths(metric: Any) -> NDArray[np.float64]:
    """Half the length of the edges at each vertex of a graph, shape (n_points,)."""
    graph = getattr(metric, "graph", None)
    if graph is None:
        raise InputError("expected='streets' needs a graph (mdp.GraphMetric, mdp.read_graph)")
    half: NDArray[np.float64] = np.bincount(graph.tails(), graph.lengths, len(metric)) / 2
    return half
