"""Why a named file cannot be read, from its name and the storage alone."""

from __future__ import annotations

import glob
from pathlib import Path

_MARKS = "*?["
STORAGES = ("file", "s3", "gs", "gcs", "hdfs", "abfs", "abfss", "http", "https")
"""Kinds of storage that some engine reads."""
_NONE = "no file has such a name"
_FOLDER = "is a directory, not a file"
_UNREAD = "none of its files can be read as {}"


def has_marks(path: str) -> bool:
    """Whether a path is a glob, and no file of that very name."""
    return any(mark in path for mark in _MARKS) and ("://" in path or not Path(path).exists())


def absent(path: str, kind: str = "text") -> str:
    """The reason why no engine could read a path."""
    scheme, mark, _ = path.partition("://")
    if mark and scheme not in STORAGES:
        return f"unknown kind of storage {scheme!r} (known: {', '.join(STORAGES)})"
    if mark:
        return (
            f"the storage ({scheme}) has no such file, or does not let it be read: look at the "
            f"name, the network and the credentials"
        )
    if has_marks(path):
        any_at_all = bool(glob.glob(path))  # noqa: PTH207 - a path of any kind
        return _UNREAD.format(kind) if any_at_all else _NONE
    if not Path(path).exists():
        return "no such file"
    if Path(path).is_dir():
        if kind == "text":
            return _FOLDER
        some = any(Path(path).rglob("*.parquet"))
        return _UNREAD.format(kind) if some else f"is a folder without {kind} files"
    return f"cannot be read as {kind}"
