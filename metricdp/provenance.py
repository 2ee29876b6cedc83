"""What is publicly known of the call that made a release: for the receipt, and for who signs.

Nothing here was computed from private data: it is the call's public arguments, its universe, the
ledger's state, the day and the package that ran.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import Any

LIBRARIES = ("numpy", "scipy", "numba", "opendp")
_ENDINGS = (".py", ".html", ".css", ".js", ".toml")


@cache
def package_facts() -> dict[str, Any]:
    """Version and SHA-256 of the package that runs, and the versions of what it rests on.

    The checksum is over the paths below the package and the bytes of all its source files, in order
    of the paths; one reading a process.
    """
    return {
        "name": "metricdp",
        "version": _version("metricdp"),
        "sha256": _checksum(),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def _checksum() -> str:
    digest = hashlib.sha256()
    try:
        for name, content in _sources(files("metricdp"), ""):
            digest.update(f"{name} {len(content)}\n".encode())
            digest.update(content)
    except OSError:  # never costs a result that was paid for
        return "unknown: the package's files could not be read"
    return digest.hexdigest()


def _sources(folder: Any, path: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in sorted(folder.iterdir(), key=lambda entry: str(entry.name)):
        name = f"{path}{entry.name}"
        if entry.is_dir() and entry.name != "__pycache__":
            found += _sources(entry, f"{name}/")
        elif name.endswith(_ENDINGS):
            found.append((name, entry.read_bytes()))
    return found


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


class Provenance:
    """The circumstances of a release, as names and plain values: see `KEYS`.

    Parameters
    ----------
    facts : mapping of str to plain values
        What is known at once.
    universe : object, optional
        With a method ``facts()``, which is asked when it is first needed: a checksum of a large
        universe takes a while.

    Examples
    --------
    >>> Provenance({"call": "release", "day": "2031-02-03"}).to_dict()
    {'call': 'release', 'day': '2031-02-03'}
    """

    __slots__ = ("_facts", "_universe")

    def __init__(self, facts: Mapping[str, Any], universe: Any = None) -> None:
        self._facts = dict(facts)
        self._universe = universe

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        if self._universe is not None:
            self._facts["universe"] = self._universe.facts()
            self._universe = None
        return dict(self._facts)

    def __reduce__(self) -> tuple[Any, ...]:
        return Provenance, (self.to_dict(),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Provenance):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Provenance({self._facts.get('call')}, {self._facts.get('day')})"


KEYS = {
    "call": "function that was called",
    "method": "name of the method",
    "model": "central, local, shuffle or federated",
    "max_contributions": "most records of a unit of privacy",
    "universe": "kind, size and SHA-256 of the public universe",
    "options": "every public option: its value, and whether it is the default",
    "chooses": "how the method chooses what it needs besides",
    "afterwards": "what was computed from the noisy answers",
    "ledger": "budget, spent and left after this call; purpose, period, data set, anchor",
    "day": "UTC",
    "package": "version and SHA-256 of the package, versions of what it rests on",
}
"""What a full provenance holds; ``messages`` too, where users' devices sent them."""
