"""Types of arguments and arrays, checks of arguments before anything is read or charged, and slices
of large arrays.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Amount = int | float | str | Decimal | Fraction
"""An amount of a budget, read as an exact rational (`metricdp.accounting.exact`)."""


class HasWKT(Protocol):
    """A coordinate system, as pyproj holds it."""

    def to_wkt(self) -> str:
        """Its well-known text."""


CRS = str | int | HasWKT
"""A coordinate system: ``"EPSG:25832"``, its number, or pyproj's."""


def shown(value: object) -> str:
    """A public value as text for messages: its repr, or its type where that fails."""
    try:
        return repr(value.item() if isinstance(value, np.generic) else value)
    except Exception:  # a message must never fail
        return type(value).__name__


def chosen(value: Any, options: Collection[str], name: str) -> str:
    """Return `value` if it is one of `options`."""
    if not isinstance(value, str) or value not in options:
        raise InputError(f"{name} must be one of {', '.join(options)}; got {shown(value)}")
    return value


def integer(value: Any) -> int | None:
    """The value of an integer of Python or NumPy; None for anything else."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
    return int(value) if whole else None


def count(value: Any, name: str, least: int = 1, most: int | None = None, what: str = "") -> int:
    """Return an integer within bounds; `what` explains the upper one in the message."""
    number = integer(value)
    if number is None or number < least or (most is not None and number > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        got = f"{',' if not what else f', {what};'} got {shown(value)}"
        raise InputError(f"{name} must be an integer {bounds}{got}")
    return number


def positive(value: Any, name: str, *, or_zero: bool = False) -> float:
    """Return a positive finite number (or zero, if it may be) as a float."""
    number = -1.0
    if isinstance(value, Real) and not isinstance(value, bool):
        with suppress(OverflowError, ValueError, TypeError):
            number = float(value)
    if not (isfinite(number) and (number > 0 or (or_zero and number == 0))):
        rule = "finite and not negative" if or_zero else "positive and finite"
        raise InputError(f"{name} must be {rule}, got {shown(value)}")
    return number


def floats(values: Any, rule: str) -> Floats:
    """Real numbers as an array of float64. They may be private, so none is quoted."""
    # sequences of other libraries raise errors of their own, which may quote a value
    with suppress(Exception), np.errstate(over="ignore"):
        masked = isinstance(values, np.ma.MaskedArray)
        given = np.ma.asanyarray(values) if masked else np.asarray(values)
        if given.dtype.kind in "biufOUS" and not np.ma.is_masked(given):
            return np.asarray(given, dtype=np.float64)
    raise InputError(rule)


def sealed(values: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only copy of an array that cannot be made writeable again."""
    if not values.size:
        kept = values.copy()
        kept.setflags(write=False)
        return kept
    return np.frombuffer(values.tobytes(), values.dtype).reshape(values.shape)


def plain(values: Any) -> Any:
    """The items of an iterable; those of arrays of NumPy and Arrow as Python's own values. Those of
    a data frame are its rows: libraries iterate over columns, or their names.
    """
    if hasattr(values, "columns"):
        values = np.asarray(values)
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    return values.tolist() if isinstance(values, np.ndarray) else values


def listed(values: Any, name: str) -> list[Any]:
    """The items of an iterable as a list, `plain`."""
    with suppress(Exception):  # no iterable, or an endless one
        return list(plain(values))
    raise InputError(f"{name} must be a sequence, got {type(values).__name__}")


def file_path(value: Any, name: str) -> Path:
    """Return a path."""
    with suppress(TypeError, ValueError):
        path = Path(value)
        if b"\0" not in os.fsencode(path):
            return path
    raise InputError(f"{name} must be the path of a file, got {shown(value)}")


ENTRIES = 1 << 22
"""Most entries of rows in memory at a time: 32 MB."""


def opened_first(opened: Ints, sites: Ints) -> Ints:
    """The union of both: the required sites first, then the others, ascending."""
    return np.r_[opened, np.setdiff1d(sites, opened)].astype(np.int64)


def chunks(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows of a width, each of at most `ENTRIES` entries (or one row)."""
    step = max(1, ENTRIES // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, start + step)
