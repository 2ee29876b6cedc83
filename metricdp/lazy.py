"""Packages whose names are loaded on first use, so that importing them is fast."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any


def on_first_use(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """A package's ``__getattr__``, ``__dir__`` and ``__all__``, for the names that its file imports
    under ``if TYPE_CHECKING:``. So type checkers and import contracts see the same names.
    """
    home = dict(_imported(str(sys.modules[package].__file__)))

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        where = None if home[name] == package else import_module(home[name])
        module = where is None or not hasattr(where, name)
        value = import_module(f"{home[name]}.{name}") if module else getattr(where, name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted(home), sorted(home)


def _imported(file: str) -> Iterator[tuple[str, str]]:
    """Imported names and their modules; for ``*`` all public names of the module."""
    for block in ast.parse(Path(file).read_text("utf-8")).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            for line in block.body:
                assert isinstance(line, ast.ImportFrom) and line.module
                for name in (alias.name for alias in line.names):
                    every = import_module(line.module).__all__ if name == "*" else [name]
                    yield from ((one, line.module) for one in every)
