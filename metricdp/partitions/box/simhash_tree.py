"""The binary tree of SimHash prefixes: node z of level i has children 2z and 2z + 1."""

from __future__ import annotations

import numpy as np

from metricdp.arrays import Floats, Ints


def prefix_children(level: int, nodes: Ints) -> list[Ints]:
    """Children of every node."""
    return [2 * node + np.arange(2) for node in nodes]


def level_sums(leaves: Floats, depth: int) -> list[Floats]:
    """Sums of what the leaves below every node have, for the levels 1 … depth."""
    return [leaves.reshape(1 << level, -1).sum(axis=1) for level in range(1, depth + 1)]


def leaves_below(level: int, node: int, depth: int) -> Ints:
    """Leaves, on level `depth`, below a node."""
    width = 1 << (depth - level)
    return node * width + np.arange(width)
