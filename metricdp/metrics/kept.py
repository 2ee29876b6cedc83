"""What is worked out once about a universe and kept as long as it lives."""

from __future__ import annotations

from typing import Any
from weakref import ref


class Kept:
    """A dictionary for each object, by its identity, dropped with it.

    Universes need not be hashable (a dataclass with ``eq`` is not), and equal ones are not the
    same one.
    """

    def __init__(self) -> None:
        self._rooms: dict[int, tuple[ref[Any], dict[Any, Any]]] = {}

    def of(self, owner: object) -> dict[Any, Any]:
        """The dictionary of an object, empty at first."""
        key = id(owner)
        room = self._rooms.get(key)
        if room is None or room[0]() is not owner:
            self._rooms[key] = room = (ref(owner, lambda gone: self._forget(key, gone)), {})
        return room[1]

    def _forget(self, key: int, gone: object) -> None:
        """An object that came to the same place in memory meanwhile keeps its own."""
        if key in self._rooms and self._rooms[key][0] is gone:
            del self._rooms[key]
