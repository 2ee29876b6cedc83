"""Where private records live, by holder. An import contract says who may import this."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from metricdp.records.engines import Source
from metricdp.records.trouble import Ended, attempt, to_error
from metricdp.refusals import InputError

T = TypeVar("T")
_RECORDS: WeakKeyDictionary[object, NDArray[Any] | Source] = WeakKeyDictionary()
_MEMORY: WeakKeyDictionary[object, WeakKeyDictionary[object, dict[Any, Any]]] = WeakKeyDictionary()


def _put(holder: object, records: NDArray[Any] | Source) -> None:
    """Keep a read-only copy of the records of `holder`, or what leads to them, once and for all."""
    if holder in _RECORDS:
        raise InputError("a demand's records are set once, when it is made")
    if not isinstance(records, Source):
        records = np.array(records)
        records.setflags(write=False)
    _RECORDS[holder] = records


def _open(holder: object) -> Any:
    """Return the records of `holder`: from here on the caller holds private data."""
    return _RECORDS[holder]


def _memory(holder: object, budget: object) -> dict[Any, Any]:
    """What paid queries about `holder` computed for the next: as private as records."""
    return _MEMORY.setdefault(holder, WeakKeyDictionary()).setdefault(budget, {})


def _quietly(rule: str, work: Callable[[], T], fault: str | None = None) -> T:
    """Return ``work()``, which handles private data; whatever it raises becomes
    ``InputError(rule)``, but for interruption, lack of resources and changed tables, which have
    words of their own (`metricdp.records.trouble`); so has what is no bad record, if `fault` is
    given.

    The text of an exception can quote a record ("could not convert 'Ann'") or how many there are
    ("unable to allocate an array of shape …"), and its traceback leads to the frames that hold
    them. The new one is raised after the old one is gone, so that not even ``__context__`` leads
    there (``from None`` would only hide it).
    """
    done = attempt(work)
    if isinstance(done, Ended):
        del work
        raise to_error(done, rule, fault)
    return done
