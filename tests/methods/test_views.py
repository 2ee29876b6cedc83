"""What a result shows of itself, against what can be counted by hand."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError

LINE = nx.path_graph(6)
nx.set_node_attributes(LINE, {i: {"x": float(i), "y": 0.0} for i in LINE})
METRIC = mdp.GraphMetric(LINE, weight=None)


def test_labels_and_cost_of_public_weights():
    result = mdp.k_median(METRIC, k=2)
    label = result.labels
    away = [min(abs(i - c) for c in result.centers) for i in range(6)]
    assert [abs(i - result.centers[label[i]]) for i in range(6)] == away
    assert result.cost == sum(away) == 4
    assert mdp.k_means(METRIC, k=1).cost == sum((i - 2) ** 2 for i in range(6))
    assert mdp.k_median(METRIC, k=1, weights=[0, 0, 0, 0, 0, 2]).cost == 0


def test_cost_of_a_release_is_on_its_noisy_weights_alone():
    demand = mdp.PrivateDemand(METRIC, [0] * 500)
    result = mdp.k_median(METRIC, demand, k=1, epsilon=1)
    assert result.cost == pytest.approx(
        result.release.weights @ np.abs(np.arange(6) - result.centers[0])
    )
    alone = mdp.k_median(METRIC, demand, k=1, epsilon=1, method="local-search")
    assert alone.cost is None and alone.weights is None
    assert len(alone.labels) == 6


def test_tables_and_graphs():
    pd = pytest.importorskip("pandas")
    result = mdp.k_median(METRIC, k=2, weights=[1, 1, 1, 0, 0, 3])
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame) and frame["center"].tolist() == result.centers
    assert frame["demand"].sum() == 6 and frame["points"].sum() == 6
    assert frame["x"].tolist() == [float(c) for c in result.centers]
    graph = result.to_networkx()
    assert set(graph.edges) == set(LINE.edges)
    for node, data in graph.nodes(data=True):
        assert data["distance"] == abs(node - data["center"])
        assert data["is_center"] == (node in result.centers)
    assert graph.nodes[5]["demand"] == 3


def test_html_holds_no_markup_of_ids():
    metric = mdp.PrecomputedMetric(1.0 - np.eye(2), ids=["<b>", "&"])
    shown = mdp.k_median(metric, k=2)._repr_html_()
    assert "<td><b></td>" not in shown and "&lt;b&gt;" in shown


def test_boxes_have_columns_but_no_territories():
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    demand = mdp.PrivateDemand(space, np.full((500, 2), 0.25))
    result = mdp.k_median(space, demand, k=1, epsilon=1)
    assert list(result.to_columns()) == ["rank", "x", "y"]
    assert "1 centers" in result._repr_html_()
    for ask in (result.to_networkx, lambda: result.labels):
        with pytest.raises(InputError, match="a box"):
            ask()


def test_the_picture_has_all_centers(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    axes = mdp.k_median(METRIC, k=2).plot()
    assert {t.get_text() for t in axes.texts} == {"1", "2"}
    axes.figure.savefig(tmp_path / "plan.png")


def test_unknown_layers_are_refused():
    pytest.importorskip("geopandas")
    result = mdp.k_median(METRIC, k=1)
    with pytest.raises(InputError, match="layer must be one of"):
        result.to_geopandas("roads")
    bare = mdp.k_median(mdp.GraphMetric(nx.path_graph(3), weight=None), k=1)
    with pytest.raises(InputError, match="no coordinates"):
        bare.to_geopandas()
