"""Public metrics: shortest paths in a graph, Euclidean, L1, a matrix, and a box in R^d."""

from metricdp.metrics.base import Metric
from metricdp.metrics.graph import GraphMetric, read_graph
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric, ManhattanMetric, PrecomputedMetric

__all__ = [
    "EuclideanMetric",
    "EuclideanSpace",
    "GraphMetric",
    "ManhattanMetric",
    "Metric",
    "PrecomputedMetric",
    "read_graph",
]
