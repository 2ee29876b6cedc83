"""Output: results to stdout, notes to stderr, files checked before a charge, written atomically."""

import errno
import json
import os
import shutil
import sys
import tempfile
import textwrap
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from metricdp.atomic import write_whole
from metricdp.errors import InputError, one_line
from metricdp.progress import clear

STDOUT = "<stdout>"
"""The path in errors of stdout."""
_failed: list[OSError] = []
_options = {"quiet": False}
_READ: tuple[str, ...] = ("graph", "nodes", "demand", "tree", "candidates", "opened", "forbidden")
_READ += ("weights", "expected", "by", "centers", "against", "from_release", "parameters")
_READ += ("messages", "result", "answers", "answer", "audit", "evaluation", "invitation")
_READ += ("holder", "peer")
"""Options of all commands that name files to read; below, files to write or to continue."""
_WRITTEN = (
    *("key", "study", "state", "ledger", "save_release", "output", "map", "coreset", "heatmap"),
    *("html", "registry", "write_parameters"),
)
_NO_FILE = "streets"  # a value of --expected that is not a file
POSITIONAL = {"graph": "GRAPH", "state": "STATE", "study": "STATE", "key": "KEY"}
POSITIONAL |= {"result": "RESULT", "invitation": "INVITATION", "answer": "ANSWER"}
"""Names of positional arguments in help texts."""


def say(text: str, *, raw: bool = False) -> None:
    """Write one line to stderr. Errors of stderr are ignored, so that no result is lost."""
    if sys.stderr is None:
        return
    clear()
    line = text if raw else f"metricdp: {one_line(text)}"
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{_wrapped(line)}\n")
        sys.stderr.flush()


def hush(quiet: bool) -> None:
    """Set whether `note` is silent (``--quiet``)."""
    _options["quiet"] = quiet


def note(text: str, *, raw: bool = False) -> None:
    """`say` something unimportant, unless ``--quiet`` is given."""
    if not _options["quiet"]:
        say(text, raw=raw)


def check_files(args: Namespace, *, read: Sequence[str] = ()) -> None:
    """Refuse files that cannot be written or would replace an input, before a charge; `read`:
    options whose files this command only reads.
    """
    if sys.stdout is None and not getattr(args, "output", True):
        raise InputError("stdout is closed and there is no --output: the result would be lost")
    taken: dict[str, str] = {}
    targets = [name for name in _WRITTEN if name not in read]
    for name in (*_READ, *read):
        for option, path in _named(args, name):
            if path != _NO_FILE:
                taken[os.path.realpath(path)] = option
    for name in targets:
        for option, path in _named(args, name):
            real = os.path.realpath(path)
            if real in taken:
                raise InputError(f"{option} and {taken[real]} are the same file: {path}")
            taken[real] = option
            _check_target(option, path, Path(real))


def _named(args: Namespace, name: str) -> list[tuple[str, str]]:
    """The files of an option, each with the option's name as users write it."""
    given = getattr(args, name, None)
    option = POSITIONAL.get(name) or "--" + name.replace("_", "-")
    if name == "demand" and not hasattr(args, "graph"):
        option = "FILE"
    if isinstance(given, list):
        return [(f"{option} {i}", path) for i, path in enumerate(given, 1)]
    return [] if given is None else [(option, given)]


def on_screen() -> bool:
    """Whether stderr is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def _wrapped(line: str) -> str:
    """The line, on a terminal wrapped with indented continuation."""
    if not on_screen():
        return line
    columns = shutil.get_terminal_size().columns
    if columns < 20 or "\n" in line or "  " in line:  # a table stays as it is
        return line
    folded = textwrap.TextWrapper(columns - 1, subsequent_indent="  ", break_on_hyphens=False)
    folded.break_long_words = False
    return folded.fill(line)


def read_json(path: str, hint: str = "") -> Any:
    """The content of a JSON file."""
    with open(path, "rb") as file:  # noqa: PTH123 - an empty path must stay an error of open
        data = file.read()
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is not JSON{hint}") from None


def to_json(value: dict[str, Any]) -> str:
    """JSON text with a line end; lists of plain values stay on one line."""
    return _layout(value, "") + "\n"


def _layout(value: Any, indent: str) -> str:
    nested = isinstance(value, dict | list)
    if isinstance(value, list):
        nested = any(isinstance(v, dict | list) for v in value)
    if not nested or not value:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    deeper = indent + "  "
    if isinstance(value, list):
        return "[\n" + ",\n".join(deeper + _layout(v, deeper) for v in value) + f"\n{indent}]"
    items = ((json.dumps(str(k), ensure_ascii=False), v) for k, v in value.items())
    lines = (f"{deeper}{name}: {_layout(v, deeper)}" for name, v in items)
    return "{\n" + ",\n".join(lines) + f"\n{indent}}}"


def show_result(text: str) -> None:
    """Write text to stdout; errors are raised by `raised_at_the_end`, after all files."""
    if sys.stdout is None:
        return
    clear()  # both may be one terminal
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:  # \u escapes: valid in JSON, readable elsewhere
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError as error:
        _failed.append(error)
    except OSError as error:
        _failed.append(OSError(error.errno, error.strerror, STDOUT))


@contextmanager
def raised_at_the_end() -> Iterator[None]:
    """At the end of the block, raise the first error of stdout in it."""
    _failed.clear()
    yield
    for error in _failed[:1]:
        raise error


def abandon_stdout() -> None:
    """Redirect stdout to the null device, so that Python's flush at exit cannot fail again."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


KEPT = ("--ledger", "STATE", "KEY")
"""Files that are continued, and never replaced."""
_JOURNAL, _ARCHIVE = b'{"line": {', b"PK\x03\x04"
_SECRETS = (b'{"format": "metricdp holder,', b'{"format": "metricdp coordinator,')


def _is_kept(path: Path) -> bool:
    """Whether a file is a journal, a stream's state, a key or a study, which cannot be
    recreated.
    """
    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith(_SECRETS):
        return True
    if start.startswith(_ARCHIVE):
        from metricdp.running.stream_file import stream_contents

        with suppress(InputError):
            return bool(stream_contents(path))
    return start.startswith(_JOURNAL)


def _check_target(option: str, path: str, real: Path) -> None:
    problem = 0
    try:
        if not path or path.endswith(os.sep) or real.is_dir():
            raise InputError(f"{option} {path!r} is a directory; name a file")
        if real.exists() and not real.is_file():  # a device or a pipe must not be replaced
            raise InputError(f"{option} {path} is not a regular file")
        if option not in KEPT and real.exists() and _is_kept(real):
            kinds = "a ledger, the state of a stream, a key or a study"
            raise InputError(f"{option} {path} is {kinds}, and would be lost: name another file")
        with tempfile.TemporaryFile(dir=real.parent):  # unnamed, so that nothing is left behind
            pass
    except OSError as error:
        problem = error.errno or errno.EIO
    if problem:
        raise InputError(f"{option} {path} cannot be written: {os.strerror(problem)}")


def write_text(path: str | None, text: str) -> None:
    """Write a file atomically, if a path is given."""
    if path is not None:
        write_whole(Path(path), text)
