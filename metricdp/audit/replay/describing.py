"""Queries and partitions as text: by the parts of all points, or of probes all over a box."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

PROBES = 33
"""Points of a box for each axis of up to two; of more axes, as many points on lines across."""


def describe(value: Any, public: Any) -> str:
    """A digest of a public object; `public` is the universe, which stands for itself."""
    digest = hashlib.blake2b(digest_size=12)
    _add(value, public, digest.update, 0)
    return f"{type(value).__name__} {value} {digest.hexdigest()}"


def _add(value: Any, public: Any, add: Any, depth: int) -> None:
    name = type(value).__name__
    if value is public or callable(value) or depth > 8:
        add(name.encode())
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        add(f"{value.dtype} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif hasattr(value, "grid_rows") or (hasattr(value, "lower") and hasattr(value, "clip")):
        shape = len(value) if hasattr(value, "grid_rows") else (value.lower, value.upper)
        add(f"{name} {shape}".encode())
    elif hasattr(value, "encode") and hasattr(value, "n_parts"):
        add(f"{name} {value.n_parts}".encode())
        _add(np.asarray(value.encode(probes(value.universe))), public, add, depth + 1)
    elif isinstance(value, Mapping):
        for key in value:
            _add((key, value[key]), public, add, depth + 1)
    elif isinstance(value, list | tuple):
        for one in value:
            _add(one, public, add, depth + 1)
    elif type(value).__module__.split(".")[0] == "metricdp":
        add(name.encode())
        for key, one in sorted(getattr(value, "__dict__", {}).items()):
            add(key.encode())
            _add(one, public, add, depth + 1)
    else:
        add(repr(value).encode())


def probes(universe: Any) -> Any:
    """All positions of a finite universe, or points of a box."""
    if not hasattr(universe, "lower"):
        return np.arange(len(universe))
    low, high = universe.lower, universe.upper
    d = len(low)
    steps = np.linspace(0, 1, PROBES)
    if d <= 2:
        shares = np.stack(np.meshgrid(*[steps] * d), axis=-1).reshape(-1, d)
    else:
        shares = np.concatenate([np.full((PROBES, d), 0.37) for _ in range(d)])
        for axis in range(d):
            shares[axis * PROBES : (axis + 1) * PROBES, axis] = steps
    return low + shares * (high - low)
