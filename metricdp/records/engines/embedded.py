"""Files that this process reads: text and Parquet, one, a folder or a glob; arrays of NumPy."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Any

from metricdp.records.engines.folders import absent, file_system, has_marks, is_parquet, matching
from metricdp.records.engines.frames import Frame
from metricdp.records.engines.local import LocalFrame
from metricdp.records.engines.parquet import parquet
from metricdp.records.engines.tables import array_in
from metricdp.records.ingestion.lines import Layout, blocks, decoded, layout
from metricdp.refusals import GraphFileError, InputError

AT_ONCE = 1 << 26
"""Bytes of a file whose records are kept; larger ones are read by every query about a box."""
CHUNK = 1 << 23
_NOT_PACKED = "is not a gzip file although its name ends in .gz"
HEAD = 1 << 20
"""Bytes in which the first row of a file ends."""


class TextFiles(LocalFrame):
    """Lines of text files, read where they are.

    `native`: paths; `path`: what the caller named.
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
    """The content of a file, unpacked if its name ends in ``.gz``."""
    with closing(_opened(path)) as stream:
        if not path.lower().endswith(".gz"):
            while data := stream.read(size):
                yield data
            return
        with gzip.GzipFile(fileobj=stream) as plain:
            while data := _unpacked(plain, size):
                yield data


def _unpacked(packed: gzip.GzipFile, size: int) -> bytes:
    """The next chunk; a damaged file cannot be distinguished from a truncated one."""
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
    start = b""
    files: list[str] = []
    try:
        files = matching(path)
        if files:
            with closing(chunks(files[0])) as parts:
                start = next(parts, b"")
    except (EOFError, gzip.BadGzipFile):
        packed = _packed(files[0])
        problem = "is a damaged or truncated gzip file" if packed else _NOT_PACKED
    except (OSError, ValueError):  # a storage's errors are of several kinds
        problem = absent(path)
    else:
        if files:
            problem = _not_text(start, files[0])
    if problem:
        raise GraphFileError(path, problem)
    form = layout(decoded(start), path, asked)
    same_heads(files[1:], path, form, asked)
    return TextFiles(files, path, form)


def same_heads(files: Sequence[str], path: str, form: Layout, asked: Sequence[Any]) -> None:
    """Refuse files that do not name the columns as the first one does."""
    if form.names is None:
        return
    for file in files:
        start = b""
        with suppress(EOFError, OSError, ValueError), closing(chunks(file, HEAD)) as parts:
            start = next(parts, b"")
        lines = decoded(start)
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


def of_text(path: str) -> list[str]:
    """The text files that a path on this machine names, in order; none of a path elsewhere."""
    return [] if "://" in path else matching(path)


def _not_text(start: bytes, path: str) -> str:
    if not start.strip(b"\r\n\t \xef\xbb\xbf"):
        return "the file is empty"
    if start.startswith(b"\x1f\x8b"):
        return "is packed by gzip, which its name does not say: let it end in .gz"
    return "is not UTF-8 text" if b"\0" in start[: start.find(b"\n") + 1 or len(start)] else ""


def _packed(path: str) -> bool:
    with closing(_opened(path)) as stream:
        return stream.read(2) == b"\x1f\x8b"


def file(path: str, asked: Sequence[Any]) -> Frame:
    """A frame of text or Parquet files, or of an array: a small one is read at once, larger ones
    whenever they are asked.
    """
    if path.lower().endswith(".npy"):
        return array_in(path)
    return at_once(parquet(path) if is_parquet(path) else text(path, asked))


def at_once(frame: LocalFrame) -> LocalFrame:
    """The frame of a file, which is read at once if it is small."""
    frame.at_once = not large(str(frame.path))
    return frame


def large(path: str) -> bool:
    """Whether it is several files, or a large one."""
    if "://" in path:
        return True
    try:
        if has_marks(path):
            return True
        return Path(path).is_dir() or Path(path).stat().st_size > AT_ONCE
    except OSError:
        return False
