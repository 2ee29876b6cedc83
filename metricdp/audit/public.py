"""Digests of arguments, metrics and caches after a call, which must be equal for neighbors."""

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
"""Modules that hold records, or inspect them."""


class _Among(dict[type, bool]):
    """Cached ``issubclass`` for some kinds, as an audit asks ten million times."""

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
    """Digest of all objects reachable from public roots, without private demand and budgets."""

    digest = hashlib.sha256()
    seen = set[int]()
    todo = list(roots)
    kept = []  # keeps objects alive, so that no id is reused meanwhile
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
    """The objects that an object references; of other libraries' objects only if `everyone`."""
    kind = type(value)
    if kind not in _READ:
        _READ[kind] = next((read for known, read in _READERS if issubclass(kind, known)), None)
    read = _READ[kind]
    return _held(value, everyone) if read is None else read(value)


def _held(value: Any, everyone: bool) -> list[Any]:
    """Attributes of an instance."""
    if hasattr(value, "func") and hasattr(value, "keywords"):
        return [value.func, value.args, value.keywords]
    if not everyone and not type(value).__module__.startswith(OURS):
        return []  # such as search trees and locks, whose bytes may differ
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
"""Cached reader of each class, as an audit asks ten million times."""


def caches(universe: Any) -> Iterator[Any]:
    """Containers in the package's modules in which a call could store something."""
    for named, names in _globals(_size()):
        for value in map(named.get, names):
            if _CONTAINERS[type(value)]:
                yield value
            elif type(value) is IdentityCache:
                yield value.of(universe)


@lru_cache(maxsize=1)
def _modules(loaded: int) -> list[dict[str, Any]]:
    """Namespaces of the package's modules, cached by the number of loaded modules."""
    return [vars(sys.modules[name]) for name in sorted(sys.modules) if _ours(name)]


def _ours(name: str) -> bool:
    return name.split(".")[0] == OURS and not name.startswith(PRIVATE)


def _size() -> int:
    """Number of names in the package's modules, by which `_globals` is cached."""
    return sum(map(len, _modules(len(sys.modules))))


@lru_cache(maxsize=1)
def _globals(size: int) -> list[tuple[dict[str, Any], list[str]]]:
    """Names in the package's modules that may hold values, cached by their number."""
    return [
        (named, sorted(name for name, value in named.items() if _variable(name, value)))
        for named in _modules(len(sys.modules))
    ]


def _variable(name: str, value: Any) -> bool:
    return not (name.startswith("__") or _HOLDS_NOTHING[type(value)])
