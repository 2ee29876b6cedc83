"""Numbers of points and sites told by a series of pandas: by its index, if it has labels."""

import pytest

import metricdp as mdp
from tests import path_metric

pd = pytest.importorskip("pandas")
o = mdp.objectives
METRIC = path_metric(list("abcd"))


def test_labels_say_whose_weights_are_whose():
    people = pd.Series([5, 1], index=["d", "a"])
    plan = mdp.solve(METRIC, o.KMedian(1), weights=people, loads=people)
    assert plan.weights.tolist() == [1, 0, 0, 5] and plan.loads == {"d": 6.0}
    assert mdp.k_median(METRIC, k=1, weights=people).centers == ["d"]
    dear = pd.Series([1, 9, 9, 9], index=list("bacd"))
    assert mdp.solve(METRIC, o.FacilityLocation(dear)).centers == ["b"]
    assert METRIC.with_costs(sites=pd.Series([7.0], index=["b"])).distances(["b"], ["b"])[0, 0] == 7


def test_a_default_index_says_nothing():
    plan = mdp.solve(METRIC, o.KMedian(1), weights=pd.Series([1, 0, 0, 5]))
    assert plan.weights.tolist() == [1, 0, 0, 5]
    assert mdp.solve(METRIC, o.Capacitated(2, pd.Series([4, 4, 4, 4]))).value == 2


def test_a_repeated_label_is_named():
    twice = pd.Series([1, 2], index=["a", "a"])
    with pytest.raises(mdp.InputError, match="weights must name every id once; 'a' is repeated"):
        mdp.solve(METRIC, o.KMedian(1), weights=twice)
    with pytest.raises(mdp.InputError, match="costs must name every id once; 'a' is repeated"):
        mdp.solve(METRIC, o.FacilityLocation(twice))
