"""Atomic writes: a file is written wholly or not at all; symbolic links are followed."""

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from metricdp.errors import InputError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]


def _beside(target: Path, start: str, end: str) -> Path:
    """An unused name beside a file, chosen before the file is made so that it is always removed."""
    return target.parent / f"{start}{secrets.token_hex(4)}{end}"


@contextmanager
def _replacing(target: Path, start: str, *, durable: bool) -> Iterator[BinaryIO]:
    """A temporary file that takes the place of `target`, or of the file that it links to, when the
    block ends without an error: readable as other files are, or, if `durable`, by its owner alone,
    and synced to disk.
    """
    real = Path(os.path.realpath(target))
    draft = _beside(real, start, ".part")
    mode = 0o600 if durable else 0o666
    try:
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(real)
        if durable:
            folder = os.open(real.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(draft)):
            error.filename = str(target)  # some errors, such as of a full disk, name no file
        raise


def whole_file(target: Path) -> AbstractContextManager[BinaryIO]:
    """A temporary file that takes the place of `target` when the block ends without an error."""
    return _replacing(target, ".metricdp.", durable=False)


_WRITERS = ("pyogrio", "sqlite3")


@contextmanager
def drafted(target: Path) -> Iterator[Path]:
    """As `whole_file`, but a path, for libraries that write files by name; their errors of a full
    disk become an OSError.
    """
    draft = _beside(target, ".metricdp.", target.suffix.lower())
    try:
        yield draft
        with whole_file(target) as file:
            file.write(draft.read_bytes())
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _WRITERS:
            raise
        why = "the file cannot be written; is the disk full?"
        raise OSError(errno.EIO, why, str(target)) from error
    finally:
        for left in draft.parent.glob(draft.name + "*"):
            left.unlink(missing_ok=True)


def write_whole(target: Path, content: str | bytes) -> Path:
    """Write bytes, or UTF-8 text, wholly or not at all; return the path."""
    with whole_file(target) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)
    return target


_LONGEST = 200  # of 255 bytes that file systems allow a name


@contextmanager
def taking_turns(target: Path) -> Iterator[None]:
    """Hold the lock file of a file; remove what killed writers left."""
    if fcntl is None:  # pragma: no cover - Windows
        raise InputError("this needs file locks (fcntl), which this platform lacks")
    beside = target.with_name(target.name + ".lock")
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    with FileIO(beside, "r+", opener=lambda p, _: os.open(p, flags, 0o600)) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sweep(target)
        yield


def sweep(target: Path) -> None:
    """Remove what killed writers of a `durable_file` left beside it."""
    pattern = re.compile(rf"\.{re.escape(target.name[:_LONGEST])}\.[a-z0-9_]{{8}}\.part")
    for path in target.parent.iterdir():
        if pattern.fullmatch(path.name):
            path.unlink(missing_ok=True)


def durable_file(target: Path) -> AbstractContextManager[BinaryIO]:
    """As `whole_file`, readable by its owner alone, and synced to disk with its name."""
    return _replacing(target, f".{target.name[:_LONGEST]}.", durable=True)
