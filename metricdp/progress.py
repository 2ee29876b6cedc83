"""Progress bars: on stderr, only on a terminal, only for work longer than two seconds, and never
about private data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

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
