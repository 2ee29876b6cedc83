"""The public benchmark: its CSV is complete, its page says what the CSV says, and an instance is
what its page promises.
"""

import pytest

from benchmarks import private_graphs as suite
from tests import grid_metric


@pytest.fixture(scope="module")
def instance():
    return suite.Instance(grid_metric(7, 7), 2_000, 1, 3)


def test_costs_are_those_of_the_definition(instance):
    centers = [(0, 0), (6, 6), (3, 3)]
    places = (instance.metric.ids[i] for i in instance.positions)
    naive = sum(min(abs(x - a) + abs(y - b) for a, b in centers) for x, y in places)
    assert instance.cost(centers) == naive
    assert instance.cost([*centers, (0, 0)]) == naive and instance.best <= naive


def test_every_method_answers_or_refuses(instance):
    """Without coordinates, methods of the plane refuse; all others are no better than the best that
    is known, and better than one corner.
    """
    for method in suite.METHODS:
        row = suite.one(instance, method, "1")
        plane = method in ("paper 1: quadtree", "paper 3: coreset")
        assert (row["ratio"] == "") == plane, method
        if not plane:
            assert 1 <= float(row["ratio"]) <= instance.cost([(0, 0)]) / instance.best


def test_the_page_has_the_table_of_the_csv():
    rows = suite.read()
    assert list(rows[0]) == list(suite.FIELDS)
    assert suite.table(rows) in suite.PAGE.read_text("utf-8")
    kinds = {(r["graph"], r["records"], r["seed"], r["epsilon"], r["method"]) for r in rows}
    per_graph = len(suite.RECORDS) * 2 * len(suite.EPSILONS) * len(suite.METHODS)
    assert len(rows) == len(kinds) == len({r["graph"] for r in rows}) * per_graph
    assert {r["graph"] for r in rows} >= set(suite.SAMPLES)
    assert all(r[name] for r in rows for name in ("python", *suite.VERSIONS))
    reported = [float(r["ratio"]) for r in rows if r["ratio"]]
    assert min(reported) > 0.98  # the best known is what a search found, no proof
