"""The geometry of edges: the points at which streets bend between their ends.

It is only for maps: distances, territories and releases depend on the ends alone. The bends of a
graph are two arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricdp.arguments import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Bends:
    """Inner points of some lines, from tail to head.

    `offsets` (n_lines + 1,): the points of line i are ``xy[offsets[i]:offsets[i + 1]]``, none for a
    straight line; `xy` (n_bends, 2).
    """

    offsets: Ints
    xy: Floats

    def line(self) -> Ints:
        """Line of each point, shape (n_bends,)."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def taken(self, which: Ints, backward: Bools) -> Bends:
        """Bends of the lines `which`, in this order, some reversed; -1 is a straight line."""
        count = np.where(which >= 0, np.diff(self.offsets)[which], 0) if len(which) else which
        offsets = np.r_[0, np.cumsum(count)]
        line = np.repeat(np.arange(len(which)), count)
        rank = np.arange(offsets[-1]) - offsets[line]
        rank = np.where(backward[line], count[line] - 1 - rank, rank)
        return Bends(offsets, self.xy[self.offsets[which[line]] + rank])


def bends_of(lines: Sequence[Any], starts: Floats, ends: Floats) -> Bends | None:
    """Bends of edges from Shapely lines, WKT, or neither (straight); None if all are straight."""
    drawn = [_places(line) for line in lines]
    inner = [places[1:-1] for places in drawn]
    offsets = np.r_[0, np.cumsum([len(places) for places in inner], dtype=np.int64)]
    if not offsets[-1]:
        return None
    known = [places if len(places) else np.full((1, 2), np.nan) for places in drawn]
    first, last = (np.array([places[at] for places in known]) for at in (0, -1))
    as_is = np.abs(first - starts).sum(axis=1) + np.abs(last - ends).sum(axis=1)
    turned = np.abs(first - ends).sum(axis=1) + np.abs(last - starts).sum(axis=1)
    every = np.arange(len(drawn))
    return Bends(offsets, np.concatenate(inner)).taken(every, np.asarray(turned < as_is))


_STRAIGHT = np.empty((0, 2))


def _places(line: Any) -> Floats:
    """All points of a line, shape (n, 2); none if it is not one."""
    found: Floats = _STRAIGHT
    if isinstance(line, str):
        head, _, rest = line.strip().partition("(")
        if head.strip().upper() == "LINESTRING":
            found = _numbers(rest.rstrip(") "))
    elif getattr(line, "geom_type", None) == "LineString":
        found = np.asarray(line.coords, np.float64)[:, :2]
    return found if len(found) > 1 and np.isfinite(found).all() else _STRAIGHT


def _numbers(text: str) -> Floats:
    try:
        return np.array([pair.split() for pair in text.split(",")], np.float64).reshape(-1, 2)
    except ValueError:
        return _STRAIGHT


def bends_of_pairs(
    bends: Bends, tails: Ints, heads: Ints, rank: Floats, pairs: Ints
) -> Bends | None:
    """The bends of a graph's edges (`Graph.pairs`); None where all are straight."""
    low, high = np.minimum(tails, heads), np.maximum(tails, heads)
    n = int(pairs.max(initial=0)) + 1
    rows = np.flatnonzero((low >= 0) & (low != high))
    rows = rows[np.lexsort((rank[rows], low[rows] * n + high[rows]))]
    keys, first = np.unique(low[rows] * n + high[rows], return_index=True)
    which = rows[first[np.searchsorted(keys, pairs[:, 0] * n + pairs[:, 1])]]
    kept = bends.taken(which, tails[which] > heads[which])
    return kept if len(kept.xy) else None


def polylines(starts: Floats, ends: Floats, bends: Bends | None) -> tuple[Floats, Ints, Floats]:
    """All points of the lines in order, the line of each, and its relative position, 0 to 1."""
    m = len(starts)
    of = np.empty(0, np.int64) if bends is None else bends.line()
    inner = np.empty((0, 2)) if bends is None else bends.xy
    line = np.concatenate([np.arange(m), of, np.arange(m)])
    order = np.argsort(line, kind="stable")
    xy, line = np.concatenate([starts, inner, ends])[order], line[order]
    first = np.searchsorted(line, np.arange(m))
    step = np.hypot(*np.diff(xy, axis=0, prepend=xy[:1]).T)
    step[first] = 0.0
    so_far = np.cumsum(step)
    so_far -= so_far[first][line]
    whole = so_far[np.searchsorted(line, np.arange(m), side="right") - 1][line] if m else so_far
    last = np.r_[line[1:] != line[:-1], True] if len(line) else np.empty(0, bool)
    along = np.divide(so_far, whole, out=np.zeros_like(so_far), where=whole > 0)
    return xy, line, np.where(last, 1.0, np.minimum(along, 1.0))


def between(
    xy: Floats, line: Ints, along: Floats, first: Floats, last: Floats
) -> tuple[Floats, Ints]:
    """Points and lines of `polylines`, cut to the part between two relative positions of each."""
    every = np.arange(len(first))
    inner = (along > first[line]) & (along < last[line])
    ends = (_at(xy, line, along, share) for share in (first, last))
    places = [next(ends), xy[inner], next(ends)]
    of = np.concatenate([every, line[inner], every])
    order = np.argsort(of, kind="stable")
    return np.concatenate(places)[order], of[order]


def _at(xy: Floats, line: Ints, along: Floats, share: Floats) -> Floats:
    """The point at a relative position of each line."""
    m = len(share)
    if not m:
        return np.empty((0, 2))
    after = np.searchsorted(line + along / 2, np.arange(m) + share / 2)  # along is at most 1
    after = np.maximum(after, np.searchsorted(line, np.arange(m)) + 1)
    low, high = along[after - 1], along[after]
    part = np.divide(share - low, high - low, out=np.zeros(m), where=high > low)
    return xy[after - 1] + part[:, None] * (xy[after] - xy[after - 1])
