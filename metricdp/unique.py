"""Objects of which a copy would be a leak: private demand, budgets."""

from __future__ import annotations

from typing import NoReturn


class Unique:
    """Mix-in: an object that is never copied, pickled or sent to another process."""

    __slots__ = ()
    _why = "it is one of a kind"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be copied or pickled: {self._why}")
