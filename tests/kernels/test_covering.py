"""Columns that cover all rows, and those that others make needless, against plain sets."""

from itertools import combinations

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_array

from metricdp.kernels.covering import cover_rows
from metricdp.solvers.objectives.reach import maximal
from tests import tries

SEEDS = st.integers(0, 10**6)


def _matrix(rows, columns, share, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.random((rows, columns)) < share
    matrix[np.arange(rows), rng.integers(0, columns, rows)] = True  # every row has a column
    return matrix


def _lists(matrix):
    sparse = csr_array(matrix.astype(float))
    return sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64)


@tries(60, st.integers(1, 8), st.integers(1, 12), st.floats(0.05, 0.7), SEEDS)
def test_maximal_columns(rows, columns, share, seed):
    matrix = _matrix(rows, columns, share, seed)
    sets = [frozenset(np.flatnonzero(matrix[:, c])) for c in range(columns)]
    found = [sets[c] for c in maximal(csr_array(matrix.T.astype(float)))]
    assert len(set(found)) == len(found)
    assert set(found) == {s for s in sets if s and not any(s < other for other in sets)}
    first = np.array([c for c in range(columns) if sets[c]][-1:], np.int64)
    assert set(first) <= set(maximal(csr_array(matrix.T.astype(float)), first))


@tries(60, st.integers(1, 8), st.integers(2, 10), st.integers(1, 4), st.floats(0.1, 0.6), SEEDS)
def test_covers_are_found_where_there_are_any(rows, columns, k, share, seed):
    matrix = _matrix(rows, columns, share, seed)
    k = min(k, columns)
    possible = any(matrix[:, list(c)].any(axis=1).all() for c in combinations(range(columns), k))
    chosen = np.arange(k)
    found, used = cover_rows(_lists(matrix.T), _lists(matrix), chosen, 20_000, 10**9, seed)
    assert found == possible
    assert len(set(chosen.tolist())) == k
    if found:
        assert matrix[:, chosen].any(axis=1).all()
        assert used < 20_000


def test_the_search_ends_by_its_updates_too():
    """One column cannot cover rows of which each column lacks one; a step updates nearly all."""
    lists = _lists(~np.eye(200, dtype=bool))
    found, used = cover_rows(lists, lists, np.zeros(1, np.int64), 20_000, 1_000_000, 0)
    assert not found and 5 <= used <= 50
