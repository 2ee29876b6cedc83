"""Rows of quantized distances from the records' distinct points to all points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints, chunks
from metricdp.protocols import Finite, sound_rows


def rows_from(universe: Finite, records: Ints) -> Iterator[tuple[NDArray[Any], Ints, Ints]]:
    """Distinct points of records, their counts, quantized distances (n, n_points), in blocks."""
    points, counts = np.unique(records, return_counts=True)
    for part in chunks(len(points), len(universe)):
        yield points[part], counts[part].astype(np.int64), sound_rows(universe, points[part])
