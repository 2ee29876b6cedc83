"""A stream goes on beyond its horizon, though what it promises each user was paid for so many days
and no more.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("Stream, user level, 2 days, add-remove", "Stream, user level, 2 days, replace-one")


def plant() -> AbstractContextManager[Any]:
    """Check all but the horizon."""
    from metricdp.accounting.continual import Schedule
    from metricdp.privacy import continual

    real = continual._check

    def check(counter: Any, demand: Any) -> None:
        try:
            real(counter, demand)
        except continual.InputError as error:
            if "horizon" not in str(error):
                raise

    block = Schedule.block
    endless = lambda self, number: replace(block(self, number), length=None)  # noqa: E731
    stack = ExitStack()
    stack.enter_context(patched(continual, "_check", check))
    stack.enter_context(patched(Schedule, "block", endless))
    return stack
