"""A progress bar over the records, on stderr for all to see: its total is the number of records."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("HistogramQuery, two points, add-remove", "canaries in progress bars, logs and output")


def plant() -> AbstractContextManager[None]:
    """Show a bar for the noise that tells how much it hides."""
    from metricdp import progress
    from metricdp.privacy import _vault, gate

    real = gate._noisy

    def noisy(demand: Any, query: Any, noise: Any, grant: Any = None) -> Any:
        records = len(_vault._open(demand))
        progress.progress(total=records, label="adding noise").update()
        return real(demand, query, noise, grant)

    return patched(gate, "_noisy", noisy)
