"""The method projected: centers in the original space, images by public coins alone, shares that
add up.
"""

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.projected import Projected


def mixture(n=6000, d=30, k=4, seed=0):
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-0.6, 0.6, (k, d))
    return middle[rng.integers(0, k, n)] + rng.normal(0, 0.05, (n, d)), middle


def cost(points, centers):
    return float(((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum())


@pytest.mark.parametrize(("inner", "delta"), [("partition", 1e-6), ("partition", 0)])
def test_finds_the_groups(inner, delta):
    points, middle = mixture()
    space = mdp.EuclideanSpace([-1] * 30, [1] * 30)
    method = Projected(inner=inner)
    demand = mdp.PrivateDemand(space, points)
    result = mdp.k_means(space, demand, 4, epsilon=3, delta=delta, method=method)
    assert cost(points, result.centers) < 1.2 * cost(points, middle)
    assert result.centers.shape == (4, 30) and result.method == "projected"
