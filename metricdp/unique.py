"""Objects that stay as they are: of which a copy would be a leak (private demand, budgets), and
whose guarantee was stated for what they were made from (queries, set systems).
"""

from __future__ import annotations

from typing import Any, NoReturn


class Unique:
    """Mix-in: an object that is never copied, pickled or sent to another process."""

    __slots__ = ()
    _why = "it is one of a kind"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be copied or pickled: {self._why}")


class Frozen:
    """Mix-in: an object whose attributes are set once, while it is made, and never again.

    A query states its sensitivity from its attributes, and is answered from them later: whoever
    could change one in between would have an answer of one query with the noise of another.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if hasattr(self, name):
            raise AttributeError(f"{type(self).__name__} is read-only: make another")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is read-only: make another")
