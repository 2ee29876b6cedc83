"""Fixed costs of a trip: entering a site, and getting to the start of travel."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arguments import Floats, Ints, Singles
from metricdp.errors import InputError
from metricdp.metrics.base import Metric, checked_extent, public_grid
from metricdp.metrics.by_rows import RowCosts
from metricdp.metrics.snapping import Snapper
from metricdp.options import numbers


class CostedMetric(RowCosts):
    """A universe with entry costs of sites and access costs of points; made by
    `Metric.with_costs`.

    ``cost(c, v) = sites[c] + d(c, v) + access[v]`` is not 0 from a point to itself, so it is not a
    metric; but ``cost(c, v) <= cost(c, u) + cost(u, v)`` holds, as all terms are non-negative.

    Attributes
    ----------
    travel : Metric
        The universe without these costs.

    Notes
    -----
    Access costs do not change the assignment to centers. Replacing a record at u by one at v
    changes the cost of any centers by at most ``D(u, v) + abs(access[u] - access[v])``, where D is
    `symmetric`, the travel's bound. The second term is the same for all centers, so they can be
    compared as well as without it.

    Centers are found by rows of distances (`metricdp.solvers.row_search`), on large graphs starting
    from those for the travel alone.

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
        self.in_memory, self.grid_error = travel.in_memory, travel.grid_error
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
        """The travel's sites."""
        return self.travel.sites

    def site_positions(self, ids: Iterable[Hashable]) -> Ints:
        """Positions of sites in the travel."""
        return self.travel.site_positions(ids)

    @property
    def symmetric(self) -> Metric:
        """The travel's symmetric bound."""
        return self.travel.symmetric

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """The travel's rows plus the fixed costs."""
        access = self._access if targets is None else self._access[targets]
        return self._entry[sources][:, None] + self.travel.distance_rows(sources, targets) + access

    def distance_block(self, sources: Ints, targets: Ints) -> Singles:
        """The travel's block plus the fixed costs."""
        block = self.travel.distance_block(sources, targets)
        block = block + self._entry[sources].astype(np.float32)[:, None]
        return np.ascontiguousarray(block + self._access[targets].astype(np.float32))

    def seed_centers(
        self, k: int, weights: Floats, rng: np.random.Generator, power: int = 1
    ) -> tuple[Ints, Ints, Floats]:
        """The travel's seeding."""
        centers = self.travel.seed_centers(k, weights, rng, power)[0]
        return centers, *self.nearest_to(centers)

    def structure(self) -> Iterator[NDArray[Any]]:
        """The travel's structure, and the fixed costs."""
        yield from self.travel.structure()
        yield self._entry + 0.0
        yield self._access + 0.0

    def check(self) -> None:
        """The travel's check: the fixed costs were checked when they were given."""
        self.travel.check()

    def snapper(self) -> Snapper:
        """The travel's snapper."""
        return self.travel.snapper()

    def snap(self, points: ArrayLike) -> Ints:
        """Positions of the nearest points in the travel."""
        return self.travel.snap(points)


def _costs(given: Any, n: int, positions: Any, name: str) -> Floats:
    """Fixed costs of all points or sites, in order of position."""
    if given is None:
        return np.zeros(n)
    rule = f"{name} must be {n:,} finite costs that are not negative, or a mapping from id to cost"
    found = numbers(given, positions, n, rule)
    if not np.isfinite(found).all() or (found < 0).any():
        raise InputError(rule)
    return found
