"""The 2-HST as a hierarchy from which partitions are cut, in place of the Ward tree."""

from __future__ import annotations

import numpy as np

from metricdp.partitions.finite.hst import HST
from metricdp.partitions.finite.ward import Hierarchy


class HSTHierarchy(Hierarchy):
    """The nodes of a 2-HST as a binary hierarchy: a node is split into its largest child and the
    rest. A node costs its size times its level's radius, a rest its size times the parent's.
    """

    def __init__(self, tree: HST) -> None:
        self._tree = tree
        self._by_parent = np.argsort(tree.parent, kind="stable")
        self._first = np.searchsorted(tree.parent[self._by_parent], np.arange(tree.n_nodes + 1))
        self._node: dict[int, int] = {}
        super().__init__(tree.universe)

    def _grow_root(self, seed: int) -> int:
        return self._add(0)

    def _refine(self, leaf: int) -> bool:
        """Put the node's children in its place; False for a leaf of the tree."""
        node = self._node[leaf]
        tree = self._tree
        children = self._by_parent[self._first[node] : self._first[node + 1]]
        if len(children) == 0:
            return False
        children = children[np.argsort(-tree.sizes[children], kind="stable")]
        rest = self.size[leaf]
        at = leaf
        del self.points[leaf]
        for i, child in enumerate(children[:-1]):
            rest -= float(tree.sizes[child])
            self.left[at] = self._add(int(child))
            if i == len(children) - 2:
                self.right[at] = self._add(int(children[-1]))
            else:
                self.right[at] = self._append(rest, rest * float(tree.node_height[node]))
                at = self.right[at]
        return True

    def _add(self, node: int) -> int:
        size = float(self._tree.sizes[node])
        at = self._append(size, size * float(self._tree.node_height[node]))
        self.points[at] = self._tree.points(node).astype(np.int64)
        self._node[at] = node
        return at

    def _append(self, size: float, cost: float) -> int:
        self.left.append(-1)
        self.right.append(-1)
        self.size.append(size)
        self.cost.append(cost)
        return len(self.left) - 1
