"""What calls leave on arguments, metrics and caches must be equal to the byte for neighbors."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from metricdp.metrics.identity_cache import IdentityCache
from metricdp.unique import Unique

OURS = "metricdp"
PRIVATE = ("metricdp.privacy._vault", "metricdp.audit")
"""Where records live, and what looks at them."""


class _Among(dict[type, bool]):
    """Whether types are of some kinds, remembered: an audit asks ten million times."""

    def __init__(self, *kinds: type) -> None:
        self._kinds = kinds

    def __missing__(self, kind: type) -> bool:
        self[kind] = issubclass(kind, self._kinds)
        return self[kind]


_STILL = _Among(ModuleType, type, BuiltinFunctionType)
_PLAIN = _Among(type(None), str, bytes, int, float, complex, np.generic)
_HOLDS_NOTHING = _Among(ModuleType, type, BuiltinFunctionType, FunctionType)
_CONTAINERS = _Among(dict, list, set, WeakKeyDictionary)


def state(*roots: Any) -> str:
    """A digest of everything that public roots lead to, without private demand and budgets."""

    digest = hashlib.sha256()
    seen = set[int]()
    todo = list(roots)
    kept = []  # no number of an object may be used again while it is looked for
    while todo:
        value = todo.pop()
        if _STILL[type(value)] or isinstance(value, Unique):
            continue
        if _PLAIN[type(value)]:
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
            todo += parts(value)
    return digest.hexdigest()


def parts(value: Any, everyone: bool = False) -> list[Any]:
    """What an object leads to: of libraries' objects nothing, unless `everyone` is asked."""
    kind = type(value)
    if kind not in _READ:
        _READ[kind] = next((read for known, read in _READERS if issubclass(kind, known)), None)
    read = _READ[kind]
    return _held(value, everyone) if read is None else read(value)


def _held(value: Any, everyone: bool) -> list[Any]:
    """What an object of a class holds."""
    if hasattr(value, "func") and hasattr(value, "keywords"):
        return [value.func, value.args, value.keywords]
    if not everyone and not type(value).__module__.startswith(OURS):
        return []  # trees of other libraries, locks: their bytes are not ours to compare
    names = [s for kind in type(value).__mro__ for s in getattr(kind, "__slots__", ())]
    slots = [
        getattr(value, name) for name in names if not name.startswith("__") and hasattr(value, name)
    ]
    return [getattr(value, "__dict__", None), *slots]


_READERS: tuple[tuple[Any, Callable[[Any], list[Any]]], ...] = (
    (np.ndarray, lambda array: list(array.flat)),
    (Mapping, lambda known: [*known.keys(), *known.values()]),
    ((list, tuple), list),
    ((set, frozenset), lambda some: sorted(some, key=repr)),
    (FunctionType, lambda f: [c.cell_contents for c in f.__closure__ or ()] + [f.__defaults__]),
    (MethodType, lambda method: [method.__self__, method.__func__]),
)
_READ: dict[type, Callable[[Any], list[Any]] | None] = {}
"""The reader of each class that was met, as an audit asks ten million times."""


def caches(universe: Any) -> Iterator[Any]:
    """Containers of the package's modules in which a call could leave something."""
    for named, names in _globals(_size()):
        for value in map(named.get, names):
            if _CONTAINERS[type(value)]:
                yield value
            elif type(value) is IdentityCache:
                yield value.of(universe)


@lru_cache(maxsize=1)
def _modules(loaded: int) -> list[dict[str, Any]]:
    """What the package's modules name, as of so many modules in the process."""
    return [vars(sys.modules[name]) for name in sorted(sys.modules) if _ours(name)]


def _ours(name: str) -> bool:
    return name.split(".")[0] == OURS and not name.startswith(PRIVATE)


def _size() -> int:
    """How many names the package's modules have: another number, and they are looked up anew."""
    return sum(map(len, _modules(len(sys.modules))))


@lru_cache(maxsize=1)
def _globals(size: int) -> list[tuple[dict[str, Any], list[str]]]:
    """Names in the package's modules that may hold values, looked up in every call."""
    return [
        (named, sorted(name for name, value in named.items() if _variable(name, value)))
        for named in _modules(len(sys.modules))
    ]


def _variable(name: str, value: Any) -> bool:
    return not (name.startswith("__") or _HOLDS_NOTHING[type(value)])
