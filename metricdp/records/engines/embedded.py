"""Files that this process reads: text, Parquet (a file, a folder or a glob) and NumPy arrays."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from metricdp.errors import GraphFileError, InputError, MissingExtraError
from metricdp.records.engines.folders import (
    absent,
    file_system,
    has_marks,
    is_parquet,
    matching,
    named_twice,
    parquet_files,
    shown_file,
)
from metricdp.records.engines.frames import Frame
from metricdp.records.engines.local import LocalFrame
from metricdp.records.engines.tables import array_in
from metricdp.records.ingestion.encoders import VALUES
from metricdp.records.ingestion.lines import Layout, blocks, by_place, header, layout

AT_ONCE = 1 << 26
"""Largest file, in bytes, whose records are kept in memory; larger ones are read by each query."""
CHUNK = 1 << 23
_NOT_PACKED = "is not a gzip file although its name ends in .gz"
HEAD = 1 << 20
"""Bytes within which a file's row of names must end."""
UNREAD = "has durations, or times finer than this engine reads: write them as text"
"""Parquet has no durations: readers other than Arrow read them as integers."""
_MISSING = "is not in all of the files"
_NO_NAME = "__HIVE_DEFAULT_PARTITION__"
"""The value in a folder's name that stands for a missing one."""


class TextFiles(LocalFrame):
    """Lines of text files.

    `native`: paths of the files; `path`: as the caller named them.
    """

    lines = True

    def __init__(self, native: list[str], path: str, form: Layout) -> None:
        super().__init__(native, form.columns, path)
        self._form = form

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Blocks of lines."""
        for path in self.native:
            yield from blocks(chunks(path), self._form)


def chunks(path: str, size: int = CHUNK) -> Generator[bytes, None, None]:
    """The content of a file in chunks, decompressed if its name ends in ``.gz``."""
    with closing(_opened(path)) as stream:
        if not path.lower().endswith(".gz"):
            while data := stream.read(size):
                yield data
            return
        with gzip.GzipFile(fileobj=stream) as plain:
            while data := _unpacked(plain, size):
                yield data


def _unpacked(packed: gzip.GzipFile, size: int) -> bytes:
    """The next chunk; raises EOFError for a damaged file as for a truncated one."""
    data = None
    with suppress(zlib.error):
        data = packed.read(size)
    if data is None:
        raise EOFError("damaged gzip")
    return data


def _opened(path: str) -> IO[bytes]:
    if "://" not in path:
        return Path(path).open("rb")
    fs, inner = file_system(path)
    found: IO[bytes] = fs.open_input_stream(inner, compression=None)
    return found


def text(path: str, asked: Sequence[Any]) -> TextFiles:
    """A frame of text files."""
    problem = absent(path)
    lines: list[str] = []
    files: list[str] = []
    try:
        files = matching(path)
        if files:
            problem, lines = _head(files[0], asked)
    except (EOFError, gzip.BadGzipFile):
        packed = _packed(files[0])
        problem = "is a damaged or truncated gzip file" if packed else _NOT_PACKED
    except (OSError, ValueError):  # a storage's errors are of several kinds
        problem = absent(path)
    if problem:
        raise GraphFileError(path, problem)
    return TextFiles(files, path, layout_of(lines, path, asked, files[1:]))


def _head(path: str, asked: Sequence[Any]) -> tuple[str, list[str]]:
    """Why a file is no text, else nothing; and its header, so that no error leads to records."""
    with closing(chunks(path)) as parts:
        start = next(parts, b"")
    if start.startswith(b"\x1f\x8b"):
        return "is packed by gzip, which its name does not say: let it end in .gz", []
    if by_place(asked):  # without a header all lines are records, and there may be none
        return "", []
    if not start.strip(b"\r\n\t \xef\xbb\xbf"):
        return "the file is empty", []
    return "", header(start)


def layout_of(
    lines: Sequence[str], path: str, asked: Sequence[Any], others: Sequence[str] | None = None
) -> Layout:
    """The layout of text files, from the first `lines` of the first. Raises InputError if `others`
    (by default all files on this machine) do not name the same columns.
    """
    form = layout(lines, path, asked)
    if others is None:
        others = [] if "://" in path else matching(path)
    for file in () if form.names is None else others:
        lines = []
        with suppress(EOFError, OSError, ValueError), closing(chunks(file, HEAD)) as parts:
            lines = header(next(parts, b""))
        if not any(line.strip() for line in lines):
            continue
        same = False
        with suppress(InputError):
            same = layout(lines, path, asked) == form
        if not same:
            raise InputError(
                f"{path}: the first rows of its files, which must name the columns, are not the "
                f"same"
            )
    return form


def _packed(path: str) -> bool:
    with closing(_opened(path)) as stream:
        return stream.read(2) == b"\x1f\x8b"


def unread_in(files: Sequence[str], kinds: tuple[str, ...] = ("duration",)) -> dict[str, str]:
    """Columns of Parquet files whose declared type begins with one of `kinds`, and why refused."""
    import pyarrow.parquet as pq

    found: dict[str, str] = {}
    for file in files:
        with suppress(OSError, ValueError):
            for field in pq.read_schema(file):
                if str(field.type).startswith(kinds):
                    found[field.name] = UNREAD
    return found


class ParquetFiles(LocalFrame):
    """Parquet files, each read with the types that it declares: reading several as one table would
    cast cells, and ``7`` and ``"007"`` would be one user.

    `native`: the columns of each file. For `several` files, folders ``column=value`` are columns of
    text.
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
        """Columns of Arrow batches, file by file."""
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
    """A frame of Parquet files: one, a folder or a glob."""
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
    """Values of columns that the folders ``column=value`` of a file give all its rows."""
    named = (part.partition("=") for part in file.split("/")[:-1] if "=" in part)
    return {name: None if text == _NO_NAME else unquote(text) for name, _, text in named}


def file(path: str, asked: Sequence[Any]) -> Frame:
    """A frame of text or Parquet files, or of an array. Small files are read once, larger ones by
    each query.
    """
    if path.lower().endswith(".npy"):
        return array_in(path)
    return at_once(parquet(path) if is_parquet(path) else text(path, asked))


def at_once(frame: LocalFrame) -> LocalFrame:
    """The frame of a file, marked to be read once if the file is small."""
    frame.at_once = not large(str(frame.path))
    return frame


def large(path: str) -> bool:
    """Whether a path names several files or a large one."""
    if "://" in path:
        return True
    try:
        if has_marks(path):
            return True
        return Path(path).is_dir() or Path(path).stat().st_size > AT_ONCE
    except OSError:
        return False
