"""Independent sets of a fixed size, against all choices of rows."""

from itertools import combinations

import numpy as np
import pytest

from metricdp.solvers.objectives.independent import independent_rows
from metricdp.solvers.stopping import NEVER, Deadline


def _largest(near):
    """Rows of a largest independent set: all subsets."""
    n = len(near)
    sizes = (k for k in range(n, 0, -1) for c in combinations(range(n), k) if _apart(near, c))
    return next(sizes, 0)


def _apart(near, rows):
    return not any(near[a, b] for a, b in combinations(rows, 2))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_found_if_there_are_any(share, seed):
    drawn = np.random.default_rng(seed).random((9, 9)) < share
    near = np.triu(drawn, 1) | np.triu(drawn, 1).T
    largest = _largest(near)
    for k in range(1, 10):
        rows, proven = independent_rows(near, k, NEVER, 10.0)
        assert proven and (rows is not None) == (k <= largest)
        if rows is not None:
            assert len(set(rows)) == k and _apart(near, rows)
        bounded, proven = independent_rows(near, k, NEVER, 0.0)  # without an integer program
        assert (bounded is None and proven) <= (k > largest)


def test_an_odd_cycle_is_left_to_the_integer_program():
    """Its linear program has 2.5 rows, 3 cycles 7.5; one more is refuted by the bound alone."""
    one = np.roll(np.eye(5, dtype=bool), 1, axis=1)
    near = np.kron(np.eye(3, dtype=bool), one | one.T)
    assert independent_rows(near, 7, NEVER, 0.0) == (None, False)
    assert independent_rows(near, 7, NEVER, 10.0) == (None, True)
    assert independent_rows(near, 8, NEVER, 0.0) == (None, True)
    assert len(independent_rows(near, 6, NEVER, 10.0)[0]) == 6
    assert independent_rows(near, 8, Deadline(1e-9), 10.0) == (None, False)  # time is over
