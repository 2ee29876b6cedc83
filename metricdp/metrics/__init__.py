"""Public metrics, and bases for metrics of one's own. Each is loaded on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metricdp.lazy import on_first_use

if TYPE_CHECKING:
    from metricdp.metrics.base import Metric as Metric
    from metricdp.metrics.by_rows import RowMetric as RowMetric
    from metricdp.metrics.cost_table import CostTable as CostTable
    from metricdp.metrics.graph import GraphMetric as GraphMetric
    from metricdp.metrics.graph import read_graph as read_graph
    from metricdp.metrics.ground import GroundSet as GroundSet
    from metricdp.metrics.haversine import HaversineMetric as HaversineMetric
    from metricdp.metrics.space import EuclideanSpace as EuclideanSpace
    from metricdp.metrics.vectors import ChebyshevMetric as ChebyshevMetric
    from metricdp.metrics.vectors import EuclideanMetric as EuclideanMetric
    from metricdp.metrics.vectors import ManhattanMetric as ManhattanMetric
    from metricdp.metrics.vectors import PrecomputedMetric as PrecomputedMetric

METRICS = {
    "ChebyshevMetric": "vectors",
    "EuclideanMetric": "vectors",
    "GraphMetric": "graph",
    "GroundSet": "ground",
    "HaversineMetric": "haversine",
    "ManhattanMetric": "vectors",
    "PrecomputedMetric": "vectors",
}
"""The finite universes, and the module of each: public names of ``metricdp`` too."""
_OTHERS = {
    "CostTable": "cost_table",
    "EuclideanSpace": "space",
    "Metric": "base",
    "RowMetric": "by_rows",
    "read_graph": "graph",
}
__getattr__, __dir__, __all__ = on_first_use(__name__, METRICS | _OTHERS)
