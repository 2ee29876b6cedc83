"""One private step, and how much of it is kept after shrinkage."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.box.descent import Step, descended, shrinkage
from metricdp.partitions.box.cells import WholeBox
from metricdp.releases import Mechanism, Receipt, Release


def test_shrinkage():
    assert shrinkage(2.0, 1.0) == 0.75 and shrinkage(1.0, 2.0) == 0 and shrinkage(0.0, 0.0) <= 1


def test_centers_that_do_not_move_in_a_wide_box_divide_by_nothing():
    wide = mdp.EuclideanSpace([0] * 2, [1e11] * 2)
    centers, one = np.array([[5e10, 5e10]]), np.ones(1)
    step = Step(radii=one, weight=0 * one, margin=1.0, farthest=1e11 * one)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        moving = descended(WholeBox(wide), centers, step, Fraction(1))
        noise = Mechanism("discrete Laplace", "sums", 1, 1.0, Fraction(1))
        receipt = Receipt.of([noise], "add-remove", "record")
        with pytest.raises(StopIteration) as end:
            moving.send(Release(np.array([7, -3]), next(moving).query, receipt))
    assert (end.value.value == centers).all()
