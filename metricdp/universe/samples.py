"""The sample graphs of the folder ``graphs``, and their entries in ``index.toml``."""

from __future__ import annotations

import sysconfig
import tomllib
from pathlib import Path
from typing import Any

from metricdp.errors import InputError

INDEX = "index.toml"


def _folders() -> list[Path]:
    """Folders where samples may be: beside the package, or among a wheel's data files."""
    checkout = Path(__file__).resolve().parents[2] / "graphs"
    schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
    data = (Path(sysconfig.get_path("data", scheme)) for scheme in schemes)
    return [checkout, *(folder / "share" / "metricdp" / "graphs" for folder in data)]


def sample_path(name: str) -> Path:
    """Return the path of a sample file.

    Examples
    --------
    >>> sample_path("coquimbo.csv.gz").name
    'coquimbo.csv.gz'
    """
    folder = next((f for f in _folders() if (f / INDEX).is_file()), None)
    if folder is None:
        raise InputError(
            "the sample graphs are not installed; they are the folder graphs/ of metricdp's "
            "repository"
        )
    path = folder / name
    if Path(name).name != name or not path.is_file():
        known = ", ".join(sorted(tomllib.loads((folder / INDEX).read_text("utf-8"))))
        raise InputError(f"no sample named {name!r}; samples: {known}")
    return path


def sample_index() -> dict[str, dict[str, Any]]:
    """The entry of each file in ``index.toml``: title, counts, units, license, attribution, sha256,
    recipe.

    Examples
    --------
    >>> sample_index()["coquimbo.csv.gz"]["length_unit"]
    'meter'
    """
    return tomllib.loads(sample_path(INDEX).read_text("utf-8"))
