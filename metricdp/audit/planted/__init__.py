"""Mutants, read from tables: what is wrong, which checks must catch it, what is replaced."""

import ast
import inspect
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from itertools import groupby
from types import CodeType, FunctionType
from typing import Any

from metricdp.audit.patch import patched, replaced

__all__ = ["Bug", "Mutation", "bugs"]


@dataclass(frozen=True)
class Bug:
    """A mutant: its name, what is wrong, the checks that must catch it, and how to plant it."""

    name: str
    wrong: str
    caught_by: tuple[str, ...]
    plant: Callable[[], AbstractContextManager[Any]]


def bugs() -> Iterator[Bug]:
    """All planted bugs, table by table."""
    for path in sorted(files(__name__).iterdir(), key=lambda path: path.name):
        if path.name.endswith(".toml"):
            for name, row in tomllib.loads(path.read_text(encoding="utf-8")).items():
                plant = mutated([Mutation(*place) for place in row["at"]])
                yield Bug(name.replace("_", " "), row["wrong"], tuple(row["caught_by"]), plant)


VAULT = "VAULT(", "__import__('metricdp.privacy._vault', fromlist=['x'])._open("
"""Mutants may read the records in the clear by this name."""


@dataclass(frozen=True)
class Mutation:
    """A replacement of a fragment of source by another.

    Attributes
    ----------
    place : str
        ``module:name`` or ``module:Class.name`` within the package, of a function or a constant.
    old : str
        A fragment of the function's source, which must occur exactly once; for a constant its
        repr, for a generated method its name.
    new : str
        The replacement, indented as the fragment's first line; for a constant an expression.

    Examples
    --------
    >>> from metricdp.audit.planted import Mutation, mutated
    >>> place = "audit.distributions:log_ratio"
    >>> doubled = Mutation(place, "p[possible] - q", "2 * p[possible] - q")
    >>> from metricdp.audit import distributions
    >>> with mutated([doubled])():
    ...     distributions.log_ratio(np.array([3.0]), np.array([1.0]))
    5.0
    >>> distributions.log_ratio(np.array([3.0]), np.array([1.0]))
    2.0
    """

    place: str
    old: str
    new: str

    def applied(self, source: str) -> str:
        """The source of a function with this mutation.

        Raises
        ------
        LookupError
            The fragment does not occur exactly once: the mutant's row must be corrected.
        """
        before, *rest = source.split(self.old)
        if len(rest) != 1:
            raise LookupError(f"{self.place} has {self.old!r} {len(rest)} times")
        line = before.rpartition("\n")[2]
        margin = " " * (len(line) - len(line.lstrip()))
        planted = self.new.rstrip("\n").replace(*VAULT).replace("\n", f"\n{margin}")
        return f"{before}{planted}{rest[0]}"


def mutated(mutations: Sequence[Mutation]) -> Callable[[], AbstractContextManager[None]]:
    """A context manager that applies all mutations, and undoes them at the end."""

    @contextmanager
    def plant() -> Iterator[None]:
        with ExitStack() as stack:
            for place, each in groupby(mutations, key=lambda mutation: mutation.place):
                stack.enter_context(_planted(place, list(each)))
            yield

    return plant


def _planted(place: str, mutations: list[Mutation]) -> AbstractContextManager[None]:
    module, _, path = place.partition(":")
    home = import_module(f"metricdp.{module}")
    owner: Any = home
    *outer, name = path.split(".")
    for part in outer:
        owner = getattr(owner, part)
    found = inspect.getattr_static(owner, name)
    function = _function(found)
    source = None if function is None else _source(function)
    if function is None or source is None:
        stands = repr(found) if function is None else function.__qualname__
        if [stands] != [mutation.old for mutation in mutations]:
            raise LookupError(f"{place} is {stands}, not {mutations[0].old}")
        value = eval(mutations[0].new, dict(vars(home)))
        return (patched if outer else replaced)(owner, name, value)
    for mutation in mutations:
        source = mutation.applied(source)
    changed = _compiled(source, function)
    return _exchanged(function, changed, found)


def _source(function: FunctionType) -> str | None:
    """The source of a function; None for a generated method."""
    try:
        return textwrap.dedent(inspect.getsource(function))
    except OSError:
        return None


@contextmanager
def _exchanged(function: FunctionType, code: CodeType, found: Any) -> Iterator[None]:
    """Give a function other code in a block, and clear its cache before and after."""
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
    """The Python function inside a method, a property or a cached function."""
    for inner in ("__func__", "fget", "__wrapped__"):
        if hasattr(found, inner):
            return _function(getattr(found, inner))
    return found if isinstance(found, FunctionType) else None


def _compiled(source: str, function: FunctionType) -> CodeType:
    """The code object of a function's source; functions with closures are refused on exchange."""
    tree = ast.parse(source)
    (body,) = tree.body
    assert isinstance(body, ast.FunctionDef)
    body.decorator_list = []
    tree.body[:0] = ast.parse("from __future__ import annotations").body
    whole = compile(tree, function.__code__.co_filename, "exec")
    return next(inner for inner in whole.co_consts if isinstance(inner, CodeType))
