"""Whose each record is, for records in hand."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from metricdp.records.ingestion.cells import text_of
from metricdp.records.ingestion.columns import simplified, texts
from metricdp.refusals import InputError

_TEXT_ONLY = (str, bytes, float, timedelta, np.timedelta64, date, time, Decimal)
"""What is a user by its text or not at all, as in a file."""


def names_of(users: Any) -> list[Hashable]:
    """One name for each user: a cell's text, so that 5 and ``"5"`` are one, or the object."""
    cells = simplified(users)
    named: list[Any] = list(map(_name, cells)) if isinstance(cells, list) else [*texts(cells)]
    if any(name is None for name in named):
        raise InputError("a user is missing")
    return named


def _name(cell: Any) -> Hashable:
    if type(cell) is tuple:  # by its parts: 1 is not True in one either, and NaN is missing
        parts = tuple(map(_name, cell))
        return None if None in parts else ("tuple", parts)
    text = text_of(cell)
    if text is not None or isinstance(cell, _TEXT_ONLY) or cell is None:
        return text
    try:
        return (type(cell).__name__, cell) if hash(cell) is not None and cell == cell else None
    except Exception:  # it cannot be hashed or compared: whatever it says may quote a record
        return None
