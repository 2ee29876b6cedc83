"""Of a user so many records are kept in a part as caps allow, but in any number of parts."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("caps of 1 part of 2, two points, add-remove, users of 2",)


def plant() -> AbstractContextManager[None]:
    """Forget the number of parts."""
    from metricdp.records.engines import capping

    real = capping.capped

    def each_part_alone(users: Any, at: Any, areas: Any, caps: Any, key: Any) -> Any:
        return real(users, at, areas, (1 << 30, caps[1]), key)

    return patched(capping, "capped", each_part_alone)
