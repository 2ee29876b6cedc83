"""Distances read off noisy counts of shells."""

import numpy as np
import pytest

from metricdp.methods.box.descent import N_SHELLS_TOGETHER as N_SHELLS
from metricdp.methods.box.descent import RATIO_TOGETHER as RATIO
from metricdp.methods.box.descent import DistancesTogether


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
