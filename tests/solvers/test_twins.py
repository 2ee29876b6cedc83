"""Tables that are alike are found to be, others are not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metricdp.solvers.parts import matched


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_a_table_in_another_order_is_found(seed, values):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, values, rng.integers(1, 7, 2)).astype(float)
    other = table[rng.permutation(len(table))][:, rng.permutation(table.shape[1])]
    rows, columns = matched(table, other)
    assert sorted(rows) == list(range(len(table)))
    assert sorted(columns) == list(range(table.shape[1]))
    assert (other[np.ix_(rows, columns)] == table).all()
    changed = other.copy()
    changed.flat[0] += 7.0
    assert matched(table, changed) is None


@pytest.mark.parametrize("side", [3, 6])
def test_a_symmetric_grid_is_found(side):
    x, y = np.divmod(np.arange(side * side), side)
    table = np.floor(3 * np.hypot(x[:, None] - x, y[:, None] - y))
    order = np.random.default_rng(side).permutation(side * side)
    other = table[np.ix_(order, order)]
    rows, columns = matched(table, other)
    assert (other[np.ix_(rows, columns)] == table).all()


def test_other_shapes_are_no_twins():
    assert matched(np.zeros((2, 3)), np.zeros((3, 2))) is None
