"""Planted bugs, one a file: mistakes that a private library could make, put into the running
package for a while.

Each file has a docstring that says what is wrong, ``CAUGHT_BY`` with the names of checks that must
refute it, and ``plant()``, a context manager that changes one piece of the real code. Where that
piece is gone, the audit fails until the bug is planted anew.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from typing import Any


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
    """All planted bugs, in order of their files' names."""
    for found in pkgutil.iter_modules(__path__):
        module = import_module(f"{__name__}.{found.name}")
        yield Bug(
            found.name.replace("_", " "),
            (module.__doc__ or "").strip(),
            module.CAUGHT_BY,
            module.plant,
        )
