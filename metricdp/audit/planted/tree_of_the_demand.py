"""The tree is grown anew for every demand, from coins that depend on it: what it looks like tells
of the records.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from metricdp.audit.patch import replaced

CAUGHT_BY = ("k_median, hst, two points, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Seed the tree with the number of records."""
    from metricdp.privacy import _vault
    from metricdp.running import runner

    real = runner.released

    def released(method: Any, demand: Any, grant: Any, question: Any) -> Any:
        return real(method, demand, grant, replace(question, seed=len(_vault._open(demand))))

    return replaced(runner, "released", released)
