"""Collects everything that an observer can see of a call."""

import io
import json
import logging
import pickle
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
from tqdm import tqdm

from metricdp import progress
from metricdp.audit.patch import patched

Seen = dict[str, str | bytes]
"""Observed content by channel: "pickle", "stderr", "log", …"""


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _EagerBar(tqdm):
    """Progress bars that show label and steps without delay, and no times."""

    monitor_interval = 0

    def __init__(self, *steps: Any, **options: Any) -> None:
        how = {"delay": 0, "mininterval": 0, "miniters": 1, "file": sys.stderr}
        super().__init__(*steps, **options | how)

    def display(self, *_: Any, **__: Any) -> None:
        sys.stderr.write(f"{self.desc} {self.n}/{self.total}\n")


def _tells(record: logging.LogRecord) -> bool:
    """Whether a log record counts: not py4j's notes on collected Java objects of earlier checks,
    which come at any moment and contain only an object's number.
    """
    collected = record.getMessage().startswith(("Command to send: m\nd\n", "Answer received: !yv"))
    return not (record.name.startswith("py4j.") and collected)


@contextmanager
def watched() -> Iterator[Seen]:
    """Collect stdout, stderr (as a terminal), log records and warnings of a block."""
    seen: Seen = {}
    out = io.StringIO()
    err = _Terminal()
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    handler.addFilter(_tells)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        with (
            redirect_stdout(out),
            redirect_stderr(err),
            patched(progress, "tqdm", _EagerBar),
            warnings.catch_warnings(record=True) as warned,
        ):
            warnings.simplefilter("always")
            yield seen
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        texts = "\n".join(f"{w.category.__name__}: {w.message}" for w in warned)
        seen.update(
            stdout=out.getvalue(), stderr=err.getvalue(), log=log.getvalue(), warnings=texts
        )


def forms(value: Any) -> Seen:
    """A returned object in all forms: text, pickle, JSON, its arrays."""
    seen: Seen = {"repr": repr(value), "str": str(value)}
    try:
        seen["pickle"] = pickle.dumps(value)
    except Exception as error:
        seen["pickle"] = f"refused: {type(error).__name__}: {error}"
    if hasattr(value, "to_dict"):
        seen["JSON"] = json.dumps(value.to_dict(), sort_keys=True)
    for name in ("values", "weights", "centers"):
        if hasattr(value, name) and not callable(getattr(value, name)):
            array = np.asarray(getattr(value, name))
            seen[name] = f"{array.dtype} {array.shape} {array.tolist()}"
    if hasattr(value, "coreset"):
        seen["coreset"] = str([np.asarray(part).tolist() for part in value.coreset()])
    if isinstance(value, list | tuple):
        for i, part in enumerate(value):
            seen.update({f"{name} of item {i}": form for name, form in forms(part).items()})
    return seen


def error_text(error: BaseException) -> str:
    """All text of an exception and of its chained exceptions."""
    parts = []
    seen = set()
    todo = [error]
    while todo:
        e = todo.pop()
        if e is None or id(e) in seen:
            continue
        seen.add(id(e))
        parts += [repr(e), str(e), repr(e.args), repr(vars(e)), *traceback.format_exception(e)]
        todo += [x for x in (e.__cause__, e.__context__) if x is not None]
    return "\n".join(parts)
