"""How sure centers are, by demand drawn from a release."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import InputError

METRIC = mdp.GraphMetric(nx.path_graph(60), weight=None)


def test_centers_of_clear_demand_are_sure_and_others_are_not():
    homes = mdp.PrivateDemand(METRIC, [5] * 3000 + [50] * 3000)
    plan = mdp.k_median(METRIC, homes, k=2, epsilon=4)
    firm = plan.stability()
    assert firm.near.tolist() == [1.0, 1.0] and firm.n_draws == 24
    few = mdp.PrivateDemand(METRIC, [int(i) for i in np.linspace(0, 59, 40)])
    shaky = mdp.k_median(METRIC, few, k=3, epsilon=0.3).stability(within=0)
    assert shaky.near.min() < 1 and (shaky.near == shaky.stays).all() and shaky.within == 0
    far = mdp.k_median(METRIC, few, k=3, epsilon=0.3).stability(within=60)
    assert far.near.tolist() == [1.0] * 3
    assert plan.summary(stability=True).to_dict()["stability"]["near"] == [1.0, 1.0]


def test_public_weights_have_no_noise_to_be_unsure_of():
    with pytest.raises(InputError, match="needs a release"):
        mdp.k_median(METRIC, k=2).stability()
