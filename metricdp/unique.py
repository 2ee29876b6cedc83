"""Objects that cannot change or be copied: private demand, budgets, queries, set systems."""

from copy import deepcopy
from typing import Any, NoReturn

from metricdp.errors import InputError
from metricdp.protocols import is_trusted


class Unique:
    """Mix-in: an object that is never copied, pickled or sent to another process."""

    __slots__ = ()
    _why = "it is one of a kind"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be copied or pickled: {self._why}")


class Frozen:
    """Mix-in: an object whose attributes are set once, while it is made, and never again.

    A query's sensitivity and, later, its answer depend on its attributes: if one changed in
    between, the answer of one query would have the noise of another.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, name):
            raise AttributeError(f"{type(self).__name__} is read-only: make another")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is read-only: make another")


class IsolatedEncoder:
    """The present `encode` of a partition or map, isolated from later changes of the object, and
    without state.

    The object is copied at once, and each call uses a copy of that copy, which is then deleted. So
    neither the caller's object nor this one ever stores a record, and no block of records can
    change how the next one is encoded.

    `rule`: with ``encode(records)``; `universe`: public, shared by all copies.
    """

    def __init__(self, rule: Any, universe: object) -> None:
        self._universe = universe
        self._fixed = is_trusted(rule)
        self._rule = rule
        if not self._fixed:
            self._rule = self._copied()

    def __call__(self, records: Any) -> Any:
        """The result of `encode` for some records."""
        rule = self._rule if self._fixed else self._copied()
        return rule.encode(records)

    def _copied(self) -> Any:
        try:
            return deepcopy(self._rule, {id(self._universe): self._universe})
        except Exception:
            name = type(self._rule).__name__
        raise InputError(
            f"{name} cannot be copied, and what encodes private records must be: let copy.deepcopy "
            "copy it"
        )
