"""Distances with units."""

import csv
import json

import networkx as nx
import pytest

import metricdp as mdp
from metricdp.metrics.units import UNITS, checked_distance, in_units_of
from tests import path_metric, refuses
from tests.cli_world import run


@pytest.mark.parametrize(
    ("own", "text", "number"),
    [("m", "2 km", 2000), ("km", "500m", 0.5), ("s", "10 min", 600), ("h", "90 min", 1.5)],
)
def test_numbers_are_in_the_metrics_units(own, text, number):
    metric = path_metric(3)
    metric.measured_in = own
    assert checked_distance(text, "limit") == text
    assert in_units_of(metric, text, "limit") == pytest.approx(number)
    assert in_units_of(metric, 7, "limit") == 7.0


def test_units_of_another_kind_and_no_units_are_refused():
    metric = path_metric(3)
    metric.measured_in = "s"
    refuses("clip='3 m': distances of graph are measured in s", in_units_of, metric, "3 m", "clip")
    metric.measured_in = "parsec"
    refuses("measured_in must be one of", in_units_of, metric, "3 m", "clip")
    assert {kind for kind, _ in UNITS.values()} == {"m", "s"}


# What lengths are measured in is named wherever figures of them are written


def test_a_metric_tells_what_its_distances_are():
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, 2.0, "time")
    metric = mdp.GraphMetric(graph, weight="time")
    assert metric.measured == "attribute 'time'"
    metric.measured_in = "s"
    assert metric.measured == "s"
    assert mdp.HaversineMetric([[0.0, 0.0], [1.0, 1.0]]).measured == "m"
    assert mdp.GraphMetric(graph, weight=None).measured == "hops"
    assert mdp.PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]]).measured == "the universe's own units"


def test_solutions_their_tables_and_geopackages_name_it(tmp_path):
    graph = nx.path_graph(5)
    for v in graph:
        graph.nodes[v].update(x=float(v), y=0.5 * v)
    plan = mdp.k_median(mdp.GraphMetric(graph, weight=None), k=2)
    center = mdp.solve(plan.universe, mdp.objectives.PCenter(k=2))
    assert center.to_dict()["distance_unit"] == "hops"
    with plan.save(tmp_path / "plan.csv").open() as file:
        assert [row["distance_unit"] for row in csv.DictReader(file)] == ["hops", "hops"]
    pyogrio = pytest.importorskip("pyogrio", reason="needs the extra geo")
    plan.save(tmp_path / "plan.gpkg")
    reported = pyogrio.read_info(tmp_path / "plan.gpkg", layer="sites")
    assert reported["dataset_metadata"]["METRICDP_UNIT"] == "hops"
    assert "distance_unit" in reported["fields"]


def test_the_command_line_names_it(world, capsys):
    ask = ("cluster", "roads.csv", "--demand", "homes.csv", "-k", "2", "--epsilon", "1", "-q")
    reported = run(capsys, *ask).json
    assert reported["estimates"]["distance_unit"] == "m"
    (world / "centers.json").write_text(json.dumps(reported["centers"]))
    ask = ("evaluate", "roads.csv", "--demand", "homes.csv", "--centers", "centers.json", "-q")
    assert run(capsys, *ask).json["distance_unit"] == "m"


def placed_grid(weight, scale=1.0, crs="EPSG:4326"):
    """A 6 × 6 town whose roads are somewhat longer than the straight way between their ends."""
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 6))
    graph.graph["crs"] = crs
    step = 0.001
    for v in graph:
        graph.nodes[v].update(x=13.4 + (v % 6) * step, y=52.5 + (v // 6) * step)
    metric = mdp.HaversineMetric([(graph.nodes[v]["x"], graph.nodes[v]["y"]) for v in graph])
    for i, (u, v) in enumerate(graph.edges):
        longer = 1.0 if i % 3 else 1.4
        graph.edges[u, v][weight] = float(metric.distances([u], [v])[0, 0]) * longer * scale
    return graph


def test_lengths_as_osmnx_writes_them_are_known_to_be_meters(tmp_path):
    """By what they are beside the places of their ends: no column says so."""
    graph = placed_grid("length")
    nx.write_graphml(graph, tmp_path / "town.graphml")
    metric = mdp.read_graph(tmp_path / "town.graphml")
    assert (metric.measured_in, metric.measured) == ("m", "m")
    assert mdp.GraphMetric(graph).measured_in == "m"
    assert mdp.GraphMetric(placed_grid("length", 1e-3)).measured_in == "km"
    for scale in (1 / 1.4, 3.6 / 30, 1.3):  # walking and driving times; a toll
        assert mdp.GraphMetric(placed_grid("length", scale)).measured_in is None
    assert mdp.GraphMetric(placed_grid("travel_time"), weight="travel_time").measured_in is None
    assert mdp.GraphMetric(graph, weight=None).measured_in is None


def test_a_columns_name_tells_the_unit(tmp_path):
    columns = {"m": "length_m Meters", "km": "km", "min": "time_min", "s": "seconds travel_time_s"}
    for unit, names in {**columns, None: "length time_m cost items"}.items():
        for name in names.split():
            (tmp_path / "roads.csv").write_text(f"from,to,{name}\na,b,3\nb,c,4\n")
            assert mdp.read_graph(tmp_path / "roads.csv", weight=name).measured_in == unit


def test_figures_are_said_with_their_unit(tmp_path):
    from metricdp.report import map_page

    graph = placed_grid("length")
    metric = mdp.GraphMetric(graph)
    demand = mdp.PrivateDemand(metric, [0] * 4000 + [35] * 4000 + [14] * 2000)
    report = mdp.evaluate(metric, demand, [0, 35], epsilon=4, within="200 m")
    lines = {line[:24].strip(): line[24:] for line in str(report).splitlines()}
    assert " m " in lines["mean distance"] and "%" in lines["within 200 m"]
    found = mdp.k_median(metric, demand, 2, epsilon=4)
    assert " m [" in str(found.release.summary(found.centers))
    page = map_page(metric, found.centers, weights=found.release.weights)
    assert "attribute &#x27;length&#x27;" not in page
    assert "<dt>Mean distance</dt><dd>" in page and " m, by " in page
    hops = mdp.GraphMetric(graph, weight=None)
    assert mdp.plan(hops, records=500, k=2, epsilons=[4], repeats=1).rows()[1][-1].endswith(" hops")
