"""Replacing one piece of the running package for a while: an attribute, or a line of a function's
source.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_FLAGS = __future__.annotations.compiler_flag


@contextmanager
def patched(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Set an attribute that must exist, and put the old one back.

    Raises
    ------
    AttributeError
        There is no such attribute: what should be replaced is not there any more.
    """
    before, own = inspect.getattr_static(owner, name), name in vars(owner)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own:
            setattr(owner, name, before)
        else:
            delattr(owner, name)


@contextmanager
def rewritten(owner: Any, name: str, old: str, new: str) -> Iterator[None]:
    """Compile a function or method again with `old` in its source, which must be there exactly
    once, replaced by `new`.

    The function object stays the same and gets other code, so whoever imported it before runs the
    new code too.

    Raises
    ------
    LookupError
        The source has changed, and a planted bug must be planted anew.
    """
    raw = inspect.getattr_static(owner, name)
    function = getattr(raw, "__func__", None) or getattr(raw, "fget", None) or raw
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(old) != 1:  # perhaps only the layout has changed
        source = ast.unparse(ast.parse(source))
        old, new = old.replace('"', "'").replace("**", " ** "), new.replace('"', "'")
    if source.count(old) != 1:
        raise LookupError(
            f"{owner.__name__}.{name} holds {source.count(old)} times, not once: {old}"
        )
    scope: dict[str, Any] = {}
    code = compile(
        source.replace(old, new),
        f"<{owner.__name__}.{name}, with a bug>",
        "exec",
        _FLAGS,
        dont_inherit=True,
    )
    exec(code, function.__globals__, scope)
    changed = scope[function.__name__]
    changed = getattr(changed, "__func__", None) or getattr(changed, "fget", None) or changed
    before, function.__code__ = function.__code__, changed.__code__
    try:
        yield
    finally:
        function.__code__ = before
