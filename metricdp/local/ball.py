"""Decoder for points of R^d: centers from frequencies and vector sums of a public tree's nodes
(Chang, Ghazi, Kumar & Manurangsi, ICML 2021, Algorithm 4).

1. Estimate the frequencies of nodes from the reports; those below the noise threshold count as 0.
2. Build a tree that splits frequent nodes (`build_tree`).
3. Represent each leaf by its net point or, with SimHash, by its mean vector.
4. Solve k-means or k-median of these weighted points, without noise.
5. Return the mean of each cluster's leaves, within the ball; with SimHash by James–Stein shrinkage.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from metricdp.arguments import Bools, Floats, Ints, count
from metricdp.kernels.points import nearest_centers
from metricdp.local.items import NetItems
from metricdp.local.oracles import VectorOracle, oracle_of
from metricdp.methods.question import Result
from metricdp.options import checked_seed
from metricdp.solvers.lloyd import distinct, lloyd

Estimated = Any
"""A `LocalEstimate`, not imported as its module imports this one."""

NOISE_THRESHOLD = 3.75
"""In standard deviations of the noise: higher loses rare nodes, lower keeps empty ones."""
SPLIT_FACTOR = 2
"""The constant a of `compute_threshold`."""
_STARTS = 16  # of Lloyd's algorithm: each takes little time, as leaves are few
_MOST_CENTERS = 4096  # bounds the decoder's memory


class NodeEstimates(NamedTuple):
    """Estimates for all nodes of a level, and their common variance."""

    values: Floats
    variance: float


def ball_centers(estimate: Estimated, k: int, power: int, *, seed: int = 0) -> Result:
    """k centers in the ball, shape (k, d): some may lie outside the box.

    With SimHash, centers are means of clusters also for k-median (`power` 1): medians would need
    another round.
    """
    count(k, "k", 1, _MOST_CENTERS)
    rng = np.random.default_rng(checked_seed(seed))
    tree = _Nets(estimate) if isinstance(estimate.items, NetItems) else _SimHash(estimate)
    leaves = tree.leaves(k)
    places, weights = leaves.places, leaves.weights
    unit = np.zeros((0, estimate.items.dimension))
    if len(places):
        chosen = places
        if len(places) > k:
            chosen = lloyd(places, weights, k, power=power, seed=seed, starts=_STARTS)
        label = nearest_centers(places, chosen)[0]
        unit = np.array([tree.center(leaves.only(label == j), power) for j in np.unique(label)])
    # fill up with the middle of the ball, then with random points
    missing = k - len(unit)
    filling = rng.normal(size=(k + 1, estimate.items.dimension))
    filling /= 2 * np.linalg.norm(filling, axis=1, keepdims=True)
    filling[0] = 0.0
    unit = distinct(np.concatenate([unit, filling[:missing]]), filling)
    centers = np.array(estimate.items.middle) + estimate.items.radius * unit
    return Result(centers, int(k), estimate.parameters.trust, estimate.receipt, estimate)


class _Tree:
    """Estimated counts and vector sums of all levels, each combined from all reports about it."""

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
        """Frequencies of a level's nodes, 0 below the noise threshold, shape (n_nodes,)."""
        if view not in self.counts:
            return np.zeros(self.items.domains[view])
        values, variance = self.counts[view]
        return np.where(values > NOISE_THRESHOLD * np.sqrt(variance), values, 0.0)

    def all_levels(self) -> list[Floats]:
        """`frequencies` of all levels, coarse to fine."""
        return [self.frequencies(view) for view in range(self.depth)]

    def built(self, views: list[Floats], children: Any, k: int) -> list[Leaf]:
        """The leaves of `build_tree` for the frequencies of each level."""
        most = int(np.log2(self.n + 2)) + 1
        oracle = lambda level, nodes: views[level - 1][nodes]  # noqa: E731
        return build_tree(oracle, children, self.depth, k, SPLIT_FACTOR, most)


def _merged(old: NodeEstimates | None, new: NodeEstimates) -> NodeEstimates:
    """Both estimates, combined by inverse-variance weights."""
    if old is None:
        return new
    share = old.variance / (old.variance + new.variance)
    return NodeEstimates(old.values + share * (new.values - old.values), share * new.variance)


def _shrunk(vector: Floats, variance: float, prior: Floats) -> Floats:
    """Positive-part James–Stein shrinkage of a noisy vector to a prior, then into the unit ball."""
    away = vector - prior
    square = float(away @ away)
    shrunk = prior + max(0.0, 1 - variance / square) * away if square > 0 else prior
    return shrunk / max(1.0, float(np.linalg.norm(shrunk)))


def _pooled(weights: Floats, sums: Floats, variances: Floats) -> tuple[Floats, float]:
    """Mean vector of some leaves, shape (d,), and its expected squared error, by a random-effects
    model: each leaf's mean is shrunk to the common mean according to its noise.
    """
    total = weights.sum()
    means = sums / weights[:, None]
    noise = variances / weights**2
    # moment estimate of the variance between leaves: spread around the mean less expected noise
    common = (means / noise[:, None]).sum(axis=0) / (1 / noise).sum()
    spread = (
        weights * (((means - common) ** 2).sum(axis=1) - noise + 1 / (1 / noise).sum())
    ).sum() / total
    # shrink with this variance, and average
    precision = 1 / (max(spread, 0.0) + noise)
    common = (means * precision[:, None]).sum(axis=0) / precision.sum()
    own = max(spread, 0.0) * precision
    share = weights / total
    error = (share**2 * own**2 * noise).sum() + (1 - (share * own).sum()) ** 2 / precision.sum()
    return (share * own) @ means + (1 - (share * own).sum()) * common, float(error)


class Leaves(NamedTuple):
    """Leaves: places (n, d), weights (n,), vector sums (n, d) and their variances (n,)."""

    places: Floats
    weights: Floats
    sums: Floats
    variances: Floats

    def only(self, mask: Bools) -> Leaves:
        """The leaves of a mask."""
        return Leaves(*(column[mask] for column in self))

    def middle(self) -> Floats:
        """The mean of all vectors, shrunk to 0."""
        vectors = _pooled(self.weights, self.sums, self.variances)
        return _shrunk(*vectors, np.zeros(self.sums.shape[1]))


class _SimHash(_Tree):
    """SimHash: nodes are prefixes of signs. If only the finest level was reported, a node's
    frequency is the sum over its leaves above the noise threshold.
    """

    def leaves(self, k: int) -> Leaves:
        """Leaves of the tree, with mean vectors as places."""
        d = self.items.dimension
        last = self.depth - 1
        if not self.counts or not self.sums:
            return Leaves(np.zeros((0, d)), np.zeros(0), np.zeros((0, d)), np.zeros(0))
        finest = self.frequencies(last)
        several = len(self.counts) > 1
        levels = self.all_levels() if several else level_sums(finest, self.depth)
        tree = self.built(levels, prefix_children, k)
        return self._means(tree, None if several else finest)

    def _means(self, tree: list[Leaf], finest: Floats | None) -> Leaves:
        """Mean vectors of leaves; with `finest`, from buckets above the noise threshold only."""
        values, variance = self.sums[self.depth - 1]
        below = [leaves_below(leaf.level, leaf.node, self.depth) for leaf in tree]
        if finest is not None:
            below = [leaves[finest[leaves] > 0] for leaves in below]
        weights = np.array([leaf.frequency for leaf in tree])
        sums = np.array([values[leaves].sum(axis=0) for leaves in below]).reshape(
            len(tree), self.items.dimension
        )
        variances = np.array([variance * len(leaves) for leaves in below])
        zero = np.zeros(self.items.dimension)
        places = np.array(
            [_shrunk(s / w, v / w**2, zero) for s, w, v in zip(sums, weights, variances)]
        ).reshape(sums.shape)
        return Leaves(places, weights, sums, variances)

    def center(self, leaves: Leaves, power: int) -> Floats:
        """The mean vector of some leaves, shrunk to 0."""
        return leaves.middle()


class _Nets(_Tree):
    """Nested nets: places are net points, projected into the ball."""

    def frequencies(self, view: int) -> Floats:
        """Frequencies of nodes; 0 for those too far from the ball to be any point's node."""
        places = self.items.places(np.arange(self.items.domains[view]), view)
        possible = np.linalg.norm(places, axis=1) <= 1 + 2.0**-view
        return np.where(possible, super().frequencies(view), 0.0)

    def leaves(self, k: int) -> Leaves:
        """Leaves of the tree with their net points."""
        whole = len(self.counts) == self.depth
        views = self.all_levels() if whole else self._from_below()
        tree = self.built(views, self._children, k)
        at = [self.items.places(np.array([leaf.node]), leaf.level - 1)[0] for leaf in tree]
        weights = np.array([leaf.frequency for leaf in tree])
        places = np.array(at).reshape(len(tree), self.items.dimension)
        places = places / np.maximum(1.0, np.linalg.norm(places, axis=1, keepdims=True))
        return Leaves(places, weights, np.zeros_like(places), np.zeros(len(tree)))

    def _from_below(self) -> list[Floats]:
        """Frequencies of all levels as sums over nodes of the finest above the noise threshold."""
        found = [self.frequencies(self.depth - 1)]
        for view in range(self.depth - 1, 0, -1):
            nodes = np.flatnonzero(found[0])
            parents = self.items.nearest(self.items.places(nodes, view), view - 1)
            sums = np.bincount(parents, found[0][nodes], self.items.domains[view - 1])
            found.insert(0, sums.astype(np.float64))
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
    """A leaf of the built tree: level, index of the node there, estimated frequency."""

    level: int
    node: int
    frequency: float


def compute_threshold(frequencies: Floats, k: int, a: int, most: int) -> int:
    """Number of a level's nodes to split: the smallest multiple of ka after which ka further nodes
    no longer halve the remaining weight (Chang et al., Algorithm 2).
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
    """Leaves of the tree that splits the most frequent nodes of each level (Chang et al., Algorithm
    1). Unlike there, a node whose children together have less than half its frequency stays a leaf.

    `oracle`: frequencies of some nodes of a level; `children`: children of each of some nodes.
    """
    found: list[Leaf] = []
    nodes = np.zeros(1, np.int64)
    frequencies = np.array([0.0])
    for level in range(depth + 1):
        order = np.argsort(-frequencies, kind="stable")
        nodes = nodes[order]
        frequencies = frequencies[order]
        n_split = 0
        if level < depth:
            n_split = compute_threshold(frequencies, k, a, most) if level else 1
        split: list[tuple[Ints, Floats]] = []
        for i, group in enumerate(children(level, nodes[:n_split]) if n_split else []):
            of_children = oracle(level + 1, group)
            if of_children.sum() * 2 >= frequencies[i] and of_children.any():
                split.append((group[of_children > 0], of_children[of_children > 0]))
            else:
                found.append(Leaf(level, int(nodes[i]), float(frequencies[i])))
        rest = zip(nodes[n_split:], frequencies[n_split:])
        found += [Leaf(level, int(node), float(f)) for node, f in rest]
        if not split:
            break
        nodes = np.concatenate([group for group, _ in split])
        frequencies = np.concatenate([of_children for _, of_children in split])
    return [leaf for leaf in found if leaf.level]


def lattice_children(
    cells: Ints, spacing: tuple[float, float], shift: tuple[Floats, Floats]
) -> list[Ints]:
    """Children of lattice points: points of the next finer lattice whose nearest they are."""
    dimension = cells.shape[1]
    middle = (cells + shift[0]) * spacing[0] / spacing[1] - shift[1]
    around = np.array(list(product(range(-2, 3), repeat=dimension)), np.int64)
    near = np.rint(middle).astype(np.int64)[:, None] + around
    coarse = (near + shift[1]) * (spacing[1] / spacing[0]) - shift[0]
    parents = np.floor(coarse + 0.5).astype(np.int64)
    own = (parents == cells[:, None]).all(axis=2)
    return [candidates[mask] for candidates, mask in zip(near, own)]


def prefix_children(level: int, nodes: Ints) -> list[Ints]:
    """Children of prefixes: node z of level i has the children 2z and 2z + 1."""
    return [2 * node + np.arange(2) for node in nodes]


def level_sums(leaves: Floats, depth: int) -> list[Floats]:
    """Sums of leaves' frequencies below each node, for the levels 1 … depth."""
    return [leaves.reshape(1 << level, -1).sum(axis=1) for level in range(1, depth + 1)]


def leaves_below(level: int, node: int, depth: int) -> Ints:
    """Nodes of level `depth` below a node."""
    width = 1 << (depth - level)
    return node * width + np.arange(width)
