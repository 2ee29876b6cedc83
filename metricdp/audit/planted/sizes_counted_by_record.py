"""The histogram of users by their number of records counts every record of a user, so that users of
many records change it by many, at the price of one.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from metricdp.audit.patch import patched

CAUGHT_BY = ("contributions, two points, add-remove, users of 3",)


def plant() -> AbstractContextManager[None]:
    """Repeat each size as often as it says."""
    from metricdp.records.engines import sizes

    real = sizes.sizes_of

    def by_record(users: Any) -> Any:
        found = real(users)
        return np.repeat(found, found)

    return patched(sizes, "sizes_of", by_record)
