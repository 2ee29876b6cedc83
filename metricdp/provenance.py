"""Provenance of a release: public facts of the call that made it, for its receipt.

Nothing here is computed from private data: the facts are the call's public arguments, its universe,
the ledger's state, the day and the package.
"""

import hashlib
import platform
from functools import cache
from importlib.resources import files
from typing import Any

from metricdp.releases import Provenance as Provenance
from metricdp.releases import installed_version

LIBRARIES = ("numpy", "scipy", "numba", "opendp")
_ENDINGS = (".py", ".html", ".css", ".js", ".toml", ".qgs", ".qml")


@cache
def package_facts() -> dict[str, Any]:
    """Version and SHA-256 of the package, and the versions of its main libraries.

    The checksum is of the paths and bytes of all source files, in the order of paths; it is
    computed once a process.
    """
    facts = {"name": "metricdp", "version": installed_version(), "sha256": _checksum()}
    libraries = {name: installed_version(name) for name in LIBRARIES}
    return {**facts, "python": platform.python_version(), "libraries": libraries}


def _checksum() -> str:
    digest = hashlib.sha256()
    try:
        for name, content in _sources(files("metricdp"), ""):
            digest.update(f"{name} {len(content)}\n".encode())
            digest.update(content)
    except OSError:  # must not lose a result that was paid for
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
"""Keys of a full provenance; also ``messages``, in the local and shuffle models."""
