"""Public metrics, and bases for metrics of one's own. Each is loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

__all__ = sorted({**METRICS, **_OTHERS})


def __getattr__(name: str) -> Any:
    module = METRICS.get(name) or _OTHERS.get(name)
    if module is None:
        raise AttributeError(f"module 'metricdp.metrics' has no attribute {name!r}")
    value = getattr(import_module(f"metricdp.metrics.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "METRICS"]
