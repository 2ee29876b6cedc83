"""Records in memory, as their caller holds them: points of a box, or ids of a finite universe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from metricdp.errors import InputError
from metricdp.protocols import Box, Finite, Space, box, finite
from metricdp.records.ingestion.columns import points
from metricdp.records.ingestion.matching import positions

SECRET = "at least one is not (which one, and how many, is private)"
Reading = tuple[str, Callable[[], NDArray[Any]]]
"""The rule that every record must keep, and what reads them."""


def in_hand(universe: Space, records: Any) -> Reading:
    """How records are read."""
    return _IN_HAND[universe.kind](universe, records)


def _points(universe: Space, records: Any) -> Reading:
    space: Box = box(universe, "points")
    rule = f"records must be finite numbers of shape (n, {space.dimension}); {SECRET}"
    return rule, lambda: space.clip(points(records, space.dimension))


def _named(universe: Space, records: Any) -> Reading:
    if isinstance(records, str | bytes | Mapping) or getattr(records, "ndim", 1) != 1:
        raise InputError(
            "records must be a sequence of ids, one per record; coordinates: from_coordinates"
        )
    known: Finite = finite(universe, "ids")
    kind = type(known.ids[0]).__name__
    rule = f"every record must be the id ({kind}) of a point of {known.name}; {SECRET}"
    return rule, lambda: positions(known.ids, records)


_IN_HAND = {"finite": _named, "box": _points}
