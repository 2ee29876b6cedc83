"""Replacing one piece of the running package for a while: an attribute, or a function."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


@contextmanager
def patched(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Set an attribute that must exist, and put the old one back."""
    own = name in vars(owner)
    before = vars(owner)[name] if own else inspect.getattr_static(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Set a function of a module, there and wherever in the package it was imported to."""
    before = getattr(owner, name)
    homes = [m for key, m in list(sys.modules.items()) if key.split(".")[0] == "metricdp"]
    with ExitStack() as stack:
        for module in homes:
            for known, there in list(vars(module).items()):
                if there is before:
                    stack.enter_context(patched(module, known, value))
        yield
