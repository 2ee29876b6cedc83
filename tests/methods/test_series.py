"""Numbers of points and sites told by a series of pandas: by its index, if it has labels."""

import networkx as nx
import pytest

import metricdp as mdp
from metricdp.errors import InputError

pd = pytest.importorskip("pandas")
o = mdp.objectives
METRIC = mdp.GraphMetric(nx.path_graph(list("abcd")), weight=None)


def test_labels_say_whose_weights_are_whose():
    people = pd.Series([5, 1], index=["d", "a"])
    plan = mdp.solve(METRIC, o.KMedian(1), weights=people, loads=people)
    assert plan.weights.tolist() == [1, 0, 0, 5]
    assert plan.loads == {"d": 6.0}
    assert mdp.k_median(METRIC, k=1, weights=people).centers == ["d"]
    dear = pd.Series([1, 9, 9, 9], index=list("bacd"))
    assert mdp.solve(METRIC, o.FacilityLocation(dear)).centers == ["b"]
    costed = METRIC.with_costs(sites=pd.Series([7.0], index=["b"]))
    assert costed.distances(["b"], ["b"])[0, 0] == 7


def test_a_default_index_says_nothing():
    plan = mdp.solve(METRIC, o.KMedian(1), weights=pd.Series([1, 0, 0, 5]))
    assert plan.weights.tolist() == [1, 0, 0, 5]
    room = pd.Series([4, 4, 4, 4])
    assert mdp.solve(METRIC, o.Capacitated(2, room)).value == 2


def test_a_repeated_label_is_named():
    twice = pd.Series([1, 2], index=["a", "a"])
    with pytest.raises(InputError, match="weights must name every id once; 'a' is repeated"):
        mdp.solve(METRIC, o.KMedian(1), weights=twice)
    with pytest.raises(InputError, match="costs must name every id once; 'a' is repeated"):
        mdp.solve(METRIC, o.FacilityLocation(twice))
