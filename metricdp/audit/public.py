"""What calls leave behind on public objects: everything that a call was given and that the caller
still holds (queries, partitions, set systems, trees, the metric), and all caches of the package.

Two neighbors, one after the other, with equal coins: what is left behind must be equal to the byte.
Search buffers that kept the neighborhoods of records in a set system were such a trace, and were
pickled with it.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

OURS = "metricdp"
PRIVATE = ("metricdp.privacy._vault", "metricdp.audit")
"""Where records live, and what looks at them."""


def state(*roots: Any) -> str:
    """A digest of everything that public roots lead to, without private demand and budgets."""
    from metricdp.unique import Unique

    digest = hashlib.sha256()
    seen = set[int]()
    todo = list(roots)
    kept = []  # no number of an object may be used again while it is looked for
    while todo:
        value = todo.pop()
        if isinstance(value, Unique | ModuleType | type | BuiltinFunctionType):
            continue
        if value is None or isinstance(value, str | bytes | int | float | complex | np.generic):
            digest.update(repr(value).encode())
            continue
        if id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)
        digest.update(type(value).__name__.encode())
        if isinstance(value, np.ndarray) and value.dtype.kind != "O":
            digest.update(f"{value.dtype} {value.shape}".encode() + value.tobytes())
        else:
            todo += _parts(value)
    return digest.hexdigest()


def _parts(value: Any) -> list[Any]:
    """What an object leads to."""
    if isinstance(value, np.ndarray):
        return list(value.flat)
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, FunctionType):
        return [cell.cell_contents for cell in value.__closure__ or ()] + [value.__defaults__]
    if isinstance(value, MethodType):
        return [value.__self__, value.__func__]
    if hasattr(value, "func") and hasattr(value, "keywords"):
        return [value.func, value.args, value.keywords]
    if not type(value).__module__.startswith(OURS):
        return []  # trees of other libraries, locks: their bytes are not ours to compare
    names = [s for kind in type(value).__mro__ for s in getattr(kind, "__slots__", ())]
    slots = [
        getattr(value, name) for name in names if not name.startswith("__") and hasattr(value, name)
    ]
    return [vars(value) if hasattr(value, "__dict__") else None, *slots]


def caches(universe: Any) -> Iterator[Any]:
    """Containers at the top of the package's modules, which any call could leave something in; of
    those with a room for each object, the universe's.
    """
    from metricdp.metrics.kept import Kept

    for module, names in _globals(_size()):
        for name in names:
            value = vars(module).get(name)
            if isinstance(value, dict | list | set | WeakKeyDictionary):
                yield value
            elif isinstance(value, Kept):
                yield value.of(universe)


def _modules() -> list[ModuleType]:
    known = sorted(name for name in sys.modules if _ours(name))
    return [sys.modules[name] for name in known]


def _ours(name: str) -> bool:
    return name.split(".")[0] == OURS and not name.startswith(PRIVATE)


def _size() -> int:
    """How many names the package's modules have: another number, and they are looked up anew."""
    return sum(len(vars(module)) for module in _modules())


@lru_cache(maxsize=1)
def _globals(size: int) -> list[tuple[ModuleType, list[str]]]:
    """Names in the package's modules, without those of what holds nothing: modules, functions and
    types. What the names stand for is looked up in every call.
    """
    still = ModuleType | FunctionType | BuiltinFunctionType | type
    return [
        (module, sorted(k for k, v in vars(module).items() if _variable(k, v, still)))
        for module in _modules()
    ]


def _variable(name: str, value: Any, still: Any) -> bool:
    return not (name.startswith("__") or isinstance(value, still))
