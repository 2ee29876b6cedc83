"""Slow reference implementations of rounds of small balls: cell by cell, in Python's integers."""

import math
from collections import Counter


def peeled(counts, side, center, number):
    """Records left in each cell (a tuple) when the `number` nearest a cell are gone."""
    steps = [round(s / max(side) * 256) for s in side]

    def order(cell):
        return sum(((a - b) * s) ** 2 for a, b, s in zip(cell, center, steps)), cell

    left = Counter(counts)
    for cell in sorted(left, key=order):
        gone = min(left[cell], number)
        left[cell] -= gone
        number -= gone
    return left


def in_ball(counts, middle, radius):
    """How many records lie within `radius` of a cell along every axis."""
    return sum(
        n for cell, n in counts.items() if all(abs(a - b) <= radius for a, b in zip(cell, middle))
    )


def averages(cells, radii, t):
    """The paper's L(r), rounded down (Algorithm 2, lines 1 and 2), by its definition over single
    records.
    """
    found, counts = [], Counter(cells)
    for r in radii:
        near = sorted((min(in_ball(counts, cell, r), t) for cell in cells), reverse=True)
        found.append(sum(near[:t]) // t)
    return found


def levels(scores, keep, promise):
    """RecConcave's steps 2 to 4 by their definitions."""
    last = len(scores) - 1
    top = math.ceil(math.log2(max(last, 1)))
    longer = [*scores, *[min(0, scores[-1])] * (2**top - last)]
    lengths = [2**j for j in range(top + 1)]
    a = [max(min(longer[i : i + n]) for i in range(len(longer) - n + 1)) for n in lengths]
    a.append(min(0, a[-1]))
    return [min(a[j] - keep, promise - a[j + 1]) for j in range(top + 1)]
