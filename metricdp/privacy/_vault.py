"""The store of private records, by holder. An import contract says who may import this."""

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError
from metricdp.records.engines.sources import Source
from metricdp.records.trouble import Ended, attempt, to_error

T = TypeVar("T")
_RECORDS: WeakKeyDictionary[object, NDArray[Any] | Source] = WeakKeyDictionary()
_MEMORY: WeakKeyDictionary[object, WeakKeyDictionary[object, dict[Any, Any]]] = WeakKeyDictionary()


def _put(holder: object, records: NDArray[Any] | Source) -> None:
    """Store a read-only copy of the records of `holder`, or their source; only once."""
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
    """Exact results that paid queries about `holder` reuse; as private as records."""
    return _MEMORY.setdefault(holder, WeakKeyDictionary()).setdefault(budget, {})


def _quietly(rule: str, work: Callable[[], T], fault: str | None = None) -> T:
    """Return ``work()``, which handles private data. Whatever it raises becomes
    ``InputError(rule)``. Interruption, lack of resources and changed tables have messages of their
    own (`metricdp.records.trouble`); so have errors that are not about a bad record, if `fault` is
    given.

    The text of an exception can quote a record ("could not convert 'Ann'") or the number of records
    ("unable to allocate an array of shape …"), and its traceback refers to the frames that hold
    them. The new exception is raised after the old one is deleted, so that ``__context__`` does not
    refer to it either (``from None`` would only hide it).
    """
    done = attempt(work)
    if isinstance(done, Ended):
        del work
        raise to_error(done, rule, fault)
    return done
