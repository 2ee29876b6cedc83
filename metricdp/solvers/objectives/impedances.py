"""Cost transformations of distances, and metrics of transformed costs."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metricdp.metrics.base import Metric
from metricdp.metrics.by_rows import RowMetric
from metricdp.solvers.objectives.instance import WITHIN, Floats, Positions


@dataclass(frozen=True)
class Impedance:
    """Cost of serving one unit of demand from distance d; never falls with d.

    ``d**z``; with a growth ``exp(growth · d) - 1``, with a shift too ``exp(growth · (d - shift))``.
    Beyond a limit it is the constant `beyond`.

    `growth`: in one over units of distance, 0 for a power; `limit`: infinite for none; `beyond`: at
    least the cost at the limit; `shift`: 0 for none.
    """

    z: float = 1.0
    growth: float = 0.0
    limit: float = float("inf")
    beyond: float = 0.0
    shift: float = 0.0

    @property
    def plain(self) -> int:
        """1 for the distance itself, 2 for its square, 0 for any other transformation."""
        if self == Impedance(1.0):
            return 1
        return 2 if self == Impedance(2.0) else 0

    @property
    def terms(self) -> tuple[float, ...]:
        """For `metricdp.kernels.impedances.impedance_cost`."""
        limit = self.limit * (1 + WITHIN)
        return tuple(map(float, (self.z, self.growth, limit, self.beyond, self.shift)))

    def __call__(self, distance: NDArray[np.floating]) -> Floats:
        """Costs of distances."""
        near = np.minimum(distance, self.limit * (1 + 2 * WITHIN))
        if self.shift:
            cost = np.exp(self.growth * (near - self.shift))
        else:
            cost = np.expm1(self.growth * near) if self.growth else near**self.z
        if self.limit < float("inf"):
            cost = np.where(distance > self.limit * (1 + WITHIN), self.beyond, cost)
        return np.asarray(cost, np.float64)


_LEAST_SCALE = 1e-30
"""Costs outside of this and its inverse are scaled: searches use single precision."""


class CostMetric(RowMetric):
    """A universe whose "distances" are transformed costs, without a triangle inequality: never for
    private demand. Its network is that of the universe: searches along edges use its distances.
    """

    def __init__(self, metric: Metric, impedance: Impedance) -> None:
        self._metric, self._impedance = metric, impedance
        self.ids, self.name = metric.ids, metric.name
        self.in_memory, self.directed = metric.in_memory, metric.directed
        self.network = metric.network
        top = float(impedance(np.array([metric.diameter_bound()]))[0])
        self._scale = 1.0 if top == 0 or _LEAST_SCALE < top < 1 / _LEAST_SCALE else 1.0 / top

    @property
    def sites(self) -> Sequence[Hashable]:
        """Those of the universe itself."""
        return self._metric.sites

    def distance_rows(self, sources: Positions, targets: Positions | None = None) -> Floats:
        """Costs of serving targets from sources."""
        return self._costs(self._metric.distance_rows(sources, targets))

    def nearest_to(self, centers: Positions) -> tuple[Positions, Floats]:
        """The nearest is also the cheapest."""
        label, distance = self._metric.nearest_to(centers)
        return label, self._costs(distance)

    def seed_centers(
        self, k: int, weights: Floats, rng: np.random.Generator, power: int = 1
    ) -> tuple[Positions, Positions, Floats]:
        """Those of the universe itself."""
        centers, label, distance = self._metric.seed_centers(k, weights, rng, power)
        return centers, label, self._costs(distance)

    def _costs(self, distance: NDArray[np.floating]) -> Floats:
        return self._impedance(distance) * self._scale
