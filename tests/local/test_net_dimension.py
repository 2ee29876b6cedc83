"""The nets of a box of many dimensions stand in O(log k) of them."""

import math

import numpy as np
import pytest

import metricdp as mdp
from metricdp.local.items import items_of
from metricdp.local.setup import MOST_NET_SUMS


@pytest.mark.parametrize("d", [4, 10, 30])
@pytest.mark.parametrize("k", [2, 8, 12, 32, 500])
@pytest.mark.parametrize("depth", [None, 3])
def test_the_subspace_has_the_papers_dimension_as_far_as_it_fits(d, k, depth):
    box = mdp.EuclideanSpace([-1] * d, [1] * d)
    pub = mdp.local.public_parameters(box, epsilon=2, users=1000, k=k, tree="net", depth=depth)
    items = items_of(pub.items)
    assert 3 <= items.subspace <= max(3, min(d, math.ceil(math.log2(k))))
    assert items.domains[-1] * d <= MOST_NET_SUMS
    assert items.depth == depth or (depth is None and 2 <= items.depth <= 4)
    if k in (12, 32) and d == 10 and depth is None:
        assert items.subspace == {12: 4, 32: 5}[k]


@pytest.mark.extended
def test_more_dimensions_are_encoded_and_decoded():
    """Whatever the few users say, there are k centers in all dimensions."""
    rng, d, k = np.random.default_rng(0), 5, 12
    box = mdp.EuclideanSpace([-1] * d, [1] * d)
    spots = rng.uniform(-0.5, 0.5, (k, d))
    points = spots[rng.integers(0, k, 200)]
    pub = mdp.local.public_parameters(box, epsilon=8, users=3000, k=k, tree="net", radius=1.5)
    assert items_of(pub.items).subspace == 4
    encoder = mdp.local.Encoder(pub)
    fitted = mdp.local.Decoder(pub).fit([encoder.encode(point) for point in points])
    assert fitted.k_means(k=k).centers.shape == (k, d)
