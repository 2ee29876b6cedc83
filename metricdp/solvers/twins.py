"""Tables equal but for the order of rows and columns, by color refinement."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 8
_MOST_TRIED = 200
"""Counterparts tried in all."""

Order = tuple[NDArray[np.int64], NDArray[np.int64]]


def matched(first: NDArray[np.float64], second: NDArray[np.float64]) -> Order | None:
    """Rows and columns of the second table in the first's order, if found."""
    if first.shape != second.shape:
        return None
    tables = [np.ascontiguousarray(table, np.float64) + 0.0 for table in (first, second)]
    left = [_MOST_TRIED]
    return _matched(tables, [np.zeros(len(first), np.uint64)] * 2, left)


def _matched(
    tables: list[NDArray[np.float64]], marks: list[NDArray[np.uint64]], left: list[int]
) -> Order | None:
    colors = [_colors(table, mark) for table, mark in zip(tables, marks)]
    orders = [[np.argsort(side, kind="stable") for side in both] for both in colors]
    for side in (0, 1):
        first, second = (both[side][order[side]] for both, order in zip(colors, orders))
        if not np.array_equal(first, second):
            return None
    (rows, columns), (other_rows, other_columns) = orders
    same = tables[0][np.ix_(rows, columns)] == tables[1][np.ix_(other_rows, other_columns)]
    if same.all():
        found = np.empty_like(rows), np.empty_like(columns)
        found[0][rows], found[1][columns] = other_rows, other_columns
        return found
    sorted_ = colors[0][0][rows]
    alike = np.flatnonzero(sorted_[1:] == sorted_[:-1])
    if len(alike) == 0:
        return None
    color = sorted_[alike[0]]
    single = marks[0].copy()
    single[rows[alike[0]]] = len(rows) + left[0]
    for row in np.flatnonzero(colors[1][0] == color):
        left[0] -= 1
        if left[0] < 0:
            return None
        mark = marks[1].copy()
        mark[row] = single[rows[alike[0]]]
        found_deeper = _matched(tables, [single, mark], left)
        if found_deeper is not None:
            return found_deeper
    return None


def _colors(table: NDArray[np.float64], mark: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """Of rows and of columns: the same for those that nothing tells apart."""
    entries = _mixed(table.view(np.uint64))
    rows = _mixed(mark)
    columns = np.zeros(table.shape[1], np.uint64)
    known = 0
    for _ in range(_ROUNDS):
        columns = _mixed(columns + _mixed(entries + rows[:, None]).sum(axis=0, dtype=np.uint64))
        rows = _mixed(rows + _mixed(entries + columns[None]).sum(axis=1, dtype=np.uint64))
        told = len(np.unique(rows)) + len(np.unique(columns))
        if told == known:
            break
        known = told
    return [rows, columns]


def _mixed(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Bits well stirred (the finalizer of SplitMix64: Steele, Lea & Flood, OOPSLA 2014)."""
    x = values + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
