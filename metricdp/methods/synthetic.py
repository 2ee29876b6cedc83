"""Synthetic points drawn from a private release, on the street network or in the box. They replace
jittered points (geomasking), which have no guarantee.

1. Order the universe's points as its public hierarchy does, so that near points come together.
2. Take n points at equal steps of the released weight along that order, with one random offset
   (systematic sampling).
3. In a box, move each point to a uniform point of its cell.
4. Shuffle.

**Privacy.** Post-processing of a release: free, any number of times, with public coins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints, count
from metricdp.methods.views import axes_of
from metricdp.metrics.base import Metric
from metricdp.partitions.finite.ward import PartitionTree, hierarchy
from metricdp.releases import Receipt
from metricdp.report.point_files import Columns, checked_ending, write_points

_PARTS = 1024
"""Parts in the order of the hierarchy; inside a part, points are in the order of ids."""
MOST = 10**8
"""Most points of a sample."""


@dataclass(eq=False, repr=False)
class SyntheticPoints(Sequence[Any]):
    """n synthetic points: a sequence of ids, or of points of a box, that may be published.

    Attributes
    ----------
    points : list of ids, or ndarray of float64, shape (n, d), in a box
    coordinates : ndarray of float64, shape (n, 2), or None
        Those of the points, where the universe has coordinates; in a box the points themselves.
    system : {"lonlat", "xy"} or None
        Kind of the coordinates.
    receipt : Receipt
        The release's.
    crs : str or None
        The coordinate reference system of `coordinates`, where it is known.
    """

    points: Any
    coordinates: Floats | None
    system: str | None
    receipt: Receipt
    crs: str | None = None

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, at: Any) -> Any:
        return self.points[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.points)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.points, dtype=dtype)

    def __repr__(self) -> str:
        return f"SyntheticPoints({len(self):,} points, epsilon {float(self.receipt.epsilon):g})"

    def save(self, path: str | PathLike[str]) -> None:
        """Write the points to a file, wholly or not at all, as CSV, GeoJSON or (Geo)Parquet by the
        ending of its name.

        Parameters
        ----------
        path : path
            ``.csv`` and ``.parquet``: columns ``vertex``, and ``lon`` and ``lat`` or ``x`` and
            ``y`` where there are coordinates (in a box ``x`` and ``y``, or ``x1`` to ``xd``);
            Parquet also has a column ``geometry`` (GeoParquet 1.0). ``.geojson``: a point each.
        """
        ending = checked_ending(path, self.coordinates, "synthetic sample", self.crs)
        ids: Columns = {} if isinstance(self.points, np.ndarray) else {"vertex": self.points}
        axes = {} if self.coordinates is None else axes_of(self.coordinates, self.system)
        columns = {**ids, **axes}
        names = ids or {"number": list(range(len(self)))}
        planar = self.coordinates is not None and self.coordinates.shape[1] == 2
        places = self.coordinates if planar else None
        write_points(path, ending, columns, places, names, geometry=True, crs=self.crs)


def checked_number(n: Any) -> int:
    """The number of points asked for, checked."""
    return count(n, "the number of points", 1, MOST)


def drawn(universe: Metric, weights: Floats, n: int, coins: np.random.Generator) -> Ints:
    """Positions (n,) by systematic sampling of the weights along the order of `nearby`; where no
    weight is positive, of equal weights.
    """
    positive = np.maximum(weights, 0.0) if (weights > 0).any() else np.ones(len(universe))
    order = nearby(universe)
    order = order[positive[order] > 0]
    weight = np.cumsum(positive[order])
    steps = (np.arange(n) + coins.random()) / n * weight[-1]
    last = len(order) - 1  # rounding may put a step past the end
    return coins.permutation(order[np.minimum(np.searchsorted(weight, steps, side="right"), last)])


def nearby(universe: Metric) -> Ints:
    """All positions in a public order in which near points come together."""
    if len(universe) < 2:
        return np.arange(len(universe))
    parts = hierarchy(universe).cut(_PARTS)
    return np.argsort(leaf_order(parts)[parts.labels], kind="stable")


def leaf_order(tree: PartitionTree) -> Ints:
    """Rank of each part among the leaves from left to right, shape (n_parts,)."""
    m = tree.n_parts
    place = np.empty(m, np.int64)
    stack, seen = [2 * m - 2], 0
    while stack:
        node = stack.pop()
        if node < m:
            place[node], seen = seen, seen + 1
        else:
            stack += tree.children[node - m, ::-1].tolist()
    return place
