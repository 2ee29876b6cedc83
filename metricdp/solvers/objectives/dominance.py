"""Column dominance in set cover: sites that reach no more than another are dropped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from metricdp.arguments import Ints
from metricdp.kernels.row_weighting import maximal_columns
from metricdp.solvers.objectives.rows import ReachLists

_NONE = np.empty(0, np.int64)


class Undominated:
    """Sites that reach a maximal set of listed clients.

    Equal sites are found by XOR sums of 128 random bits of their clients: different ones are
    mistaken for equal with a probability of 2**-128 a pair.
    """

    def __init__(self, lists: ReachLists, n_sites: int, rng: np.random.Generator) -> None:
        self.lists, self.n_sites, self._rng = lists, n_sites, rng
        self._marks = np.empty((0, 2), np.uint64)
        self._place = np.full(n_sites, -1, np.int32)

    def columns(self, listed: list[int], radius: float) -> tuple[Ints, csr_array]:
        """Undominated sites (indices) near listed clients, and the 0-1 matrix clients × sites."""
        while len(self._marks) < len(self.lists):
            fresh = self._rng.integers(0, 2**64, (64, 2), np.uint64)
            self._marks = np.concatenate([self._marks, fresh])
        marks = np.zeros((self.n_sites, 2), np.uint64)
        for j in listed:
            at, distance = self.lists[j]
            marks[at[distance <= radius]] ^= self._marks[j]  # a list has each site once
        reaching = np.flatnonzero(marks.any(axis=1))
        order = np.lexsort((reaching, marks[reaching, 1], marks[reaching, 0]))
        sorted_marks = marks[reaching[order]]
        new = np.r_[True, (sorted_marks[1:] != sorted_marks[:-1]).any(axis=1)]
        sites = np.sort(reaching[order[new]]) if len(reaching) else reaching
        self._place[sites] = np.arange(len(sites))
        rows = []
        for j in listed:
            at, distance = self.lists[j]
            found = self._place[at[distance <= radius]]
            rows.append(found[found >= 0])
        self._place[sites] = -1
        covers = matrix_of(rows, len(sites))
        kept = maximal(csr_array(covers.T.tocsr()))
        return sites[kept], csr_array(covers[:, kept])


def matrix_of(rows: Sequence[NDArray[np.integer]], n_columns: int) -> csr_array:
    """The 0-1 matrix with ones at these columns of each row."""
    starts = np.r_[0, np.cumsum([len(row) for row in rows])].astype(np.int64)
    entries = np.concatenate(rows) if rows else np.empty(0, np.int32)
    return csr_array((np.ones(len(entries)), entries, starts), shape=(len(rows), n_columns))


def maximal(columns: csr_array, first: Ints = _NONE) -> Ints:
    """Columns (given as the rows of a matrix) that no other contains, one of equal ones; those of
    `first` are preferred.
    """
    columns.sort_indices()
    size = np.diff(columns.indptr)
    order = np.argsort(-size, kind="stable")[: int((size > 0).sum())]
    order = np.r_[first[size[first] > 0], order]  # what comes again is inside itself
    arrays = (columns.indptr.astype(np.int64), columns.indices.astype(np.int64))
    return np.flatnonzero(maximal_columns(*arrays, columns.shape[1], order))
