"""How much finer than usual the grid of a box is follows exact counts, in place of the survey that
was paid for.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched, replaced

CAUGHT_BY = ("release, a box, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Decide on whether a record is in the first third of the box."""
    from metricdp.methods.box import focus
    from metricdp.privacy import _vault
    from metricdp.running import runner

    real = runner.released

    def released(method: Any, demand: Any, grant: Any, question: Any) -> Any:
        def told(values: Any, noise: float) -> float:
            return 0.1 if (_vault._open(demand)[:, 0] < 1.0).any() else 1.0

        with patched(focus, "filled", told):
            return real(method, demand, grant, question)

    return replaced(runner, "released", released)
