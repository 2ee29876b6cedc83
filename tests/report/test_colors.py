"""Colors of territories are told apart in every kind of color vision."""

import re

import numpy as np

from metricdp.report.assets import asset
from metricdp.report.colors import PALETTE, _linear, _perceived, assign_colors, ink_on, seen_apart

BEFORE = (
    *("#2f6db5", "#e07b28", "#3a9a52", "#c63d3d", "#7d57b0", "#1f9fa8", "#d264a3", "#8f6142"),
    *("#a39a1f", "#4d5fd3", "#7cae35", "#9c2f66", "#d9a41a", "#62a3dc", "#e2877c", "#2f6f62"),
    *("#b58ad6", "#5d6b2b", "#a8562a", "#5bb894"),
)
"""A palette that was chosen for those who see all colors: two of them are one in deuteranopia."""


def least(colors):
    apart = seen_apart(colors)
    return float(apart[~np.eye(len(apart), dtype=bool)].min())


def test_any_two_colors_are_told_apart_without_any_kind_of_cone():
    assert least(BEFORE) < 0.004
    assert least(PALETTE) > 0.08
    assert least(PALETTE[:5]) > 0.15


def test_colors_that_nobody_sees_apart_are_at_distance_zero_and_seeing_all_is_the_farthest():
    apart = seen_apart(PALETTE)
    lab = _perceived(_linear(PALETTE))
    full = np.linalg.norm(lab[:, None] - lab[None], axis=2)
    assert (apart <= full + 1e-12).all() and (np.diag(apart) == 0).all()
    np.testing.assert_array_equal(apart, apart.T)


def test_neighbors_are_far_apart_even_beyond_twenty():
    side = 7
    at = np.arange(side * side).reshape(side, side)
    pairs = np.vstack(
        [np.c_[at[:, :-1].ravel(), at[:, 1:].ravel()], np.c_[at[:-1].ravel(), at[1:].ravel()]]
    )
    color = assign_colors(side * side, pairs)
    assert seen_apart(PALETTE)[color[pairs[:, 0]], color[pairs[:, 1]]].min() > 0.12


def test_numbers_are_read_on_every_color_and_colors_on_both_grounds():
    def luminance(color):
        rgb = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    def contrast(one, other):
        a, b = sorted((luminance(one), luminance(other)))
        return (b + 0.05) / (a + 0.05)

    for color in PALETTE:
        assert contrast(color, ink_on(color)) >= 4.5, color
    grounds = re.findall(r"--ground: (#\w{6});", asset("common.css"))
    lightness = _perceived(_linear(grounds))[:, 0]
    assert len(grounds) == 2
    assert (np.abs(_perceived(_linear(PALETTE))[:, :1] - lightness[None, :]) > 0.12).all()
