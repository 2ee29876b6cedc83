"""Universes of costs that are no metric: a table, sites × clients (demand at clients, centers at
sites), and fixed costs of a trip (entering a site, getting to the start of travel).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arguments import Floats, Ints, Singles, floats, shown
from metricdp.errors import InputError
from metricdp.metrics.base import (
    MAX_GRID_DISTANCE,
    Metric,
    checked_extent,
    checked_ids,
    looked_up,
    public_grid,
)
from metricdp.metrics.by_rows import RowCosts
from metricdp.metrics.snapping import Snapper
from metricdp.metrics.vectors import ChebyshevMetric
from metricdp.options import numbers
from metricdp.universe.long_tables import is_frame, read_costs


class CostTable(RowCosts):
    """The cost of serving each client from each site: any finite costs that are not negative.

    The points of this universe, where demand can be, are the clients; centers are sites. An id that
    is both a site's and a client's does not mean the same place.

    Parameters
    ----------
    costs : array_like of shape (n_sites, n_clients), data frame, or path
        A matrix; or a *long* table with a row for each pair, as r5py, Valhalla and OSRM clients
        write them: a frame of pandas, Polars or Arrow, or a file (CSV, TSV, Parquet; gzipped too).
        A frame of pandas without such columns is a matrix, sites in its index and clients in its
        columns; so is a file whose first column holds the sites, with a column for each client.
    sites, clients : sequence of hashable, or str; optional
        Ids, in the order of rows and columns; 0..n-1 by default. For a long table the names of the
        columns that hold them, or the ids to keep, in their order. By default its origins
        (``from_id``, ``origin``, …) are the sites and its destinations the clients: swap them by
        ``sites="to_id", clients="from_id"`` where the demand travels.
    cost : str, optional
        The column of costs of a long table; by default its only numeric one besides the ids.
    unreachable : float, optional
        Cost of pairs that the table lacks or gives as NaN or infinite. By default they are refused.

    Attributes
    ----------
    costs : ndarray of float64, shape (n_sites, n_clients)
    symmetric : ChebyshevMetric
        Between clients: ``D(c, c') = max over sites s of |cost(s, c) - cost(s, c')|``.

    Raises
    ------
    InputError
        Costs that are negative, or missing without `unreachable`; columns that are not found or
        ambiguous.

    Notes
    -----
    **The symmetric bound.** D is the Chebyshev distance of two clients' columns: zero to itself,
    symmetric, and ``|a - c| <= |a - b| + |b - c|`` in each coordinate, so a pseudometric. By its
    definition ``cost(s, c) <= cost(s, c') + D(c, c')`` for every site, and no smaller function of
    two clients has this property. So replacing a record at c by one at c' changes the cost of any
    centers by at most D(c, c'). Partitions of the clients into parts that are small in D take
    O(n_clients · n_sites) a landmark, of which there are up to 1,280.

    The table is held in memory, once in double and for a search once in single precision.

    Examples
    --------
    >>> table = CostTable([[1, 5, 9], [8, 2, 3]], sites=["A", "B"], clients=[10, 20, 30])
    >>> table
    CostTable('2 sites × 3 clients')
    >>> table.distances(["B"], [30])
    array([[3.]])
    >>> mdp.k_median(table, k=1).centers, mdp.k_median(table, k=1, weights={10: 9, 20: 1}).centers
    (['B'], ['A'])
    """

    in_memory = True

    def __init__(
        self,
        costs: Any,
        sites: Sequence[Hashable] | str | None = None,
        clients: Sequence[Hashable] | str | None = None,
        *,
        cost: str | None = None,
        unreachable: float | None = None,
    ) -> None:
        if isinstance(costs, str | PathLike) or is_frame(costs):
            costs, sites, clients = read_costs(costs, sites, clients, cost)
        elif cost is not None:
            raise InputError("cost names a column: the costs were given as a matrix")
        matrix = floats(costs, "costs must be numbers in an array of shape (n_sites, n_clients)")
        if matrix.ndim != 2 or 0 in matrix.shape:
            raise InputError(
                f"costs must have shape (n_sites, n_clients), both at least 1; got {matrix.shape}"
            )
        self.ids = checked_ids(clients, matrix.shape[1], "clients")
        self._sites = checked_ids(sites, matrix.shape[0], "sites")
        self.costs = self._complete(matrix, unreachable)
        self._site_at = {site: i for i, site in enumerate(self._sites)}
        self.name = f"{matrix.shape[0]:,} sites × {matrix.shape[1]:,} clients"
        self._largest = checked_extent(float(self.costs.max()))
        self.on_grid = bool((self.costs == np.floor(self.costs)).all())
        self.on_grid &= self._largest <= min(MAX_GRID_DISTANCE, 2**62 // len(self.ids))
        self.unit = 1.0 if self.on_grid else public_grid(self._largest, len(self.ids))

    def __repr__(self) -> str:
        return f"CostTable({self.name!r})"

    @property
    def sites(self) -> Sequence[Hashable]:
        """Ids of the sites, in the order of rows."""
        return self._sites

    def site_positions(self, ids: Iterable[Hashable]) -> Ints:
        """Rows of sites, shape (n,).

        Raises
        ------
        InputError, UnknownIdError
            `ids` is no iterable; an id is no site's.
        """
        return looked_up(self._site_at, ids, "site", self.name)

    @cached_property
    def symmetric(self) -> ChebyshevMetric:
        """The smallest metric between clients that bounds differences of their costs."""
        return ChebyshevMetric(np.ascontiguousarray(self.costs.T), ids=self.ids)

    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Costs of serving clients from sites, shape (n_sources, n_targets)."""
        return self.costs[sources] if targets is None else self.costs[np.ix_(sources, targets)]

    def seed_centers(
        self, k: int, weights: Floats, rng: np.random.Generator, power: int = 1
    ) -> tuple[Ints, Ints, Floats]:
        """k-median++ of clients, each replaced by its cheapest free site: O(n) a center."""
        weight, free = np.maximum(weights, 0.0), np.ones(len(self._sites), bool)
        best = np.full(len(self), np.inf)
        chosen = np.empty(k, np.int64)
        for i in range(k):
            density = np.cumsum(weight if i == 0 else weight * best**power)
            drawn = np.searchsorted(density, rng.random() * density[-1], side="right")
            column = self.costs[:, min(int(drawn), len(self) - 1)]
            chosen[i] = np.argmin(np.where(free, column, np.inf))
            free[chosen[i]] = False
            best = np.minimum(best, self.costs[chosen[i]])
        return chosen, *self.nearest_to(chosen)

    def structure(self) -> Iterator[NDArray[Any]]:
        """The costs, and the names of the sites."""
        yield self.costs + 0.0
        yield np.frombuffer(repr(list(self._sites)).encode("utf-8"), np.uint8)

    def _complete(self, matrix: Floats, unreachable: float | None) -> Floats:
        """The costs, with missing ones replaced; checked to be finite and not negative."""
        missing = ~np.isfinite(matrix)
        if (matrix < 0).any():
            raise InputError(
                f"costs must not be negative; {int((matrix < 0).sum()):,} are, the first "
                f"{self._pair(matrix < 0)}"
            )
        if not missing.any():
            return matrix
        if unreachable is None:
            alone = int(missing.all(axis=0).sum())
            more = f", and {alone:,} clients cannot be reached at all" if alone else ""
            raise InputError(
                f"{int(missing.sum()):,} of {matrix.size:,} pairs of site and client have no "
                f"finite cost, the first {self._pair(missing)}{more}; leave such clients out, or "
                f"say what a pair costs that cannot be reached (unreachable=)"
            )
        most = float(floats(unreachable, "unreachable must be a number"))
        if not 0 <= most < np.inf:
            raise InputError(
                f"unreachable must be finite and not negative, got {shown(unreachable)}"
            )
        return np.where(missing, most, matrix)

    def _pair(self, those: NDArray[np.bool_]) -> str:
        """The first of those pairs, as text."""
        site, client = np.argwhere(those)[0].tolist()
        return f"from {shown(self._sites[site])} to {shown(self.ids[client])}"

    def check(self) -> None:
        """Nothing: the whole table was checked when it was made."""


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
