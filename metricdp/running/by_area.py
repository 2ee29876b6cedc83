"""Private evaluation by public area: number of records, mean distance, cost relative to others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from metricdp.partitions.labeling import AreaDistances
from metricdp.partitions.service import BITS
from metricdp.solvers.estimate.intervals import Floats, Interval, Noisy

MOST = 1e6
"""An interval of a ratio that reaches it is reported as unbounded above."""


@dataclass(frozen=True)
class ByArea:
    """Figures of each area, each with a 95 % interval.

    Attributes
    ----------
    names : tuple of str, length n
    records : Interval of arrays, shape (n,)
    mean : Interval of arrays, shape (n,)
        Mean distance of the area's records to their nearest center; distances are not clipped.
    relative : Interval of arrays, shape (n,), or None
        The area's cost divided by its cost with the centers of `against`. If no bound can be
        reported, the estimate is NaN and the upper end infinite.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> by = ["west"] * 5 + ["east"] * 4
    >>> report = mdp.evaluate(metric, demand, [1], epsilon=4, by=by)
    >>> report.areas.names, report.areas.worst, report.areas.mean.estimate.round().tolist()
    (('east', 'west'), 'east', [6.0, 0.0])
    """

    names: tuple[str, ...]
    records: Interval
    mean: Interval
    relative: Interval | None

    @classmethod
    def read(
        cls, answers: Noisy, where: Sequence[slice], amounts: Sequence[AreaDistances]
    ) -> ByArea:
        """From noisy sums of each area, for the centers and, if asked, those of `against`.

        Parameters
        ----------
        answers : Noisy
        where : sequence of slice
            The slice of the sums among the answers, for each set of centers.
        amounts : sequence of AreaDistances
        """
        names, reach = amounts[0].names, amounts[0].reach
        counts, means, ratios = [], [], []
        for i in range(len(names)):
            everyone, far = _vectors(answers, where[0], reach, i)
            counts.append(answers.number(everyone).ends)
            most = float(reach[i])
            mean = answers.ratio(far, everyone, (0.0, most))
            rounded = most / 2**BITS  # far parts are rounded down by less than one
            means.append((mean.estimate, mean.low, min(mean.high + rounded, most)))
            for place, other in zip(where[1:], amounts[1:]):
                ratio = answers.ratio(far, _vectors(answers, place, other.reach, i)[1], (0.0, MOST))
                known = ratio.high < MOST
                ratios.append(ratio.ends if known else (np.nan, ratio.low, np.inf))
        relative = Interval(*np.array(ratios).T) if ratios else None
        return cls(names, Interval(*np.array(counts).T), Interval(*np.array(means).T), relative)

    @property
    def worst(self) -> str | None:
        """The area with the largest estimated mean distance or, with `against`, relative cost,
        among those whose number of records is significantly positive; None if there are none.
        """
        figure = self.mean if self.relative is None else self.relative
        known = np.where(self.records.low > 0, figure.estimate, np.nan)
        return None if np.isnan(known).all() else self.names[int(np.nanargmax(known))]

    def to_columns(self) -> dict[str, list[Any]]:
        """One row for each area: its name, and each figure with the ends of its interval."""
        columns: dict[str, list[Any]] = {"area": list(self.names)}
        for name in ("records", "mean", "relative"):
            figure = getattr(self, name)
            if figure is not None:
                keys = (name, f"{name}_low", f"{name}_high")
                columns |= {key: end.tolist() for key, end in zip(keys, figure.ends)}
        return columns

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: `worst` and an entry for each area, with null for unknown figures."""
        columns = self.to_columns()
        ends = {"estimate": "", "low": "_low", "high": "_high"}
        entries = []
        for i, name in enumerate(self.names):
            entry: dict[str, Any] = {"area": name}
            for figure in ("records", "mean", "relative"):
                if figure in columns:
                    values = {end: columns[figure + tail][i] for end, tail in ends.items()}
                    entry[figure] = {end: v if isfinite(v) else None for end, v in values.items()}
            entries.append(entry)
        return {"worst": self.worst, "areas": entries}


def _vectors(answers: Noisy, where: slice, reach: Floats, i: int) -> tuple[Floats, Floats]:
    """Coefficients of the i-th area's number of records, and of its sum of distances."""
    everyone, far = np.zeros((2, len(answers.values)))
    everyone[where.start + 2 * i : where.start + 2 * i + 2] = 1.0
    far[where.start + 2 * i + 1] = reach[i]
    return everyone, far
