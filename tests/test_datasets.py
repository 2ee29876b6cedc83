"""Data sets by name: where they are looked for, what is verified, and that a failed download leaves
nothing.
"""

import gzip
import hashlib
import io
import re
import sys
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import DownloadError, GraphFileError, MissingExtraError
from tests import cases, raising, refuses
from tests.bench.test_p_median import POINTS, least, text
from tests.cli_world import fails, run, works
from tests.data import DATA, needs_data

needs_pooch = pytest.mark.skipif(find_spec("pooch") is None, reason="needs the extra datasets")
CONTENT = b"3 2 1\n1 2 5\n2 3 4\n"


class Server:
    """A local web server: what it gives for each path, and what it was asked for."""

    def __init__(self):
        self.pages: dict[str, bytes] = {}
        self.promised: dict[str, int] = {}
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                page = outer.pages.get(self.path)
                self.send_response(404 if page is None else 200)
                length = outer.promised.get(self.path, len(page or b""))
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(page or b"")

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def server():
    running = Server()
    yield running
    running.stop()


@pytest.fixture
def small(server, monkeypatch):
    """A data set of three vertices that the local server has; no data folder."""
    monkeypatch.delenv("METRICDP_DATA", raising=False)
    server.pages["/small.txt"] = CONTENT
    about = {"name": "small", "url": f"{server.url}/small.txt", "file": "small.txt"}
    about |= {"vertices": 3, "edges": 2, "k": 1, "optimum": 9}
    return register(monkeypatch, "pmed1", CONTENT, **about)


def register(monkeypatch, like, content, **about):
    """A set with this content, otherwise like the one of this name; the only one that there is."""
    sha256 = (hashlib.sha256(content).hexdigest(),)
    info = replace(mdp.datasets.describe(like), sha256=sha256, bytes=len(content), **about)
    monkeypatch.setattr(mdp.datasets, "_registry", lambda: {info.name: info})
    return info


def zipped(member, content):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/README.txt", "read me")
        archive.writestr(member, content)
    return out.getvalue()


@needs_pooch
def test_a_set_is_downloaded_once_and_loaded(small, server, tmp_path):
    problem = mdp.datasets.load("Small", cache=tmp_path / "new" / "cache")
    assert (len(problem.metric), problem.k, problem.optimum) == (3, 1, 9)
    assert problem.metric.distances([1], [3]).tolist() == [[9.0]]
    path = mdp.datasets.fetch("small", cache=tmp_path / "new" / "cache")
    assert path.read_bytes() == CONTENT
    assert path == mdp.datasets.locate("small", cache=tmp_path / "new" / "cache")
    assert server.asked == ["/small.txt"]


@needs_pooch
@pytest.mark.parametrize(
    "packed",
    [gzip.compress(CONTENT), zipped("folder/small.txt", CONTENT), zipped("small.txt", CONTENT)],
)
def test_packed_downloads_are_kept_unpacked(small, server, tmp_path, packed):
    server.pages["/small.txt"] = packed
    assert mdp.datasets.fetch("small", cache=tmp_path).read_bytes() == CONTENT
    assert [p.name for p in tmp_path.iterdir()] == ["small.txt"]


@needs_pooch
@cases(
    ("page", "reason"),
    (CONTENT.replace(b"5", b"6"), "sha256 differs"),
    (b"", "sha256 differs"),
    (gzip.compress(CONTENT)[:-9], "damaged"),
    (gzip.compress(CONTENT + b"1 3 9\n" * 10**6), "sha256 differs"),
    (zipped("folder/other.txt", CONTENT), "no small.txt"),
    (b"PK\x03\x04 nonsense", "damaged"),
    (None, "404"),
)
def test_a_wrong_download_is_refused_and_nothing_is_kept(small, server, tmp_path, page, reason):
    server.pages = {} if page is None else {"/small.txt": page}
    caught = refuses(reason, mdp.datasets.fetch, "small", error=DownloadError, cache=tmp_path)
    assert (caught.name, caught.url) == ("small", small.url)
    assert small.url in str(caught) and "METRICDP_DATA" in str(caught)
    assert "\n" not in str(caught)
    assert list(tmp_path.iterdir()) == []


@needs_pooch
def test_without_a_whole_download_nothing_is_kept(small, server, tmp_path, monkeypatch):
    (tmp_path / "a file").write_text("no folder")
    failed = partial(refuses, error=DownloadError)
    failed("cannot be written", mdp.datasets.fetch, "small", cache=tmp_path / "a file")
    cache = tmp_path / "cache"
    with monkeypatch.context() as patched:
        patched.setattr(mdp.datasets, "_unpacked", raising(KeyboardInterrupt))
        refuses("", mdp.datasets.fetch, "small", error=KeyboardInterrupt, cache=cache)
    server.promised["/small.txt"] = 10 * len(CONTENT)
    failed("broke off", mdp.datasets.fetch, "small", cache=cache)
    server.stop()
    failed("no connection", mdp.datasets.fetch, "small", cache=cache)
    assert list(cache.iterdir()) == []


@needs_pooch
def test_a_damaged_file_in_the_cache_is_replaced(small, server, tmp_path):
    (tmp_path / "small.txt").write_bytes(b"3 2 1\n")
    assert mdp.datasets.fetch("small", cache=tmp_path).read_bytes() == CONTENT
    assert server.asked == ["/small.txt"]


@cases("place", "pmed/small.txt", "small.txt", "pmed/small.txt.gz", "small.txt.gz")
def test_the_data_folder_wins_and_needs_no_pooch(small, server, tmp_path, monkeypatch, place):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setenv("METRICDP_DATA", str(tmp_path))
    file = tmp_path / place
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(gzip.compress(CONTENT) if place.endswith(".gz") else CONTENT)
    assert mdp.datasets.fetch("small") == mdp.datasets.locate("small") == file
    assert len(mdp.datasets.load("small").metric) == 3
    assert server.asked == []


def test_a_file_in_the_data_folder_is_verified(small, server, tmp_path, monkeypatch):
    monkeypatch.setenv("METRICDP_DATA", str(tmp_path))
    (tmp_path / "small.txt").write_bytes(CONTENT.replace(b"5", b"6"))
    words = r"small.txt: is not the data set small: its sha256 is [0-9a-f]{64}"
    refuses(words, mdp.datasets.load, "small", error=GraphFileError)
    assert server.asked == []


@needs_pooch
def test_what_the_data_folder_lacks_is_downloaded(small, tmp_path, monkeypatch):
    monkeypatch.setenv("METRICDP_DATA", str(tmp_path))
    assert mdp.datasets.fetch("small", cache=tmp_path / "cache").parent == tmp_path / "cache"


def test_a_data_folder_that_is_none(small, tmp_path, monkeypatch):
    monkeypatch.setenv("METRICDP_DATA", str(tmp_path / "nowhere"))
    refuses("nowhere is not a directory", mdp.datasets.fetch, "small")


def test_without_pooch_the_extra_is_named(small, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    missing = {"error": MissingExtraError, "cache": tmp_path}
    assert refuses(r"\[datasets\]", mdp.datasets.fetch, "small", **missing).extra == "datasets"
    assert mdp.datasets.locate("small") is None


def test_the_registry_is_complete():
    assert mdp.datasets.names()[:40] == [f"pmed{i}" for i in range(1, 41)]
    for info in map(mdp.datasets.describe, mdp.datasets.names()):
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in info.sha256)
        assert info.url.startswith("https://") and info.page.startswith("https://")
        assert "{" not in info.url
        assert info.vertices > 1 and (info.edges > 1 or info.collection.startswith("TSPLIB"))
        assert info.bytes > 0 and info.license and info.citation and info.title
        assert (info.k is None) == (info.optimum is None)


def test_a_graph_may_be_a_data_set(small, tmp_path, monkeypatch, capsys):
    """With the options it must be read with: here the largest component of two."""
    content = b"from,to,length\na,b,1\nb,c,1\nx,y,1\n"
    read = {"largest_component": True}
    register(monkeypatch, "small", content, file="small.csv", read=read)
    monkeypatch.setenv("METRICDP_DATA", str(tmp_path))
    (tmp_path / "small.csv").write_bytes(content)
    ran = run(capsys, "cluster", "dataset:small", "-k", "1")
    assert ran.json["centers"] == ["b"]
    read = "metricdp: read small.csv: 3 vertices, 2 edges, no coordinates"
    assert ran.lines[0] == f"{read}, lengths: column 'length'"
    assert run(capsys, "cluster", "dataset:nothing", "-k", "1").status == 2


@needs_data
@pytest.mark.parametrize(
    "name",
    ["pmed1", "pmed40", "rome99", "USA-road-d.BAY", "facebook_combined", "ca-GrQc", "lastfm_asia"],
)
def test_real_sets_are_what_the_registry_says(name, monkeypatch):
    monkeypatch.setenv("METRICDP_DATA", str(DATA))
    found = mdp.datasets.load(name)
    expected = found.info.vertices, found.info.edges
    assert (len(found.metric), len(found.metric.graph.indices) // 2) == expected


@needs_data
def test_optima_and_k_are_those_of_the_library(monkeypatch):
    from metricdp.universe import read_pmed_p

    monkeypatch.setenv("METRICDP_DATA", str(DATA))
    rows = (DATA / "pmed/pmedopt.txt").read_text().splitlines()[1:]
    stated = dict(row.split() for row in rows if row.split())
    for name in mdp.datasets.names()[:40]:
        info = mdp.datasets.describe(name)
        assert (info.optimum, info.k) == (int(stated[name]), read_pmed_p(mdp.datasets.fetch(name)))


@needs_data
def test_the_publisher_s_ca_grqc_is_the_same_graph(tmp_path, monkeypatch):
    """The copy at hand has a line more at the top and a blank less in the next: undoing both gives
    the recorded checksum.
    """
    copy = (DATA / "social/ca-GrQc.txt").read_bytes()
    upstream = copy.split(b"\n", 1)[1].replace(b"CA-GrQc.txt", b"CA-GrQc.txt ", 1)
    assert hashlib.sha256(upstream).hexdigest() == mdp.datasets.describe("ca-GrQc").sha256[0]
    (tmp_path / "ca-GrQc.txt").write_bytes(upstream)
    monkeypatch.setenv("METRICDP_DATA", str(tmp_path))
    graph = mdp.datasets.load("ca-GrQc").metric.graph
    monkeypatch.setenv("METRICDP_DATA", str(DATA))
    other = mdp.datasets.load("ca-GrQc").metric.graph
    assert graph.ids == other.ids and (graph.indices == other.indices).all()


# TSPLIB's points by name: read, downloaded, refused where a graph is needed, and measured on


TINY = text(POINTS).encode()


@pytest.fixture
def plane_set(monkeypatch, tmp_path):
    """A point set that lies in the data folder."""
    register(monkeypatch, "rl1304", TINY, name="tiny14", file="tiny14.tsp", vertices=14)
    (tmp_path / "tiny14.tsp").write_bytes(TINY)
    monkeypatch.setenv("METRICDP_DATA", str(tmp_path))


def test_points_are_loaded_as_a_plane_and_are_no_graph(plane_set, here, capsys):
    found = mdp.datasets.load("tiny14")
    assert isinstance(found.metric, mdp.EuclideanMetric)
    assert found.metric.distances([0])[0].tolist() == np.hypot(*(POINTS - POINTS[0]).T).tolist()
    fails(capsys, "tiny14 is a set of points, not a graph", "cluster dataset:tiny14 -k 1")


@needs_pooch
def test_the_benchmark_fetches_points_by_name(server, plane_set, capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("METRICDP_DATA")
    server.pages["/tiny14.tsp.gz"] = gzip.compress(TINY)
    register(monkeypatch, "tiny14", TINY, url=f"{server.url}/tiny14.tsp.gz")
    cache = tmp_path / "cache"
    monkeypatch.setattr(mdp.datasets, "_cache_folder", lambda given: cache)
    ran = works(capsys, "bench", "tsplib", "--instances", "tiny14", "-p", "3", "--exact", "--json")
    assert ran.json["rows"][0]["cost"] == least(3)
    assert (cache / "tiny14.tsp").read_bytes() == TINY
    server.pages.clear()
    assert run(capsys, "bench", "tsplib", "--instances", "tiny14", "-p", "2").status == 0


def test_without_a_folder_names_must_be_those_of_point_sets(here, capsys, monkeypatch):
    monkeypatch.delenv("METRICDP_DATA", raising=False)
    for name, error in (("pmed1", "pmed1 is no instance"), ("rl1305", "did you mean rl1304")):
        fails(capsys, error, "bench tsplib -p 3 --instances", name)


@pytest.mark.skipif(not (DATA / "plan/tsplib").is_dir(), reason="real data not found")
def test_real_points_are_what_the_registry_says(monkeypatch):
    monkeypatch.setenv("METRICDP_DATA", str(DATA))
    sets = [info for info in map(mdp.datasets.describe, mdp.datasets.names()) if info.edges == 0]
    assert [info.name for info in sets] == ["u1060", "rl1304", "fl1400", "pcb3038", "rl5915"]
    for info in sets:
        assert len(mdp.datasets.load(info.name).metric) == info.vertices
