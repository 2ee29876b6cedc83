"""When a search ends early: at a time limit, or at Ctrl-C."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

from metricdp.progress import bar, compiling


class SearchLine:
    """A line on the terminal with the best value and the bound; it appears after two seconds."""

    def __init__(self) -> None:
        self._bar = bar(total=None, bar_format="{desc} [{elapsed}]", miniters=0)

    def say(self, value: float, bound: float) -> None:
        """Update value (cost or coverage) and bound."""
        most = max(abs(value), abs(bound))
        gap = f", gap {100 * abs(value - bound) / most:.2g} %" if 0 < most < float("inf") else ""
        self._bar.set_description_str(f"best {value:.6g}, bound {bound:.6g}{gap}", refresh=False)
        self._bar.update(0)

    def close(self) -> None:
        """Remove the line."""
        self._bar.close()


def clock() -> float:
    """Seconds that count for time limits. Compiling kernels, which takes up to 20 s at the first
    call after an installation, does not: with a limit of 10 s nothing would be left for the search.
    """
    listener = compiling()
    return time.monotonic() - (listener.duration if listener.done else 0.0)


class Deadline:
    """Asked by every search between steps: ``if deadline.over: return the best so far``.

    `seconds`: time limit from now on by `clock`, none by default; `unit`: of the values that
    searches `tell`.

    As a context manager with a time limit (also ``inf``), or with `catches`, entered in the main
    thread, it treats Ctrl-C as the end of the time: the search returns its best solution. A second
    Ctrl-C interrupts as usual. Ctrl-C ends all nested deadlines.
    """

    def __init__(self, seconds: float | None = None, *, catches: bool = False) -> None:
        self.seconds, self.unit = seconds, 1.0
        self._catches = catches or seconds is not None
        self._line: SearchLine | None = None
        self._inside = False
        self._end = float("inf") if seconds is None else clock() + seconds
        self._previous: Any = None

    @property
    def over(self) -> bool:
        """Whether the search must end."""
        return clock() >= self._end

    @property
    def left(self) -> float:
        """Seconds left."""
        return self._end - clock()

    def tell(self, value: float, bound: float) -> None:
        """Show the best value so far and the bound, on a terminal."""
        if self._inside:
            self._line = self._line or SearchLine()
            self._line.say(value * self.unit, bound * self.unit)

    def __enter__(self) -> Deadline:
        self._inside = True
        catchable = threading.current_thread() is threading.main_thread()
        if self._catches and catchable and signal.getsignal(signal.SIGINT) is not None:
            self._previous = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()
        self._inside = False
        if self._line is not None:
            self._line.close()
            self._line = None

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
