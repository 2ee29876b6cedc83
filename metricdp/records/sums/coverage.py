"""Sums of amounts over public sets: how many records each set holds.

All buffers live for one call: a bounded search leaves the neighborhood of its last source in them,
and that source may be where a record is.
"""

from __future__ import annotations

import numpy as np

from metricdp.arrays import Ints
from metricdp.kernels.scores import CAP
from metricdp.protocols import SetSystem, is_trusted
from metricdp.refusals import InputError


def bounded(counts: Ints) -> Ints:
    """A copy of counts, each at most `CAP` divided by their number, so that sums never pass `CAP`
    and can be taken back exactly. A record more still raises its count by 0 or 1.
    """
    return np.minimum(counts, CAP // max(1, len(counts)))


def add_sums(sets: SetSystem, total: Ints, elements: Ints, amounts: Ints) -> None:
    """Add ``amounts[i]`` to ``total[s]`` for every set s that holds ``elements[i]``.

    Listed sets: the number of sets of each element. Balls: one bounded search, or row of distances,
    an element.
    """
    if not is_trusted(sets):
        raise InputError("sums over sets need ListedSets or Balls")
    sets.add(total, elements, amounts)
