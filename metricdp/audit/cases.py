"""What is tested against its exact distribution: every query, entry point and method."""

from __future__ import annotations

from collections.abc import Iterator

from metricdp.audit.asking import asking_cases
from metricdp.audit.counting import capping_cases, counting_cases, evaluation_cases, snap_cases
from metricdp.audit.doors import door_cases
from metricdp.audit.exact import Case
from metricdp.audit.prices import price_cases
from metricdp.audit.selecting import search_cases, selecting_cases


def cases() -> Iterator[Case]:
    """All cases."""
    own = (counting_cases, selecting_cases, asking_cases)
    more = (search_cases, evaluation_cases, door_cases)
    for make in (*own, *more, snap_cases, capping_cases, price_cases):
        yield from make()
