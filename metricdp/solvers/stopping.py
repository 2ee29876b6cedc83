"""When a search ends before it is done: at a time limit, or at Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any


class Deadline:
    """Asked by every search between steps: ``if deadline.over: return the best so far``.

    `seconds`: time limit, from now on; none by default.

    As a context manager with a time limit (``inf`` is one) it also takes Ctrl-C as the end of the
    time, if it is entered in the main thread: the search then returns the best it has. A second
    Ctrl-C interrupts as usual. Without a time limit nothing is caught. Of deadlines within each
    other Ctrl-C ends all.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds = seconds
        self._end = float("inf") if seconds is None else time.monotonic() + seconds
        self._previous: Any = None

    @property
    def over(self) -> bool:
        """Whether the search must end."""
        return time.monotonic() >= self._end

    @property
    def left(self) -> float:
        """Seconds until then."""
        return self._end - time.monotonic()

    def __enter__(self) -> Deadline:
        catchable = threading.current_thread() is threading.main_thread()
        if self.seconds is not None and catchable and signal.getsignal(signal.SIGINT) is not None:
            self._previous = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        self._end = float("-inf")
        around = getattr(self._previous, "__self__", None)
        self._restore()
        if isinstance(around, Deadline):
            around._interrupted(number, frame)

    def _restore(self) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            self._previous = None


NEVER = Deadline()
"""No time limit."""
