"""Maps a user's item to its *views*: integers in public domains, one for each level of a tree,
about which reports are made.

- hierarchy: the item's part of a public partition, and its nodes on coarser levels of the tree.
- simhash, in a ball: on level i, the signs of inner products with the first i public directions.
- net, in a ball: on the finest level the nearest net point, on others the one nearest to it.

Views and vectors are deterministic functions of the item and of public facts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from functools import cached_property
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any

from metricdp.errors import InputError
from metricdp.local import streams
from metricdp.local.parameters import whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_NET_DIMENSIONS = 3  # net points grow exponentially: 43,000 at depth 4, 2,300,000 in four
UNKNOWN = "the item is not in the public universe of these parameters"


class Items(ABC):
    """A public universe and the views of its items.

    `domains`: number of values of each view; `dimension`: d of vectors, 0 if there are none.
    """

    domains: tuple[int, ...]
    dimension: int = 0

    @abstractmethod
    def values(self, item: Any) -> tuple[tuple[int, ...], Any]:
        """The views of one item, and its vector or None."""


class HierarchyItems(Items):
    """Ids of a finite universe, whose views are the id's parts on levels of a tree. `plain` holds
    ids, labels, the number of parts, `children` of inner nodes (children before parents), and the
    nodes of each coarser level (`levels`).
    """

    def __init__(self, plain: dict[str, Any]) -> None:
        ids = plain.get("ids")
        self.labels = plain.get("labels") or []
        self.n_parts = whole(plain.get("parts"), "parts", 1, 1 << 24)
        self.ids: Any = (
            range(whole(ids.get("range"), "range", 1, 1 << 31))
            if isinstance(ids, dict)
            else [_id(i) for i in ids or ()]
        )
        known = _all_below(self.labels, self.n_parts) and len(self.labels) == len(self.ids)
        if not known or len(set(self.labels)) < self.n_parts:
            raise InputError(
                "labels must give each id its part, a whole number below parts, and no part none"
            )
        try:
            self._part = dict(zip(self.ids, self.labels))
        except TypeError:
            self._part = {}
        if len(self._part) != len(self.ids):
            raise InputError("ids must be distinct")
        self.children, self.levels = plain.get("children"), plain.get("levels")
        below = self._below()
        self._views: list[tuple[int, ...]] = [()] * self.n_parts
        if not isinstance(self.levels, list) or not len(self.levels) < 64:
            raise InputError("levels must list the nodes of each level but the finest")
        for level in self.levels:
            if not _all_below(level, len(below)):
                raise InputError("the nodes of a level must be those of the tree")
            at = [(part, i) for i, v in enumerate(level) for part in below[v]]
            if sorted(part for part, _ in at) != list(range(self.n_parts)):
                raise InputError("a level's nodes must hold every part once")
            for part, i in at:
                self._views[part] = (*self._views[part], i)
        self.domains = (*map(len, self.levels), self.n_parts)

    def _below(self) -> list[list[int]]:
        """The parts below each node."""
        rule = "children must be the pairs of a binary tree above the parts, children first"
        below = [[part] for part in range(self.n_parts)]
        free = set(range(self.n_parts))
        if not isinstance(self.children, list) or len(self.children) != self.n_parts - 1:
            raise InputError(rule)
        for pair in self.children:
            if not isinstance(pair, list) or len(pair) != 2 or not free >= {*_ints(pair)}:
                raise InputError(rule)
            free -= {*pair}
            free.add(len(below))
            below.append(below[pair[0]] + below[pair[1]])
        return below

    def values(self, item: Any) -> tuple[tuple[int, ...], Any]:
        """The nodes and the part of an id, coarse to fine."""
        part = None
        with suppress(Exception):  # not hashable, or its class raises in a comparison
            part = self._part.get(item)
        truth = isinstance(item, bool)  # which Python counts as 0 and 1
        if part is None or (truth and all(one is not item for one in self.ids)):
            raise InputError(UNKNOWN)
        return (*self._views[part], part), None


def _all_below(numbers: Any, bound: int) -> bool:
    """Whether it is a list of integers from 0 to bound - 1."""
    return isinstance(numbers, list) and all(type(v) is int and 0 <= v < bound for v in numbers)


def _ints(pair: list[Any]) -> list[int]:
    """The two distinct integers of a pair, else [-1]."""
    good = all(type(v) is int for v in pair) and pair[0] != pair[1]
    return pair if good else [-1]


def _id(plain: Any) -> Any:
    return tuple(_id(i) for i in plain) if isinstance(plain, list) else plain


class BallItems(Items):
    """Points of R^d, projected into a public ball and scaled to the unit ball.

    `plain`: `middle`, d numbers, and `radius` of the ball; `depth`, `seed` of the views.
    """

    def __init__(self, plain: dict[str, Any]) -> None:
        middle = plain.get("middle")
        radius = plain.get("radius")
        numbers = middle if isinstance(middle, list) and middle else [None]
        plain_numbers = all(type(x) in (int, float) and abs(x) < 1e300 for x in [*numbers, radius])
        if not plain_numbers or not radius > 1e-300:  # type: ignore[operator]
            raise InputError(
                "a ball needs its middle, a list of finite numbers, and a positive radius"
            )
        self.middle, self.dimension = numbers, len(numbers)
        self.radius = float(radius)  # type: ignore[arg-type]
        self.depth = whole(plain.get("depth"), "depth", 1, 24)
        self.seed = whole(plain.get("seed"), "seed", 0, (1 << 64) - 1)

    def values(self, item: Any) -> tuple[tuple[int, ...], Any]:
        """The views of one point on all levels, and the point in the unit ball."""
        import numpy as np

        try:
            point = np.asarray(item, dtype=np.float64)
        except Exception:
            point = np.empty(0)
        if point.shape != (self.dimension,) or not np.isfinite(point).all():
            raise InputError(f"a point must be {self.dimension} finite numbers")
        unit = self.unit(point[None])
        return tuple(int(view[0]) for view in self.views(unit)), unit[0]

    def unit(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points in the unit ball (n, d); points outside are projected onto the sphere."""
        import numpy as np

        with np.errstate(over="ignore"):
            x = np.clip((points - np.array(self.middle, np.float64)) / self.radius, -1e150, 1e150)
        return x / np.maximum(np.sqrt((x * x).sum(axis=1, keepdims=True)), 1.0)

    @abstractmethod
    def views(self, unit: NDArray[np.float64]) -> list[NDArray[np.int64]]:
        """For each level, coarse to fine, the views of points of the unit ball, shapes (n,)."""


class SimHashItems(BallItems):
    """SimHash (Charikar, STOC 2002): the node of level i (1 … depth) consists of the signs along
    the first i directions, z_i = (g_1(x), …, g_i(x)), with the first as highest bit (Chang et al.,
    ICML 2021, Section 5).
    """

    def __init__(self, plain: dict[str, Any]) -> None:
        super().__init__(plain)
        self.domains = tuple(1 << (i + 1) for i in range(self.depth))

    @cached_property
    def directions(self) -> NDArray[np.float64]:
        """Public directions, shape (depth, d)."""
        return streams.vectors(self.seed, self.depth, self.dimension)

    def views(self, unit: NDArray[np.float64]) -> list[NDArray[np.int64]]:
        """Prefixes of the bits of signs."""
        import numpy as np

        bits = (unit @ self.directions.T > 0).astype(np.int64)
        leaf = bits @ (1 << np.arange(self.depth - 1, -1, -1))
        return [leaf >> (self.depth - 1 - i) for i in range(self.depth)]


class NetItems(BallItems):
    """Shifted cubic lattices of covering radius 2^-i in the unit ball, in at most three dimensions.

    A point's node of the finest level is its nearest net point; that of level i is the net point
    nearest to its node of level i + 1 (Chang et al., ICML 2021, Section 3.1).
    """

    def __init__(self, plain: dict[str, Any]) -> None:
        super().__init__(plain)
        if self.dimension > MOST_NET_DIMENSIONS:
            raise InputError(
                f"nets are for at most {MOST_NET_DIMENSIONS} dimensions; there are "
                f"{self.dimension}: take simhash"
            )
        self.spacing = [2.0 * 2.0 ** -(i + 1) / sqrt(self.dimension) for i in range(self.depth)]
        self.reach = [ceil((1 + 2.0**-i) / h) + 1 for i, h in enumerate(self.spacing)]
        self.domains = tuple((2 * r + 1) ** self.dimension for r in self.reach)
        if self.domains[-1] > 1 << 24:
            raise InputError("these nets have more than 2^24 points; take a smaller depth")

    @cached_property
    def shifts(self) -> NDArray[np.float64]:
        """Public shift of each level's lattice, in spacings, shape (depth, d)."""
        import numpy as np

        cut = streams.words(self.seed ^ 1, 0, self.depth * self.dimension) >> np.uint64(40)
        return cut.astype(np.float64).reshape(self.depth, self.dimension) / (1 << 24)

    def nearest(self, points: NDArray[np.float64], level: int) -> NDArray[np.int64]:
        """Index of the nearest net point of a level for each point, shape (n,)."""
        import numpy as np

        cell = np.floor(points / self.spacing[level] - self.shifts[level] + 0.5).astype(np.int64)
        return self.number(np.clip(cell, -self.reach[level], self.reach[level]), level)

    def number(self, cell: NDArray[np.int64], level: int) -> NDArray[np.int64]:
        """Index of lattice coordinates (n, d), which are its digits in base 2 · reach + 1."""
        return (cell + self.reach[level]) @ self._powers(level)

    def cells(self, index: NDArray[np.int64], level: int) -> NDArray[np.int64]:
        """Lattice coordinates of indices, shape (n, d)."""
        base = 2 * self.reach[level] + 1
        return index[:, None] // self._powers(level) % base - self.reach[level]

    def _powers(self, level: int) -> NDArray[np.int64]:
        """Powers of the base of a level's digits, shape (d,)."""
        import numpy as np

        base = 2 * self.reach[level] + 1
        return np.array([base**j for j in range(self.dimension)], np.int64)

    def places(self, index: NDArray[np.int64], level: int) -> NDArray[np.float64]:
        """Net points, shape (n, d)."""
        return (self.cells(index, level) + self.shifts[level]) * self.spacing[level]

    def views(self, unit: NDArray[np.float64]) -> list[NDArray[np.int64]]:
        """Indices of nearest net points, computed from the finest level up."""
        points, found = unit, []
        for level in range(self.depth - 1, -1, -1):
            index = self.nearest(points, level)
            found.append(index)
            points = self.places(index, level)
        return found[::-1]


KINDS: dict[str, type[Any]] = {
    "hierarchy": HierarchyItems,
    "simhash": SimHashItems,
    "net": NetItems,
}


def items_of(plain: dict[str, Any]) -> Any:
    """The items of public parameters."""
    kind = plain.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"items must be of one of the kinds {', '.join(KINDS)}")
    return KINDS[kind](plain)


def bits_of(domain: int) -> int:
    """Number of bits of the values from 0 to domain - 1."""
    return max(1, (domain - 1).bit_length())
