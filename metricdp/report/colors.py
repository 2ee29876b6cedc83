"""Palettes, and colors for territories such that neighboring ones differ."""

import numpy as np

from metricdp.arguments import Ints

PALETTE: tuple[str, ...] = ("#5056db", "#f7b320", "#853905", "#03dec7", "#ba6960", "#9792de")
PALETTE += ("#b71163", "#7420a4", "#c49575", "#697cfe", "#6d5a95", "#ccabff", "#eb8c02")
PALETTE += ("#95d186", "#7f72c7", "#de6300", "#4eb8ae", "#965901", "#a07898", "#106150")
"""Twenty colors that are distinguishable in every kind of color vision: of any two, the OKLab
distance is at least 0.08 with all cones and without any kind of them (Machado, Oliveira &
Fernandes, IEEE TVCG 15(6), 2009), of the first six at least 0.15. Found by simulated annealing from
random colors of OKLab lightness 0.44 to 0.81, visible on light and on dark backgrounds.
"""

HEAT = ("#9fa9b5", "#bfae62", "#d9a033", "#df7f2b", "#d5573a", "#b83059", "#98279a")
"""Colors of densities, from not significant (gray) to the highest, for light and dark
backgrounds.
"""


def ramp(n: int) -> list[str]:
    """n >= 2 colors, interpolated from the strongest of `HEAT` down, the last its gray."""
    seen = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in HEAT[:0:-1]])
    at = np.linspace(0, len(seen) - 1, n - 1)
    mixed = np.stack([np.interp(at, np.arange(len(seen)), axis) for axis in seen.T], axis=1)
    return ["#{:02x}{:02x}{:02x}".format(*row) for row in mixed.round().astype(int)] + [HEAT[0]]


def ink_on(color: str) -> str:
    """Black or white, whichever has more contrast on a color: at least 4.5:1 (WCAG 2, 1.4.3)."""
    rgb = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return "#000000" if luminance > 0.179 else "#ffffff"  # where both contrasts are equal


def assign_colors(k: int, neighbors: Ints) -> Ints:
    """A color index of `PALETTE` for each of `k` territories: all distinct if there are enough
    colors, else by greedy coloring of the adjacency graph `neighbors` (m, 2).
    """
    if k <= len(PALETTE):
        return np.arange(k)
    import networkx

    graph = networkx.Graph(neighbors[neighbors[:, 0] != neighbors[:, 1]].tolist())
    color = networkx.greedy_color(graph)
    return np.array([color.get(i, 0) for i in range(k)]) % len(PALETTE)
