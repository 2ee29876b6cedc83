"""From rows of a table to records of a universe: the same code for each row, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import floats
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.snapping import finite_points
from metricdp.records.engines.sources import Answer

VALUES = 1 << 20
"""Numbers of a block: 8 MB."""


@dataclass(frozen=True)
class Encoder:
    """Columns of a block to records: numbers, moved to where the universe has them. It travels to
    the workers.

    Parameters
    ----------
    columns : tuple of str
        Columns of coordinates.
    place : callable
        From points, shape (n, d), to records: `EuclideanSpace.clip` or a `Snapper`; raises on a
        point that is not finite.
    steps : tuple of callables
        What is done to a block of records then, in turn.
    """

    columns: tuple[str, ...]
    place: Callable[[NDArray[np.float64]], NDArray[Any]]
    steps: tuple[Answer, ...] = ()

    def __call__(self, block: Any) -> NDArray[Any]:
        """Records of a pandas DataFrame, an Arrow table or record batch, or an array of shape (n,
        d).
        """
        records = self.place(self._points(block))
        for step in self.steps:
            records = step(records)
        return records

    def then(self, step: Answer) -> Encoder:
        """The same, and one step more."""
        return replace(self, steps=(*self.steps, step))

    def empty(self) -> NDArray[Any]:
        """No records."""
        return self(np.empty((0, len(self.columns))))

    def _points(self, block: Any) -> NDArray[np.float64]:
        if isinstance(block, np.ndarray):
            return floats(block, "points must be numbers")
        points = np.empty(
            (len(block) if hasattr(block, "iloc") else block.num_rows, len(self.columns))
        )
        for j, name in enumerate(self.columns):
            points[:, j] = _spelled(block[name])
        return points


def _spelled(column: Any) -> NDArray[np.float64]:
    """Numbers, or text that spells them; a gap becomes NaN, or is refused."""
    if hasattr(column, "to_pylist"):
        column = (
            column.to_numpy()
            if hasattr(column, "chunks")
            else column.to_numpy(zero_copy_only=False)
        )
    array = np.asarray(column)
    return floats(
        array.astype(str) if array.dtype.kind == "O" else array, "coordinates must be numbers"
    )


def listed(values: Any) -> list[Any]:
    """A list of Python objects from any sequence, array or column of a data frame."""
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def numbers(points: Any, dimension: int) -> NDArray[np.float64]:
    """Finite points of shape (n, d); an empty list is none, of `dimension` coordinates.

    Raises
    ------
    InputError
    """
    array = floats(points, "points must be numbers")
    return finite_points(array.reshape(0, dimension) if array.shape == (0,) else array)


def within(universe: Metric, positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """The positions, if they are some of the universe.

    Raises
    ------
    InputError
    """
    if (
        positions.ndim != 1
        or positions.dtype != np.int64
        or not ((positions >= 0) & (positions < len(universe))).all()
    ):
        raise InputError("positions out of range")
    return positions


@dataclass(frozen=True)
class Guarded:
    """Encode a block and answer about it; None if anything fails. What an exception would say about
    a record stays unsaid.
    """

    encode: Encoder
    answer: Answer

    def __call__(self, block: Any) -> NDArray[Any] | None:
        """The block's vector, or None."""
        try:
            return np.asarray(self.answer(self.encode(block)))
        except Exception:  # swallowed on purpose: engines log the exceptions of their workers
            return None


def added(some: NDArray[Any] | None, more: NDArray[Any] | None) -> NDArray[Any] | None:
    """The sum of two vectors; None, "bad", spreads."""
    return None if some is None or more is None else some + more


def checked(vector: NDArray[Any] | None) -> NDArray[Any]:
    """The vector, unless it is "bad".

    Raises
    ------
    InputError
    """
    if vector is None:
        raise InputError("a record breaks a rule")
    return vector
