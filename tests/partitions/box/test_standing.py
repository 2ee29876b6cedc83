"""Cells that stand out of the noise, alone or together."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

import metricdp as mdp
from metricdp.partitions.box.blocks import block_of
from metricdp.partitions.box.grid import Block, NestedGrid
from metricdp.partitions.box.standing import standing_groups
from tests import naive


def nest():
    """A grid of 8 x 6 cells; a block of it 3 x 3, a block of that one cell of 2 x 2; and a block of
    one cell.
    """

    def block(low, high, grid):
        return Block(np.array(low), np.array(high), grid)

    space = mdp.EuclideanSpace([0, 0], [8, 6])
    outer = NestedGrid(space, (8, 6))
    spaces = [
        block_of(outer, np.array(low), np.array(high))
        for low, high in (((2, 1), (5, 4)), ((7, 0), (8, 1)))
    ]
    middle = NestedGrid(spaces[0], (3, 3))
    inner = NestedGrid(block_of(middle, np.array([0, 2]), np.array([1, 3])), (2, 2))
    middle = NestedGrid(spaces[0], (3, 3), [block((0, 2), (1, 3), inner)])
    return NestedGrid(
        space,
        (8, 6),
        [block((2, 1), (5, 4), middle), block((7, 0), (8, 1), NestedGrid(spaces[1], (5, 1)))],
    )


@settings(deadline=None)
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
