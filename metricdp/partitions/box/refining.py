"""Refinement of a quadtree's cells by public or released amounts."""

import numpy as np

from metricdp.arguments import Floats
from metricdp.partitions.box.quadtree import QuadtreeCells


def refined(
    cells: QuadtreeCells,
    amounts: Floats,
    most: int,
    least: float = -np.inf,
    deepest: int | None = None,
) -> tuple[QuadtreeCells, Floats]:
    """Split leaf cells greedily, those of largest amount times diameter first, until there are
    `most`; a cell's amount is divided by volume. Returns cells, and amounts of all of them.

    Cells with at most the amount `least`, or at level `deepest`, are not split. Cells above half of
    the largest urgency are split together. O(m · d) for m new cells, times a logarithm.
    """
    known = np.asarray(amounts, float)
    bottom = cells.tree.depth if deepest is None else min(deepest, cells.tree.depth)
    while cells.n_parts < most:
        leaves = cells.leaves
        at = leaves[(cells.level[leaves] < bottom) & (known[leaves] > least)]
        if len(at) == 0:
            break
        weight = np.maximum(known[at], 0.0) + 1e-9 * max(float(known.max()), 1.0)
        urgency = weight * cells.diameter[at]
        order = np.argsort(-urgency, kind="stable")[: most - cells.n_parts]
        batch = np.sort(at[order[urgency[order] > 0.5 * urgency[order[0]]]])
        cells = cells.split(batch)
        first = len(known) + 2 * np.arange(len(batch))
        axis = cells.tree.axes[cells.level[batch]]
        share = cells.size[first, axis] / cells.size[batch, axis]
        halves = known[batch, None] * np.stack([share, 1 - share], axis=1)
        known = np.r_[known, halves.ravel()]
    return cells, known
