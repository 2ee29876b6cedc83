"""The 2-HST of a public universe: a random tree metric of expected stretch O(log n); built, cached
for each universe, or given and checked.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricdp.arguments import Floats, Ints, count
from metricdp.errors import InputError
from metricdp.kernels.hst import nested_clusters
from metricdp.metrics.base import Metric, metric_of
from metricdp.metrics.identity_cache import IdentityCache
from metricdp.options import Coins, coins
from metricdp.partitions.finite import storage
from metricdp.partitions.finite.labels import LabelParts
from metricdp.partitions.finite.least_elements import LevelLabels, level_labels


@dataclass(frozen=True, eq=False)
class LevelCells(LabelParts):
    """The clusters of one level of a tree."""

    level: int


@dataclass(frozen=True, eq=False, repr=False)
class HST:
    """A 2-HST as flat arrays; build one with `build_hst`.

    Nodes are numbered from the root, 0, parents before children. The points of each are a
    contiguous run of `order`. No node has a single child: a chain of equal clusters is one node,
    which keeps the first of its levels. Leaves are points, or several points at distance 0.

    Attributes
    ----------
    universe : Metric
    seed : int
        Public coins it was built with.
    beta : float
        The random factor of all radii, in [1, 2).
    heights : ndarray of float64, shape (n_levels,)
        Distance from a node that splits right after this level to its leaves, in the universe's
        unit of distance: ``beta · Δ / 2**(i + 1)`` at level i (rounded down to the universe's grid,
        plus what the grid may be off), 0 at the last.
    order : ndarray of int32, shape (n_points,)
        Positions, arranged so that the points of every node are a run.
    parent : ndarray of int32, shape (n_nodes,)
        -1 for the root.
    level : ndarray of int8, shape (n_nodes,)
        First level at which this cluster exists; 0 for the root. All children of a node have the
        same level.
    start, stop : ndarray of int32, shape (n_nodes,)
        A node's points are ``order[start:stop]``.

    Examples
    --------
    >>> from metricdp.metrics import EuclideanMetric
    >>> tree = build_hst(EuclideanMetric([[0.0], [1.0], [9.0]], ids=["a", "b", "c"]), seed=1)
    >>> tree.n_points, tree.n_levels
    (3, 5)
    >>> tree.distance("a", "c") >= 9
    True
    """

    universe: Metric
    seed: int
    beta: float
    heights: Floats
    order: NDArray[np.int32]
    parent: NDArray[np.int32]
    level: NDArray[np.int8]
    start: NDArray[np.int32]
    stop: NDArray[np.int32]

    def __repr__(self) -> str:
        return (
            f"HST({self.universe.name!r}, {self.n_points:,} points, {self.n_nodes:,} nodes, "
            f"{self.n_levels} levels, seed={self.seed})"
        )

    @property
    def n_points(self) -> int:
        """Number of points of the universe."""
        return len(self.order)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included: less than twice the points."""
        return len(self.parent)

    @property
    def n_levels(self) -> int:
        """Number of levels, the root's (0) and the leaves' included."""
        return len(self.heights)

    @cached_property
    def sizes(self) -> Ints:
        """Number of points of every node, shape (n_nodes,)."""
        return self.stop.astype(np.int64) - self.start

    @cached_property
    def last_level(self) -> NDArray[np.int8]:
        """Last level of each node's cluster (n_nodes,): a leaf's is ``n_levels - 1``."""
        last = np.full(self.n_nodes, self.n_levels - 1, np.int8)
        last[self.parent[1:]] = self.level[1:] - 1
        return last

    @cached_property
    def node_height(self) -> Floats:
        """Distance from every node to the leaves below it, shape (n_nodes,)."""
        return self.heights[self.last_level]

    @cached_property
    def leaf(self) -> NDArray[np.int32]:
        """Leaf of every position, shape (n_points,)."""
        leaves = np.flatnonzero(self.last_level == self.n_levels - 1)
        return self._spread(leaves, leaves)

    @cached_property
    def universe_checksum(self) -> str:
        """The identity of the universe in files: SHA-256 of ids, structure, lengths and grid."""
        return self.universe.checksum()

    def points(self, node: int) -> NDArray[np.int32]:
        """Positions of the points of a node."""
        return self.order[self.start[node] : self.stop[node]]

    def nodes_at(self, level: int) -> Ints:
        """Nodes that are the clusters of a level, in the order of their points.

        Raises
        ------
        InputError
            There is no such level.
        """
        number = count(level, "level", 0, self.n_levels - 1)
        nodes = np.flatnonzero((self.level <= number) & (self.last_level >= number))
        return nodes[np.argsort(self.start[nodes])]

    def labels_at(self, level: int) -> NDArray[np.int32]:
        """Cluster of every position at a level: an index into ``nodes_at(level)``."""
        nodes = self.nodes_at(level)
        return self._spread(nodes, np.arange(len(nodes)))

    def parts_at(self, level: int) -> LevelCells:
        """The clusters of one level as a partition, in the order of `nodes_at`."""
        labels = self.labels_at(level).astype(np.int64)
        return LevelCells(self.universe, labels, len(self.nodes_at(level)), level)

    def sums(self, weights: ArrayLike) -> Floats:
        """Sum of the weights below every node, shape (n_nodes,), of `weights` (n_points,)."""
        upto = np.r_[0.0, np.cumsum(np.asarray(weights, np.float64)[self.order])]
        return upto[self.stop] - upto[self.start]

    def _spread(self, nodes: Ints, values: Ints) -> NDArray[np.int32]:
        """One value a node, to each of its positions."""
        spread = np.empty(self.n_points, np.int32)
        by_place = np.argsort(self.start[nodes])
        spread[self.order] = np.repeat(values[by_place], self.sizes[nodes[by_place]])
        return spread

    def distance(self, u: Hashable, v: Hashable) -> float:
        """Distance of two ids in the tree: at least their distance in the universe.

        Raises
        ------
        UnknownIdError
            One is not an id of the universe.
        """
        at = self.universe.positions([u, v])
        return float(self.position_distances(at[:1], at[1:])[0])

    def position_distances(self, u: ArrayLike, v: ArrayLike) -> Floats:
        """Distances of positions in the tree, elementwise; the shapes broadcast. O(n_levels) a
        pair.

        Raises
        ------
        InputError
            What is given are not positions.
        """
        here, there = np.broadcast_arrays(self._leaves_of(u), self._leaves_of(v))
        here = here.copy()
        there = there.copy()
        differing = np.flatnonzero(here.ravel() != there.ravel())
        a = here.ravel()[differing]
        b = there.ravel()[differing]
        common = here.ravel()
        while len(differing):
            # of two different nodes the one with the larger number is not an ancestor of the other
            a, b = np.minimum(a, b), self.parent[np.maximum(a, b)]
            met = a == b
            common[differing[met]] = a[met]
            differing = differing[~met]
            a = a[~met]
            b = b[~met]
        return 2.0 * self.node_height[common].reshape(here.shape)

    def _leaves_of(self, positions: ArrayLike) -> NDArray[np.int32]:
        try:
            at = np.asarray(positions)
        except ValueError:  # rows of several lengths
            at = np.array(None)
        if at.size and (at.dtype.kind not in "iu" or at.min() < 0 or at.max() >= self.n_points):
            raise InputError(f"positions must be integers from 0 to {self.n_points - 1}")
        return self.leaf[at.astype(np.int64)]

    def save(self, path: Any) -> Path:
        """Write the tree to a file (NumPy's npz), wholly or not at all, with a checksum of the
        universe; return its path.

        Everything in the file is public.

        Raises
        ------
        InputError, OSError
            Not a path; the file cannot be written.
        """
        return storage.save(
            path, self.universe_checksum, {name: getattr(self, name) for name in storage.FIELDS}
        )

    @classmethod
    def load(cls, path: Any, metric: Metric) -> HST:
        """Read the tree of a universe.

        Parameters
        ----------
        path : path-like
            A file that `save` wrote.
        metric : Metric
            The universe it was built of: the same ids, structure, lengths and grid. Ids are
            compared by their ``repr``.

        Raises
        ------
        InputError
            The file is no tree, is damaged, or is the tree of another universe.
        OSError
            It cannot be read.
        """
        return cls(metric, **storage.load(path, metric_of(metric, "a tree")))


def build_hst(metric: Metric, seed: int = 0, *, rng: Coins | None = None) -> HST:
    """Build the 2-HST of a public universe (Fakcharoenphol, Rao & Talwar 2004).

    A random permutation π of the universe and one random β in [1, 2) with density 1/(β ln 2) fix
    the tree. Level i has the radius ``β · Δ / 2**(i + 1)``, where Δ is twice the largest distance
    from π's first point. Every point is assigned to the first point of π within the radius;
    clusters are the intersections of these sets with the clusters of the level above.

    Two points that are separated after level i are at distance ``2 · β · Δ / 2**(i + 1)`` in the
    tree: at least their distance in the universe, and for every pair at most O(log n) times that in
    expectation over the coins.

    Parameters
    ----------
    metric : Metric
        The public universe. Nothing private takes part, so the tree costs no privacy and serves any
        number of demands.
    seed, rng : int; Generator, SeedSequence or int
        Public coins, at least 0. The same universe and seed give the same tree.

    Raises
    ------
    InputError
        `metric` is no finite universe, or `seed` no such integer.

    Notes
    -----
    Where costs depend on the direction the tree is that of ``metric.symmetric``.

    Distances are compared as integers on the metric's grid. Vectors are rounded to it, and the tree
    adds the largest rounding error.

    On graphs O(m log n) queue operations in expectation, and O(n · levels) memory. In low
    dimensions about O(n log² n), else O(n²) distances, but no matrix of them.

    References
    ----------
    Fakcharoenphol, Rao & Talwar, A tight bound on approximating arbitrary metrics by tree metrics
    (JCSS 2004). Cohen, Size-estimation framework (JCSS 1997). Blelloch, Gu & Sun, Efficient
    construction of probabilistic tree embeddings (ICALP 2017).

    Examples
    --------
    >>> from metricdp.metrics import GraphMetric
    >>> tree = build_hst(GraphMetric(nx.path_graph(8), weight=None), seed=3)
    >>> tree
    HST('graph', 8 points, 14 nodes, 5 levels, seed=3)
    >>> tree.distance(0, 7) >= 7
    True
    """
    universe = metric_of(metric, "a tree")
    number = coins(seed, rng)
    drawing = np.random.default_rng(number)
    permutation = drawing.permutation(len(universe))
    beta = min(2.0 ** drawing.random(), math.nextafter(2.0, 1.0))
    return grown(universe, permutation, beta, number)


def grown(metric: Metric, permutation: Ints, beta: float, seed: int = 0) -> HST:
    """The 2-HST for given coins: a permutation of positions, and beta in [1, 2)."""
    measure = metric.symmetric
    levels = level_labels(measure, permutation, beta)
    slack = measure.grid_error
    radii = levels.radii
    labels = levels.labels
    duplicates = _duplicates(measure, levels) if slack > 0 else None
    if duplicates is not None:
        labels = np.column_stack([labels, duplicates])
        radii = np.r_[radii, 0]
    heights: Floats = radii.astype(np.float64) * measure.unit + slack / 2
    heights[-1] = 0.0
    rows, *nodes = nested_clusters(np.asfortranarray(labels))
    return HST(metric, seed, beta, heights, levels.order[rows].astype(np.int32), *nodes)


def _duplicates(metric: Metric, levels: LevelLabels) -> NDArray[np.int32] | None:
    """Labels of one more level, on which only points at distance 0 are together; None if the last
    level has no points that are equal on the grid alone.
    """
    same = levels.labels[:, -1]  # equal for points at distance 0 on the grid
    shared = np.flatnonzero(np.bincount(same, minlength=len(same))[same] > 1)
    if len(shared) == 0:
        return None
    groups = metric.duplicates(levels.order[shared])
    _, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
    if len(first) == len(np.unique(same[shared])):
        return None
    duplicates = same.copy()
    duplicates[shared] = shared[first][inverse.ravel()]
    return duplicates


_trees = IdentityCache()


def kept_hst(metric: Metric, seed: int = 0) -> HST:
    """The universe's 2-HST for this seed: built once, and cached as long as the universe lives."""
    known: dict[int, Any] = _trees.of(metric)
    if seed not in known:
        # without the universe: a value of the cache must not keep its key alive
        known[seed] = replace(build_hst(metric, seed), universe=None)  # type: ignore[arg-type]
    return replace(known[seed], universe=metric)


def checked_tree(tree: Any) -> HST | None:
    """The tree given, or None."""
    if tree is not None and not isinstance(tree, HST):
        raise InputError(
            f"tree must be a 2-HST, mdp.build_hst(metric) or mdp.HST.load(path, metric); got "
            f"{type(tree).__name__}"
        )
    return tree


def tree_for(tree: HST | None, metric: Metric, seed: int) -> HST:
    """The tree given, if it is of this very universe; else the universe's own for this seed."""
    if tree is not None and tree.universe is not metric:
        raise InputError(
            "the tree is of another universe: build it of, or load it for, the very metric object "
            "that is asked about"
        )
    return kept_hst(metric, seed) if tree is None else tree
