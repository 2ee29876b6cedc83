"""Costs of near pairs as lists by row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints
from metricdp.kernels.dual_ascent import kept_entries


class Entries(NamedTuple):
    """Pairs of row and demand point with their costs, by row.

    `start` (n_rows + 1,): where the entries of each row begin; `client`: demand points; `cost`: of
    serving them from the row, times their weight.
    """

    start: Ints
    client: NDArray[np.int32]
    cost: Floats

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.start) - 1

    @property
    def row(self) -> Ints:
        """Row of each entry."""
        return np.repeat(np.arange(self.rows), np.diff(self.start))

    def among(
        self, rows: Ints, multipliers: Floats | None = None, slack: Floats | None = None
    ) -> Entries:
        """Entries of these rows, with `slack` (n_rows,) up to the multiplier plus that."""
        if multipliers is None or slack is None:
            multipliers, slack = (
                np.zeros(1 + int(self.client.max(initial=0))),
                np.full(len(rows), np.inf),
            )
        most = int((self.start[rows + 1] - self.start[rows]).sum())
        found = Entries(np.empty(len(rows) + 1, np.int64), np.empty(most, np.int32), np.empty(most))
        kept_entries(*self, multipliers, rows, slack, *found)
        n_kept = found.start[-1]
        return Entries(found.start, found.client[:n_kept].copy(), found.cost[:n_kept].copy())
