"""Errors while private records are read, reported without showing the records.

A traceback leads to local variables, and an exception's text may quote a record. So `attempt`
catches all exceptions and keeps only their *kind*: ``INTERRUPTED`` and ``ENDED`` (Ctrl-C,
`SystemExit`), ``RESOURCES`` (memory, disk, open files), ``CHANGED`` (a table differed between
readings), ``BAD`` (`InputError`: a record breaks a rule), ``FAULT`` (anything else).
"""

import errno
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

import numpy as np

from metricdp.errors import InputError, ReadingError, ResourceError

T = TypeVar("T")


class Trouble(IntEnum):
    """Kinds of errors; where two meet, the larger is reported."""

    BAD = 1
    CHANGED = 2
    RESOURCES = 3
    FAULT = 4
    ENDED = 5
    INTERRUPTED = 6


CHANGED = (
    "the table changed between two readings of it: hand over one that stays as it is (a file, or "
    "what persist(), cache() or collect() return)"
)
RESOURCES = (
    "memory or disk space ran out while private records were read (details withheld); nothing is "
    "wrong with a record"
)
FAULT = (
    "reading the records failed, and not for a record that breaks a rule (details withheld): a "
    "fault of the engine or of this program; try the same call on a table that is not private"
)
_FULL = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "ENOMEM", "EMFILE", "ENFILE", "EFBIG")
    if hasattr(errno, name)
}
_INTERRUPTED_NAMES = ("InterruptException",)
"""What DuckDB raises at Ctrl-C."""
_FULL_NAMES = ("OutOfMemoryException", "ArrowMemoryError")


class Change(Exception):
    """A table differed between two readings."""


@dataclass(frozen=True)
class Ended:
    """The outcome of an attempt that raised."""

    trouble: Trouble


def attempt(work: Callable[[], T]) -> T | Ended:
    """``work()``, or the kind of its exception, also if Ctrl-C comes while one is being handled.

    NumPy's warnings are off: they would tell that some cell overflows.
    """
    try:
        try:
            with np.errstate(all="ignore"):
                return work()
        except BaseException as error:
            return Ended(kind(error))
    except BaseException:
        return Ended(Trouble.INTERRUPTED)


def kind(error: BaseException) -> Trouble:
    """The kind of an exception."""
    if isinstance(error, InputError):
        return Trouble.BAD
    if isinstance(error, KeyboardInterrupt) or _named(error, _INTERRUPTED_NAMES):
        return Trouble.INTERRUPTED
    if isinstance(error, SystemExit):
        return Trouble.ENDED
    if isinstance(error, Change):
        return Trouble.CHANGED
    full = isinstance(error, OSError) and error.errno in _FULL
    if full or isinstance(error, MemoryError | ResourceError):
        return Trouble.RESOURCES
    return Trouble.RESOURCES if _named(error, _FULL_NAMES) else Trouble.FAULT


def _named(error: BaseException, names: tuple[str, ...]) -> bool:
    return any(c.__name__ in names for c in type(error).__mro__)


def raised(trouble: Trouble) -> None:
    """Raise an exception of this kind inside an attempt, which reports it."""
    raise _error(trouble, InputError("a record breaks a rule"), Change(), FAULT)


def to_error(ended: Ended, rule: str, fault: str | None = FAULT) -> BaseException:
    """A fresh exception for the caller; `rule`: its message if a record breaks a rule."""
    if ended.trouble is Trouble.FAULT and fault is None:
        return InputError(rule)
    return _error(ended.trouble, InputError(rule), ReadingError(CHANGED), fault or FAULT)


def _error(trouble: Trouble, bad: Exception, changed: Exception, fault: str) -> BaseException:
    return {
        Trouble.BAD: bad,
        Trouble.CHANGED: changed,
        Trouble.RESOURCES: ResourceError(RESOURCES),
        Trouble.ENDED: SystemExit(1),
        Trouble.INTERRUPTED: KeyboardInterrupt(),
    }.get(trouble, ReadingError(fault))
