"""The sample files of graphs/: unchanged, counted, licensed, and reproducible by their recipes."""

import gzip
import hashlib
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from metricdp.universe import read_graph_file, read_table, sample_index, sample_path, samples
from tests import cases, loaded, refuses

INDEX = sample_index()
FOLDER = sample_path("index.toml").parent
GRAPHS = sorted(name for name, entry in INDEX.items() if entry["kind"] == "graph")


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def read(name):
    entry = INDEX[name]
    nodes = entry.get("nodes_file")
    nodes = nodes and sample_path(nodes)
    return read_graph_file(sample_path(name), nodes=nodes, **entry["options"])


@pytest.mark.parametrize("name", sorted(INDEX))
def test_files_are_what_the_index_says(name):
    entry, path = INDEX[name], sample_path(name)
    assert path.stat().st_size == entry["bytes"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]
    assert hashlib.sha256(content(path)).hexdigest() == entry["content_sha256"]
    header = 0 if name.startswith("generated_pmed") else 1
    assert content(path).count(b"\n") == entry["rows"] + 1, "a header line and the rows"
    assert (len(read_table(path)) == entry["rows"]) if header else True


@pytest.mark.parametrize("name", sorted(INDEX))
def test_license_and_source_are_stated(name):
    entry = INDEX[name]
    assert entry["license"] in {"ODbL-1.0", "CC0-1.0"}
    assert entry["license_url"].startswith("https://")
    assert all(entry[key].strip() for key in ("title", "attribution", "source"))
    assert (FOLDER / entry["recipe"]).is_file()
    readme = (FOLDER / "README.md").read_text("utf-8")
    assert f"`{name}`" in readme and f"`{entry['recipe']}`" in readme
    if name.startswith("coquimbo"):
        assert entry["license"] == "ODbL-1.0"
        assert "OpenStreetMap contributors" in entry["attribution"]
        assert "OpenStreetMap contributors" in readme
    notice = (FOLDER.parent / "NOTICE").read_text("utf-8")
    assert any(line.split()[:2] == [name, entry["license"]] for line in notice.splitlines())
    assert (FOLDER.parent / "LICENSES" / f"{entry['license']}.txt").is_file()


def test_nothing_is_there_that_the_index_does_not_know_and_all_is_small():
    data = {p.name for p in FOLDER.iterdir() if p.suffix in {".gz", ".txt", ".csv", ".parquet"}}
    assert data == set(INDEX)
    assert sum(entry["bytes"] for entry in INDEX.values()) < 1_500_000


@pytest.mark.parametrize("name", GRAPHS)
def test_counts(name):
    entry, graph = INDEX[name], read(name)
    assert (len(graph), len(graph.indices) // 2) == (entry["vertices"], entry["edges"])
    assert (graph.coordinate_system or "none") == entry["coordinate_system"]
    if graph.coordinates is not None:
        assert np.isfinite(graph.coordinates).all()


def test_demand_is_synthetic_and_on_the_graph():
    entry = INDEX["coquimbo_demand.csv.gz"]
    vertices = read_table(sample_path("coquimbo_demand.csv.gz")).ids(entry["column"]).tolist()
    assert entry["synthetic"] is True and "no real people" in entry["title"]
    assert len(vertices) == entry["rows"] and len(set(vertices)) == entry["distinct_vertices"]
    assert set(vertices) <= set(read(entry["graph_file"]).ids)


@cases("name", "generated_pmed.txt", "generated_social.csv.gz", "coquimbo_demand.csv.gz")
def test_recipes_write_the_same_again(name, tmp_path, monkeypatch):
    entry = INDEX[name]
    if entry.get("networkx", nx.__version__) != nx.__version__:
        pytest.skip(f"made with networkx {entry['networkx']}")
    options = ["--no-proof"] if name == "generated_pmed.txt" else []
    monkeypatch.setattr("sys.argv", ["", "--output", str(tmp_path), *options])
    loaded(FOLDER / entry["recipe"]).main()
    assert hashlib.sha256(content(tmp_path / name)).hexdigest() == entry["content_sha256"]


def test_unknown_samples_are_refused(monkeypatch, tmp_path):
    refuses(r"no sample named 'x.csv'; samples: coquimbo.csv.gz, ", sample_path, "x.csv")
    refuses("no sample named", sample_path, "../setup.cfg")
    monkeypatch.setattr(samples, "_folders", lambda: [tmp_path])
    refuses("sample graphs are not installed", sample_index)


def test_samples_of_an_installed_wheel_are_found(monkeypatch, tmp_path):
    share = tmp_path / "share" / "metricdp" / "graphs"
    share.mkdir(parents=True)
    (share / "index.toml").write_text('["a.csv"]\ntitle = "t"\n')
    (share / "a.csv").write_text("u,v\n1,2\n")
    file = tmp_path / "lib" / "metricdp" / "universe" / "samples.py"
    monkeypatch.setattr(samples, "__file__", str(file))
    monkeypatch.setattr(samples.sysconfig, "get_path", lambda name, scheme: str(tmp_path))
    assert sample_path("a.csv") == share / "a.csv" and sample_index() == {"a.csv": {"title": "t"}}
