"""The files that a path, a folder or a glob names, and why none of them can be read; and files that
this process reads: text, Parquet and NumPy arrays. As in Spark, files in a folder whose names begin
with ``_`` or ``.`` hold no records.
"""

import glob
import gzip
import stat
import zlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Any
from urllib.parse import unquote

from metricdp.errors import WORKBOOKS, GraphFileError, InputError, need, not_text
from metricdp.records.engines.frames import Frame, LocalFrame
from metricdp.records.engines.tables import array_in
from metricdp.records.ingestion.encoders import VALUES
from metricdp.records.ingestion.lines import TEXT, Layout, blocks, by_place, header, layout

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
    need("reading from a network path", "engines", "pyarrow")
    from pyarrow import fs

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

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Blocks of lines."""
        assert self.form is not None
        for path in self.native:
            yield from blocks(chunks(path), self.form)


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
    return TextFiles(files, path=path, form=layout_of(lines, path, asked, files[1:]))


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
    if start.startswith(WORKBOOKS):
        return not_text(start), []
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
    need("reading Parquet files", "parquet", "pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

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
