"""TSPLIB's points by name: read, downloaded, refused where a graph is needed, and measured on."""

import gzip
import hashlib
from dataclasses import replace

import numpy as np
import pytest

import metricdp as mdp
from metricdp import datasets
from tests import refuses
from tests.bench.test_p_median import POINTS, least, text
from tests.cli_world import run, works
from tests.data import DATA
from tests.test_datasets import needs_pooch, register, server

__all__ = ["server"]

CONTENT = text(POINTS).encode()


@pytest.fixture
def points(monkeypatch, tmp_path):
    """A point set that lies in the data folder."""
    info = replace(
        datasets.describe("rl1304"),
        name="tiny14",
        file="tiny14.tsp",
        vertices=14,
        bytes=len(CONTENT),
        sha256=(hashlib.sha256(CONTENT).hexdigest(),),
    )
    register(monkeypatch, info)
    (tmp_path / "tiny14.tsp").write_bytes(CONTENT)
    monkeypatch.setenv("METRICDP_DATA", str(tmp_path))
    return info


def test_points_are_loaded_as_a_plane(points):
    found = datasets.load("tiny14")
    assert isinstance(found.metric, mdp.EuclideanMetric)
    assert found.metric.distances([0])[0].tolist() == np.hypot(*(POINTS - POINTS[0]).T).tolist()


def test_a_graph_command_refuses_points_in_one_line(points, capsys):
    ran = run(capsys, "cluster", "dataset:tiny14", "-k", "1")
    assert ran.status == 2
    assert "tiny14 is a set of points, not a graph" in ran.err


@needs_pooch
def test_the_benchmark_fetches_points_by_name(server, points, capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("METRICDP_DATA")
    server.pages["/tiny14.tsp.gz"] = gzip.compress(CONTENT)
    register(monkeypatch, replace(points, url=f"{server.url}/tiny14.tsp.gz"))
    cache = tmp_path / "cache"
    monkeypatch.setattr(datasets, "_cache_folder", lambda given: cache)
    ran = works(capsys, "bench", "tsplib", "--instances", "tiny14", "-p", "3", "--exact", "--json")
    assert ran.json["rows"][0]["cost"] == least(3)
    assert (cache / "tiny14.tsp").read_bytes() == CONTENT
    server.pages.clear()
    assert run(capsys, "bench", "tsplib", "--instances", "tiny14", "-p", "2").status == 0


def test_without_a_folder_names_must_be_those_of_point_sets(capsys, monkeypatch):
    monkeypatch.delenv("METRICDP_DATA", raising=False)
    for name, error in (("pmed1", "pmed1 is no instance"), ("rl1305", "did you mean rl1304")):
        ran = run(capsys, "bench", "tsplib", "--instances", name, "-p", "3")
        assert ran.status == 2
        assert error in ran.err
        assert ran.err.count("\n") == 1


@pytest.mark.skipif(not (DATA / "plan/tsplib").is_dir(), reason="real data not found")
def test_real_points_are_what_the_registry_says(monkeypatch):
    monkeypatch.setenv("METRICDP_DATA", str(DATA))
    sets = [info for info in map(datasets.describe, datasets.names()) if info.edges == 0]
    assert [info.name for info in sets] == ["u1060", "rl1304", "fl1400", "pcb3038", "rl5915"]
    for info in sets:
        assert len(datasets.load(info.name).metric) == info.vertices


def test_names_near_are_reported():
    refuses("did you mean pcb3038", datasets.describe, "pcb3083")
