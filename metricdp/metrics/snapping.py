"""Snapping of coordinates to the nearest point of a universe, also in an engine's processes."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from metricdp import protocols
from metricdp.arguments import Floats, Ints, floats
from metricdp.errors import InputError
from metricdp.protocols import trusted
from metricdp.universe.transformation import Transformation

FAR = 1e150
"""Coordinates are clipped at this: squares of larger ones would overflow."""
FINITE = "points must be finite: no NaN and no infinity"

_BUILT: dict[str, cKDTree] = {}
"""The k-d tree of the universe that this process received last."""
OUTSIDE = "a point lies outside the box that was stated"
NO_DEGREES = "points must be longitude (-180 to 180) and latitude (-90 to 90) in degrees"


@trusted
class Snapper:
    """Maps coordinates to positions. Other processes receive it with the universe's coordinates,
    and build the same k-d tree once.

    `points` (n_located, d): the points to search; `power`: of the Minkowski distance; `located`:
    the position of each of `points`, by default 0, 1, …; `project`: the map from coordinates to the
    space of `points` (it is sent to workers), by default the identity; `dimension`: number of given
    coordinates.

    Examples
    --------
    >>> Snapper(np.array([[0.0, 0], [9, 0]]))([[8.0, 1]]).tolist()
    [1]
    """

    def __init__(
        self,
        points: Floats,
        power: float = 2,
        *,
        located: Ints | None = None,
        project: Callable[[Floats], Floats] | None = None,
        dimension: int | None = None,
    ) -> None:
        self._points = points
        self._power = power
        self._located = located
        self._project = project
        self._limit: float | None = None
        self._name = uuid4().hex
        self._tree: cKDTree | None = None
        self.dimension = int(points.shape[1] if dimension is None else dimension)

    def __getstate__(self) -> dict[str, object]:
        """Pickled without the tree, whose bytes include uninitialized memory."""
        return {**self.__dict__, "_tree": None}

    def __call__(self, points: ArrayLike) -> Ints:
        """Position of the nearest point (n,). Coordinates beyond `FAR` count as that far."""
        array = np.clip(finite_points(points, self.dimension), -FAR, FAR)
        if self._project is not None:
            array = self._project(array)
        away, at = self._built().query(array, p=self._power)
        found = (at if self._located is None else self._located[at]).astype(np.int64)
        if self._limit is not None:
            found[away > self._limit] = -1
        return found

    @property
    def limited(self) -> bool:
        """Whether it has a limit."""
        return self._limit is not None

    def within(self, limit: float) -> Snapper:
        """The same, with position -1 farther than a limit from every point, in their space."""
        limited = copy(self)
        limited._limit = limit
        return limited

    def _built(self) -> cKDTree:
        """The k-d tree; all copies that a process receives share one."""
        if self._tree is None:
            self._tree = _BUILT.get(self._name)
        if self._tree is None:
            self._tree = cKDTree(self._points)
            _BUILT.clear()
            _BUILT[self._name] = self._tree
        return self._tree


@trusted
class Stretch:
    """Multiplies coordinates by public factors (equirectangular for longitude, latitude)."""

    def __init__(self, factors: Floats) -> None:
        self._factors = factors

    def __call__(self, points: Floats) -> Floats:
        """Stretched, shape (n, d)."""
        return points * self._factors


def finite_points(points: ArrayLike, dimension: int | None = None) -> Floats:
    """Points as float64 (n, dimension). Messages never quote a value, as it may be private."""
    array = shaped_points(points, dimension)
    if not np.isfinite(array).all():
        raise InputError(FINITE)
    return array


def shaped_points(points: ArrayLike, dimension: int | None = None) -> Floats:
    """Points as float64 (n, dimension), which may be infinite or NaN."""
    array = floats(points, "points must be numbers in an array of shape (n, d)")
    if (
        array.ndim != 2
        or array.shape[1] == 0
        or (dimension is not None and array.shape[1] != dimension)
    ):
        raise InputError(f"points must have shape (n, {dimension or 'd'})")
    return array


@trusted
@dataclass(frozen=True)
class CoordinatePlacing(protocols.Placing):
    """The map from coordinates to records of a universe, each point by itself. It is sent to
    workers.

    `degrees`: whether `place` expects longitude and latitude; `move`: the transformation from the
    coordinates' system to the universe's; `box`: the stated bounding box, in the coordinates'
    system.
    """

    place: Any
    dimension: int
    degrees: bool = False
    move: Transformation | None = None
    box: tuple[float, float, float, float] | None = None

    def __call__(self, points: ArrayLike) -> NDArray[Any]:
        """Positions (-1 beyond the limit), shape (n,), or points of a box."""
        array = finite_points(points, self.dimension)
        if self.box is not None:
            low, high = np.array(self.box[:2]), np.array(self.box[2:])
            if ((array < low) | (array > high)).any():
                raise InputError(OUTSIDE)
        if self.move is not None:
            array = self.move(array)
        if self.degrees and (np.abs(array) > (180.0, 90.0)).any():
            raise InputError(NO_DEGREES)
        return self.place(array)

    @property
    def limited(self) -> bool:
        """Whether records may be left out."""
        return isinstance(self.place, Snapper) and self.place.limited

    @property
    def plain(self) -> bool:
        """Whether it only applies `place`."""
        asked = (self.move, self.box) != (None, None)
        return not (asked or self.degrees or self.limited)

    @property
    def rule(self) -> str:
        """The rule of a record, in words."""
        said = ["a finite point"]
        said += ["of longitude and latitude"] * (self.degrees and self.move is None)
        said += ["inside the box that was stated"] * (self.box is not None)
        return " ".join(said)
