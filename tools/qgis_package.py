"""The package of the QGIS plugin, and the rules of plugins.qgis.org that it must keep.

    python tools/release.py plugin      writes build/release/metricdp_qgis-VERSION.zip

The rules are those that the index applies to an upload: one folder with a Python name, no compiled
or hidden files, a license, the required keys of ``metadata.txt``, addresses that are addresses, and
at most 25 MB. Whether the addresses answer is left to the index.
"""

from __future__ import annotations

import configparser
import re
import zipfile
from pathlib import Path
from urllib.parse import urlparse

NAME = "metricdp_qgis"
REQUIRED = (
    "name",
    "description",
    "version",
    "qgisMinimumVersion",
    "qgisMaximumVersion",
    "author",
    "email",
    "about",
    "tracker",
    "repository",
)
MOST_BYTES = 25_000_000
FORBIDDEN = ("__MACOSX", ".git", "__pycache__")


def package(root: Path, target: Path, day: tuple[int, int, int]) -> Path:
    """Write the zip: the same bytes for the same files and day."""
    files = {
        p.name: p.read_bytes() for p in sorted((root / "qgis" / NAME).iterdir()) if p.is_file()
    }
    files["LICENSE"] = (root / "LICENSE").read_bytes()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{NAME}/{name}", (*day, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    return target


def problems(path: Path) -> list[str]:
    """What the index would refuse."""
    found = []
    if path.stat().st_size > MOST_BYTES:
        found.append(f"{path.name} is larger than 25 MB")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        metadata = archive.read(f"{NAME}/metadata.txt").decode("utf-8")
        if archive.testzip():
            found.append(f"{path.name} is damaged")
    for name in names:
        parts = name.split("/")
        if ".." in name or name.startswith("/") or ".pyc" in name or set(parts) & set(FORBIDDEN):
            found.append(f"{path.name} must not hold {name}")
    if {name.split("/")[0] for name in names} != {NAME} or not NAME.isidentifier():
        found.append(f"{path.name} must hold one folder with a Python name")
    found += [
        f"{path.name} lacks {name}"
        for name in ("__init__.py", "LICENSE")
        if f"{NAME}/{name}" not in names
    ]
    return found + metadata_problems(metadata)


def metadata_problems(text: str) -> list[str]:
    """What the index would say of ``metadata.txt``."""
    parser = configparser.ConfigParser()
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    reported = dict(parser["general"])
    found = [f"metadata.txt lacks {key}" for key in REQUIRED if not reported.get(key)]
    for key in ("tracker", "repository", "homepage"):
        address = urlparse(reported.get(key, ""))
        if not (address.scheme and address.netloc):
            found.append(f"metadata.txt: {key} is no address")
    if "/" in reported.get("author", ""):
        found.append("metadata.txt: author must not hold /")
    for key in ("qgisMinimumVersion", "qgisMaximumVersion"):
        if not re.fullmatch(r"\d+(\.\d+){1,2}", reported.get(key, "")):
            found.append(f"metadata.txt: {key} is no version")
    return found
