"""Colors for territories, so that neighboring ones look different."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from metricdp.arrays import Floats, Ints

PALETTE: tuple[str, ...] = (
    "#5056db",
    "#f7b320",
    "#853905",
    "#03dec7",
    "#ba6960",
    "#9792de",
    "#b71163",
)
PALETTE += ("#7420a4", "#c49575", "#697cfe", "#6d5a95", "#ccabff", "#eb8c02", "#95d186")
PALETTE += ("#7f72c7", "#de6300", "#4eb8ae", "#965901", "#a07898", "#106150")
"""Twenty colors that are told apart in every kind of color vision: `seen_apart` of any two is at
least 0.08. Found by search (simulated annealing from random colors of OKLab lightness 0.44 to 0.81,
which show on light and on dark ground), then ordered so that the first ones lie farthest apart.
"""

HEAT = ("#9fa9b5", "#bfae62", "#d9a033", "#df7f2b", "#d5573a", "#b83059", "#98279a")
"""From what is not told from nothing to the highest densities, on light and on dark ground."""


def ramp(n: int) -> list[str]:
    """n colors from the strongest of `HEAT` down, then its gray: n >= 2."""
    seen = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in HEAT[:0:-1]])
    at = np.linspace(0, len(seen) - 1, n - 1)
    mixed = np.stack([np.interp(at, np.arange(len(seen)), axis) for axis in seen.T], axis=1)
    return ["#{:02x}{:02x}{:02x}".format(*row) for row in mixed.round().astype(int)] + [HEAT[0]]


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


_VISIONS = (
    np.eye(3),
    np.array(  # deuteranopia
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    np.array(  # protanopia
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    np.array(  # tritanopia
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
)
"""Linear RGB as it is seen with all cones, and without one kind: Machado et al., severity 1."""


def _linear(colors: Iterable[str]) -> Floats:
    """Linear RGB in [0, 1], shape (n_colors, 3), of "#rrggbb" colors."""
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colors])
    rgb = rgb.reshape(-1, 3)
    return np.asarray(np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4))


def _perceived(linear: Floats) -> Floats:
    """Perceptual OKLab coordinates, shape (n_colors, 3) (Ottosson 2020)."""
    return np.asarray(np.cbrt(linear @ _TO_LMS.T) @ _TO_LAB.T)


def seen_apart(colors: Iterable[str]) -> Floats:
    """How far apart each two colors are for those who tell them apart worst: the least OKLab
    distance with all cones and in simulated color blindness (Machado, Oliveira & Fernandes, IEEE
    TVCG 15(6), 2009).
    """
    linear = _linear(colors)
    seen = [_perceived(np.clip(linear @ vision.T, 0, 1)) for vision in _VISIONS]
    apart = [np.linalg.norm(lab[:, None] - lab[None], axis=2) for lab in seen]
    return np.asarray(np.minimum.reduce(apart))


def ink_on(color: str) -> str:
    """Black or white, whichever is read better on a color: at least 4.5 to 1 (WCAG 2, 1.4.3)."""
    luminance = float(_linear([color])[0] @ [0.2126, 0.7152, 0.0722])
    return "#000000" if luminance > 0.179 else "#ffffff"  # where both contrasts are equal


def assign_colors(k: int, neighbors: Ints) -> Ints:
    """Give each of `k` territories a color of `PALETTE`.

    Greedy, most neighbors first: the color farthest (`seen_apart`) from those of the neighbors,
    the least used among equally far ones. O(n_pairs + k · len(PALETTE)²) time.
    """
    near: list[set[int]] = [set() for _ in range(k)]
    for a, b in np.asarray(neighbors, dtype=np.int64).reshape(-1, 2).tolist():
        if a != b:
            near[a].add(b)
            near[b].add(a)
    apart = seen_apart(PALETTE)
    chosen = np.full(k, -1, dtype=np.int64)
    used = np.zeros(len(PALETTE))
    for i in sorted(range(k), key=lambda j: (-len(near[j]), j)):
        taken = [int(chosen[j]) for j in near[i] if chosen[j] >= 0]
        contrast = apart[taken].min(axis=0, initial=_CLEAR)
        if k <= len(PALETTE):
            contrast[used > 0] -= 10.0
        chosen[i] = np.lexsort((np.arange(len(PALETTE)), used, -np.round(contrast, 3)))[0]
        used[chosen[i]] += 1
    return chosen
