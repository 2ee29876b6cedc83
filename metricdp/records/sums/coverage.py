"""Coverage counts: how many records each set of a public set system contains.

All buffers live for one call: after a bounded search they hold the neighborhood of its source,
which may be a record's point.
"""

from __future__ import annotations

import numpy as np

from metricdp.arguments import Ints
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.protocols import SetSystem, is_trusted


def bounded(counts: Ints) -> Ints:
    """A copy of counts, each clipped to `CAP` divided by their number, so that sums stay within
    `CAP` and can be subtracted exactly. One more record still raises its count by 0 or 1.
    """
    return np.minimum(counts, CAP // max(1, len(counts)))


def add_sums(sets: SetSystem, total: Ints, elements: Ints, amounts: Ints) -> None:
    """Add ``amounts[i]`` to ``total[s]`` for every set s that contains ``elements[i]``.

    Complexity, for each element: listed sets, the number of sets that contain it; balls, one
    bounded search or one row of distances.
    """
    if not is_trusted(sets):
        raise InputError("sums over sets need ListedSets or Balls")
    sets.add(total, elements, amounts)
