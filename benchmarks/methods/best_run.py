"""The best of several runs, chosen by a private comparison of what their centers cost (Cohen-Addad
et al., KDD 2022, footnote 9). The number of runs is public.

**Privacy.** The runs are releases, paid one by one. One `TotalsQuery` then asks how much more the
centers of each further run cost than the first's: of a record an integer for each run, at most
2**BITS in all. Taking the least is post-processing. *Composition*: sequential; the shares are exact
rationals.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.kernels.points import nearest_centers
from metricdp.methods.asking import Ask
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy.queries import TotalsQuery

CHOICE_SHARE = Fraction(1, 10)
"""Of what a pass has, for the choice among its runs; they share the rest equally."""
CLIP = 1 / 16
"""At most so much of the diameter (of its square, for k-means) counts of a record's difference."""
BITS = 20
"""Of the amounts of a record together."""

Made = TypeVar("Made")


class CostDifferences:
    """By how much a record is farther from each of some sets of centers than from the first: in
    steps of the public bound, rounded and clipped.

    `sets` (k_i, d): two at least: public, or released before; `power`: of distances.
    """

    def __init__(self, space: EuclideanSpace, sets: Sequence[Floats], power: int) -> None:
        self.universe, self.n_values = space, len(sets) - 1
        self._sets = list(sets)
        self._power = power
        self._most = 2**BITS // self.n_values
        self._step = CLIP * space.diameter_bound() ** power / self._most

    def amounts(self, records: Floats) -> Ints:
        """Steps, shape (n_records, n_values)."""
        first, *others = [self._away(records, centers) for centers in self._sets]
        steps = np.stack([np.rint((away - first) / self._step) for away in others], axis=1)
        found: Ints = np.clip(steps, -self._most, self._most).astype(np.int64)
        return found

    def _away(self, records: Floats, centers: Floats) -> Floats:
        square = nearest_centers(records, centers)[1]
        found: Floats = square if self._power == 2 else np.sqrt(square)
        return found


def shares_of_runs(share: Fraction, runs: int) -> tuple[Fraction, Fraction]:
    """Of one pass's share: that of each run, and that of the choice."""
    choice = share * CHOICE_SHARE if runs > 1 else Fraction(0)
    return (share - choice) / runs, choice


def least_of_choice(space: EuclideanSpace, share: Fraction, runs: int) -> list[Ask]:
    """What the choice among so many runs asks for, of one pass's share."""
    _, choice = shares_of_runs(share, runs)
    if not choice:
        return []
    middle = ((space.lower + space.upper) / 2)[None]
    return [Ask(TotalsQuery(CostDifferences(space, [middle, middle], 1), BITS), choice)]


def best_run(
    space: EuclideanSpace,
    share: Fraction,
    runs: int,
    run: Callable[[int, Fraction], Generator[Any, Any, tuple[Made, Floats]]],
    power: int,
) -> Generator[Any, Any, tuple[Made, Floats]]:
    """Release and centers of the best run; `share` pays for all. O(n · runs · k · d)."""
    each, choice = shares_of_runs(share, runs)
    outcomes = []
    for number in range(runs):
        outcomes.append((yield from run(number, each)))
    if runs == 1:
        return outcomes[0]
    differences = CostDifferences(space, [centers for _, centers in outcomes], power)
    reported = yield Ask(TotalsQuery(differences, BITS), choice)
    return outcomes[int(np.argmin([0, *reported.values.tolist()]))]
