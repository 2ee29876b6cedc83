"""The plan of the default method's rounds of adaptive refinement: how many there are, and how fine,
by public facts and a noisy count.

- Few records per unit of noise: one round on coarse parts. Where balls grow as in a plane (roads),
  finer parts reduce the cost more: there are more parts, and with more records two rounds. There
  the estimate starts from the typical distribution of how demand splits between halves.
- Enough records: three rounds. The first finds regions, the second places in them, the last single
  points. A part with few expected records is not split, unless they would be visible on one point.
- Where balls grow faster than in the plane (social networks): the last round, with the largest
  share, splits every part.
- The second of three rounds is the last if the first found demand even: if splitting its parts
  further would mostly add noise. In a plane, unless there are many records, this also needs that
  demand is on one side of splits no more often than is typical: that it is in neighborhoods, not on
  single points.

``benchmarks/adaptive.md`` and ``benchmarks/partition_method.md`` say where the constants were
measured.
"""

from fractions import Fraction
from typing import NamedTuple

PARTS_FACTOR = 0.6
PARTS_POWER = 0.8
FINER_FROM = 50.0
"""M = 0.6 · x^0.8 parts for x records per unit of noise; for few records in a plane, whose only
round this is, x / `FINER_FROM` times as many. Below `FINER_FROM` finer parts add more noise than
they gain (benchmarks/adaptive.md).
"""
FEWEST_PARTS = 16
MOST_PARTS = 1 << 15
"""Most parts of a round: more do not improve accuracy."""
ENOUGH = 150.0
ENOUGH_FOR_FAST = 600.0
"""Records per unit of noise from which there are three rounds, or the plan of fast growth."""
ENOUGH_FOR_TWO = 120.0
ENOUGH_FOR_POINTS = 300.0
ENOUGH_IN_PLANE = 1000.0
"""The same where balls grow as in a plane: from which there are two rounds (with more, demand in
few places is missed; with fewer, even demand costs more); a third, if demand may be on single
points; and the plan of other universes, with splits learned from counts alone.
"""
VISIBLE = 3.0
"""Demand at one of s points is visible above ln s + `VISIBLE` units of its noise."""
FAST_GROWTH = 3.0
"""Dimension (`metricdp.partitions.finite.ward.Hierarchy.growth`) beyond which balls grow fast."""

FEW_PIECES = 6.0
SIGNAL = 2.0
"""The second of three rounds is the last if it splits an average record's part of the first into at
most `FEW_PIECES`. It splits parts where the expected number of records that deviate from an even
split exceeds `SIGNAL` units of noise.
"""
DEVIATION = 0.4
"""Mean absolute deviation of a fair coin's count of m tosses, over √m."""


class Round(NamedTuple):
    """One round: its `share` of epsilon, the factor of its number of parts (`finer`), the `least`
    expected records, in units of noise, of a part that it splits, and whether visible single
    `points` are split off.
    """

    share: Fraction
    finer: float
    least: float = 0.0
    points: bool = False


ONE = (Round(Fraction(1), 1.0),)
TWO = (Round(Fraction(1, 3), 2.0), Round(Fraction(2, 3), 3.0, 1.0))
POINTS = (
    Round(Fraction(1, 4), 2.0),
    Round(Fraction(3, 8), 4.0, 2.0),
    Round(Fraction(3, 8), 16.0, 3.0, points=True),
)
THREE = (
    Round(Fraction(1, 5), 1.0),
    Round(Fraction(2, 5), 4.0, 2.0),
    Round(Fraction(2, 5), 16.0, 3.0, points=True),
)
FAST = (Round(Fraction(1, 5), 1.0), Round(Fraction(3, 10), 4.0), Round(Fraction(1, 2), 16.0))
"""Rounds from coarse to fine; shares add up to 1."""


def few_in_plane(records: float, scale: float, growth: float) -> bool:
    """Whether records are few, in a universe that grows like a plane; arguments as `planned`."""
    return growth <= FAST_GROWTH and records < ENOUGH_IN_PLANE * scale


def planned(records: float, scale: float, growth: float) -> tuple[Round, ...]:
    """The rounds for so many records; `scale`: of a histogram's noise; `growth`: the dimension of
    the hierarchy.
    """
    enough = records / scale
    if few_in_plane(records, scale, growth):
        one = Round(Fraction(1), max(enough / FINER_FROM, 1.0))
        if enough >= ENOUGH_FOR_POINTS:
            return POINTS
        return TWO if enough >= ENOUGH_FOR_TWO else (one,)
    if enough < ENOUGH:
        return ONE
    return FAST if growth > FAST_GROWTH and enough >= ENOUGH_FOR_FAST else THREE


def last_round(share: Fraction, uneven: float, scale: float) -> Round:
    """A round that splits parts where the signal is expected to exceed the noise.

    Of m records in a part, uneven · m + .4 · √m deviate from the split by size, on average: the
    first as learned (`Estimate.uneven`), the second by chance.
    """
    noise = SIGNAL * scale
    root = 2 * noise / (DEVIATION + (DEVIATION**2 + 4 * uneven * noise) ** 0.5)
    return Round(share, 2.0, root**2 / scale)


def is_last(pieces: float) -> bool:
    """Whether that round is the last, if it splits an average record's part into so many pieces."""
    return pieces <= FEW_PIECES


def number_of_parts(records: float, scale: float, finer: float = 1.0) -> int:
    """M = 0.6 · (records / scale)^0.8, at least 16, times `finer`, at most 32,768. Public inputs
    only. After Qardaji, Yang & Li (ICDE 2013); constants from ``benchmarks/partition_method.md``.
    """
    one = max(FEWEST_PARTS, round(PARTS_FACTOR * max(records / scale, 0.0) ** PARTS_POWER))
    found: int = min(round(finer * one), MOST_PARTS)
    return found
