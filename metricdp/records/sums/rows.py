"""Rows of grid distances from some records' distinct points to all points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arrays import Ints
from metricdp.protocols import Finite, sound_rows

_ENTRIES = 1 << 22
"""Distances held at a time: 32 MB."""


def rows_from(universe: Finite, records: Ints) -> Iterator[tuple[NDArray[Any], Ints, Ints]]:
    """Distinct points of the records, their counts, and grid distances, some at a time."""
    points, counts = np.unique(records, return_counts=True)
    step = max(1, _ENTRIES // len(universe))
    for start in range(0, len(points), step):
        part = slice(start, start + step)
        yield points[part], counts[part].astype(np.int64), sound_rows(universe, points[part])
