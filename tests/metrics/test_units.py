"""Distances with units."""

import networkx as nx
import pytest

import metricdp as mdp
from metricdp.metrics.units import UNITS, checked_distance, in_units_of
from tests import refuses


@pytest.mark.parametrize(
    ("own", "text", "number"),
    [("m", "2 km", 2000), ("km", "500m", 0.5), ("s", "10 min", 600), ("h", "90 min", 1.5)],
)
def test_numbers_are_in_the_metrics_units(own, text, number):
    metric = mdp.GraphMetric(nx.path_graph(3), weight=None)
    metric.measured_in = own
    assert checked_distance(text, "limit") == text
    assert in_units_of(metric, text, "limit") == pytest.approx(number)
    assert in_units_of(metric, 7, "limit") == 7.0


def test_units_of_another_kind_and_no_units_are_refused():
    metric = mdp.GraphMetric(nx.path_graph(3), weight=None)
    for text in ("10", "ten min", "10 parsec", "-3 m"):
        refuses("within must be a number", checked_distance, text, "within")
    metric.measured_in = "s"
    refuses("clip='3 m': distances of graph are measured in s", in_units_of, metric, "3 m", "clip")
    metric.measured_in = "parsec"
    refuses("measured_in must be one of", in_units_of, metric, "3 m", "clip")
    assert {kind for kind, _ in UNITS.values()} == {"m", "s"}
