"""How many rounds of adaptive refinement the default method makes, and how fine they are: decided
from public facts and a noisy count.

- Few records per unit of noise: one round on coarse parts.
- Enough records: three rounds. A coarse one finds the regions, a second the places in them, a last
  one single points. A part with few expected records is not split, unless they would be visible on
  one point.
- Where balls grow faster than in the plane (social networks): the last round, with the largest
  share, splits every part.

``benchmarks/adaptive.md`` says where the constants were measured.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

PARTS_FACTOR = 0.6
PARTS_POWER = 0.8
FEWEST_PARTS = 16
MOST_PARTS = 1 << 15
"""Of a look; at most so many, as the estimator's time and memory grow with them: beyond, there are
so many records for the noise that nothing is left to gain.
"""
ENOUGH = 150.0
ENOUGH_FOR_FAST = 600.0
"""Records per unit of noise, if all of epsilon went into one look, from which on there are three
looks, and from which on their plan may be that of fast growth.
"""
SHOWS = 3.0
"""What stands on one of s points shows if it is more than ln s + `SHOWS` units of the noise that
each of the points would get.
"""
FAST_GROWTH = 3.0
"""Dimension (`metricdp.partitions.finite.ward.Hierarchy.growth`) beyond which balls grow fast."""


class Look(NamedTuple):
    """One look at where the demand is.

    `share`: of epsilon; `finer`: by what factor it has more parts than one look would; `least`:
    records that must be expected in a part that it splits, in units of its own noise; `points`:
    whether it goes down to the points of parts where what stands on one of them would show.
    """

    share: Fraction
    finer: float
    least: float = 0.0
    points: bool = False


ONE = (Look(Fraction(1), 1.0),)
THREE = (
    Look(Fraction(1, 5), 1.0),
    Look(Fraction(2, 5), 4.0, 2.0),
    Look(Fraction(2, 5), 16.0, 3.0, points=True),
)
FAST = (Look(Fraction(1, 5), 1.0), Look(Fraction(3, 10), 4.0), Look(Fraction(1, 2), 16.0))
"""Looks from coarse to fine; shares add up to 1."""


def planned(records: float, scale: float, growth: float) -> tuple[Look, ...]:
    """The rounds for so many records, a noisy count or a guess; `scale` is that of one histogram
    paid with all that is left, `growth` the hierarchy's. Public inputs only.
    """
    enough = records / scale
    if enough < ENOUGH:
        return ONE
    return FAST if growth > FAST_GROWTH and enough >= ENOUGH_FOR_FAST else THREE


def number_of_parts(records: float, scale: float, finer: float = 1.0) -> int:
    """M = 0.6 · (records / scale)^0.8, at least 16, times `finer`, at most 32,768: finer parts
    where there are many records per unit of noise.

    Public inputs only: `records` is a noisy count or a guess, `scale` the histogram's noise scale.
    The balance is that of Qardaji, Yang & Li (ICDE 2013) between noise and non-uniformity; the
    constants were measured (``benchmarks/partition_method.md``).
    """
    one = max(FEWEST_PARTS, round(PARTS_FACTOR * max(records / scale, 0.0) ** PARTS_POWER))
    found: int = min(round(finer * one), MOST_PARTS)
    return found
