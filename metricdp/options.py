"""Types and checks of public options that many calls share; the trusted core needs none."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metricdp.arguments import Floats, Ints, count, floats, integer, shown
from metricdp.errors import InputError

Ids = Iterable[Hashable]
"""The user's own ids of points."""
Weights = ArrayLike | Mapping[Any, float]
"""Weights of all points in order, or by id."""
Centers = Ids | ArrayLike
"""Ids of points; in a box coordinates."""
Length = float | str
"""A distance: a number, or text with a unit such as "10 min"."""
Coins = int | np.random.Generator | np.random.BitGenerator | np.random.SeedSequence
"""What `numpy.random.default_rng` takes, for public coins."""


def checked_seed(seed: Any) -> int:
    """The seed of public coins as a plain integer."""
    return count(seed, "seed", 0)


def coins(seed: Any, rng: Coins | None = None) -> int:
    """The seed of public coins, from ``seed=`` (an integer of at least 0) or ``rng=`` (what
    `numpy.random.default_rng` takes, after SPEC 7; a `Generator` gives one number), not both. Noise
    uses neither.
    """
    if rng is None:
        return checked_seed(seed)
    if seed is not None and integer(seed) != 0:
        raise InputError("give seed= or rng=, not both")
    if integer(rng) is not None:
        return checked_seed(rng)
    with suppress(TypeError, ValueError):
        return int(np.random.default_rng(rng).integers(2**31))
    raise InputError(
        "rng must be what numpy.random.default_rng takes: a Generator, a BitGenerator, a "
        f"SeedSequence or an integer of at least 0; got {type(rng).__name__}"
    )


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


def check_distinct(ids: Sequence[Any], rule: str) -> None:
    """Refuse repeated public ids, naming the first one, and text with half a surrogate pair, which
    no file can hold.
    """
    try:
        "".join(each for each in ids if isinstance(each, str)).encode()
    except UnicodeEncodeError:
        raise InputError(f"{rule}; text in them is Unicode, not half a surrogate pair") from None
    if len(set(ids)) == len(ids):
        return
    seen = set()
    for each in ids:
        if each in seen:
            raise InputError(f"{rule}; {shown(each)} is repeated")
        seen.add(each)


def by_id(values: Any) -> tuple[list[Any], list[Any]] | None:
    """Ids and their values, of a mapping; None for values in order, without ids.

    A series of pandas is a mapping by its index, unless that is the default one, 0 to n - 1.
    """
    if isinstance(values, Mapping):
        return list(values.keys()), list(values.values())
    index = getattr(values, "index", None)
    column = hasattr(values, "to_numpy") and not hasattr(values, "columns")
    if index is None or callable(index) or not column:  # Arrow's index is a method
        return None
    if isinstance(getattr(index, "start", None), int):  # a range, not labels
        return None if index.start == 0 and index.step == 1 else (list(index), values.tolist())
    return list(index), values.tolist()


def numbers(
    values: Any, positions: Callable[[list[Any]], Ints], n: int, rule: str, missing: float = 0.0
) -> Floats:
    """Public numbers of n points or sites, shape (n,), given in order or by id; `missing` for
    others.

    Raises
    ------
    InputError
        With the message `rule`; or an id occurs twice.
    """
    pairs = by_id(values)
    given = floats(values if pairs is None else pairs[1], rule)
    if pairs is not None:
        at = positions(pairs[0])
        check_distinct(pairs[0], f"{rule.split()[0]} must name every id once")
        table = np.full(n, missing)
        table[at] = given
        return table
    if given.shape != (n,):
        raise InputError(rule)
    return given
