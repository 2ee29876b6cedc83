"""Progress bars: on stderr, only on a terminal, only for work longer than two seconds, and never
fed by private data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tqdm import tqdm

_SILENT = ContextVar("silent", default=False)
CLEARED: list[Callable[[], None]] = []
"""What takes its own line from the terminal before something else is written there."""


def clear() -> None:
    """Take the waiting line away before something else is written to the terminal."""
    for cleared in CLEARED:
        cleared()


def _in_its_place(bar: Any) -> Any:
    """The bar, which takes the waiting line away as it is first drawn."""
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
    """Show no bar in this block: what it works on is private, and so is how much there is of it."""
    token = _SILENT.set(True)
    try:
        yield
    finally:
        _SILENT.reset(token)


class SearchLine:
    """A line that says what a search has found and what is proven; it appears after two seconds."""

    def __init__(self) -> None:
        own = {"delay": 2.0, "miniters": 0, "leave": False, "disable": _SILENT.get() or None}
        self._bar = tqdm(total=None, bar_format="{desc} [{elapsed}]", **own)
        if CLEARED and not self._bar.disable:
            _in_its_place(self._bar)

    def say(self, value: float, bound: float) -> None:
        """Cost and bound, or coverage and bound."""
        most = max(abs(value), abs(bound))
        gap = f", gap {100 * abs(value - bound) / most:.2g} %" if 0 < most < float("inf") else ""
        self._bar.set_description_str(f"best {value:.6g}, bound {bound:.6g}{gap}", refresh=False)
        self._bar.update(0)

    def close(self) -> None:
        """Take it away."""
        self._bar.close()


def progress(
    steps: Iterable[Any] | None = None, *, total: int | None = None, label: str, unit: str = "step"
) -> tqdm:
    """Wrap `steps` (or count to `total`) in a bar that appears after two seconds."""
    bar = tqdm(
        steps,
        total=total,
        desc=label,
        unit=unit,
        delay=2.0,
        disable=_SILENT.get() or None,
        leave=False,
    )
    return _in_its_place(bar) if CLEARED and not bar.disable else bar
