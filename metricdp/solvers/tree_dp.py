"""Exact k-median and k-means of the metric of a 2-HST, by dynamic programming."""

from __future__ import annotations

import numpy as np

from metricdp.arrays import Bools, Floats, Ints
from metricdp.errors import InputError
from metricdp.kernels.hst_medians import table_sizes, tree_k_median
from metricdp.partitions.finite.hst import HST
from metricdp.solvers.kmedian import Found

_LARGEST = 400_000_000
"""Entries of the tables: 4 bytes for each choice, 8 for each cost."""


def solve_on_tree(
    tree: HST,
    weights: Floats,
    k: int,
    *,
    power: int = 1,
    candidates: Ints | None = None,
    opened: Ints | None = None,
) -> Found:
    """The k centers of least ``sum over v of weights[v] · min over centers c of d_tree(c,
    v)**power``: an exact optimum on the tree.

    On the universe, for non-negative weights, its expected cost over the tree's coins is O(log n)
    times the optimum (k-median).

    O(n · min(k, size of subtrees)) time and memory, see
    `metricdp.kernels.hst_medians.tree_k_median`.

    References
    ----------
    Tamir, An O(pn²) algorithm for the p-median and related problems on tree graphs (Operations
    Research Letters 1996). Fakcharoenphol, Rao & Talwar (JCSS 2004) for the factor.
    """
    fixed = np.empty(0, np.int64) if opened is None else np.unique(opened).astype(np.int64)
    allowed = np.zeros(tree.n_points, bool)
    allowed[slice(None) if candidates is None else candidates] = True
    allowed[fixed] = True
    if not max(len(fixed), 1) <= k <= np.count_nonzero(allowed):
        raise InputError(
            f"k must be from {max(len(fixed), 1):,} to {np.count_nonzero(allowed):,}; got {k}"
        )
    opens = np.zeros(tree.n_points)
    opens[fixed] = 1
    least = tree.sums(opens).astype(np.int64)
    most = tree.sums(allowed).astype(np.int64)
    cost_at, choice_at = table_sizes(tree.parent, most, k)
    if cost_at[-1] + choice_at[-1] > _LARGEST:
        raise InputError(
            f"{k:,} centers of {tree.n_points:,} points are too many for an exact optimum on this "
            f"tree"
        )
    away = (2.0 * tree.node_height[np.maximum(tree.parent, 0)]) ** power
    cost, centers = tree_k_median(
        tree.parent, tree.sums(weights), away, least, most, k, cost_at, choice_at
    )
    return Found(_placed(tree, centers, allowed, fixed), float(cost))


def _placed(tree: HST, centers: Ints, allowed: Bools, fixed: Ints) -> Ints:
    """The opened facilities, then in each leaf as many of its other places as it needs."""
    need = np.where(tree.last_level == tree.n_levels - 1, centers, 0)
    np.subtract.at(need, tree.leaf[fixed], 1)
    free = allowed.copy()
    free[fixed] = False
    more = [
        points[free[points]][: need[leaf]]
        for leaf in np.flatnonzero(need > 0)
        for points in [tree.points(int(leaf))]
    ]
    return np.concatenate([fixed, *more]).astype(np.int64)
