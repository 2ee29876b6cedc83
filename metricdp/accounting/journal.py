"""An append-only file of charges that survives crashes, full disks and concurrent writers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import NamedTuple, NoReturn
from weakref import ref

from metricdp.arguments import file_path, shown
from metricdp.errors import InputError, JournalError

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

Line = dict[str, str]
BUDGET = ("epsilon", "delta", "neighboring")
"""Fields of the header that a ledger must agree with."""
FORMATS = ("metricdp-journal-1", "metricdp-journal-2")
"""The first has no days, units of protection or data sets; it is read and continued."""
_LONGEST_HEADER = 1 << 16  # bytes, far more than a header has
_ANCHOR = re.compile(r"([1-9][0-9]{0,17})-([0-9a-f]{32})")


def stated_budget(path: str | Path | None) -> Line | None:
    """Epsilon, delta and relation in the first line of an existing journal; None without such a
    line.

    The `Ledger` opened with them checks the whole file. Other files are refused.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from metricdp.accounting import stated_budget
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "homes.ledger"
    >>> _ = mdp.Ledger("1/2", journal=path)
    >>> stated_budget(path)["epsilon"]
    '1/2'
    """
    if path is None:
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - an empty path must stay an error of open
            first = file.readline(_LONGEST_HEADER)
    except FileNotFoundError:
        return None
    if not first.endswith(b"\n") and len(first) < _LONGEST_HEADER:
        return None  # empty, or incomplete after a crash: Ledger decides
    stated: Line = {}
    try:
        line = json.loads(first)["line"]
        stated = {name: line[name] for name in BUDGET if isinstance(line[name], str)}
    except (ValueError, KeyError, TypeError):
        stated = {}
    if len(stated) != 3:
        raise JournalError(f"{path} is not the journal of a ledger")
    return stated


def checked_anchor(text: str) -> tuple[int, str]:
    """Number of lines and checksum of an anchor."""
    found = _ANCHOR.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise InputError(
            f"an anchor is a number, a dash and 32 hexadecimal digits, as ledger.anchor and "
            f"`metricdp ledger show` tell it; got {shown(text)[:80]}"
        )
    return int(found[1]), found[2]


class Row(NamedTuple):
    """A whole line of a journal: its content, its checksum, and the byte at which it ends."""

    line: Line
    check: str
    end: int


class Notes:
    """The lines of a ledger in memory, for one process: like a `Journal`, without a file."""

    path = None
    anchor = None

    def __init__(self, header: Line) -> None:
        self._lines = [header]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """No lock: nobody else writes here."""
        yield

    def append(self, line: Line) -> None:
        """Add a line."""
        self._lines.append(line)

    def after(self, number: int) -> list[Line]:
        """All lines but the first `number`; the header is the first."""
        return self._lines[number:]


class Journal:
    """JSON lines: a header that states the budget, then one line per charge.

    Each line ends in a checksum of itself and all lines before it (a hash chain), so that a
    changed, lost or moved line is detected. It is written and fsynced under an exclusive lock of
    the file *before* its charge is granted. Hence

    - a crash leaves at most one unfinished last line, which authorized nothing: the next reader
      truncates it (or keeps it, if only its line end is missing: counting too much is safe);
    - on a full disk or a failed fsync the file is truncated to its former length and the charge is
      refused;
    - threads and processes take turns: each one, while it holds the lock, reads new lines, checks
      and appends;
    - damage anywhere else, another budget or a file that became shorter is a JournalError, and
      nothing is granted;
    - an interruption at any moment leaves the state in memory as before a line or after it: a line
      is one `Row`, added once the line is on disk.

    A file replaced by an older copy of itself is valid, and its checksums cannot show it. An
    *anchor* does, the number of lines and the last checksum, which the user keeps elsewhere: later
    states of the file have that line at that place, earlier and rewritten ones do not.

    It records days, not times: the time between two lines would reveal how long a private
    computation took.

    `path`: on a local disk (network file systems may not lock reliably); created, for its owner
    only, if it does not exist; `header`: the first line of a new file; that of an existing one must
    have the same budget and relation; `anchor`: of an earlier state; the file must exist and
    continue that state.
    """

    def __init__(self, path: str | Path, header: Line, anchor: str | None = None) -> None:
        if fcntl is None:  # pragma: no cover - Windows
            raise JournalError(
                "a journal needs file locks (fcntl), which this platform lacks: use Ledger "
                "without one"
            )
        self.path = file_path(path, "journal").absolute()
        self.header = {"format": FORMATS[-1], **header}
        self._rows: list[Row] = []
        self._file: ref[FileIO] | None = None
        self._anchor = None if anchor is None else checked_anchor(anchor)

    @property
    def anchor(self) -> str:
        """Number of lines and last checksum when it was last locked."""
        return f"{len(self._rows)}-{self._rows[-1].check}"

    @property
    def lines(self) -> list[Line]:
        """All lines after the header when it was last locked: charges and other entries."""
        return self.after(1)

    def after(self, number: int) -> list[Line]:
        """All lines but the first `number`; the header is the first."""
        return [row.line for row in self._rows[number:]]

    @property
    def _length(self) -> int:
        """Bytes of the file up to the last known line."""
        return self._rows[-1].end if self._rows else 0

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the file's lock, with all `lines` read."""
        create = 0 if self._rows or self._anchor else os.O_CREAT
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | create
        if self._file is not None and (left := self._file()) is not None:
            left.close()  # where the last turn was interrupted at its end
        with self._errors_named("open"):
            file = FileIO(self.path, "r+", opener=lambda p, _: os.open(p, flags, 0o600))
        with file:  # the lock goes with it, and it with this frame
            self._file = ref(file)
            if not stat.S_ISREG(os.fstat(self._handle).st_mode):  # a device may have no end
                raise JournalError(f"{self.path} is no file, and cannot hold a journal")
            with self._errors_named("lock"):
                fcntl.flock(self._handle, fcntl.LOCK_EX)
            self._catch_up()
            self._hold_to_anchor()
            yield

    @property
    def _handle(self) -> int:
        file = None if self._file is None else self._file()
        if file is None:
            raise JournalError(f"the journal {self.path} is not locked")
        return file.fileno()

    def append(self, line: Line) -> None:
        """Write one charge to disk, or leave the file as it was. Only inside `locked`."""
        text = self._encode(line)
        self._write(text)
        self._accept(line, text)

    def _catch_up(self) -> None:
        data = self._more()
        if not self._rows and b"\n" not in data:
            return self._begin(data)
        tail = self._take_in(data)
        if tail and (line := self._decode(tail)) is not None:
            self._write(b"\n")
            self._accept(line, tail + b"\n")
        elif self._decode(tail[:-1]) is not None:
            self._refuse()  # a whole line and another byte: not a torn line but a changed line end
        elif tail:
            with self._errors_named("mend"):
                self._cut(self._length)
        return None

    def _more(self) -> bytes:
        """The bytes of the file after the known lines."""
        with self._errors_named("read"):
            if os.fstat(self._handle).st_size < self._length:
                raise JournalError(
                    f"the journal {self.path} has become shorter: it was replaced or cut"
                )
            data = b""
            while block := os.pread(self._handle, 1 << 20, self._length + len(data)):
                data += block
        return data

    def verify(self) -> bool:
        """Read the whole file into `header` and `lines`, without changing it; return whether it
        ends in an unfinished line. Errors as `locked`, and where the file is not a journal.
        """
        with open(self.path, "rb") as file:  # noqa: PTH123 - as in stated_budget
            fcntl.flock(file, fcntl.LOCK_SH)
            data = file.read()
        if not data.startswith(b'{"line": '):
            raise JournalError(f"{self.path} is not the journal of a ledger")
        tail = self._take_in(data)
        if tail and (line := self._decode(tail)) is not None:
            self._accept(line, tail + b"\n")
            tail = b""
        if not self._rows or self._decode(tail[:-1]) is not None:
            self._refuse()
        self._hold_to_anchor()
        return bool(tail)

    def _take_in(self, data: bytes) -> bytes:
        """Add all whole lines; return what follows the last line end."""
        *lines, tail = data.split(b"\n")
        for text in lines:
            if (line := self._decode(text)) is None:
                self._refuse()
            if not self._rows:
                self._check_header(line)
            self._accept(line, text + b"\n")
        return tail

    def _refuse(self) -> NoReturn:
        raise JournalError(
            f"the journal {self.path} is damaged at byte {self._length} and cannot be trusted"
        )

    def _check_header(self, line: Line) -> None:
        asked = {name: self.header[name] for name in BUDGET if name in self.header}
        if line.get("format") not in FORMATS or asked.items() - line.items():
            raise JournalError(
                f"the journal {self.path} is of another ledger: {line}, not {self.header}"
            )
        self.header = line

    def _hold_to_anchor(self) -> None:
        if self._anchor is None:
            return
        number, check = self._anchor
        if len(self._rows) < number or self._rows[number - 1].check != check:
            raise JournalError(
                f"the journal {self.path} does not go on from the anchor {number}-{check}: it was "
                f"rolled back or rewritten, or is another one"
            )
        self._anchor = None  # from now on the hash chain ties later states to this one

    def _begin(self, torn: bytes) -> None:
        """Write the header of a new file, or of one whose creation was interrupted."""
        self._hold_to_anchor()
        if not self._encode(self.header).startswith(torn):
            raise JournalError(f"{self.path} is not a journal of this ledger")
        with self._errors_named("make"):
            self._cut(0)
            self.append(self.header)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)  # the file's name must survive a crash, too
            finally:
                os.close(folder)

    def _write(self, text: bytes) -> None:
        before = os.fstat(self._handle).st_size
        with self._errors_named("write"):
            try:
                while text:
                    text = text[os.write(self._handle, text) :]
                os.fsync(self._handle)
            except BaseException:
                # what cannot be truncated now, the next reader truncates or counts
                with suppress(OSError):
                    self._cut(before)
                raise

    def _cut(self, length: int) -> None:
        os.ftruncate(self._handle, length)
        os.fsync(self._handle)

    def _accept(self, line: Line, text: bytes) -> None:
        row = Row(line, json.loads(text)["check"], self._length + len(text))
        self._rows.append(row)

    def _encode(self, line: Line) -> bytes:
        body = json.dumps(line, sort_keys=True)
        before = self._rows[-1].check if self._rows else ""
        check = hashlib.sha256(f"{before}\n{body}".encode()).hexdigest()[:32]
        return f'{{"line": {body}, "check": "{check}"}}\n'.encode()

    def _decode(self, text: bytes) -> Line | None:
        """The line, or None if its bytes are not what `_encode` writes at this place."""
        try:
            line = json.loads(text)["line"]
            return line if self._encode(line) == text + b"\n" else None
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    @contextmanager
    def _errors_named(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise JournalError(
                f"cannot {what} the journal {self.path}: {error.strerror}; nothing charged"
            ) from error
