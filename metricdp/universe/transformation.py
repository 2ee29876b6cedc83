"""Transformations of points between coordinate reference systems, each point by itself."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from metricdp.arguments import Floats
from metricdp.protocols import trusted


@trusted
@dataclass(frozen=True)
class Transformation:
    """One operation of PROJ, chosen by public facts: it transforms each point by itself.

    `source`, `target`: names of the systems; `operation`: PROJ's definition.
    """

    source: str
    target: str
    operation: str

    def __call__(self, points: Floats) -> Floats:
        """Transformed points, shape (n, 2); infinite where the operation is not defined."""
        x, y = _transformer(self.operation).transform(points[:, 0], points[:, 1], errcheck=False)
        return np.column_stack([x, y]).astype(np.float64)


@lru_cache(maxsize=8)
def _transformer(operation: str) -> Any:
    from pyproj import Transformer

    return Transformer.from_pipeline(operation)
