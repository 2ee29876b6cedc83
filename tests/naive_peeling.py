"""Slow twins of rounds of small balls: records one by one."""

import math

import numpy as np


def peeled(cells, shape, side, center, number):
    """The records (cells as tuples) that are left when the `number` nearest a cell are gone, by
    sorting single records.
    """
    steps = [round(s / max(side) * 256) for s in side]

    def order(cell):
        away = sum(((a - b) * s) ** 2 for a, b, s in zip(cell, center, steps))
        return away, int(np.ravel_multi_index(cell, shape))

    return sorted(cells, key=order)[number:]


def in_ball(cells, middle, radius):
    """How many records lie within `radius` of a cell along every axis."""
    return sum(all(abs(a - b) <= radius for a, b in zip(cell, middle)) for cell in cells)


def averages(cells, radii, t):
    """The paper's L(r), rounded down (Algorithm 2, lines 1 and 2), by its definition over single
    records.
    """
    found = []
    for r in radii:
        counts = sorted((min(in_ball(cells, cell, r), t) for cell in cells), reverse=True)
        found.append(sum(counts[:t]) // t)
    return found


def levels(scores, keep, promise):
    """RecConcave's steps 2 to 4 by their definitions."""
    last = len(scores) - 1
    top = math.ceil(math.log2(max(last, 1)))
    longer = [*scores, *[min(0, scores[-1])] * (2**top - last)]
    a = [
        max(min(longer[i : i + 2**j]) for i in range(len(longer) - 2**j + 1))
        for j in range(top + 1)
    ]
    a.append(min(0, a[-1]))
    return [min(a[j] - keep, promise - a[j + 1]) for j in range(top + 1)]
