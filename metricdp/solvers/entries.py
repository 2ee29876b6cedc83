"""Costs of serving demand points, as lists by row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.arrays import Floats, Ints
from metricdp.kernels.dual_ascent import kept_entries


class Entries(NamedTuple):
    """Costs of serving demand points, listed by row.

    `start` (n_rows + 1,): where the entries of each row begin; `client`: demand points; `cost`: of
    serving them from the row, times their weight.
    """

    start: Ints
    client: NDArray[np.int32]
    cost: Floats

    @property
    def rows(self) -> int:
        """Their number."""
        return len(self.start) - 1

    @property
    def row(self) -> Ints:
        """That of every entry."""
        return np.repeat(np.arange(self.rows), np.diff(self.start))

    def among(
        self, rows: Ints, multipliers: Floats | None = None, room: Floats | None = None
    ) -> Entries:
        """Those of some rows; with `room` (n_rows,) only what costs little more."""
        if multipliers is None or room is None:
            multipliers, room = (
                np.zeros(1 + int(self.client.max(initial=0))),
                np.full(len(rows), np.inf),
            )
        most = int((self.start[rows + 1] - self.start[rows]).sum())
        found = Entries(np.empty(len(rows) + 1, np.int64), np.empty(most, np.int32), np.empty(most))
        kept_entries(*self, multipliers, rows, room, *found)
        left = found.start[-1]
        return Entries(found.start, found.client[:left].copy(), found.cost[:left].copy())
