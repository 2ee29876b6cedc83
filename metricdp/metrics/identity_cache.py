"""Results that are computed once about a universe and cached as long as it lives."""

from typing import Any
from weakref import ref


class IdentityCache:
    """A dictionary for each object, keyed by identity and deleted with the object.

    Universes need not be hashable (a dataclass with ``eq`` is not), and equal ones are different.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[ref[Any], dict[Any, Any]]] = {}

    def of(self, owner: object) -> dict[Any, Any]:
        """The dictionary of an object, empty at first."""
        key = id(owner)
        entry = self._entries.get(key)
        if entry is None or entry[0]() is not owner:
            self._entries[key] = entry = (ref(owner, lambda gone: self._forget(key, gone)), {})
        return entry[1]

    def _forget(self, key: int, gone: object) -> None:
        """Delete the entry of an object, but not that of a new one with the same id."""
        if key in self._entries and self._entries[key][0] is gone:
            del self._entries[key]
