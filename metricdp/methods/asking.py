"""What a method may ask: public values, which a runner puts to the gate.

A method is a generator. It yields these requests, gets the answers, and ends with a release or a
`Result`. It holds no demand, ledger or budget slice. The gate decides what a request may be about
and what it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from metricdp.accounting import Cost
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.privacy.coverage import CoverQuery
from metricdp.privacy.queries import Query
from metricdp.privacy.scores import SelectionQuery
from metricdp.protocols import Partition
from metricdp.releases import Receipt

Steps = Generator[Any, Any, Any]
"""A method at work: requests out, answers in, and a release or a result at the end."""
Work = Callable[[Any], Steps]
"""From the terms of a smaller budget to what is done with it."""


def driven(work: Steps, put: Callable[[Any], Any]) -> Any:
    """The last word of a method at work, whose requests are answered by `put`."""
    answer: Any = None
    while True:
        try:
            request = work.send(answer)
        except StopIteration as end:
            return end.value
        answer = put(request)


@dataclass(frozen=True, eq=False)
class Image:
    """All records, or what public maps make of them, one after another: what is asked about."""

    universe: Any
    how: Literal["all", "moved", "mapped", "preaggregated", "subsampled"] = "all"
    rule: Any = None
    of: Image | None = None

    def moved(self, partition: Partition, universe: Any) -> Image:
        """Each record at the point whose number is that of its part."""
        return Image(universe, "moved", partition, self)

    def mapped(self, rule: Any, space: EuclideanSpace) -> Image:
        """Each record where a public map puts it."""
        return Image(space, "mapped", rule, self)

    def preaggregated(self, tree: ShiftedQuadtree) -> Image:
        """The same, read once for all cells of a tree."""
        return Image(self.universe, "preaggregated", tree, self)

    def subsampled(self, share: float) -> Image:
        """Each record with a probability, by a coin of its own."""
        return Image(self.universe, "subsampled", share, self)


class Ask(NamedTuple):
    """A noisy answer for a share of the budget: a `metricdp.releases.Release` comes back."""

    query: Query
    share: Fraction
    image: Image | None = None


class Select(NamedTuple):
    """A selection, paid with a share; answered by the number of a candidate."""

    query: SelectionQuery
    share: Fraction
    image: Image | None = None


class Cover(NamedTuple):
    """A cover, paid with epsilon and the rest of delta; answered by the sets selected."""

    query: CoverQuery
    share: Fraction


class Within(NamedTuple):
    """Work with a smaller budget of its own; answered by its last word."""

    cost: Cost
    work: Work
    image: Image | None = None


class Parts(NamedTuple):
    """Work on every part of a public partition with its own epsilon: parallel composition."""

    partition: Partition
    epsilons: Sequence[Fraction]
    works: Sequence[Work]
    name: str


class Account(NamedTuple):
    """What was spent so far: answered by a `Statement`."""


class Statement(NamedTuple):
    """What was spent: the share `left`, all `receipts`, and the `receipt` of all together."""

    left: Fraction
    receipts: tuple[Receipt, ...]
    receipt: Receipt
