"""Deferred interruptions (Ctrl-C): a release that was paid for is saved first."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

Made = TypeVar("Made")
SIGNALS = (signal.SIGINT, signal.SIGTERM)


_HEARD: list[bool] = []
"""Not empty once a program that called `listen` was interrupted."""


def heard() -> bool:
    """Whether a program that called `listen` was interrupted: C libraries raise other errors."""
    return bool(_HEARD)


def listen() -> None:
    """Record interruptions from now on; for programs at their start, not for libraries.

    After an interruption, errors of libraries' finalizers are not shown.
    """

    def note(number: int, frame: FrameType | None) -> None:
        _HEARD.append(True)
        sys.unraisablehook = lambda _: None
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)


def over() -> None:
    """Ignore interruptions from now on: the program is done, and its exit status is known."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class held:
    """Defer interruptions while a block runs, in the main thread; a second one ends it at once.

    Between a charge and the saved release, an interruption would waste the charge. `say` is called
    once when one is deferred. With `deliver`, KeyboardInterrupt is raised after the block; `asked`
    says whether there was one. An inner block passes it to the outer one.
    """

    def __init__(self, say: Callable[[], None] | None = None, *, deliver: bool = True) -> None:
        self._say = say
        self._deliver = deliver
        self._before: dict[signal.Signals, Any] = {}
        self._outer: held | None = None
        self._inside = False
        self.asked = False

    def __enter__(self) -> held:
        if threading.current_thread() is threading.main_thread():
            for one in SIGNALS:
                handler = signal.getsignal(one)
                around = getattr(handler, "__self__", None)
                self._outer = around if isinstance(around, held) else self._outer
                if one is signal.SIGTERM and handler is signal.SIG_DFL:
                    continue  # SIGTERM ends the process at once, unless the program handles it
                if handler not in (signal.SIG_IGN, None):
                    self._before[one] = handler
                    signal.signal(one, self._hold)
        return self

    def optional(self, work: Callable[[], Made]) -> Made | None:
        """Return ``work()``, or None after an interruption: for optional parts of the block."""
        try:
            try:
                self._inside = True
                return None if self.asked else work()
            finally:
                self._inside = False
        except KeyboardInterrupt:
            self.asked = True
            return None

    def _hold(self, number: int, frame: FrameType | None) -> None:
        if self.asked and not self._inside:
            self._restore()
            raise KeyboardInterrupt
        first = not self.asked
        self.asked = True
        if first and self._say is not None:
            self._say()
        if self._inside:
            raise KeyboardInterrupt

    def _restore(self) -> None:
        for one, handler in self._before.items():
            signal.signal(one, handler)
        self._before = {}

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._restore()
        if self.asked and self._outer is not None:
            self._outer.asked = True
        elif kind is None and self.asked and self._deliver:
            raise KeyboardInterrupt
