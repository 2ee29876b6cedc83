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


def progress(
    steps: Iterable[Any] | None = None, *, total: int | None = None, label: str, unit: str = "step"
) -> tqdm:
    """Wrap `steps` (or count to `total`) in a bar that appears after two seconds."""
    return bar(steps, total=total, desc=label, unit=unit)


def bar(steps: Iterable[Any] | None = None, **options: Any) -> tqdm:
    """A bar of tqdm that appears after two seconds, and goes; none in a block that is silent."""
    made = tqdm(steps, delay=2.0, disable=_SILENT.get() or None, leave=False, **options)
    return _in_its_place(made) if CLEARED and not made.disable else made
