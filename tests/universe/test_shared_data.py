"""Real files as their sources publish them; skipped where they are not at hand (METRICDP_DATA)."""

import time

import networkx as nx
import numpy as np
import pytest

from metricdp.testing.formats import edges
from metricdp.universe import read_graph_file, read_pmed_p
from tests import beside, cases
from tests.data import DATA, needs_data

pytestmark = needs_data
FILES = beside(__file__, "files.toml")


@cases(("name", "options", "vertices", "n_edges", "system"), *FILES["shared"])
def test_counts(name, options, vertices, n_edges, system):
    options = {k: DATA / v if k == "nodes" else v for k, v in options.items()}
    graph = read_graph_file(DATA / name, **options)
    found = len(graph), len(graph.indices) // 2, graph.coordinate_system or ""
    assert found == (vertices, n_edges, system)
    if "berlin" in name:  # distinct vertices at distance zero
        assert (graph.lengths == 0).sum() > 4000
    if system:
        assert np.isfinite(graph.coordinates).all()


def test_bay_reads_fast():
    start = time.process_time()
    graph = read_graph_file(DATA / "roads/dimacs/USA-road-d.BAY.gr.gz")
    spent = time.process_time() - start
    assert (len(graph), len(graph.indices)) == (321270, 794830)
    assert spent < 6.0, f"{spent:.1f} s"  # 0.9 s of the processor's time


@pytest.mark.parametrize("number", range(1, 41))
def test_pmed_as_networkx_with_the_last_cost(number):
    path = DATA / f"pmed/pmed{number}.txt"
    rows = [tuple(map(int, line.split())) for line in path.read_text().split("\n") if line.strip()]
    n, _, p = rows[0]
    twin = nx.Graph()
    twin.add_nodes_from(range(1, n + 1))
    for i, j, cost in rows[1:]:
        twin.add_edge(i, j, length=cost)  # networkx overwrites: the last one stays
    graph = read_graph_file(path)
    assert graph.ids == list(range(1, n + 1)) and read_pmed_p(path) == p
    assert edges(graph) == {
        (min(e), max(e)): w for *e, w in twin.edges(data="length") if e[0] != e[1]
    }
