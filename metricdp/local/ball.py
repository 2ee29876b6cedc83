"""From frequencies and vector sums of a public tree's nodes to centers in R^d (the decoder of the
paper's Algorithm 4).

1. Estimate the frequencies of nodes from the reports. What is within its noise counts as 0.
2. Build the tree of the nodes that matter (`build_tree`).
3. Represent every leaf by its net point or, with SimHash, by its mean vector.
4. Solve k-means or k-median of these weighted points, without noise.
5. Return the mean of each center's leaves, in the ball; of vectors, shrunk by its noise (James &
   Stein).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from metricdp.arguments import count
from metricdp.arrays import Bools, Floats, Ints
from metricdp.kernels.points import nearest_centers
from metricdp.local.items import NetItems
from metricdp.local.oracles import VectorOracle, oracle_of
from metricdp.methods.result import Result
from metricdp.options import checked_seed
from metricdp.solvers.lloyd import distinct, lloyd

Estimated = Any
"""A `LocalEstimate`, which finds its centers by this module and so is not imported."""

STANDS_OUT = 3.75
"""A node counts if its frequency exceeds this many standard deviations of its noise."""
NEAR = 2
"""The constant a of `compute_threshold`."""
_STARTS = 16  # of Lloyd: leaves are few, so that each takes little time
_MOST_CENTERS = 4096  # bounds the decoder's memory


class NodeEstimates(NamedTuple):
    """An estimate for every node of a level, and the variance of each."""

    values: Floats
    variance: float


def ball_centers(estimate: Estimated, k: int, power: int, *, seed: int = 0) -> Result:
    """k centers in the box, shape (k, d).

    For k-median (`power` 1) in many dimensions centers are means of the clusters that were found:
    medians would need another round.
    """
    count(k, "k", 1, _MOST_CENTERS)
    rng = np.random.default_rng(checked_seed(seed))
    found = _Nets(estimate) if isinstance(estimate.items, NetItems) else _SimHash(estimate)
    leaves = found.leaves(k)
    places, weights = leaves.places, leaves.weights
    unit = np.zeros((0, estimate.items.dimension))
    if len(places):
        chosen = places
        if len(places) > k:
            chosen = lloyd(places, weights, k, power=power, seed=seed, starts=_STARTS)
        label = nearest_centers(places, chosen)[0]
        unit = np.array([found.center(leaves.only(label == j), power) for j in np.unique(label)])
    missing = k - len(unit)
    filling = rng.normal(size=(k + 1, estimate.items.dimension))
    filling /= 2 * np.linalg.norm(filling, axis=1, keepdims=True)
    filling[0] = 0.0  # clusters that were not found cost no more than with the middle as a center
    unit = distinct(np.concatenate([unit, filling[:missing]]), filling)
    centers = np.array(estimate.items.middle) + estimate.items.radius * unit
    return Result(centers, int(k), estimate.parameters.trust, estimate.receipt, estimate)


class _Tree:
    """Measurements on every level, put together from all reports about it."""

    def __init__(self, estimate: Estimated) -> None:
        self.items, self.n = estimate.items, estimate.n_messages
        self.depth = self.items.depth
        self.counts: dict[int, NodeEstimates] = {}
        self.sums: dict[int, NodeEstimates] = {}
        roles = zip(estimate.parameters.roles, estimate.sketch.users, estimate.sketch.arrays)
        for role, users, arrays in roles:
            for report, array in zip(role.reports, arrays):
                if not users:
                    continue
                oracle = oracle_of(report.randomizer)
                scale = self.n / users
                vectors = isinstance(oracle, VectorOracle)
                values = oracle.sums(array) if vectors else oracle.counts(array, users)
                table = self.sums if vectors else self.counts
                new = NodeEstimates(values * scale, oracle.variance * users * scale**2)
                table[report.view] = _merged(table.get(report.view), new)

    def frequencies(self, view: int) -> Floats:
        """Of all nodes of a level, 0 where they do not stand out."""
        if view not in self.counts:
            return np.zeros(self.items.domains[view])
        values, variance = self.counts[view]
        return np.where(values > STANDS_OUT * np.sqrt(variance), values, 0.0)

    def all_levels(self) -> list[Floats]:
        """`frequencies` of each."""
        return [self.frequencies(view) for view in range(self.depth)]

    def grown(self, views: list[Floats], children: Any, k: int) -> list[Leaf]:
        """The leaves of the tree by the frequencies of each level."""
        most = int(np.log2(self.n + 2)) + 1
        held = lambda level, nodes: views[level - 1][nodes]  # noqa: E731
        return build_tree(held, children, self.depth, k, NEAR, most)


def _merged(old: NodeEstimates | None, new: NodeEstimates) -> NodeEstimates:
    """Both, weighted by their inverse variances."""
    if old is None:
        return new
    share = old.variance / (old.variance + new.variance)
    return NodeEstimates(old.values + share * (new.values - old.values), share * new.variance)


def _drawn(vector: Floats, variance: float, prior: Floats) -> Floats:
    """A noisy vector drawn to a prior one, and into the unit ball: positive-part James–Stein."""
    away = vector - prior
    square = float(away @ away)
    drawn = prior + max(0.0, 1 - variance / square) * away if square > 0 else prior
    return drawn / max(1.0, float(np.linalg.norm(drawn)))


def _pooled(weights: Floats, sums: Floats, variances: Floats) -> tuple[Floats, float]:
    """Mean of the vectors of some leaves together, and its expected squared error. Each leaf's mean
    is first shrunk to that of all by its noise (random effects).
    """
    total = weights.sum()
    means = sums / weights[:, None]
    noise = variances / weights**2
    common = (means / noise[:, None]).sum(axis=0) / (1 / noise).sum()
    spread = (
        weights * (((means - common) ** 2).sum(axis=1) - noise + 1 / (1 / noise).sum())
    ).sum() / total
    precision = 1 / (max(spread, 0.0) + noise)
    common = (means * precision[:, None]).sum(axis=0) / precision.sum()
    own = max(spread, 0.0) * precision
    share = weights / total
    error = (share**2 * own**2 * noise).sum() + (1 - (share * own).sum()) ** 2 / precision.sum()
    return (share * own) @ means + (1 - (share * own).sum()) * common, float(error)


class Leaves(NamedTuple):
    """Places, shape (n, ·), weights (n,), sums of vectors (n, d) and their variances (n,)."""

    places: Floats
    weights: Floats
    sums: Floats
    variances: Floats

    def only(self, mine: Bools) -> Leaves:
        """Some of them."""
        return Leaves(*(column[mine] for column in self))

    def middle(self) -> Floats:
        """The mean of all vectors, drawn to 0."""
        vectors = _pooled(self.weights, self.sums, self.variances)
        return _drawn(*vectors, np.zeros(self.sums.shape[1]))


class _SimHash(_Tree):
    """Prefixes of signs: a node's frequency may be the sum of its leaves above the noise."""

    def leaves(self, k: int) -> Leaves:
        """Leaves of the tree with means, each from the sums of its leaves above the noise."""
        d = self.items.dimension
        last = self.depth - 1
        if not self.counts or not self.sums:
            return Leaves(np.zeros((0, d)), np.zeros(0), np.zeros((0, d)), np.zeros(0))
        held = self.frequencies(last)
        several = len(self.counts) > 1
        levels = self.all_levels() if several else level_sums(held, self.depth)
        tree = self.grown(levels, prefix_children, k)
        return self._means(tree, None if several else held)

    def _means(self, tree: list[Leaf], held: Floats | None) -> Leaves:
        values, variance = self.sums[self.depth - 1]
        below = [leaves_below(leaf.level, leaf.node, self.depth) for leaf in tree]
        if held is not None:
            below = [leaves[held[leaves] > 0] for leaves in below]
        weights = np.array([leaf.frequency for leaf in tree])
        sums = np.array([values[leaves].sum(axis=0) for leaves in below]).reshape(
            len(tree), self.items.dimension
        )
        variances = np.array([variance * len(leaves) for leaves in below])
        zero = np.zeros(self.items.dimension)
        places = np.array(
            [_drawn(s / w, v / w**2, zero) for s, w, v in zip(sums, weights, variances)]
        ).reshape(sums.shape)
        return Leaves(places, weights, sums, variances)

    def center(self, leaves: Leaves, power: int) -> Floats:
        """The mean of some leaves, drawn to 0."""
        return leaves.middle()


class _Nets(_Tree):
    """Nested nets: places are net points, moved into the ball."""

    def frequencies(self, view: int) -> Floats:
        """Nodes that a point of the ball can have: no farther than twice the level's radius."""
        places = self.items.places(np.arange(self.items.domains[view]), view)
        possible = np.linalg.norm(places, axis=1) <= 1 + 2.0**-view
        return np.where(possible, super().frequencies(view), 0.0)

    def leaves(self, k: int) -> Leaves:
        """Leaves of the tree with their net points."""
        whole = len(self.counts) == self.depth
        views = self.all_levels() if whole else self._from_below()
        tree = self.grown(views, self._children, k)
        at = [self.items.places(np.array([leaf.node]), leaf.level - 1)[0] for leaf in tree]
        weights = np.array([leaf.frequency for leaf in tree])
        places = np.array(at).reshape(len(tree), self.items.dimension)
        places = places / np.maximum(1.0, np.linalg.norm(places, axis=1, keepdims=True))
        return Leaves(places, weights, np.zeros_like(places), np.zeros(len(tree)))

    def _from_below(self) -> list[Floats]:
        """Frequencies of all levels as sums of what stands out on the finest."""
        found = [self.frequencies(self.depth - 1)]
        for view in range(self.depth - 1, 0, -1):
            held = np.flatnonzero(found[0])
            above = self.items.nearest(self.items.places(held, view), view - 1)
            found.insert(
                0,
                np.bincount(above, found[0][held], self.items.domains[view - 1]).astype(np.float64),
            )
        return found

    def _children(self, level: int, nodes: Ints) -> list[Ints]:
        items = self.items
        if level == 0:
            return [np.arange(items.domains[0])]
        lattices = (tuple(of[level - 1 : level + 1]) for of in (items.spacing, items.shifts))
        found = lattice_children(items.cells(nodes, level - 1), *lattices)
        inside = [cells[(np.abs(cells) <= items.reach[level]).all(axis=1)] for cells in found]
        return [items.number(cells, level) for cells in inside]

    def center(self, leaves: Leaves, power: int) -> Floats:
        """The mean or median of some leaves' net points."""
        center = lloyd(leaves.places, leaves.weights, 1, power=power, starts=1)[0]
        return center / max(1.0, float(np.linalg.norm(center)))


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


def prefix_children(level: int, nodes: Ints) -> list[Ints]:
    """Children of every prefix: node z of level i has 2z and 2z + 1."""
    return [2 * node + np.arange(2) for node in nodes]


def level_sums(leaves: Floats, depth: int) -> list[Floats]:
    """Sums of what the leaves below every node have, for the levels 1 … depth."""
    return [leaves.reshape(1 << level, -1).sum(axis=1) for level in range(1, depth + 1)]


def leaves_below(level: int, node: int, depth: int) -> Ints:
    """Leaves, on level `depth`, below a node."""
    width = 1 << (depth - level)
    return node * width + np.arange(width)
