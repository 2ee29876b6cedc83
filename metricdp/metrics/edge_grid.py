"""The public grid of a graph: edge lengths as integers, rounded up."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from metricdp.arguments import Bools, Floats, Ints, positive
from metricdp.errors import InputError
from metricdp.metrics.base import EXTENTS, MAX_GRID_DISTANCE, checked_extent, public_grid
from metricdp.universe.graph import Graph


def quantised(graph: Graph, resolution: float | None) -> tuple[float, Ints]:
    """The grid's step (`resolution`, if given), and the edge lengths in steps, rounded up."""
    n, lengths = len(graph), graph.lengths
    resolution = None if resolution is None else positive(resolution, "resolution")
    bound = 0.0
    if not _all_at_distance_0(graph):
        matrix = csr_array(
            (np.where(lengths == 0, 1e-300, lengths), graph.indices, graph.indptr), shape=(n, n)
        )
        there = float(dijkstra(matrix, indices=0).max())
        back = float(dijkstra(matrix.T, indices=0).max()) if graph.directed else there
        bound = checked_extent(there + back)
    cells = min(MAX_GRID_DISTANCE, 2**62 // n)
    # longer edges are on no shortest path, and might overflow
    lengths = np.minimum(lengths, 2 * bound)
    if resolution is not None:
        if resolution * n > EXTENTS[1]:
            raise InputError(
                f"resolution {resolution:g} is too coarse: {n:,} steps of it must stay below "
                f"{EXTENTS[1]:g}"
            )
        if bound / resolution > cells:
            raise InputError(
                f"resolution {resolution:g} is too fine for distances up to {bound:g}: at most "
                f"{cells:,} steps are allowed"
            )
        return resolution, _ceiling(lengths / resolution)
    for digits in range(7):
        scaled = lengths * 10.0**digits
        if bound * 10.0**digits > cells:
            break
        if _on_grid(scaled).all():
            return 10.0**-digits, np.rint(scaled).astype(np.int64)
    unit = public_grid(bound, n)
    return unit, _ceiling(lengths / unit)


def _all_at_distance_0(graph: Graph) -> bool:
    """Whether all distances are 0: edges of length 0 connect all vertices."""
    tails, zero = graph.tails(), graph.lengths == 0
    joined = csr_array(
        (np.ones(zero.sum(), np.int8), (tails[zero], graph.indices[zero])),
        shape=(len(graph), len(graph)),
    )
    return connected_components(joined, directed=True, connection="strong")[0] == 1


def _on_grid(steps: Floats) -> Bools:
    """Which numbers are integers up to rounding errors: 1e-9 of their size, and at most 0.001."""
    return np.abs(steps - np.rint(steps)) <= 1e-9 * np.abs(steps).clip(max=1e6)


def _ceiling(steps: Floats) -> Ints:
    """Round up, but to the nearest integer where the difference is a rounding error."""
    return np.where(_on_grid(steps), np.rint(steps), np.ceil(steps)).astype(np.int64)
