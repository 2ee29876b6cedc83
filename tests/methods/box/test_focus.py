"""Where in a box the records are surveyed to be."""

import numpy as np

from metricdp.methods.box.focus import apart


def test_blocks_that_meet_are_one():
    def block(low, high, mass):
        return np.array(low), np.array(high), mass

    blocks = [
        block([0, 0], [2, 2], 1.0),
        block([5, 5], [6, 6], 2.0),
        block([2, 0], [3, 2], 4.0),
        block([1, 1], [6, 3], 8.0),
    ]
    found = sorted((low.tolist(), high.tolist(), mass) for low, high, mass in apart(blocks))
    assert found == [([0, 0], [6, 3], 13.0), ([5, 5], [6, 6], 2.0)]
