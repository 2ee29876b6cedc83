"""Progress bars: on stderr, only on a terminal, only for work longer than two seconds, and never
fed by private data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tqdm import tqdm

_SILENT = ContextVar("silent", default=False)


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
    """Wrap `steps` (or open a bar of `total` updates) in a bar that appears after two seconds on an
    interactive stderr.

    Parameters
    ----------
    steps : iterable, optional
        What to iterate over; without it call ``.update(n)`` on the result.
    total : int, optional
        Number of steps when `steps` has no length.
    label : str
        What is being done, in the user's words.
    unit : str
        Name of one step.

    Examples
    --------
    >>> sum(progress([1, 2, 3], label="adding"))
    6
    """
    return tqdm(
        steps,
        total=total,
        desc=label,
        unit=unit,
        delay=2.0,
        disable=_SILENT.get() or None,
        leave=False,
    )
