"""What lengths are measured in is named wherever figures of them are written."""

from __future__ import annotations

import csv
import json

import networkx as nx
import pytest

import metricdp as mdp
from metricdp.report.plan_files import write_plan
from tests.cli_world import build_world, run


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


def test_tables_of_centers_and_solutions_name_it(tmp_path):
    metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    write_plan(tmp_path / "plan.csv", mdp.k_median(metric, k=2))
    with (tmp_path / "plan.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["distance_unit"] for row in rows] == ["hops", "hops"]
    told = mdp.solve(metric, mdp.objectives.PCenter(k=2)).to_dict()
    assert told["distance_unit"] == "hops"


def test_the_geopackage_names_it(tmp_path):
    pyogrio = pytest.importorskip("pyogrio", reason="needs the extra geo")
    graph = nx.path_graph(5)
    for v in graph:
        graph.nodes[v].update(x=float(v), y=0.5 * v)
    result = mdp.k_median(mdp.GraphMetric(graph, weight=None), k=2)
    write_plan(tmp_path / "plan.gpkg", result)
    told = pyogrio.read_info(tmp_path / "plan.gpkg", layer="sites")
    assert told["dataset_metadata"]["METRICDP_UNIT"] == "hops"
    assert "distance_unit" in told["fields"]


def test_the_command_line_names_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    build_world(tmp_path)
    ask = ("cluster", "roads.csv", "--demand", "homes.csv", "-k", "2", "--epsilon", "1", "-q")
    told = json.loads(run(capsys, *ask).out)
    assert told["estimates"]["distance_unit"] == "column 'length_m'"
    (tmp_path / "centers.json").write_text(json.dumps(told["centers"]))
    ask = ("evaluate", "roads.csv", "--demand", "homes.csv", "--centers", "centers.json", "-q")
    assert json.loads(run(capsys, *ask).out)["distance_unit"] == "column 'length_m'"
