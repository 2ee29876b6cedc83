"""The complete binary tree of SimHash prefixes: node z of level i has the children 2z and 2z +
1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def prefix_children(level: int, nodes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Children of every node.

    Examples
    --------
    >>> prefix_children(1, np.array([0, 1]))
    [array([0, 1]), array([2, 3])]
    """
    return [2 * node + np.arange(2) for node in nodes]


def level_sums(leaves: NDArray[np.float64], depth: int) -> list[NDArray[np.float64]]:
    """Sums of what the leaves below every node have, for the levels 1 … depth.

    Examples
    --------
    >>> level_sums(np.array([1.0, 2, 3, 4]), 2)[0]
    array([3., 7.])
    """
    return [leaves.reshape(1 << level, -1).sum(axis=1) for level in range(1, depth + 1)]


def leaves_below(level: int, node: int, depth: int) -> NDArray[np.int64]:
    """Leaves, on level `depth`, below a node.

    Examples
    --------
    >>> leaves_below(1, 1, 3)
    array([4, 5, 6, 7])
    """
    width = 1 << (depth - level)
    return node * width + np.arange(width)
