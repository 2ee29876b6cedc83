"""Packages whose names are loaded on first use, so that importing them is fast."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def on_first_use(
    package: str, homes: Mapping[str, str | Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """A package's ``__getattr__``, ``__dir__`` and ``__all__``, of its modules, each with its
    public names, or of names, each with its module.
    """
    home = dict[str, str]()
    for key, value in homes.items():
        home |= {key: value} if isinstance(value, str) else dict.fromkeys(value, key)

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(home), sorted(home)
