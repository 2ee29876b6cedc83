"""No module imports itself through others, at the top or inside of functions."""

from __future__ import annotations

import networkx as nx
import pytest

grimp = pytest.importorskip("grimp")


def test_there_is_no_circle_of_imports():
    graph = grimp.build_graph("metricdp")
    imports = nx.DiGraph(
        (module, other)
        for module in graph.modules
        for other in graph.find_modules_directly_imported_by(module)
    )
    circles = [sorted(c) for c in nx.strongly_connected_components(imports) if len(c) > 1]
    assert imports.number_of_edges() > 1000
    assert circles == []
    assert not list(nx.selfloop_edges(imports))
