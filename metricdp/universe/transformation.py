"""Points moved from one coordinate reference system to another, each by itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from metricdp.arrays import Floats
from metricdp.protocols import trusted


@trusted
@dataclass(frozen=True)
class Transformation:
    """One operation from a system to another, chosen from public facts: each point is moved by
    itself, whatever other points there are.

    `source`, `target`: names of the systems; `operation`: PROJ's own text of it.
    """

    source: str
    target: str
    operation: str

    def __call__(self, points: Floats) -> Floats:
        """Points of shape (n, 2), moved; infinite where the operation is not defined."""
        x, y = _transformer(self.operation).transform(points[:, 0], points[:, 1], errcheck=False)
        return np.column_stack([x, y]).astype(np.float64)


@lru_cache(maxsize=8)
def _transformer(operation: str) -> Any:
    from pyproj import Transformer

    return Transformer.from_pipeline(operation)
