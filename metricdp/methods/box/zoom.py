"""Where in a box the records are, told by a small part of the budget, so that the rest of it is
spent there.

1. A look at a coarse grid. Cells that stand out of its noise hang together in components; a block
   of cells around one gets a finer grid of its own if the component's share of the records deserves
   many more cells than it has.
2. Looks at these blocks, one after another as long as they pay: histograms along each axis tell the
   smaller block that holds what stands out of their noise.

Nothing is cut off: records outside of a block stay in the cells of the grid around it. A box that
its records fill gets one look.

**Privacy.** Every look is one `HistogramQuery` or `LevelsQuery`, paid by the caller, of partitions
that follow from public facts and earlier looks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.grid import Block, Grid, NestedGrid
from metricdp.privacy import HistogramQuery, LevelsQuery, Query
from metricdp.releases import Release

LOOK_CELLS, BINS, MOST_LOOKS = 2048, 128, 4
"""Cells of the first look, bins along each axis of the others; looks in all."""
PAYS, NARROWER, SMALLEST = 8.0, 3.0, (256, 0.2)
"""A block gets a grid of its own if that has so many times the cells that it has now: in the first
look, in the others; and at least so many, or such a part of all, whichever is less.
"""
UNSEEN, MARGIN = 25.0, (0.1, 0.5)
"""Margin around the bins that stand out, a fraction of their width: so many times the noise, in
units of all records, within bounds. The more noise, the more of the records stay unseen beside
those bins.
"""
STANDS_OUT = 4.0
"""Cells stand out if the sum of those around them exceeds this many standard deviations of its
noise.
"""

Array = NDArray[np.float64]
Places = NDArray[np.int64]
Found = tuple[Places, Places, float]
"""First place of a block, the one after its last, and its noisy number of records."""
Ask = Callable[[Query], tuple[Release, float]]
"""Pays for a query: its release, and the standard deviation of its noise."""


@dataclass(eq=False)
class Plan:
    """A box to be cut into a grid of `n_cells` cells, and blocks of it that are planned apart."""

    space: EuclideanSpace
    n_cells: int
    blocks: list[tuple[Places, Places, Plan]] = field(default_factory=list)

    def grid(self, cells: Mapping[Plan, int | tuple[int, ...]] | None = None) -> NestedGrid:
        """The nested grid; `cells` may give some plans other numbers of cells."""
        blocks = [Block(low, high, plan.grid(cells)) for low, high, plan in self.blocks]
        return NestedGrid(self.space, (cells or {}).get(self, self.n_cells), blocks)


class Looked:
    """The cells of those grids of a nested grid whose boxes are chosen; all others are one part,
    the last.
    """

    def __init__(self, nested: NestedGrid, chosen: list[EuclideanSpace]) -> None:
        wanted = {id(space) for space in chosen}
        self.universe, self.nested = nested.universe, nested
        self.grids = [grid for grid in nested.grids() if id(grid.universe) in wanted]
        cells = np.concatenate(
            [np.full(grid.n_own, id(grid.universe) in wanted) for grid in nested.grids()]
        )
        self.n_parts = int(cells.sum()) + 1
        self.part = np.where(cells, np.cumsum(cells) - 1, self.n_parts - 1)

    def encode(self, records: Array) -> Places:
        """Part of each point, shape (n,)."""
        return self.part[self.nested.encode(records)]


def planned(
    ask: Ask, space: EuclideanSpace, n_records: float, n_cells: int, fewest: int
) -> NestedGrid:
    """A grid over a box, with finer grids in it where looks show that they pay.

    Parameters
    ----------
    ask : callable
        Pays for one look: the histogram's release, and the standard deviation of its noise.
    space : EuclideanSpace
    n_records : float
        Noisy or guessed.
    n_cells : int
        Of a grid for all records; a grid for some of them gets a proportional part.
    fewest : int
        Cells of any grid.

    Notes
    -----
    At most `MOST_LOOKS` looks; a box that the records fill gets one.
    """
    root = Plan(space, n_cells)
    looked = Looked(NestedGrid(space, LOOK_CELLS), [space])
    release, noise = ask(HistogramQuery(looked))
    own = Grid(space, n_cells)
    for low, high, mass in apart(
        standing(looked.grids[0], release.values[:-1].astype(np.float64), noise, own)
    ):
        share, box = n_cells * mass / max(n_records, mass, 1.0), own.block(low, high)
        if box is not None and share >= max(
            PAYS * np.prod(high - low), min(SMALLEST[0], SMALLEST[1] * n_cells)
        ):
            root.blocks.append((low, high, Plan(box, int(share))))
    leaves = [plan for _, _, plan in root.blocks]
    for _ in range(MOST_LOOKS - 1):
        if leaves:
            narrowed(ask, root, leaves, n_records)
            leaves = [plan for leaf in leaves for _, _, plan in leaf.blocks]
    return root.grid()


def narrowed(ask: Ask, root: Plan, leaves: list[Plan], n_records: float) -> None:
    """Plan a block in every leaf that the records of the leaf fill less than it: from a histogram
    along each axis.
    """
    d = root.space.dimension
    shapes = [tuple(BINS if axis == x else 1 for x in range(d)) for axis in range(d)]
    looks = [
        Looked(root.grid(dict.fromkeys(leaves, shape)), [leaf.space for leaf in leaves])
        for shape in shapes
    ]
    release, noise = ask(LevelsQuery(tuple(HistogramQuery(look) for look in looks)))
    values = release.values.astype(np.float64).reshape(d, -1)[:, :-1].reshape(d, len(leaves), BINS)
    margin = float(np.clip(UNSEEN * noise / max(n_records, 1.0), *MARGIN))
    for i, leaf in enumerate(leaves):
        ends = np.array([hull(values[x, i], noise, margin) for x in range(d)]).T / BINS
        own = Grid(leaf.space, leaf.n_cells)
        low, high = own.cover(
            EuclideanSpace(*(leaf.space.lower + ends * (leaf.space.upper - leaf.space.lower)))
        )
        box = own.block(low, high)
        if box is not None and leaf.n_cells >= NARROWER * np.prod(high - low):
            leaf.blocks.append((low, high, Plan(box, leaf.n_cells)))


def hull(values: Array, noise: float, margin: float) -> tuple[float, float]:
    """Start and end of the bins that stand out, with a margin; of all, if none does."""
    line = Grid(EuclideanSpace([0.0], [float(len(values))]), (len(values),))
    out = np.flatnonzero(
        line.box_sums(values) > STANDS_OUT * noise * np.sqrt(line.box_sums(np.ones(len(values))))
    )
    if not len(out):
        return 0.0, float(len(values))
    margin *= out[-1] + 1 - out[0]
    return max(out[0] - margin, 0.0), min(out[-1] + 1 + margin, float(len(values)))


def standing(grid: NestedGrid, values: Array, noise: float, own: Grid) -> list[Found]:
    """Components of the cells that stand out, as blocks of the cells of `own`, and their noisy
    numbers of records.
    """
    from scipy.ndimage import find_objects, label

    out = grid.box_sums(values) > STANDS_OUT * noise * np.sqrt(grid.box_sums(np.ones(grid.n_own)))
    components = label(out.reshape(grid.shape), np.ones((3,) * len(grid.shape)))[0]
    mass = np.bincount(components.ravel(), values)
    found = []
    for i, slices in enumerate(find_objects(components), start=1):
        low, high = (np.array([getattr(part, end) for part in slices]) for end in ("start", "stop"))
        if (box := grid.block(low, high)) is not None:
            found.append((*own.cover(box), float(mass[i])))
    return found


def apart(blocks: list[Found]) -> list[Found]:
    """Blocks, those that meet replaced by one around both, until none do."""
    done: list[Found] = []
    while blocks:
        low, high, mass = blocks.pop()
        meets = [
            i for i, (start, stop, _) in enumerate(done) if ((low < stop) & (start < high)).all()
        ]
        if not meets:
            done.append((low, high, mass))
            continue
        start, stop, more = done.pop(meets[0])
        blocks.append((np.minimum(low, start), np.maximum(high, stop), mass + more))
    return done[::-1]
