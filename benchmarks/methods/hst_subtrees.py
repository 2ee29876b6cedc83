"""Centers from counts on the nodes of a 2-HST, exact or noisy."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metricdp.arguments import Bools, Floats, Ints
from metricdp.errors import InputError
from metricdp.partitions.finite.hst import HST
from metricdp.solvers.row_search import part_median

_SEARCHES = 16
"""Rows of distances spent on each public representative."""


def hst_init(
    tree: HST,
    counts: Floats,
    k: int,
    *,
    power: int = 1,
    candidates: Ints | None = None,
    opened: Ints | None = None,
    known: Bools | None = None,
    score: Floats | None = None,
    rank: Ints | None = None,
) -> Ints:
    """Choose k centers from the counts of a tree's nodes (Fan, Li & Li 2023, Algorithms 4 and 5;
    Appendix C for squares).

    A node at height h, counted in levels from the leaves, has the score ``count · 2**(power · h)``.
    Nodes are taken by score; one with a taken descendant is dropped and never taken again, until k
    pairwise disjoint subtrees stand. In each the heaviest child is followed down to a leaf.

    A chain of equal clusters, one node here, is a node at each of its levels in the paper. The one
    of largest score is taken first, and whichever replaces it stands for the same subtree. Points
    at distance 0 of each other share a leaf, which gives its other points only when the leaves do
    not suffice. O(n log n) for n points, medians aside.

    References
    ----------
    Fan, Li & Li, k-median clustering via metric embedding: towards better initialization with
    differential privacy (NeurIPS 2023).
    """
    n = tree.n_points
    fixed = np.empty(0, np.int64) if opened is None else np.unique(opened).astype(np.int64)
    allowed = np.zeros(n, bool)
    allowed[slice(None) if candidates is None else candidates] = True
    allowed[fixed] = False
    if not max(len(fixed), 1) <= k <= len(fixed) + np.count_nonzero(allowed):
        raise InputError(
            f"k must be from {max(len(fixed), 1):,} to "
            f"{len(fixed) + np.count_nonzero(allowed):,}; got {k}"
        )
    holds = tree.sums(allowed) > 0
    free = holds & (tree.sums(_one_at(fixed, n)) == 0)
    ranked = np.argsort(-(scores(tree, counts, power) if score is None else score), kind="stable")
    subtrees = disjoint_subtrees(tree.parent, ranked, free, k - len(fixed))
    at = _walked_down(tree, counts, holds, subtrees, known)
    found = [_representative(tree, node, allowed, power, rank) for node in at]
    chosen = np.r_[fixed, found].astype(np.int64)
    allowed[chosen] = False
    return np.r_[chosen, np.flatnonzero(allowed)[: k - len(chosen)]]


def scores(tree: HST, counts: Floats, power: int) -> Floats:
    """``count · 2**(power · height)`` of every node at its best level (n_nodes,)."""
    level = np.where(counts < 0, tree.last_level, tree.level)
    return counts * 2.0 ** (power * (tree.n_levels - 1.0 - level))


def _one_at(positions: Ints, n: int) -> Floats:
    marks = np.zeros(n)
    marks[positions] = 1.0
    return marks


def _walked_down(
    tree: HST, counts: Floats, holds: Bools, subtrees: Ints, known: Bools | None
) -> Ints:
    """From each node to its heaviest child with candidates, as far as known."""
    heaviest = heaviest_children(tree.parent, counts, holds)
    if known is not None:
        heaviest[~known[heaviest]] = -1
    at = subtrees.copy()
    moving = np.arange(len(subtrees))
    while len(moving := moving[heaviest[at[moving]] >= 0]):
        at[moving] = heaviest[at[moving]]
    return at


def _representative(tree: HST, node: int, allowed: Bools, power: int, rank: Ints | None) -> int:
    """A candidate that serves a node's points well, or the one of lowest rank."""
    points = tree.points(node).astype(np.int64)
    inside = points[allowed[points]]
    if rank is not None:
        return int(inside[rank[inside].argmin()])
    if len(inside) == 1 or tree.last_level[node] == tree.n_levels - 1:
        return int(inside.min())
    return part_median(
        tree.universe,
        np.ones(tree.n_points),
        points,
        power=power,
        allowed=inside,
        searches=_SEARCHES,
    ).center


@njit(cache=True, nogil=True)
def disjoint_subtrees(parent: NDArray, ranked: NDArray, free: NDArray, wanted: int) -> NDArray:
    """The first `wanted` pairwise disjoint subtrees of a ranking (Fan, Li & Li, NeurIPS 2023,
    Algorithm 4), among nodes that are `free`.

    Nodes are taken in turn. A taken node drops an ancestor taken before, and its ancestors are free
    no more. O(n_nodes).
    """
    n = len(parent)
    kept = np.zeros(n, np.bool_)
    taken = np.empty(len(ranked), np.int64)
    n_taken = 0
    n_kept = 0
    for v in ranked:
        if n_kept == wanted:
            break
        if not free[v]:
            continue
        kept[v] = True
        taken[n_taken] = v
        n_taken += 1
        n_kept += 1
        u = parent[v]
        while u >= 0 and free[u]:
            free[u] = False
            if kept[u]:
                kept[u] = False
                n_kept -= 1
            u = parent[u]
    return np.array([v for v in taken[:n_taken] if kept[v]], np.int64)


@njit(cache=True, nogil=True)
def heaviest_children(parent: NDArray, counts: NDArray, allowed: NDArray) -> NDArray:
    """The allowed child of largest count of every node; -1 where there is none. O(n_nodes)."""
    best = np.full(len(parent), -1, np.int64)
    for v in range(1, len(parent)):
        p = parent[v]
        if allowed[v] and (best[p] < 0 or counts[v] > counts[best[p]]):
            best[p] = v
    return best
