"""The requests that a method may yield: public values, which a runner puts to the gate.

A method is a generator. It yields requests, is sent the answers, and returns a release or a
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
"""A running method: it yields requests, is sent answers, and returns a release or a result."""
Work = Callable[[Any], Steps]
"""From the terms of a budget to the steps that spend it."""


def driven(work: Steps, put: Callable[[Any], Any]) -> Any:
    """Run a method, with `put` to answer its requests, and return what it returns."""
    answer: Any = None
    while True:
        try:
            request = work.send(answer)
        except StopIteration as end:
            return end.value
        answer = put(request)


@dataclass(frozen=True, eq=False)
class Image:
    """What a request is about: all records, or their image under public maps or samples, applied
    one after another.

    `universe`: of the image; `how`: the last step, by its `rule` (a partition, map, tree or share),
    applied to the image `of`.
    """

    universe: Any
    how: Literal["all", "moved", "mapped", "preaggregated", "subsampled"] = "all"
    rule: Any = None
    of: Image | None = None

    def moved(self, partition: Partition, universe: Any) -> Image:
        """Each record moved to the point whose position is the number of its part."""
        return Image(universe, "moved", partition, self)

    def mapped(self, rule: Any, space: EuclideanSpace) -> Image:
        """Each record mapped by a public map."""
        return Image(space, "mapped", rule, self)

    def preaggregated(self, tree: ShiftedQuadtree) -> Image:
        """The same records, read once for all cells of a tree."""
        return Image(self.universe, "preaggregated", tree, self)

    def subsampled(self, share: float) -> Image:
        """A Poisson subsample: each record with this probability, independently."""
        return Image(self.universe, "subsampled", share, self)


class Ask(NamedTuple):
    """A query for a share of the budget; answered by a `metricdp.releases.Release`."""

    query: Query
    share: Fraction
    image: Image | None = None


class Select(NamedTuple):
    """A selection for a share of the budget; answered by the index of a candidate."""

    query: SelectionQuery
    share: Fraction
    image: Image | None = None


class Cover(NamedTuple):
    """A cover for a share of epsilon and the rest of delta; answered by the sets selected."""

    query: CoverQuery
    share: Fraction


class Within(NamedTuple):
    """Steps with a smaller budget of their own; answered by what they return."""

    cost: Cost
    work: Work
    image: Image | None = None


class Parts(NamedTuple):
    """Steps on every part of a public partition, each with its own epsilon: parallel composition;
    answered by the list of what they return.
    """

    partition: Partition
    epsilons: Sequence[Fraction]
    works: Sequence[Work]
    name: str


class Account(NamedTuple):
    """A question about the budget: answered by a `Statement`."""


class Statement(NamedTuple):
    """The share of the budget that is `left`, all `receipts` so far, and one `receipt` of all."""

    left: Fraction
    receipts: tuple[Receipt, ...]
    receipt: Receipt
