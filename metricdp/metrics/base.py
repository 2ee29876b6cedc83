"""`Metric`: the base class of all finite universes, by positions and by ids."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arguments import Floats, Ints, Singles, chunks, listed, plain, shown
from metricdp.errors import InputError, UnknownIdError
from metricdp.metrics import promises
from metricdp.metrics.identity_cache import IdentityCache
from metricdp.metrics.placing import placing, snap_limit
from metricdp.metrics.searches import RowBalls, RowSearches, ServedPositions
from metricdp.metrics.snapping import CoordinatePlacing, Snapper, Stretch
from metricdp.metrics.structures import BallSums, Lattice, Network, Searches, Vectors
from metricdp.metrics.two_nearest import TwoNearest, two_nearest_by_rows
from metricdp.options import Weights, check_distinct, hashable
from metricdp.protocols import Finite, finite
from metricdp.universe.crs import EARTH_RADIUS, described
from metricdp.universe.graph import CoordinateSystem, Graph
from metricdp.universe.moving import meters_per_unit

MAX_GRID_DISTANCE = 2**40
"""Bound of quantized diameters: a sum over four million records then stays below 2**62."""
EXTENTS = (1e-15, 1e18)
"""Range of the largest distance, or all are 0: single precision can square these."""


class Metric(Finite):
    """A finite public universe with a metric, or with costs of travel that depend on the direction.

    Points are known by the user's `ids` outside and by position (0..n_points-1, the order of `ids`)
    inside. No method builds an n × n matrix; row blocks are as large as the sources asked for.

    A row of distances belongs to a *center*: ``distances([c], [v])`` is the cost of serving v from
    c, in the universe's direction of travel. Costs obey the triangle inequality ``d(a, v) <= d(a,
    b) + d(b, v)``. Algorithms that need symmetry use `symmetric`.

    Centers are at `sites`: the points themselves, except in a table of costs (`CostTable`). All
    positions of centers, sources and candidates are positions of sites.

    Attributes
    ----------
    ids : sequence of hashable
        The user's own ids, in order of position.
    unit : float
        Step of the public grid to which distances are rounded up (`grid_rows`).
    coordinates : ndarray of float64, shape (n_points, 2), or None
        For drawing and snapping.
    coordinate_system : {"lonlat", "xy"} or None
    crs : str or None
        The coordinate reference system that was declared, such as ``"EPSG:32719"``. Longitude and
        latitude without one are WGS 84.
    name : str
    grid_error : float
        The most by which a distance may exceed its grid distance: 0 unless points are snapped.
    on_grid : bool
        Whether all distances are whole multiples of `unit`.
    graph : Graph or None
        Edges to draw.
    network : Network or None
        Edges to search along, where distances are shortest paths.
    lattice : Lattice or None
        Integer coordinates, where grid distances are Minkowski distances of these.
    vectors : Vectors or None
        Coordinates, where distances are Minkowski distances of these.
    measured_in : str or None
        Unit of distances, such as ``"m"`` or ``"s"``, where it is known; callers may set it. Limits
        such as ``"10 min"`` need it.
    in_memory : bool
        Whether all rows of distances are in memory already. Solvers then work on a matrix of all
        costs, whatever its size.
    directed : bool
        Whether costs depend on the direction: rows differ from columns.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> isinstance(metric, mdp.Metric), len(metric), metric.diameter_bound() >= 8
    (True, 9, True)
    >>> metric.distances([0], [3, 8])
    array([[3., 8.]])
    >>> metric.nearest([1, 7])[0]
    array([0, 0, 0, 0, 0, 1, 1, 1, 1])
    """

    ids: Sequence[Hashable]
    unit: float
    coordinates: Floats | None = None
    coordinate_system: CoordinateSystem | None = None
    crs: str | None = None
    name: str = "universe"
    grid_error: float = 0.0
    on_grid: bool = False
    graph: Graph | None = None
    network: Network | None = None
    lattice: Lattice | None = None
    vectors: Vectors | None = None
    measured_in: str | None = None
    in_memory: bool = False
    directed: bool = False

    @property
    def measured(self) -> str:
        """Unit of distances, in words."""
        own_unit = "" if self.graph is None else self.graph.measured
        return self.measured_in or own_unit or "the universe's own units"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self):,} points)"

    def positions(self, ids: Iterable[Hashable]) -> Ints:
        """Positions of ids, shape (n,).

        Raises
        ------
        InputError
            `ids` cannot be iterated over.
        UnknownIdError
            An id is not in the universe; the message names the first such id, so callers holding
            private ids must not show it.
        """
        if isinstance(self.ids, range) and isinstance(ids, Iterable):
            return self._range_positions(ids)
        known = _known.of(self)
        if "position" not in known:
            known["position"] = {identifier: i for i, identifier in enumerate(self.ids)}
        return looked_up(known["position"], ids, "point", self.name)

    @property
    def sites(self) -> Sequence[Hashable]:
        """Ids of the places where centers may be: by default all points."""
        return self.ids

    def site_positions(self, ids: Iterable[Hashable]) -> Ints:
        """Positions of sites, shape (n,); errors as `positions`."""
        return self.positions(ids)

    @property
    def symmetric(self) -> Metric:
        """A metric on the same points: the universe itself, or where its costs depend on the
        direction a metric D with ``d(c, v) <= d(c, u) + D(u, v)`` for every site c and all points
        u, v (and, between points, ``d(u, v) <= D(u, v)``).

        Public partitions and trees are built on it: replacing a record at u by one at v changes the
        cost of any centers by at most D(u, v), whatever the direction of travel.
        """
        return self

    def _range_positions(self, ids: Iterable[Hashable]) -> Ints:
        """Ids 0..n-1 are their own positions."""
        try:
            array = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids))
        except (ValueError, OverflowError):  # ids of several lengths, endless ranges
            array = np.empty((1, 1))
        if array.shape == (0,):
            return np.empty(0, np.int64)
        if array.ndim != 1 or array.dtype.kind not in "iuf" or (array != np.floor(array)).any():
            raise UnknownIdError(f"the ids of {self.name} are the integers 0 to {len(self) - 1}")
        outside = (array < 0) | (array >= len(self))
        if outside.any():
            raise UnknownIdError(f"no point of {self.name} has the id {shown(array[outside][0])}")
        return array.astype(np.int64)

    def distances(
        self, sources: Iterable[Hashable], targets: Iterable[Hashable] | None = None
    ) -> Floats:
        """Costs of serving `targets` (by default all) from sources, (n_sources, n_targets)."""
        to = None if targets is None else self.positions(targets)
        return self.distance_rows(self.site_positions(sources), to)

    def nearest(self, centers: Iterable[Hashable]) -> tuple[Ints, Floats]:
        """For every point the index of its nearest center and the distance to it, (n_points,)."""
        return self.nearest_to(self.site_positions(centers))

    @abstractmethod
    def distance_rows(self, sources: Ints, targets: Ints | None = None) -> Floats:
        """Distances between positions, shape (n_sources, n_targets)."""

    @abstractmethod
    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """Distances rounded up to steps of the public grid: integers, and still a metric."""

    @abstractmethod
    def nearest_to(self, centers: Ints) -> tuple[Ints, Floats]:
        """`nearest` for positions."""

    @property
    def triangular(self) -> bool:
        """Whether the triangle inequality holds by construction, not by the author's promise."""
        return self.vectors is not None or self.network is not None

    @abstractmethod
    def diameter_bound(self) -> float:
        """A public upper bound of the largest distance, exact where that is affordable."""

    @abstractmethod
    def seed_centers(
        self, k: int, weights: Floats, rng: np.random.Generator, power: int = 1
    ) -> tuple[Ints, Ints, Floats]:
        """k-median++ or k-means++: (positions (k,), label and distance of every point)."""

    def distance_block(self, sources: Ints, targets: Ints) -> Singles:
        """`distance_rows` in single precision, C order, computed from whichever side is cheaper."""
        if len(sources) <= len(targets) or self.directed:
            return self.distance_rows(sources, targets).astype(np.float32)
        return np.ascontiguousarray(self.distance_rows(targets, sources).T.astype(np.float32))

    def with_costs(self, sites: Weights | None = None, access: Weights | None = None) -> Metric:
        """The same universe with fixed costs of sites and points: ``cost(c, v) = sites[c] + d(c, v)
        + access[v]``.

        Parameters
        ----------
        sites : mapping from id to cost, or array_like in the order of `sites`; optional
            Cost of entering a site, such as the time to park or to be admitted; 0 for ids that a
            mapping leaves out.
        access : mapping from id to cost, or array_like in the order of `ids`; optional
            Cost from a point to the start of travel, such as the walk to a stop.

        Raises
        ------
        InputError
            Costs that are negative or not finite, of another number, or of unknown ids.

        Notes
        -----
        These costs count for each unit of demand, unlike the costs of opening a site
        (`mdp.objectives.FacilityLocation`). See `metricdp.metrics.cost_table`.
        """
        from metricdp.metrics.cost_table import CostedMetric  # it derives from this class

        return CostedMetric(self, sites, access)

    def cell_distances(self, centers: Ints, label: Ints, distance: Floats) -> Singles:
        """Distances between all pairs of centers, shape (k, k), given the Voronoi diagram that
        `seed_centers` returned.

        Where exact rows would take too long, a universe may return lengths of paths that are not
        the shortest.
        """
        return self.distance_rows(centers, centers).astype(np.float32)

    def inner_distances(self, points: Ints, sources: Ints) -> Singles:
        """Distances from some of `points` (`sources` are indices into these) to all of them, shape
        (n_sources, n_inner).

        A graph may use shortest paths in the subgraph of these points.
        """
        return self.distance_rows(points[sources], points).astype(np.float32)

    # A metric overrides what it can do faster than by rows of distances. It may number its points
    # in an order of its own, the inner order, in which it then answers.

    def inner(self, positions: Ints) -> Ints:
        """Numbers of positions in the metric's inner order: by default the same."""
        return positions

    def outer(self, numbers: Ints) -> Ints:
        """Positions of inner numbers."""
        return numbers

    def two_nearest(self, centers: Ints) -> TwoNearest:
        """The two nearest of some centers (positions), for every point in the inner order."""
        return two_nearest_by_rows(self, centers)

    def grid_nearest(self, centers: Ints) -> Ints:
        """Distance of every point, in the inner order, to its nearest center, in grid steps."""
        return self.two_nearest(centers).near

    def searches(self, points: Ints) -> Searches:
        """Searches from some positions. They store what they find, so they are as private as it."""
        return RowSearches(self, points)

    def balls(self, steps: int, candidates: Ints | None = None) -> BallSums:
        """Closed balls of a radius, in grid steps, around candidates (positions)."""
        return RowBalls(self, steps, candidates)

    def duplicates(self, positions: Ints) -> Ints:
        """A group number for each position, equal for points at distance 0 (duplicates)."""
        equal = self.distance_rows(positions, positions) == 0
        return equal.argmax(axis=1)

    def structure(self) -> Iterator[NDArray[Any]]:
        """Arrays that determine all distances, for checksums: by default all rows of distances."""
        every = np.arange(len(self))
        for part in chunks(len(self), len(self)):
            yield self.distance_rows(every[part]) + 0.0  # -0.0 is 0.0

    def check(self) -> None:
        """Check, on a public sample, the properties that private answers need
        (`metricdp.metrics.promises`); once for each metric, when the first demand is made.

        Raises
        ------
        InputError
            One of them does not hold.
        """
        if "checked" not in _known.of(self):
            promises.check(self)
            _known.of(self)["checked"] = True

    def snapper(self) -> Snapper:
        """The map from coordinates to positions, for this process and those of an engine.

        Raises
        ------
        InputError
            The universe has no coordinates.
        """
        if self.coordinates is None:
            raise InputError(
                f"{self.name} has no coordinates to snap to; give vertex ids, or coordinates for "
                f"its vertices (nodes=)"
            )
        located = np.flatnonzero(np.isfinite(self.coordinates).all(axis=1))
        stretched = Stretch(self.stretch())
        return Snapper(stretched(self.coordinates[located]), located=located, project=stretched)

    def placer(self, max_snap: float | None = None) -> tuple[Snapper, int]:
        """`snapper`, with a limit if one is given (`metricdp.metrics.placing.snap_limit`)."""
        place = self.snapper()
        if max_snap is not None:
            place = place.within(snap_limit(max_snap, self))
        return place, place.dimension

    def placing(self, **where: Any) -> CoordinatePlacing:
        """The map from coordinates in a stated system: `metricdp.metrics.placing.placing`."""
        return placing(self, **where)

    def served_by(self, centers: Any) -> tuple[ServedPositions, float]:
        """A table of each position's nearest center and distance, and the largest distance."""
        label, distance = self.nearest(centers)
        served = ServedPositions(np.asarray(label, np.int64), np.asarray(distance, np.float64))
        return served, float(served.distance.max())

    def checksum(self) -> str:
        """SHA-256 of what trees, streams and releases depend on: the kind of metric, ids (their
        ``repr``), grid, and edges, points or matrix.

        O(size of the universe). If the ``repr`` of ids differs between processes, so does the
        checksum.
        """
        unit = float(self.unit).hex()
        digest = hashlib.sha256(f"{type(self).__name__} {len(self)} {unit}\n".encode())
        for start in range(0, len(self), _CHUNK):
            lines = "\n".join(map(repr, self.ids[start : start + _CHUNK])) + "\n"
            digest.update(lines.encode("utf-8", "surrogatepass"))
        for array in self.structure():
            digest.update(f"{array.dtype.str} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def facts(self) -> dict[str, Any]:
        """Number of points, and `checksum`, for a receipt."""
        return {"points": len(self), "sha256": self.checksum()}

    def expected(self) -> tuple[NDArray[Any], Floats]:
        """A public prior of the demand: records, and their shares."""
        return np.arange(len(self)), np.full(len(self), 1 / len(self))

    def snap_radius(self, meters: float) -> float:
        """A distance in meters, in the units in which `snapper` searches.

        Raises
        ------
        InputError
            The universe's coordinates have no known unit.
        """
        if self.coordinate_system == "lonlat":
            return meters / METERS_A_DEGREE
        unit = meters_per_unit(self.crs)
        if unit is None:
            raise InputError(
                f"{self.name} has {described(self.crs)}, so meters mean nothing there: declare it "
                f"(crs=, --crs), or give a plain number of its own units"
            )
        return meters / unit

    def snap(self, points: ArrayLike) -> Ints:
        """Position of the point of the universe nearest to each point, shape (n,).

        Longitude and latitude are compared as an equirectangular projection at the universe's
        middle latitude, a public fact, unless the metric knows better.

        Raises
        ------
        InputError
            The universe has no coordinates, or the points are not finite or have another number of
            coordinates.
        """
        if "snapper" not in _known.of(self):
            _known.of(self)["snapper"] = self.snapper()
        return _known.of(self)["snapper"](points)

    def stretch(self) -> Floats:
        """Factors of the coordinates for an equirectangular projection at the middle latitude, at
        least 0.01 near a pole.
        """
        if self.coordinate_system != "lonlat" or self.coordinates is None:
            return np.ones(2)
        latitude = self.coordinates[:, 1]
        middle = np.radians((np.nanmin(latitude) + np.nanmax(latitude)) / 2)
        return np.array([max(float(np.cos(middle)), 0.01), 1.0])


def metric_of(universe: Any, what: str, rule: str = "") -> Metric:
    """The universe, if it is finite: `metricdp.protocols.finite`."""
    return cast(Metric, finite(universe, what, rule))


def looked_up(lookup: dict[Hashable, int], ids: Iterable[Hashable], kind: str, of: str) -> Ints:
    """Positions of the ids of points or sites (`kind`) of a universe; see `Metric.positions`."""
    if not isinstance(ids, Iterable):
        raise InputError(f"ids must be given as an iterable of ids, got {type(ids).__name__}")
    try:
        return np.fromiter((lookup[i] for i in plain(ids)), dtype=np.int64)
    except KeyError as error:
        raise UnknownIdError(f"no {kind} of {of} has the id {shown(error.args[0])}") from None
    except TypeError:
        raise UnknownIdError(
            f"the ids of {of} are hashable; at least one of those given is not"
        ) from None


METERS_A_DEGREE = EARTH_RADIUS * np.pi / 180

_CHUNK = 1 << 16  # ids hashed at once: memory against calls
_known = IdentityCache()


def checked_ids(ids: Sequence[Hashable] | None, n: int, name: str = "ids") -> Sequence[Hashable]:
    """The ids given, or range(n), after checking number and distinctness; `name` is whose."""
    if n == 0:
        raise InputError("the universe has no points")
    if ids is None:
        return range(n)
    ids = listed(ids, name)
    if len(ids) != n:
        raise InputError(f"{name} must name each of the {n} points once, got {len(ids)}")
    if not all(map(hashable, ids)):
        raise InputError(
            f"{name} must be hashable (numbers, text, tuples of these); at least one is not"
        )
    check_distinct(ids, f"{name} must be distinct")
    return ids


def checked_extent(extent: float) -> float:
    """The largest distance of a universe (or a bound), checked to be 0 or in EXTENTS."""
    if extent != 0 and not EXTENTS[0] <= extent <= EXTENTS[1]:
        raise InputError(
            f"distances up to {extent:g} are too {'small' if extent < 1 else 'large'}: the "
            f"largest must be between {EXTENTS[0]:g} and "
            f"{EXTENTS[1]:g}; give them in another unit"
        )
    return extent


def public_grid(diameter: float, n_points: int) -> float:
    """A grid step, a power of two, with which a diameter has fewer than MAX_GRID_DISTANCE steps."""
    cells = min(MAX_GRID_DISTANCE, 2**62 // max(n_points, 1))
    return 2.0 ** int(np.ceil(np.log2(diameter / cells))) if diameter > 0 else 1.0
