"""Nearest centers, linear maps, clipping to a box and clipped sums in R^d: record by record, in
fixed order.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

BLOCK = 128
"""Points that vector instructions process together."""
FAR = 1e30
"""Squared distance from which on single precision is not used."""


def nearest_centers(
    points: NDArray[np.float64], centers: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Nearest center of every point, the first among equals, and the squared distance to it. O(n ·
    k · d).

    The answer is that of double precision. With y and b a point and a center from the centers'
    mean, ``|b| <= 1``, and u = 2^-24, ``|b|²/2 - y·b`` in single precision errs by less than ``(2d
    + 16)·u·(1 + |y|)``, sums in double precision by less than ``(d + 4)·2^-52·(1 + |y|)²``. Where
    the two least values differ by twice both errors, the least is nearest; else all are compared in
    double precision.
    """
    points = np.ascontiguousarray(points).view()
    points.setflags(write=False)  # compiled once, for arrays of either kind
    return _nearest_centers(points, centers)


@njit(cache=True, nogil=True)
def _nearest_centers(points: NDArray[np.float64], centers: NDArray[np.float64]) -> tuple:
    n, d = points.shape
    k = len(centers)
    origin, scale = _frame(centers)
    unit = (2 * d + 16) * 2.0**-24
    rounding = (d + 4) * 2.0**-52
    small = np.empty((k, d), np.float32)
    half = np.empty(k, np.float32)
    for j in range(k):
        total = 0.0
        for x in range(d):
            place = (centers[j, x] - origin[x]) * scale
            small[j, x] = place
            total += place * place
        half[j] = total / 2
    places = np.zeros((d, BLOCK), np.float32)
    length = np.zeros(BLOCK)
    near = np.zeros(BLOCK, np.int32)
    best = np.empty(BLOCK, np.float32)
    second = np.empty(BLOCK, np.float32)
    label = np.zeros(n, np.int64)
    square = np.empty(n, np.float64)
    # Per block: single precision for all, double precision where the two least are too close.
    for start in range(0, n, BLOCK):
        here = min(BLOCK, n - start)
        for p in range(here):
            total = 0.0
            for x in range(d):
                place = (points[start + p, x] - origin[x]) * scale
                places[x, p] = place
                total += place * place
            length[p] = total
        _two_least(places, small, half, near, best, second)
        for p in range(here):
            away = 1 + np.sqrt(length[p])
            at = np.int64(0)
            least = np.inf
            if (
                length[p] < FAR
                and np.float64(second[p]) - best[p] > 2 * (unit + rounding * away) * away
            ):
                at = np.int64(near[p])
                least = _square(points, start + p, centers, at)
            if not least < np.inf:
                at = np.int64(0)
                for j in range(k):
                    total = _square(points, start + p, centers, j)
                    if total < least:
                        at = np.int64(j)
                        least = total
            label[start + p] = at
            square[start + p] = least
    return label, square


@njit(cache=True, nogil=True)
def _frame(centers: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Mean of the centers, and one over the largest distance to it (infinity or 0 at limits)."""
    k, d = centers.shape
    origin, far = np.zeros(d), 0.0  # loops compile in a third of the time of expressions
    for j in range(k):
        for x in range(d):
            origin[x] += centers[j, x] / k
    for j in range(k):
        total = 0.0
        for x in range(d):
            total += (centers[j, x] - origin[x]) ** 2
        far = max(far, total)
    return origin, 1 / np.sqrt(far) if far > 0 else np.inf


@njit(cache=True, nogil=True)
def _square(points: NDArray[np.float64], i: int, centers: NDArray[np.float64], j: int) -> float:
    """Squared distance of one pair, coordinates in order."""
    total = 0.0
    for x in range(points.shape[1]):
        away = points[i, x] - centers[j, x]
        total += away * away
    return total


@njit(cache=True, nogil=True, fastmath={"contract"})
def _two_least(
    places: NDArray[np.float32],
    centers: NDArray[np.float32],
    half: NDArray[np.float32],
    near: NDArray[np.int32],
    best: NDArray[np.float32],
    second: NDArray[np.float32],
) -> None:
    """The two least of ``half[j] - column · centers[j]`` of each column; where the first is."""
    k, d = centers.shape
    value = np.empty(BLOCK, np.float32)
    best[:], second[:], near[:] = np.float32(FAR), np.float32(FAR), 0
    for j in range(k):
        for p in range(BLOCK):
            value[p] = half[j]
        for x in range(d):
            place = centers[j, x]
            for p in range(BLOCK):
                value[p] -= place * places[x, p]
        for p in range(BLOCK):
            least = best[p]
            now = value[p]
            more = least if now < least else now
            second[p] = more if more < second[p] else second[p]
            near[p] = np.int32(j) if now < least else near[p]
            best[p] = now if now < least else least


@njit(cache=True, nogil=True)
def relative_sums(
    records: NDArray[np.float64],
    parts: NDArray[np.int64],
    centers: NDArray[np.float64],
    steps: NDArray[np.float64],
    bound: int,
) -> NDArray[np.int64]:
    """Sum of the records of each part, relative to the part's center and in its steps, each clipped
    to an integer vector of length at most `bound` <= 2^20.

    A longer record is scaled to that length; coordinates are rounded towards zero. A vector that is
    still too long counts as 0.
    """
    n, d = records.shape
    sums = np.zeros((len(centers), d), np.int64)
    vector = np.empty(d, np.float64)
    whole = np.empty(d, np.int64)
    for i in range(n):
        part = parts[i]
        square = 0.0
        for x in range(d):
            vector[x] = (records[i, x] - centers[part, x]) / steps[part]
            square += vector[x] * vector[x]
        length = np.sqrt(square)
        shrink = bound / length if length > bound else 1.0
        total = 0
        for x in range(d):
            whole[x] = int(vector[x] * shrink)
            total += whole[x] * whole[x]
        if total <= bound * bound:
            for x in range(d):
                sums[part, x] += whole[x]
    return sums


@njit(cache=True, nogil=True)
def projected(
    points: NDArray[np.float64], origin: NDArray[np.float64], rows: NDArray[np.float64]
) -> NDArray[np.float64]:
    """``rows @ (x - origin)`` (n, m) in a fixed order: the same bits beside any points."""
    n, d = points.shape
    m = len(rows)
    columns = np.ascontiguousarray(rows.T)
    found = np.zeros((n, m), np.float64)
    for i in range(n):
        for x in range(d):
            away = points[i, x] - origin[x]
            column = columns[x]
            for j in range(m):
                found[i, j] += away * column[j]
    return found


@njit(cache=True, nogil=True)
def squares_from(
    points: NDArray[np.float64], label: NDArray[np.int64], centers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Squared distance of every point to the center of its label, shape (n,). O(n · d)."""
    found = np.empty(len(points), np.float64)
    for i in range(len(points)):
        total = 0.0
        for x in range(points.shape[1]):
            away = points[i, x] - centers[label[i], x]
            total += away * away
        found[i] = total
    return found


@njit(cache=True, nogil=True)
def clipped(
    points: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> tuple[NDArray[np.float64], bool]:
    """The nearest point of the box to each point (n, d), and whether all are finite."""
    n, d = points.shape
    inside = np.empty((n, d), np.float64)
    finite = True
    for i in range(n):
        for x in range(d):
            here = points[i, x]
            finite &= abs(here) < np.inf
            inside[i, x] = min(max(here, lower[x]), upper[x])
    return inside, finite
