"""Checks of public arguments, before anything is read or charged."""

from __future__ import annotations

import os
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.errors import InputError

Amount = int | float | str | Decimal | Fraction
"""How much of a budget, read as the exact rational that its writer meant."""
Ids = Iterable[Hashable]
"""The user's own ids of points."""
Weights = ArrayLike | Mapping[Any, float]
"""Of all points in order, or by id."""
Centers = Ids | ArrayLike
"""Ids of points, or in a box coordinates."""
Length = float | str
"""A distance: a number, or text with a unit such as "10 min"."""
Coins = int | np.random.Generator | np.random.BitGenerator | np.random.SeedSequence
"""What `numpy.random.default_rng` takes, for public coins."""


class HasWKT(Protocol):
    """A coordinate system, as pyproj holds it."""

    def to_wkt(self) -> str:
        """Its well-known text."""


CRS = str | int | HasWKT
"""A coordinate system: ``"EPSG:25832"``, its number, or pyproj's."""


def shown(value: object) -> str:
    """A public value as messages quote it: its repr, or its type where that fails."""
    try:
        return repr(value)
    except Exception:  # a message must never fail
        return type(value).__name__


def chosen(value: Any, options: Collection[str], name: str) -> str:
    """Return `value` if it is one of `options`."""
    if not isinstance(value, str) or value not in options:
        raise InputError(f"{name} must be one of {', '.join(options)}; got {shown(value)}")
    return value


def integer(value: Any) -> int | None:
    """The integer that `value` is, of Python or NumPy; None for anything else."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | np.integer)
        or isinstance(value, np.timedelta64)
    ):
        return None
    return int(value)


def checked_seed(seed: Any) -> int:
    """The seed of public coins as a plain integer."""
    number = integer(seed)
    if number is None or number < 0:
        raise InputError(f"seed must be an integer of at least 0, got {shown(seed)}")
    return number


def coins(seed: Any, rng: Coins | None = None) -> int:
    """The seed of public coins, from ``seed=`` (an integer of at least 0) or ``rng=`` (as
    `numpy.random.default_rng`; of a `Generator` one number is drawn, after SPEC 7), not both. Noise
    takes neither.
    """
    if rng is None:
        return checked_seed(seed)
    if seed is not None and integer(seed) != 0:
        raise InputError("give seed= or rng=, not both")
    if integer(rng) is not None:
        return checked_seed(rng)
    try:
        drawing = np.random.default_rng(rng)
    except (TypeError, ValueError):
        drawing = None
    if drawing is None:
        raise InputError(
            "rng must be what numpy.random.default_rng takes: a Generator, a BitGenerator, a "
            f"SeedSequence or an integer of at least 0; got {type(rng).__name__}"
        )
    return int(drawing.integers(2**31))


def flag(value: Any, name: str) -> bool:
    """Return a truth value, or 0 or 1, as a bool."""
    if not isinstance(value, bool | np.bool_) and integer(value) not in (0, 1):
        raise InputError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def hashable(value: Any) -> bool:
    """Whether a value can be an id or the name of an attribute."""
    try:
        hash(value)
    except Exception:
        return False
    return True


def positive(value: Any, name: str, *, or_zero: bool = False) -> float:
    """Return a positive finite number (or zero, if it may be) as a float."""
    number = -1.0
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            number = float(value)
        except (OverflowError, ValueError, TypeError):
            number = -1.0
    if not (isfinite(number) and (number > 0 or (or_zero and number == 0))):
        raise InputError(
            f"{name} must be {'finite and not negative' if or_zero else 'positive and finite'}, "
            f"got {shown(value)}"
        )
    return number


def check_distinct(ids: Sequence[Any], rule: str) -> None:
    """Refuse public ids that occur more than once, and name the first of them."""
    if len(set(ids)) == len(ids):
        return
    seen = set()
    for each in ids:
        if each in seen:
            raise InputError(f"{rule}; {shown(each)} is repeated")
        seen.add(each)


def by_id(values: Any) -> tuple[list[Any], list[Any]] | None:
    """Ids and what they are mapped to; None for values that are told by their order alone.

    A series of pandas is a mapping by its index, unless that is the default one, 0 to n - 1.
    """
    if isinstance(values, Mapping):
        return list(values.keys()), list(values.values())
    index = getattr(values, "index", None)
    if index is None or not hasattr(values, "to_numpy") or hasattr(values, "columns"):
        return None
    if isinstance(getattr(index, "start", None), int):  # a range, not labels
        return None if index.start == 0 and index.step == 1 else (list(index), values.tolist())
    return list(index), values.tolist()


def floats(values: Any, rule: str) -> NDArray[np.float64]:
    """Real numbers as an array of float64. They may be private, so none is quoted."""
    array = None
    try:
        given = (
            np.ma.asanyarray(values)
            if isinstance(values, np.ma.MaskedArray)
            else np.asarray(values)
        )
        if given.dtype.kind in "biufOUS" and not np.ma.is_masked(given):
            with np.errstate(over="ignore"):
                array = np.asarray(given, dtype=np.float64)
    except (
        Exception
    ):  # sequences of other libraries raise their own; whatever it is, it may quote a value
        array = None
    if array is None:
        raise InputError(rule)
    return array


def sealed(values: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of an array that nobody can write to, nor make writeable again."""
    if not values.size:
        kept = values.copy()
        kept.setflags(write=False)
        return kept
    return np.frombuffer(values.tobytes(), values.dtype).reshape(values.shape)


def listed(values: Any, name: str) -> list[Any]:
    """The items of an iterable, of arrays as Python's own numbers."""
    try:
        return list(values.tolist() if isinstance(values, np.ndarray) else values)
    except Exception:  # no iterable, or an endless one
        pass
    raise InputError(f"{name} must be a sequence, got {type(values).__name__}")


def file_path(value: Any, name: str) -> Path:
    """Return a path."""
    try:
        path = Path(value)
        os.fsencode(path)
    except (TypeError, ValueError):
        path = None
    if path is None or "\0" in str(path):
        raise InputError(f"{name} must be the path of a file, got {shown(value)}")
    return path
