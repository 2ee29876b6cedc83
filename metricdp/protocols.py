"""Protocols of spaces, partitions and set systems for the trusted core (`privacy`, `records`,
`accounting`), which imports these and never their implementations.

**Privacy.** An implementation must read a record by a function of that record and public facts
alone (`Box.clip`, `Placing.__call__`, `Partition.encode`), and state public bounds
(`diameter_bound`). The core checks ranges, shapes and one part a record, and calls copies of
objects of unregistered classes (`metricdp.unique.IsolatedEncoder`). `trusted` registers classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arguments import Floats, Ints, sealed
from metricdp.errors import InputError

Answer = Callable[[NDArray[Any]], NDArray[Any]]
"""A function of a block of records, each by itself."""
Served = Callable[[NDArray[Any]], tuple[Ints, Floats]]
"""From records to the indices of their nearest centers, and the distances, each by itself."""
Kind = Literal["finite", "box"]
CoordinateSystem = Literal["lonlat", "xy"]
T = TypeVar("T", bound=type)


class Space(ABC):
    """A public universe, in which demand lies: finite (`Finite`), or a box (`Box`).

    `kind`: the key of tables by kind of space; `crs`: the declared coordinate reference system;
    `measured_in`: the unit of distances, such as ``"m"``, where it is known; `coordinates`
    (n_points, 2), and their `coordinate_system`, if there are any.
    """

    kind: ClassVar[Kind]
    name: str = "universe"
    crs: str | None = None
    measured_in: str | None = None
    coordinates: Floats | None = None
    coordinate_system: CoordinateSystem | None = None

    @property
    def n_points(self) -> int | None:
        """Number of points; None if it is infinite."""
        return None

    @abstractmethod
    def diameter_bound(self) -> float:
        """A public upper bound of the largest distance."""

    @abstractmethod
    def check(self) -> None:
        """Check, on a public sample, the properties that private answers need; refuse a space
        without them.
        """

    def placing(self, **where: Any) -> Placing:
        """The map from coordinates to records (`metricdp.metrics.placing`), by public facts."""
        raise NotImplementedError

    def placer(self, max_snap: float | None = None) -> tuple[Any, int]:
        """The last step of that map, each point by itself (-1 beyond `max_snap`); its dimension."""
        raise NotImplementedError

    def served_by(self, centers: Iterable[Any]) -> tuple[Served, float]:
        """The map from records to nearest public centers, and a bound of all distances."""
        raise NotImplementedError

    def tabulated(self, of: Answer) -> NDArray[Any] | None:
        """A table of a public function of all points, read-only; None for infinitely many."""
        return None

    def within(self, records: NDArray[Any], limited: bool = False) -> NDArray[Any]:
        """Records from the space's own code, checked to lie in the space (or, if limited, be
        -1).
        """
        return records


class Finite(Space):
    """A finite universe: points by position, with distances on a public integer grid.

    `ids`: the user's own, in order of position; `unit`: size of the grid that distances are rounded
    up to.
    """

    kind = "finite"
    ids: Sequence[Hashable]
    unit: float

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self)

    @abstractmethod
    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """Distances in steps of the grid, shape (n_sources, n_targets)."""

    def tabulated(self, of: Answer) -> NDArray[Any]:
        """The table of a public function of all points, read-only."""
        return sealed(of(np.arange(len(self))))

    def within(self, records: NDArray[Any], limited: bool = False) -> NDArray[Any]:
        """Positions from the space's own code, checked to be in range."""
        least = -1 if limited else 0
        known = records.ndim == 1 and records.dtype == np.int64
        if not known or not ((records >= least) & (records < len(self))).all():
            raise InputError("positions out of range")
        return records

    def positions(self, ids: Iterable[Hashable]) -> Ints:
        """Positions of ids."""
        raise NotImplementedError

    def inner(self, positions: Ints) -> Ints:
        """Numbers of positions in the inner order, in which the space answers."""
        raise NotImplementedError

    def outer(self, numbers: Ints) -> Ints:
        """Positions of inner numbers."""
        raise NotImplementedError

    def two_nearest(self, centers: Ints) -> Any:
        """The two nearest of some centers, for every point in the inner order."""
        raise NotImplementedError

    def grid_nearest(self, centers: Ints) -> Ints:
        """Distance of every point, in the inner order, to its nearest center, in steps."""
        raise NotImplementedError

    def searches(self, points: Ints) -> Any:
        """Searches from some positions for those that could serve them."""
        raise NotImplementedError

    def balls(self, steps: int, candidates: Ints | None = None) -> Any:
        """Closed balls of a radius, in steps of the grid."""
        raise NotImplementedError


class Box(Space):
    """A box of R^d, any point of which may be a record.

    `lower`, `upper` (d,): its corners.
    """

    kind = "box"
    lower: Floats
    upper: Floats

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of coordinates."""

    @abstractmethod
    def clip(self, points: ArrayLike) -> Floats:
        """The nearest points of the box, shape (n, d)."""


class Placing(ABC):
    """A map from coordinates to records of a space, each point by itself.

    `place`: the last step, from coordinates in the space's own system.
    """

    place: Any
    dimension: int

    @property
    @abstractmethod
    def limited(self) -> bool:
        """Whether records may be left out: position -1."""

    @property
    @abstractmethod
    def plain(self) -> bool:
        """Whether it only applies `place`."""

    @property
    @abstractmethod
    def rule(self) -> str:
        """The rule of a record, in words."""

    @abstractmethod
    def __call__(self, points: ArrayLike) -> NDArray[Any]:
        """Records of the points."""


class Partition(Protocol):
    """A public partition of a space: every record lies in exactly one of `n_parts` parts, decided
    by that record alone. `encode` stores nothing.

    Examples
    --------
    >>> from metricdp.partitions.finite.labels import LabelParts
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> LabelParts(metric, np.array([0, 0, 1, 1]), 2).encode(np.array([0, 3, 3]))
    array([0, 1, 1])
    """

    @property
    def universe(self) -> Any:
        """The public universe that it divides."""

    @property
    def n_parts(self) -> int:
        """Number of parts, empty ones included."""

    def encode(self, records: NDArray[Any], /) -> Ints:
        """Number of each record's part, shape (n,)."""


class Map(Protocol):
    """A public map of a box: images, shape (n, q), of records, shape (n, d), each by itself."""

    @property
    def universe(self) -> Any:
        """The box of the records."""

    def encode(self, records: NDArray[Any], /) -> NDArray[Any]:
        """Images of records."""


class Measured(Protocol):
    """A public map from a record of a universe to integers."""

    @property
    def universe(self) -> Any:
        """The universe of the records."""

    @property
    def n_values(self) -> int:
        """Number of integers for each record."""

    def amounts(self, records: NDArray[Any], /) -> Ints:
        """Amounts of each record, by that record alone, shape (n_records, n_values)."""


class CellTree:
    """A public tree of cells of a box; engines count the cells of all levels in one reading.

    `axes` (depth,): the coordinate that each level divides.
    """

    space: Any
    depth: Any
    root: Any
    axes: Any

    def grid(self, records: NDArray[Any]) -> Any:
        """Integer coordinates of records on the grid of all cells' borders."""
        raise NotImplementedError

    def root_cell(self) -> TreeCells:
        """The whole box as one cell."""
        raise NotImplementedError


class TreeCells:
    """Cells of such a tree, whose leaves are a partition.

    `parent`, `child`, `level`, `cut` (n_cells,); `leaves`: the cells that are parts.
    """

    tree: Any
    parent: Any
    child: Any
    level: Any
    cut: Any
    leaves: Any


class SetSystem(Protocol):
    """Public sets 0..n_sets-1 of public elements 0..n_elements-1."""

    n_elements: int
    n_sets: int

    def members(self, number: int) -> Ints:
        """The distinct elements of a set."""

    def add(self, total: Ints, elements: Ints, amounts: Ints) -> None:
        """Add ``amounts[i]`` to ``total[s]`` for every set s that contains ``elements[i]``."""


_MOST = 2**61
"""Largest distance in grid steps: longer ones are clipped."""


class Rows(Protocol):
    """Rows of grid distances: what every metric has."""

    def __len__(self) -> int: ...

    def grid_rows(self, sources: Ints, targets: Ints | None = None) -> Ints:
        """Distances in steps of the grid."""


def sound_rows(metric: Rows, sources: Ints, targets: Ints | None = None) -> Ints:
    """``metric.grid_rows`` as int64 from 0 to 2**61, whatever the metric returns.

    Fractions are rounded up; negative values count as 0, NaN as 2**61.
    """
    rows = np.asarray(metric.grid_rows(sources, targets))
    if rows.dtype == np.int64 and (rows.size == 0 or (rows.min() >= 0 and rows.max() <= _MOST)):
        return rows
    if rows.dtype.kind == "f":
        rows = np.nan_to_num(np.ceil(rows), nan=_MOST, posinf=_MOST, neginf=0)
    return np.clip(rows, 0, _MOST).astype(np.int64)


def sound_parts(parts: Any, n_records: int, n_parts: int) -> Ints:
    """The result of `Partition.encode`, checked to be one part for each record."""
    found = np.asarray(parts)
    fits = found.shape == (n_records,) and found.dtype.kind in "iu"
    if not fits or (n_records and not (found.min() >= 0 and found.max() < n_parts)):
        raise InputError(
            "partition.encode must give each record one integer part, 0 to n_parts - 1"
        )
    return found.astype(np.int64, copy=False)


def finite(space: Any, what: str, rule: str = "") -> Finite:
    """The space, if it is a finite universe; else InputError, with `rule` or by `what` needs
    one.
    """
    if not isinstance(space, Finite):
        got = type(space).__name__
        raise InputError(rule or f"{what} needs a finite universe (a Metric), got {got}")
    return space


def box(space: Any, what: str, rule: str = "") -> Box:
    """The space, if it is a box; else as `finite`."""
    if not isinstance(space, Box):
        got = type(space).__name__
        raise InputError(rule or f"{what} needs a box (an EuclideanSpace), got {got}")
    return space


def space_of(universe: Any) -> Space:
    """The universe, if it is a space; else InputError."""
    if not isinstance(universe, Space):
        raise InputError(
            f"universe must be a metric or an EuclideanSpace, got {type(universe).__name__}; "
            f"mdp.GraphMetric(G) makes one of a graph"
        )
    return universe


_TRUSTED: set[type] = set()


def trusted(kind: T) -> T:
    """Register a class that reads each record by itself and stores nothing, or a set system whose
    `add` adds up its members. Unregistered partitions are called on copies, unregistered set
    systems are refused. Subclasses are not registered.
    """
    _TRUSTED.add(kind)
    return kind


def is_trusted(given: object) -> bool:
    """Whether the object's own class is registered."""
    return type(given) in _TRUSTED
