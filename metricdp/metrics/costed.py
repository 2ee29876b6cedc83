"""Fixed costs on the way: what it costs to enter a site, and to get to where travel begins."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arrays import Floats, Ints, Singles
from metricdp.errors import InputError
from metricdp.metrics.base import Metric, checked_extent, public_grid
from metricdp.metrics.by_rows import RowCosts
from metricdp.metrics.snapping import Snapper
from metricdp.options import numbers


class CostedMetric(RowCosts):
    """A universe with entry costs of sites and access costs of points; made by
    `Metric.with_costs`.

    ``cost(c, v) = sites[c] + d(c, v) + access[v]``: not 0 from a point to itself, so no metric, but
    ``cost(c, v) <= cost(c, u) + cost(u, v)`` holds, as all is non-negative.

    Attributes
    ----------
    travel : Metric
        The universe without them.

    Notes
    -----
    Access costs do not change who is served by whom. Moving a record from u to v changes the cost
    of any centers by at most ``D(u, v) + abs(access[u] - access[v])`` with D the bound of
    `symmetric`, that of the travel alone: the latter part is the same for all centers, so they are
    distinguished as well as without it.

    Centers are found by rows of distances (`metricdp.solvers.row_search`), on large graphs from
    those for the travel alone.

    Examples
    --------
    >>> metric = mdp.EuclideanMetric([[0.0], [1.0], [4.0]], ids=["a", "b", "c"])
    >>> costed = metric.with_costs(sites={"a": 2})
    >>> costed.distances(["a"]), costed.travel is metric
    (array([[2., 3., 6.]]), True)
    """

    def __init__(self, travel: Metric, sites: Any, access: Any) -> None:
        self.travel = travel
        self._entry = _costs(sites, len(travel.sites), travel.site_positions, "sites")
        self._access = _costs(access, len(travel), travel.positions, "access")
        self.ids, self.name = travel.ids, f"{travel.name} with costs"
        self.coordinates, self.coordinate_system = travel.coordinates, travel.coordinate_system
        self.graph, self.measured_in = travel.graph, travel.measured_in
        self.held, self.grid_error = travel.held, travel.grid_error
        self._largest = checked_extent(
            travel.diameter_bound() + float(self._entry.max()) + float(self._access.max())
        )
        whole = travel.on_grid and all(
            (part % travel.unit == 0).all() for part in (self._entry, self._access)
        )
        self.on_grid = whole
        fine = public_grid(self._largest, len(self))
        self.unit = travel.unit if whole else max(travel.unit, fine)

    @property
    def sites(self) -> Sequence[Hashable]:
        """Those of the travel."""
        return self.travel.sites

    def site_positions(self, ids: Iterable[Hashable]) -> Ints:
        """Those of the travel."""
        return self.travel.site_positions(ids)

    @property
    def symmetric(self) -> Metric:
        """That of the travel."""
        return self.travel.symmetric

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Rows of the travel, with the costs."""
        access = self._access if targets is None else self._access[targets]
        return self._entry[sources][:, None] + self.travel.distance_rows(sources, targets) + access

    def distance_block(self, sources: Ints, targets: Ints) -> Singles:
        """As the travel has it, with the costs."""
        block = self.travel.distance_block(sources, targets)
        block = block + self._entry[sources].astype(np.float32)[:, None]
        return np.ascontiguousarray(block + self._access[targets].astype(np.float32))

    def seed_centers(
        self, k: int, weights: Floats, rng: np.random.Generator, power: int = 1
    ) -> tuple[Ints, Ints, Floats]:
        """Those of the travel."""
        centers = self.travel.seed_centers(k, weights, rng, power)[0]
        return centers, *self.nearest_to(centers)

    def structure(self) -> Iterator[NDArray[Any]]:
        """That of the travel, and the costs."""
        yield from self.travel.structure()
        yield self._entry + 0.0
        yield self._access + 0.0

    def check(self) -> None:
        """What was looked at when they were given, and the travel's own."""
        self.travel.check()

    def snapper(self) -> Snapper:
        """That of the travel."""
        return self.travel.snapper()

    def snap(self, points: ArrayLike) -> Ints:
        """As in the travel."""
        return self.travel.snap(points)


def _costs(given: Any, n: int, positions: Any, name: str) -> Floats:
    """Costs of all, in order of position."""
    if given is None:
        return np.zeros(n)
    rule = f"{name} must be {n:,} finite costs that are not negative, or a mapping from id to cost"
    found = numbers(given, positions, n, rule)
    if not np.isfinite(found).all() or (found < 0).any():
        raise InputError(rule)
    return found
