"""What is publicly known of the call that made a release: for the receipt, and for who signs.

Nothing here was computed from private data: it is the call's public arguments, its universe, the
ledger's state, the day and the package that ran.
"""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.resources import files
from typing import Any

from metricdp.releases import Provenance as Provenance
from metricdp.releases import installed_version

LIBRARIES = ("numpy", "scipy", "numba", "opendp")
_ENDINGS = (".py", ".html", ".css", ".js", ".toml")


@cache
def package_facts() -> dict[str, Any]:
    """Version and SHA-256 of the package that runs, and the versions of what it rests on.

    The checksum is over the paths below the package and the bytes of all its source files, in order
    of the paths; one reading a process.
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
