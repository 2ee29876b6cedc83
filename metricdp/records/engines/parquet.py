"""Parquet files: one, a folder, a glob; each is read by itself, in blocks."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from metricdp.records.engines.folders import (
    absent,
    has_marks,
    matching,
    named_twice,
    parquet_files,
    shown_file,
)
from metricdp.records.engines.local import LocalFrame
from metricdp.records.ingestion.encoders import VALUES
from metricdp.refusals import GraphFileError, InputError, MissingExtraError

UNREAD = "has durations, or times finer than this engine reads: write them as text"
"""Parquet has no durations; readers other than Arrow take them for integers."""
_MISSING = "is not in all of the files"
_NO_NAME = "__HIVE_DEFAULT_PARTITION__"
"""What a folder is named after that has no value."""


def unread_in(files: Sequence[str], kinds: tuple[str, ...] = ("duration",)) -> dict[str, str]:
    """Columns of files on this machine that are of certain types, by the headers of Arrow."""
    import pyarrow.parquet as pq

    found: dict[str, str] = {}
    for file in files:
        with suppress(OSError, ValueError):
            for field in pq.read_schema(file):
                if str(field.type).startswith(kinds):
                    found[field.name] = UNREAD
    return found


class ParquetFiles(LocalFrame):
    """Parquet files, each with the types that it declares: reading several as one table would cast
    cells, and make one user of ``7`` and ``"007"``.

    `native`: columns of each file. Of several files, folders ``column=value`` are columns of text.
    """

    def __init__(self, native: dict[str, list[str]], path: str, several: bool) -> None:
        self._folders = {file: _folders(file) if several else {} for file in native}
        refused: dict[str, str] = {}
        columns: list[str] = []
        for file, names in native.items():
            more = self._folders[file]
            every = [*names, *(name for name in more if name not in names)]
            columns = columns or every
            refused |= dict.fromkeys((name for name in columns if name not in every), _MISSING)
            refused |= named_twice(names, more)
        super().__init__(native, columns, path, refused)

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Columns of Arrow, of one file after another."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        bad = False
        try:
            for path, columns in self.native.items():
                texts = {n: text for n, text in self._folders[path].items() if n in names}
                held = [name for name in columns if name in names]
                with pq.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
                    for batch in file.iter_batches(VALUES // len(names), columns=held):
                        named = {name: [text] * len(batch) for name, text in texts.items()}
                        yield {name: batch.column(name) for name in held} | named
        except (pa.ArrowException, OSError):  # what Arrow says may quote a row
            bad = True
        if bad:
            raise InputError(f"{self.path}: a file is damaged")


def parquet(path: str) -> ParquetFiles:
    """A frame of Parquet files: one, a folder, a glob."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("reading Parquet files", "parquet") from None
    native: dict[str, list[str]] = {}
    files = parquet_files(path)
    with suppress(pa.ArrowException, OSError, ValueError):  # what Arrow says may quote a row
        if files is None:
            files = [file for file in matching(path) if shown_file(file)]
        native = {file: pq.read_schema(file).names for file in files}
    if not native:
        raise GraphFileError(path, absent(path, "Parquet"))
    return ParquetFiles(native, path, has_marks(path) or [*native] != [path])


def _folders(file: str) -> dict[str, str | None]:
    """What the folders of a file say of all its rows."""
    named = (part.partition("=") for part in file.split("/")[:-1] if "=" in part)
    return {name: None if text == _NO_NAME else unquote(text) for name, _, text in named}
