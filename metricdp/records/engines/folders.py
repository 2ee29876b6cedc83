"""Which files of a folder hold records: not ``_`` or ``.`` names, as in Spark."""

from __future__ import annotations

import glob
from base64 import b64decode
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from metricdp.arguments import shown
from metricdp.errors import InputError
from metricdp.records.engines.absent import has_marks

ENDINGS = (".parquet", ".pq")
_LOGS = ("_delta_log", "_spark_metadata")


def parquet_files(path: str) -> list[str] | None:
    """The Parquet files of a folder or a glob, in order; None if the engine must look."""
    if "://" in path:
        return None
    if has_marks(path):
        named = filter(shown_file, glob.glob(path, recursive=True))  # noqa: PTH207 - of any kind
        inside = [_inside(Path(n)) if Path(n).is_dir() else [n] for n in named]
        return sorted({name for names in inside for name in names})
    return _inside(Path(path)) if Path(path).is_dir() else [path]


DURATIONS = ("duration",)
"""Parquet has no durations; readers other than Arrow take them for integers."""


def unread(headers: Iterable[bytes], kinds: tuple[str, ...] = DURATIONS) -> set[str]:
    """Columns of Parquet files that are of certain types by the headers that Arrow wrote."""
    import pyarrow as pa

    found: set[str] = set()
    for header in headers:
        with suppress(ValueError, pa.ArrowException):
            schema = pa.ipc.read_schema(pa.py_buffer(b64decode(header)))
            found |= {field.name for field in schema if str(field.type).startswith(kinds)}
    return found


def unread_in(files: Sequence[str], kinds: tuple[str, ...] = DURATIONS) -> set[str]:
    """The same of files on this machine."""
    import pyarrow.parquet as pq

    headers = []
    for file in files:
        with suppress(OSError, ValueError):
            headers.append((pq.read_metadata(file).metadata or {}).get(b"ARROW:schema", b""))
    return unread(headers, kinds)


def refuse_unread(path: str | None, names: Sequence[Any], known: set[str]) -> None:
    """Raise InputError if one of some columns is of such a type."""
    if some := [name for name in names if name in known]:
        raise InputError(
            f"{path}: column {shown(some[0])} has durations, or times finer than this engine "
            f"reads: write them as text"
        )


def shown_file(path: str) -> bool:
    """Whether a file that was not named itself holds data, by its name."""
    parts = Path(path).parts
    return not parts[-1].startswith(("_", ".")) and "_temporary" not in parts


def _inside(folder: Path) -> list[str]:
    """Those of a folder, and of folders in it that are named ``column=value``."""
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
