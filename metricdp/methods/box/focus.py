"""Pilot histograms: where in a box the records are, for a small part of the budget.

1. Count a coarse grid. Cells above the noise threshold form components. A block around a component
   gets a finer grid if it holds enough of the records; if no block does but many cells are empty,
   the whole grid is finer.
2. Count along each axis of these blocks, one after another as long as it pays, to find smaller
   blocks.

Records outside of all blocks stay in the cells of the coarse grid.

**Privacy.** Each pilot is one `HistogramQuery` or `LevelsQuery`, paid by the caller, of partitions
that follow from public facts and earlier pilots.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from metricdp.arrays import Floats, Ints
from metricdp.methods.asking import Ask
from metricdp.methods.shares import deviation
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.blocks import block_of, box_sums, cover_of
from metricdp.partitions.box.grid import Block, ChosenGrids, Grid, NestedGrid
from metricdp.privacy.queries import HistogramQuery, LevelsQuery, Query
from metricdp.releases import Release

SURVEY_CELLS = 2048
BINS = 128
MOST_SURVEYS = 4
"""Cells of the first survey, bins along each axis of the others; surveys in all."""
PAYS = 8.0
NARROWER = 3.0
SMALLEST = (256, 0.2)
"""When a block gets its own grid: so many times its present cells, and least sizes."""
UNSEEN = 25.0
MARGIN = (0.1, 0.5)
"""Margin around the bins that stand out, a fraction of their width: so many times the noise, in
units of all records, within bounds. The more noise, the more of the records stay unseen beside
those bins.
"""
STANDS_OUT = 4.0
"""Cells are above the threshold at this many standard deviations of their block's noise."""

FILLED = 0.7
MOST_FINER = 16.0
"""A grid of which records fill a part p has p^-FILLED times the cells, at most so many."""
DOUBT = 3.0
"""Standard deviations by which that part must be told from noise."""

Places = Ints
Found = tuple[Places, Places, float]
"""First place of a block, the one after its last, and its noisy number of records."""
Surveyed = Generator[Ask, Release, tuple[Release, float]]
"""A survey: its release, and the standard deviation of its noise."""


@dataclass(eq=False)
class Area:
    """A box to be cut into a grid of `n_cells` cells, and blocks of it that are areas apart."""

    space: EuclideanSpace
    n_cells: int
    blocks: list[tuple[Places, Places, Area]] = field(default_factory=list)

    def grid(self, cells: Mapping[Area, int | tuple[int, ...]] | None = None) -> NestedGrid:
        """The nested grid; `cells` may give some areas other numbers of cells."""
        blocks = [Block(low, high, area.grid(cells)) for low, high, area in self.blocks]
        return NestedGrid(self.space, (cells or {}).get(self, self.n_cells), blocks)


def survey(query: Query, share: Fraction) -> Surveyed:
    """One survey, paid with a share."""
    release = yield Ask(query, share)
    return release, deviation(release)


def focused_grid(
    share: Fraction, space: EuclideanSpace, n_records: float, n_cells: int, most: int
) -> Generator[Ask, Release, NestedGrid]:
    """A grid over a box, with finer grids in it where surveys show that they pay.

    At most `MOST_SURVEYS` surveys; a box that the records fill gets one.
    """
    whole = Area(space, n_cells)
    surveyed = ChosenGrids(NestedGrid(space, SURVEY_CELLS), [space])
    release, noise = yield from survey(HistogramQuery(surveyed), share)
    own = Grid(space, n_cells)
    values = release.values[:-1].astype(np.float64)
    for low, high, mass in apart(standing_blocks(surveyed.grids[0], values, noise, own)):
        deserved = n_cells * mass / max(n_records, mass, 1.0)
        box = block_of(own, low, high)
        least = max(PAYS * np.prod(high - low), min(SMALLEST[0], SMALLEST[1] * n_cells))
        if box is not None and deserved >= least:
            whole.blocks.append((low, high, Area(box, int(deserved))))
    if not whole.blocks:
        finer = min(filled(values, noise) ** -FILLED, MOST_FINER)
        whole.n_cells = max(min(int(n_cells * finer), most), n_cells)
    innermost = [area for _, _, area in whole.blocks]
    for _ in range(MOST_SURVEYS - 1):
        if innermost:
            yield from narrow(share, whole, innermost, n_records)
            innermost = [area for outer in innermost for _, _, area in outer.blocks]
    return whole.grid()


def filled(values: Floats, noise: float) -> float:
    """At most which part of the cells records fill: (Σ c)² / (cells · Σ c²) for noisy counts c,
    with the noise's variance taken off the squares, and `DOUBT` standard deviations of what is
    left.
    """
    n = len(values)
    square = float(values @ values) - n * noise**2
    doubt = noise * np.sqrt(5.0 * n * noise**2 + 4.0 * max(square, 0.0))  # Laplace: kurtosis 6
    certain = square - DOUBT * float(doubt)
    total = float(values.sum())
    return min(total**2 / (n * certain), 1.0) if certain > 0.0 and total > 0.0 else 1.0


def narrow(
    share: Fraction, whole: Area, areas: list[Area], n_records: float
) -> Generator[Ask, Release, None]:
    """Give every area a smaller block that its records fill, by histograms along each axis."""
    d = whole.space.dimension
    shapes = [tuple(BINS if axis == x else 1 for x in range(d)) for axis in range(d)]
    spaces = [area.space for area in areas]
    axes = [ChosenGrids(whole.grid(dict.fromkeys(areas, shape)), spaces) for shape in shapes]
    levels = LevelsQuery(tuple(HistogramQuery(axis) for axis in axes))
    release, noise = yield from survey(levels, share)
    values = release.values.astype(np.float64).reshape(d, -1)[:, :-1].reshape(d, len(areas), BINS)
    margin = float(np.clip(UNSEEN * noise / max(n_records, 1.0), *MARGIN))
    for i, area in enumerate(areas):
        ends = np.array([hull(values[x, i], noise, margin) for x in range(d)]).T / BINS
        own = Grid(area.space, area.n_cells)
        lower, upper = area.space.lower + ends * (area.space.upper - area.space.lower)
        low, high = cover_of(own, EuclideanSpace(lower, upper))
        box = block_of(own, low, high)
        if box is not None and area.n_cells >= NARROWER * np.prod(high - low):
            area.blocks.append((low, high, Area(box, area.n_cells)))


def hull(values: Floats, noise: float, margin: float) -> tuple[float, float]:
    """Start and end of the bins that stand out, with a margin; of all, if none does."""
    n_bins = len(values)
    line = Grid(EuclideanSpace([0.0], [float(n_bins)]), (n_bins,))
    threshold = STANDS_OUT * noise * np.sqrt(box_sums(line, np.ones(n_bins)))
    out = np.flatnonzero(box_sums(line, values) > threshold)
    if not len(out):
        return 0.0, float(n_bins)
    margin *= out[-1] + 1 - out[0]
    return max(out[0] - margin, 0.0), min(out[-1] + 1 + margin, float(n_bins))


def standing_blocks(grid: NestedGrid, values: Floats, noise: float, own: Grid) -> list[Found]:
    """Components of the cells above the threshold, as blocks, with noisy numbers of records."""
    from scipy.ndimage import find_objects, label

    threshold = STANDS_OUT * noise * np.sqrt(box_sums(grid, np.ones(grid.n_own)))
    out = box_sums(grid, values) > threshold
    components = label(out.reshape(grid.shape), np.ones((3,) * len(grid.shape)))[0]
    mass = np.bincount(components.ravel(), values)
    found = []
    for i, slices in enumerate(find_objects(components), start=1):
        low = np.array([part.start for part in slices])
        high = np.array([part.stop for part in slices])
        box = block_of(grid, low, high)
        if box is not None:
            found.append((*cover_of(own, box), float(mass[i])))
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
