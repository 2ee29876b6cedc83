"""A stream says that it protects each user on all days together, with the noise of one day's
records.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from metricdp.audit.patch import replaced

CAUGHT_BY = (
    "Stream, user level, 2 days, add-remove",
    "Stream, user level, Gaussian, replace-one",
)


def plant() -> AbstractContextManager[None]:
    """Count one day for every unit."""
    from metricdp.accounting import continual

    return replaced(continual, "days_of", lambda schedule, unit: 1)
