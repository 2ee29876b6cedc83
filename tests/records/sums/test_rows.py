"""Rows of distances from the distinct points of some records."""

import numpy as np
import pytest
from hypothesis import strategies as st

from metricdp.metrics import PrecomputedMetric
from metricdp.records.sums.rows import rows_from
from tests import tries


@tries(50, st.lists(st.integers(0, 6), max_size=20), st.integers(0, 3), fixed=True)
def test_each_point_once_with_its_count_and_row(records, at_a_time):
    line = np.arange(7.0)
    metric = PrecomputedMetric(np.abs(line[:, None] - line))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("metricdp.arguments.ENTRIES", 7 * at_a_time)
        parts = list(rows_from(metric, np.array(records, np.int64)))
    assert all(len(points) <= max(1, at_a_time) for points, _, _ in parts)
    held = [row for rows in parts for row in zip(*rows)]
    found = {int(point): (int(count), row.tolist()) for point, count, row in held}
    steps = metric.grid_rows(np.arange(7))
    assert found == {v: (records.count(v), steps[v].tolist()) for v in set(records)}
    assert sum(len(points) for points, _, _ in parts) == len(found)
