"""Colors for territories: a fixed palette, given out so that neighboring territories look
different.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

PALETTE = (
    "#2f6db5",
    "#e07b28",
    "#3a9a52",
    "#c63d3d",
    "#7d57b0",
    "#1f9fa8",
    "#d264a3",
    "#8f6142",
    "#a39a1f",
    "#4d5fd3",
    "#7cae35",
    "#9c2f66",
    "#d9a41a",
    "#62a3dc",
    "#e2877c",
    "#2f6f62",
    "#b58ad6",
    "#5d6b2b",
    "#a8562a",
    "#5bb894",
)

_CLEAR = 0.14  # OKLab distance beyond which two colors are told apart at a glance

_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def oklab(colors: Iterable[str]) -> NDArray[np.float64]:
    """Return perceptual OKLab coordinates, shape (n_colors, 3), of "#rrggbb" colors.

    References
    ----------
    Ottosson, B. (2020). A perceptual color space for image processing.
    """
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colors]).reshape(
        -1, 3
    )
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.cbrt(linear @ _TO_LMS.T) @ _TO_LAB.T)


def assign_colors(k: int, neighbors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each of `k` territories a color of `PALETTE`.

    Parameters
    ----------
    k : int
        Number of territories.
    neighbors : ndarray of int64, shape (n_pairs, 2)
        Pairs of territories that touch or lie near each other.

    Returns
    -------
    ndarray of int64, shape (k,)
        Indices into `PALETTE`. Up to ``len(PALETTE)`` territories all differ; beyond that colors
        repeat, between neighbors only when a territory has neighbors of every color.

    Notes
    -----
    Greedy, most neighbors first: the color farthest (in OKLab) from those of the neighbors, the
    least used among equally far ones. O(n_pairs + k · len(PALETTE)²) time.

    Examples
    --------
    >>> import numpy as np
    >>> len(set(assign_colors(3, np.array([[0, 1], [1, 2]])).tolist()))
    3
    """
    near: list[set[int]] = [set() for _ in range(k)]
    for a, b in np.asarray(neighbors, dtype=np.int64).reshape(-1, 2).tolist():
        if a != b:
            near[a].add(b)
            near[b].add(a)
    lab = oklab(PALETTE)
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=2)
    chosen = np.full(k, -1, dtype=np.int64)
    used = np.zeros(len(PALETTE))
    for i in sorted(range(k), key=lambda j: (-len(near[j]), j)):
        taken = [int(chosen[j]) for j in near[i] if chosen[j] >= 0]
        contrast = (
            np.minimum(apart[taken].min(axis=0), _CLEAR) if taken else np.full(len(PALETTE), _CLEAR)
        )
        contrast = np.where(used > 0, contrast - 10.0, contrast) if k <= len(PALETTE) else contrast
        chosen[i] = np.lexsort((np.arange(len(PALETTE)), used, -np.round(contrast, 3)))[0]
        used[chosen[i]] += 1
    return chosen
