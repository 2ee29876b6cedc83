"""Net trees from a frequency oracle: COMPUTETHRESHOLD, BUILDTREE, children of nets."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np

from metricdp.arrays import Floats, Ints


class Leaf(NamedTuple):
    """A leaf of the tree that was built: its level, its node there, its estimated frequency."""

    level: int
    node: int
    frequency: float


def compute_threshold(frequencies: Floats, k: int, a: int, most: int) -> int:
    """How many of a level's nodes to split: the smallest multiple of ka at which the remaining
    weight stops halving (Chang, Ghazi, Kumar & Manurangsi, ICML 2021, Algorithm 2).
    """
    m = len(frequencies)
    step = k * a
    weight = np.r_[0.0, np.cumsum(np.sort(frequencies))]
    for j in range(1, min(most, m // step) + 1):
        if weight[m - (j - 1) * step] <= 2 * weight[m - j * step]:
            return (j - 1) * step
    return min(m, most * step)


def build_tree(
    oracle: Callable[[int, Ints], Floats],
    children: Callable[[int, Ints], list[Ints]],
    depth: int,
    k: int,
    a: int,
    most: int,
) -> list[Leaf]:
    """Leaves of the tree that splits every level's most frequent nodes (Algorithm 1 of the same
    paper). Unlike printed, a node whose children hold less than half of it stays a leaf.
    """
    found: list[Leaf] = []
    nodes = np.zeros(1, np.int64)
    frequencies = np.array([0.0])
    for level in range(depth + 1):
        order = np.argsort(-frequencies, kind="stable")
        nodes = nodes[order]
        frequencies = frequencies[order]
        opened = 0 if level == depth else compute_threshold(frequencies, k, a, most) if level else 1
        below = children(level, nodes[:opened]) if opened else []
        kept: list[tuple[Ints, Floats]] = []
        for i, group in enumerate(below):
            own = oracle(level + 1, group)
            if own.sum() * 2 >= frequencies[i] and own.any():
                kept.append((group[own > 0], own[own > 0]))
            else:
                found.append(Leaf(level, int(nodes[i]), float(frequencies[i])))
        found += [
            Leaf(level, int(node), float(f))
            for node, f in zip(nodes[opened:], frequencies[opened:])
        ]
        if not kept:
            break
        nodes = np.concatenate([group for group, _ in kept])
        frequencies = np.concatenate([own for _, own in kept])
    return [leaf for leaf in found if leaf.level]


def lattice_children(
    cells: Ints, spacing: tuple[float, float], shift: tuple[Floats, Floats]
) -> list[Ints]:
    """Children of lattice points: points of the next finer lattice nearest to them."""
    dimension = cells.shape[1]
    middle = (cells + shift[0]) * spacing[0] / spacing[1] - shift[1]
    around = np.array(list(product(range(-2, 3), repeat=dimension)), np.int64)
    near = np.rint(middle).astype(np.int64)[:, None] + around
    above = np.floor((near + shift[1]) * (spacing[1] / spacing[0]) - shift[0] + 0.5).astype(
        np.int64
    )
    own = (above == cells[:, None]).all(axis=2)
    return [candidates[mine] for candidates, mine in zip(near, own)]
