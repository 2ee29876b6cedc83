"""How many rounds of adaptive refinement the default method makes, and how fine they are: decided
from public facts and a noisy count.

- Few records per unit of noise: one round on coarse parts. Where balls grow as in a plane (roads),
  finer parts are cheaper to serve: it has more parts, with more records there are two rounds, and
  splits of demand are held to be as usual until counts tell otherwise.
- Enough records: three rounds. A coarse one finds the regions, a second the places in them, a last
  one single points. A part with few expected records is not split, unless they would be visible on
  one point.
- Where balls grow faster than in the plane (social networks): the last round, with the largest
  share, splits every part.
- Of three rounds the second is the last if the first found demand even: if in its parts there are
  few smaller ones that would tell more of records than of noise. In a plane, unless there are many
  records, it is so too if demand is not more often on one side of splits than usual: it is in
  neighborhoods, not on single points.

``benchmarks/adaptive.md`` and ``benchmarks/partition_method.md`` say where the constants were
measured.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

PARTS_FACTOR = 0.6
PARTS_POWER = 0.8
FINER_POWER = 0.2
FINER_FROM = 50.0
"""Few records in a plane have so many times the parts, by records per unit of noise: 0.6 a unit.
Below 133 units, where units / `FINER_FROM` is less, so many times the parts; below `FINER_FROM` as
many as elsewhere: noise costs more than finer parts gain (benchmarks/adaptive.md).
"""
FEWEST_PARTS = 16
MOST_PARTS = 1 << 15
"""Most parts of a round: beyond, accuracy gains nothing."""
ENOUGH = 150.0
ENOUGH_FOR_FAST = 600.0
"""Records per unit of noise from which there are three rounds, or the plan of fast growth."""
ENOUGH_FOR_TWO = 200.0
ENOUGH_FOR_POINTS = 300.0
ENOUGH_IN_PLANE = 1000.0
"""The same where balls grow as in a plane: from which there are two rounds, a third if demand may
be on single points, and the plan of others, where splits are learned from counts alone.
"""
SHOWS = 3.0
"""Demand at one of s points is visible above ln s + `SHOWS` units of its noise."""
FAST_GROWTH = 3.0
"""Dimension (`metricdp.partitions.finite.ward.Hierarchy.growth`) beyond which balls grow fast."""

SETTLED = 6.0
TELLS = 2.0
"""The second of three rounds is the last if an average record's part of the first is split into at
most so many, where parts are split that have more than `TELLS` units of noise of records that are
not where their children's sizes say.
"""
DEVIATION = 0.4
"""Of a count that falls on two sides by fair coins: mean absolute one, in square roots of it."""


class Round(NamedTuple):
    """One round: its `share` of epsilon, by what factor it is `finer`, the `least` expected records
    (in noise units) of a part that it splits, and whether it goes down to `points`.
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
    """Whether so few records are spread over something like a plane; as `planned`."""
    return growth <= FAST_GROWTH and records < ENOUGH_IN_PLANE * scale


def planned(records: float, scale: float, growth: float) -> tuple[Round, ...]:
    """The rounds for so many records; `scale` is a histogram's noise, `growth` the hierarchy's."""
    enough = records / scale
    if few_in_plane(records, scale, growth):
        finer = min(max(enough, 1.0) ** FINER_POWER, max(enough / FINER_FROM, 1.0))
        one = Round(Fraction(1), finer)
        if enough >= ENOUGH_FOR_POINTS:
            return POINTS
        return TWO if enough >= ENOUGH_FOR_TWO else (one,)
    if enough < ENOUGH:
        return ONE
    return FAST if growth > FAST_GROWTH and enough >= ENOUGH_FOR_FAST else THREE


def last_round(share: Fraction, uneven: float, scale: float) -> Round:
    """A round that splits where it is expected to tell more of records than of its noise.

    Of m records in a part, uneven · m + .4 · √m are not where sizes of its halves say, on average:
    as much as is learned (`Estimate.uneven`), and by chance.
    """
    noise = TELLS * scale
    root = 2 * noise / (DEVIATION + (DEVIATION**2 + 4 * uneven * noise) ** 0.5)
    return Round(share, 2.0, root**2 / scale)


def settled(pieces: float) -> bool:
    """Whether that round can be the last, if an average record's part is in so many pieces."""
    return pieces <= SETTLED


def number_of_parts(records: float, scale: float, finer: float = 1.0) -> int:
    """M = 0.6 · (records / scale)^0.8, at least 16, times `finer`, at most 32,768. Public inputs
    only. After Qardaji, Yang & Li (ICDE 2013); constants from ``benchmarks/partition_method.md``.
    """
    one = max(FEWEST_PARTS, round(PARTS_FACTOR * max(records / scale, 0.0) ** PARTS_POWER))
    found: int = min(round(finer * one), MOST_PARTS)
    return found
