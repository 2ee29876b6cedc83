"""One private step, how much of it is kept after shrinkage, and distances read off noisy counts of
shells.
"""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.box.descent import N_SHELLS_TOGETHER as N_SHELLS
from metricdp.methods.box.descent import RATIO_TOGETHER as RATIO
from metricdp.methods.box.descent import DistancesTogether, Step, descended, shrinkage
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


def test_distances_of_all_clusters_by_hand():
    def reported(counts, noise):
        return DistancesTogether(counts, noise, 5 * RATIO ** np.arange(N_SHELLS), 0.01)

    counts = np.zeros(N_SHELLS)
    counts[[3, 6]] = 10, 90
    assert reported(counts, 0.0).quantile(0.9) == pytest.approx(5 * RATIO**6)
    assert reported(counts, 0.0).quantile(0.91) == pytest.approx(5 * RATIO**3)
    # 10 does not stand out of such noise; then nothing does: the largest
    assert reported(counts, 4.0).quantile(0.99) == pytest.approx(5 * RATIO**6)
    assert reported(counts, 90.0).quantile(0.5) == pytest.approx(5 * RATIO**6)
    assert reported(np.zeros(N_SHELLS), 1.0).quantile(0.5) == 5
    far = np.zeros(N_SHELLS)
    far[-1] = 1.0
    assert reported(far, 0.0).clipping(0.5) == 0.01
    distance = 5 * RATIO ** np.array([3.5, 6.5])
    expected = pytest.approx((10 * min(1, 1 / distance[0]) + 90 * min(1, 1 / distance[1])) / 100)
    assert reported(counts, 0.0).clipping_factor(1.0) == expected
