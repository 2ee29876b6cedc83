"""Colors of territories are distinguished in every kind of color vision."""

import re

import numpy as np
from scipy.spatial.distance import pdist

from metricdp.report.assets import asset
from metricdp.report.colors import PALETTE, assign_colors, ink_on

TO_LMS = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
TO_LAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]
WITHOUT_A_CONE = (
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
)
"""Linear RGB as it is seen: Machado et al., severity 1."""


def linear(colors):
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colors])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def perceived(rgb):
    """OKLab (Ottosson 2020)."""
    return np.cbrt(rgb @ np.transpose(TO_LMS)) @ np.transpose(TO_LAB)


def least(colors):
    """The least distance of two colors, in any kind of vision."""
    rgb = linear(colors)
    seen = [rgb, *(np.clip(rgb @ np.transpose(vision), 0, 1) for vision in WITHOUT_A_CONE)]
    return min(pdist(perceived(each)).min() for each in seen)


def test_any_two_colors_are_distinguished_without_any_kind_of_cone():
    assert least(("#2f6db5", "#7d57b0")) < 0.05  # blue and violet
    assert least(PALETTE) > 0.08 and least(PALETTE[:6]) > 0.15


def test_neighbors_are_far_apart_even_beyond_twenty():
    side = 7
    at = np.arange(side * side).reshape(side, side)
    east, south = (at[:, :-1], at[:, 1:]), (at[:-1], at[1:])
    pairs = np.vstack([np.c_[a.ravel(), b.ravel()] for a, b in (east, south)])
    color = assign_colors(side * side, pairs)
    assert (color[pairs[:, 0]] != color[pairs[:, 1]]).all() and color.max() < 6


def test_numbers_are_read_on_every_color_and_colors_on_both_grounds():
    def contrast(one, other):
        a, b = np.sort(linear((one, other)) @ [0.2126, 0.7152, 0.0722])
        return (b + 0.05) / (a + 0.05)

    for color in PALETTE:
        assert contrast(color, ink_on(color)) >= 4.5, color
    grounds = re.findall(r"--ground: (#\w{6});", asset("common.css"))
    lightness = perceived(linear(grounds))[:, 0]
    assert len(grounds) == 2
    assert (np.abs(perceived(linear(PALETTE))[:, :1] - lightness[None, :]) > 0.12).all()
