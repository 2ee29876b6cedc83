"""Progress bars, and a status line for long work without one: on stderr, only on a terminal, only
for work longer than two seconds, and never about private data.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import IO, Any

from tqdm import tqdm

_SILENT = ContextVar("silent", default=False)
CLEARED: list[Callable[[], None]] = []
"""Callbacks that clear a waiting line before something else is written to the terminal."""


def clear() -> None:
    """Clear waiting lines before something else is written to the terminal."""
    for cleared in CLEARED:
        cleared()


def _in_its_place(bar: Any) -> Any:
    """The bar, made to clear waiting lines when it is first drawn."""
    drawn = bar.display

    def display(*args: Any, **options: Any) -> Any:
        if not bar._mdp_drawn:
            clear()
            bar._mdp_drawn = True
        return drawn(*args, **options)

    bar._mdp_drawn = False
    bar.display = display
    return bar


@contextmanager
def silent() -> Iterator[None]:
    """Show no bar in this block: the data, and how much there is, are private."""
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


def progress(
    steps: Iterable[Any] | None = None, *, total: int | None = None, label: str, unit: str = "step"
) -> tqdm:
    """Wrap `steps` (or count to `total`) in a bar that appears after two seconds."""
    return bar(steps, total=total, desc=label, unit=unit)


def bar(steps: Iterable[Any] | None = None, **options: Any) -> tqdm:
    """A bar of tqdm that appears after two seconds; none in a `silent` block."""
    made = tqdm(steps, delay=2.0, disable=_SILENT.get() or None, leave=False, **options)
    return _in_its_place(made) if CLEARED and not made.disable else made


@cache
def compiling() -> Any:
    """A listener that sums the seconds in which this process compiles kernels; `now`: whether it
    does so at the moment.
    """
    from numba.core.event import Event, TimingListener, register

    class Compiling(TimingListener):
        @property
        def now(self) -> bool:
            return self._depth > 0

        def on_end(self, event: Event) -> None:
            if self.now:  # else another thread was compiling before anything was heard
                super().on_end(event)

    register("numba:compile", listener := Compiling())
    return listener


WAIT = 1.8
"""Seconds without output before the line appears."""


class Waiting:
    """A line on a terminal with the present work, shown after `wait` seconds without output, and
    removed at the end. It counts seconds alone, as numbers of rows may be private.
    """

    def __init__(self, stream: IO[str] | None, wait: float = WAIT) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._wait = wait
        self._what = "loading libraries"
        self._lock = threading.RLock()
        self._last = self._since = time.monotonic()
        self._width = 0
        self._over = threading.Event()

    def __enter__(self) -> Waiting:
        if self._stream is not None:
            _ACTIVE.append(self)
            CLEARED.append(self.clear)
            threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with self._lock:
            self.clear()
            self._stream = None
        with suppress(ValueError):
            _ACTIVE.remove(self)
            CLEARED.remove(self.clear)

    def doing(self, what: str) -> None:
        """Set the text of the present work, which is public."""
        with self._lock:
            self._what = what
            self._since = time.monotonic()

    def clear(self) -> None:
        """Remove the line, as something else is written, and wait again."""
        with self._lock:
            if self._width and self._stream is not None:
                self._write("\r" + " " * self._width + "\r")
            self._width = 0
            self._last = time.monotonic()

    def _watch(self) -> None:
        while not self._over.wait(self._wait / 6):
            listener = compiling()  # loads numba, which long work needs anyway
            with self._lock:
                if self._over.is_set() or time.monotonic() - self._last < self._wait:
                    continue
                if not _bars():
                    self._show("compiling, once on this machine" if listener.now else self._what)

    def _show(self, what: str) -> None:
        text = f"metricdp: {what} … {time.monotonic() - self._since:.0f} s"
        self._write("\r" + text.ljust(self._width))
        self._width = max(self._width, len(text))

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            assert self._stream is not None
            self._stream.write(text)
            self._stream.flush()


_ACTIVE: list[Waiting] = []


def doing(what: str) -> None:
    """Set the text of all active lines; `what` is public."""
    for waiting in _ACTIVE:
        waiting.doing(what)


def _bars() -> bool:
    """Whether a progress bar is on the screen."""
    return any(getattr(bar, "_mdp_drawn", False) for bar in list(getattr(tqdm, "_instances", ())))
