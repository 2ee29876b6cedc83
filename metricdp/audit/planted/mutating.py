"""Exchanging a fragment of a function's source, in the process that runs, for a while."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

from metricdp.audit.patch import patched, replaced


@dataclass(frozen=True)
class Mutation:
    """A place, what stands there, and what is planted.

    Attributes
    ----------
    place : str
        ``module:name`` or ``module:Class.name`` within the package, of a function or a constant.
    old : str
        A fragment of the function's source, which must stand there once; of a constant its text.
    new : str
        In its place; of a constant an expression.

    Examples
    --------
    >>> from metricdp.audit.planted.mutating import Mutation, mutated
    >>> from metricdp.partitions.box.grid import Grid
    >>> doubled = Mutation("audit.laws:log_ratio", "p[possible] - q", "2 * p[possible] - q")
    >>> from metricdp.audit import laws
    >>> import numpy as np
    >>> with mutated([doubled])():
    ...     laws.log_ratio(np.array([3.0]), np.array([1.0]))
    5.0
    >>> laws.log_ratio(np.array([3.0]), np.array([1.0]))
    2.0
    """

    place: str
    old: str
    new: str


def mutated(mutations: Sequence[Mutation]) -> Callable[[], AbstractContextManager[None]]:
    """What plants them all, and puts everything back."""

    @contextmanager
    def plant() -> Iterator[None]:
        with ExitStack() as stack:
            for mutation in mutations:
                stack.enter_context(_planted(mutation))
            yield

    return plant


def _planted(mutation: Mutation) -> AbstractContextManager[None]:
    module, _, path = mutation.place.partition(":")
    owner: Any = import_module(f"metricdp.{module}")
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    found = inspect.getattr_static(owner, name)
    function = _function(found)
    if function is None:
        if repr(found) != mutation.old:
            raise LookupError(f"{mutation.place} is {found!r}, not {mutation.old}")
        value = eval(mutation.new, dict(vars(import_module(f"metricdp.{module}"))))
        return (patched if outer else replaced)(owner, name, value)
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(mutation.old) != 1:
        raise LookupError(
            f"{mutation.place} has {mutation.old!r} {source.count(mutation.old)} times"
        )
    changed = _compiled(source.replace(mutation.old, mutation.new), function)
    if function is not found and hasattr(found, "py_func"):  # compiled: in Python for a while
        plain = FunctionType(changed, function.__globals__, name, function.__defaults__)
        return replaced(owner, name, plain)
    return _exchanged(function, changed, found)


@contextmanager
def _exchanged(function: FunctionType, code: CodeType, found: Any) -> Iterator[None]:
    """A function with other code, and nothing remembered of what it gave."""
    before = function.__code__
    forget = getattr(found, "cache_clear", lambda: None)
    function.__code__ = code
    forget()
    try:
        yield
    finally:
        function.__code__ = before
        forget()


def _function(found: Any) -> FunctionType | None:
    """The Python function in a method, a property, a cached or a compiled function."""
    if isinstance(found, classmethod | staticmethod):
        return _function(found.__func__)
    if isinstance(found, property):
        return _function(found.fget)
    if isinstance(found, cached_property):
        return _function(found.func)
    if hasattr(found, "py_func"):
        return _function(found.py_func)
    if hasattr(found, "__wrapped__"):
        return _function(found.__wrapped__)
    return found if isinstance(found, FunctionType) else None


def _compiled(source: str, function: FunctionType) -> CodeType:
    """The code of a function's source, with the cells (``__class__``, closures) of the old one."""
    tree = ast.parse(source)
    body = tree.body[0]
    assert isinstance(body, ast.FunctionDef)
    body.decorator_list = []
    future = ast.parse("from __future__ import annotations").body
    cells = function.__code__.co_freevars
    if cells:
        outer = ast.parse(f"def _outer({', '.join(cells)}):\n    pass").body[0]
        assert isinstance(outer, ast.FunctionDef)
        outer.body = [body]
        tree.body = [*future, outer]
    else:
        tree.body = [*future, body]
    code = compile(ast.fix_missing_locations(tree), function.__code__.co_filename, "exec")
    path = [code]
    while path:
        at = path.pop()
        for inner in at.co_consts:
            if isinstance(inner, CodeType):
                if inner.co_name == function.__name__:
                    if inner.co_freevars != cells:
                        raise LookupError(f"{function.__name__} would close over other names")
                    return inner
                path.append(inner)
    raise LookupError(f"no code of {function.__name__}")
