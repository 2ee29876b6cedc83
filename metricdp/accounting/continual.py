"""The schedule of continual counting (the tree mechanism), and its sensitivity. Public arithmetic.

Days come in *blocks*. Each block has a tree of *nodes*, runs of base^l days for levels l = 0, 1, …,
and a node's noisy count is released once, on its last day. Any run of days is the sum of few nodes
(`Schedule.cover`).

- *Known horizon*: one block.
- *Unknown horizon*: blocks of 16, 64, 256, … days. A record is in one block.
- *Window of w days*: one block without end, whose nodes are no longer than the window.
- *Half-life*: days alone (one level), weighted.

**Privacy.** Proof P11 (``docs/proofs/11-days.md``) has the sensitivity of all counts together, for
records and for users. *Composition*: sequential with everything else on the ledger.

References
----------
C. Dwork, M. Naor, T. Pitassi, G. Rothblum, "Differential privacy under continual observation", STOC
2010. T.-H. H. Chan, E. Shi, D. Song, "Private and continual release of statistics", ICALP 2010. W.
Qardaji, W. Yang, N. Li, "Understanding hierarchical methods for differentially private histograms",
VLDB 2013.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

Level = Literal["event", "user"]
FIRST, GROWTH = 16, 4
"""Days of the first block where the horizon is unknown, and the growth factor of the next ones."""
MOST_DAYS = 100_000
"""Largest horizon, window or half-life."""


class Node(NamedTuple):
    """A run of base^level days: number `place` of its level in a block."""

    block: int
    level: int
    place: int


@dataclass(frozen=True)
class DayBlock:
    """A run of days with a tree of its own: from day `start`, `length` days (None: no end). A node
    of level l < `levels` is `base`^l days long.
    """

    start: int
    length: int | None
    base: int
    levels: int


@dataclass(frozen=True)
class Schedule:
    """The nodes of a stream: for a known `horizon` of days, a `window` of the last days, or weights
    that halve every `half_life` days; with Gaussian noise if `gaussian`.
    """

    horizon: int | None = None
    window: int | None = None
    half_life: float | None = None
    gaussian: bool = False

    def block(self, number: int) -> DayBlock:
        """The block of a number 0, 1, …, in order of days."""
        if self.half_life is not None:
            return DayBlock(0, self.horizon, 2, 1)
        if (days := self.window or self.horizon) is not None:
            return DayBlock(0, self.horizon, *self.shape(days))
        start = FIRST * (GROWTH**number - 1) // (GROWTH - 1)
        length = FIRST * GROWTH**number
        return DayBlock(start, length, *self.shape(length))

    def shape(self, days: int) -> tuple[int, int]:
        """Base and levels of a tree for so many days. Any are private; `metricdp.running.days` has
        those of least noise.
        """
        return 2, days.bit_length()

    def number_of(self, day: int) -> int:
        """Number of the block that a day is in."""
        if self.horizon is not None or self.window is not None or self.half_life is not None:
            return 0
        number = 0
        while day >= FIRST * (GROWTH ** (number + 1) - 1) // (GROWTH - 1):
            number += 1
        return number

    def nodes(self, day: int) -> list[Node]:
        """All nodes that a day is in: one a level."""
        number = self.number_of(day)
        block = self.block(number)
        at = day - block.start
        return [Node(number, level, at // block.base**level) for level in range(block.levels)]

    def days(self, node: Node) -> tuple[int, int]:
        """First and last day of a node. The last may lie beyond its block: then it never ends."""
        block = self.block(node.block)
        size = block.base**node.level
        first = block.start + node.place * size
        return first, first + size - 1

    def ends(self, node: Node, day: int) -> bool:
        """Whether a day is a node's last."""
        return self.days(node)[1] == day

    def cover(self, first: int, last: int) -> Iterator[Node]:
        """The fewest nodes whose union is the days from `first` to `last`."""
        day = first
        while day <= last:
            number = self.number_of(day)
            block = self.block(number)
            end = last if block.length is None else min(last, block.start + block.length - 1)
            if end < day:
                raise ValueError(f"day {day} lies beyond the horizon")
            at = day - block.start
            level = block.levels - 1
            while at % block.base**level or day + block.base**level - 1 > end:
                level -= 1
            yield Node(number, level, at // block.base**level)
            day += block.base**level


def l1(schedule: Schedule, block: DayBlock, unit: Level, sensitivity: int) -> int:
    """L1 sensitivity of all counts of a block together, for that of one day's histogram."""
    return block.levels * sensitivity * days_of(schedule, unit)


def squared(schedule: Schedule, block: DayBlock, unit: Level, square: int) -> int:
    """Squared L2 sensitivity of all counts of a block together, for that of one day's histogram."""
    if unit == "event":
        return block.levels * square
    horizon = days_of(schedule, unit)
    longest = [min(block.base**level, horizon) for level in range(block.levels)]
    found: int = square * horizon * sum(longest)
    return found


def days_of(schedule: Schedule, unit: Level) -> int:
    """Days on which one unit's records may be: 1 at event level, all of them at user level."""
    return 1 if unit == "event" else schedule.horizon or 0
