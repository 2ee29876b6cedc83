"""Planted bugs: mistakes that a private library could make, put into the running package for a
while.

A bug is a line of a table: what is wrong, the checks that must refute it, and one or more
`Mutation`: a place, what stands there, what is planted. The function's own code is exchanged, so
whoever imported it has the bug too. Where a place or what stood there is gone, the audit fails
until the bug is planted anew.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from metricdp.audit.planted.mutating import Mutation, mutated

__all__ = ["Bug", "Mutation", "bugs"]


@dataclass(frozen=True)
class Bug:
    """One planted bug: its name, what is wrong, the checks that must catch it, and how it is
    planted.
    """

    name: str
    story: str
    caught_by: tuple[str, ...]
    plant: Callable[[], AbstractContextManager[Any]]


def bugs() -> Iterator[Bug]:
    """All planted bugs, table by table, and of those in a file of their own by their names."""
    for found in pkgutil.iter_modules(__path__):
        module = import_module(f"{__name__}.{found.name}")
        for name, story, caught_by, *mutations in getattr(module, "TABLE", ()):
            yield Bug(name, story, caught_by, mutated(mutations))
        if hasattr(module, "plant"):
            name = found.name.replace("_", " ")
            yield Bug(name, (module.__doc__ or "").strip(), module.CAUGHT_BY, module.plant)
