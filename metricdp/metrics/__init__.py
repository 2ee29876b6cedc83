"""Public metrics, and bases for metrics of one's own. Each is loaded on first use."""

from typing import TYPE_CHECKING

from metricdp.lazy import on_first_use

if TYPE_CHECKING:
    from metricdp.metrics.base import Metric
    from metricdp.metrics.by_rows import RowMetric
    from metricdp.metrics.cost_table import CostTable
    from metricdp.metrics.graph import GraphMetric, read_graph
    from metricdp.metrics.space import EuclideanSpace
    from metricdp.metrics.vectors import (
        ChebyshevMetric,
        EuclideanMetric,
        GroundSet,
        HaversineMetric,
        ManhattanMetric,
        PrecomputedMetric,
    )

METRICS = (
    "ChebyshevMetric",
    "EuclideanMetric",
    "GraphMetric",
    "GroundSet",
    "HaversineMetric",
    "ManhattanMetric",
    "PrecomputedMetric",
)
"""The finite universes: public names of ``metricdp`` too."""
__getattr__, __dir__, __all__ = on_first_use(__name__)
