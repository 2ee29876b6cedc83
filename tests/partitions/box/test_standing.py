"""Cells that stand out of the noise, alone or together."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

import metricdp as mdp
from metricdp.partitions.box.grid import NestedGrid
from metricdp.partitions.box.standing import standing_groups
from tests import naive
from tests.partitions.box.test_grid import nest


@given(
    st.integers(0, 10_000),
    st.sampled_from([(0.0, 0.0), (2.0, 2.0), (3.0, 6.0), (9.0, 30.0), (1e3, 1e3)]),
)
def test_standing_groups(seed, least):
    rng, grid = np.random.default_rng(seed), nest()
    values = (
        rng.normal(0, 1, 66) + np.where(rng.random(66) < 0.1, 20, 0) + rng.choice([0.0, 0.0, 1.0])
    )
    group, level = standing_groups(grid, values, least)
    assert group.tolist() == (expected := naive.standing_groups(grid, values, least))[0]
    assert level.tolist() == expected[1]


def test_a_sparse_tail_stands_out_at_a_coarser_scale():
    grid = NestedGrid(mdp.EuclideanSpace([0.0], [512.0]), 512)
    values = np.random.default_rng(1).normal(0, 1, 512)
    values[:64] += 10
    values[256:] += 1.5
    group, level = standing_groups(grid, values, (4.0, 4.0))
    assert (level[group[:64]] == 0).all() and (group[70:240] == -1).mean() > 0.8
    tail = group[260:]
    assert (tail >= 0).mean() > 0.6 and level[tail[tail >= 0]].max() > 0
    assert (standing_groups(grid, values, (4.0, 4.0))[0] == group).all()
