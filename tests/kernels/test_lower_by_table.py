"""Amounts by distance, against a loop over all who are counted."""

import numpy as np

from metricdp.kernels.reach import lower_by_table


def test_entries_are_those_of_the_distance_below():
    rng = np.random.default_rng(0)
    for _ in range(20):
        away = rng.random(30) * 10
        places = rng.permutation(30)[:20].astype(np.int32)
        which = np.arange(0, 20, 2)
        table = np.sort(rng.random(rng.integers(2, 9)))[::-1].copy()
        low, step = rng.random() * 4, 0.1 + rng.random()
        amounts = rng.random(20)
        expected = amounts.copy()
        for i in which:
            c = int(np.clip(np.floor((away[places[i]] - low) / step), 0, len(table) - 1))
            expected[i] = min(expected[i], table[c])
        lower_by_table(places, which, away, low, step, table, amounts)
        assert (amounts == expected).all()
