"""The files that a path, a folder or a glob names, and why none of them can be read. As in Spark,
files in a folder whose names begin with ``_`` or ``.`` hold no records.
"""

from __future__ import annotations

import glob
import stat
from collections.abc import Iterable
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from metricdp.errors import InputError, MissingExtraError
from metricdp.records.ingestion.lines import TEXT

_MARKS = "*?["
STORAGES = ("file", "s3", "gs", "gcs", "hdfs", "abfs", "abfss", "http", "https")
"""Kinds of storage that some engine reads."""
_NONE = "no file has such a name"
_FOLDER = "is a directory, not a file"
_UNREAD = "none of its files can be read as {}"


def has_marks(path: str) -> bool:
    """Whether a path is a glob, and not a file that has just this name."""
    return any(mark in path for mark in _MARKS) and ("://" in path or not Path(path).exists())


def file_system(path: str) -> tuple[Any, str]:
    """The Arrow file system of a path, and the path in it."""
    try:
        from pyarrow import fs
    except ImportError:
        raise MissingExtraError("reading from a network path", "engines") from None
    found: tuple[Any, str] = fs.FileSystem.from_uri(path)
    return found


def matching(path: str) -> list[str]:
    """The files that a path or a glob names, sorted."""
    if not has_marks(path):
        return [path]
    if "://" not in path:
        return sorted(glob.glob(path))  # noqa: PTH207 - a path of any kind
    from pyarrow import fs

    system, inner = file_system(path.split("*")[0].rpartition("/")[0])
    scheme = path.partition("://")[0]
    every = system.get_file_info(fs.FileSelector(inner, recursive=True))
    return sorted(p for f in every if fnmatch(p := f"{scheme}://{f.path}", path))


def check_lasting(path: str) -> None:
    """Refuse pipes and devices: what tells the kind of a file and its header is read again."""
    kind = stat.S_IFREG
    with suppress(OSError):
        kind = stat.S_IFMT(Path(path).stat().st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        raise InputError(f"{path}: is a pipe or a device, which cannot be read twice")


def absent(path: str, kind: str = "text") -> str:
    """The reason to report where no engine could read a path."""
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


ENDINGS = (".parquet", ".pq")
_TWICE = (
    "is in files and in the names of their folders; name the files one by one, or write them anew"
)
_LOGS = ("_delta_log", "_spark_metadata")


def parquet_files(path: str) -> list[str] | None:
    """The Parquet files of a folder or a glob, sorted; None if only the engine can list them."""
    if "://" in path:
        return None
    if has_marks(path):
        named = filter(shown_file, glob.glob(path, recursive=True))  # noqa: PTH207 - of any kind
        inside = [_inside(Path(n)) if Path(n).is_dir() else [n] for n in named]
        return sorted({name for names in inside for name in names})
    return _inside(Path(path)) if Path(path).is_dir() else [path]


def is_parquet(path: str) -> bool:
    """Whether a path names Parquet files, by its ending, the first bytes, or a folder's files."""
    lower = path.lower()
    if lower.endswith(TEXT):
        return False
    if lower.endswith(ENDINGS) or "://" in path or has_marks(path):
        return True
    try:
        if Path(path).is_dir():
            return bool(parquet_files(path))
        with Path(path).open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def shown_file(path: str) -> bool:
    """Whether a file that was found in a folder holds data, by its name."""
    parts = Path(path).parts
    return not parts[-1].startswith(("_", ".")) and "_temporary" not in parts


def _inside(folder: Path) -> list[str]:
    """The Parquet files of a folder, and of folders in it named ``column=value``."""
    found: list[str] = []
    for one in sorted(folder.iterdir()):
        if one.name in _LOGS:
            raise InputError(
                f"{folder}: has a log ({one.name}) of which of its files count: read the table "
                f"with the library that keeps it, and hand over that"
            )
        if not shown_file(one.name):
            continue
        if one.is_dir():
            found += _inside(one) if "=" in one.name else []
        elif one.name.lower().endswith(ENDINGS):
            found.append(str(one))
    return found


def named_twice(columns: Iterable[str], folders: Iterable[str]) -> dict[str, str]:
    """Columns that both files and folders ``column=value`` name, with the reason to refuse them.
    Case is ignored: some engines do so, and take the folder's value for all rows.
    """
    held, named = ({name.lower(): name for name in names} for names in (columns, folders))
    both = [names[low] for low in held.keys() & named.keys() for names in (held, named)]
    return dict.fromkeys(both, _TWICE)
