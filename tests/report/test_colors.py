"""Colors of territories are distinguished in every kind of color vision."""

import re

import numpy as np
from scipy.spatial.distance import pdist

from metricdp.report.assets import asset
from metricdp.report.colors import PALETTE, assign_colors, ink_on
from tests import beside, grid_metric

VISION = beside(__file__, "vision.toml")


def linear(colors):
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colors])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def perceived(rgb):
    return np.cbrt(rgb @ np.transpose(VISION["to_lms"])) @ np.transpose(VISION["to_lab"])


def least(colors):
    """The least distance of two colors, in any kind of vision."""
    rgb, kinds = linear(colors), VISION["without_a_cone"]
    seen = [rgb, *(np.clip(rgb @ np.transpose(kind), 0, 1) for kind in kinds)]
    return min(pdist(perceived(each)).min() for each in seen)


def test_any_two_colors_are_distinguished_without_any_kind_of_cone():
    assert least(("#2f6db5", "#7d57b0")) < 0.05  # blue and violet
    assert least(PALETTE) > 0.08 and least(PALETTE[:6]) > 0.15


def test_neighbors_are_far_apart_even_beyond_twenty():
    pairs = grid_metric(7, 7).graph.pairs()
    color = assign_colors(49, pairs)
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
