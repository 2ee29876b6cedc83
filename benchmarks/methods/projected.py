"""Clustering in a few random dimensions, centers in the original space (Cohen-Addad et al., KDD
2022, after Johnson & Lindenstrauss).

1. Public coins draw q = O(log k) random orthogonal directions.
2. Another method clusters the images of the records, for half of the budget.
3. One private step finds the middle of all records.
4. A record belongs to the center nearest to its *image*. A few steps of
   `metricdp.methods.box.descent` find each cluster's center in the original space.

O(log(k/a)/a²) dimensions keep the cost of every partition within 1 ± a (Makarychev, Makarychev &
Razenshteyn, STOC 2019).

**Privacy.** An image depends on its record and public directions alone, so neighbors stay neighbors
(`metricdp.privacy.mapped`). The inner method and the steps have their own guarantees; both are paid
from one budget (sequential composition).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from metricdp.accounting import Cost
from metricdp.arguments import Floats, count, shown
from metricdp.errors import InputError
from metricdp.kernels.points import projected
from metricdp.methods.asking import Account, Ask, Image, Steps, Terms, Within, level_shares
from metricdp.methods.box.descent import MOST_STEPS, distinct_in, least_of_steps, lloyd_step
from metricdp.methods.method import Composition, Method, answer_of
from metricdp.methods.question import BoxQuestion, Result
from metricdp.methods.registry import BY_NAME, answering
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import PartsOfImages, VoronoiCells
from metricdp.protocols import trusted

FEWEST = 3
PER_LOG = 2.0
"""Dimensions of the images by default: at least so many, and this times log2(k)."""
INNER_SHARE = Fraction(1, 2)
GROWTH = Fraction(2)
STEPS = 3
"""Share of the inner method; a step's budget over the one before; further middle steps."""
WIDE = 3.0
"""Half a side of a projection's box, in deviations of a corner's image."""


@trusted
class Projection:
    """Coordinates along q random orthogonal directions, stretched to keep squared lengths on
    average, in the public box `images` of R^q; the few images outside are moved to it.
    """

    def __init__(self, universe: EuclideanSpace, dimensions: int, seed: int) -> None:
        d = universe.dimension
        drawn = np.linalg.qr(np.random.default_rng([seed, 29]).normal(size=(d, dimensions)))[0]
        half = (universe.upper - universe.lower) / 2
        self.universe = universe
        self._rows = np.ascontiguousarray(drawn.T) * np.sqrt(d / dimensions)
        self._middle = (universe.lower + universe.upper) / 2
        reach = np.minimum(
            np.abs(self._rows) @ half, WIDE * np.linalg.norm(half) / np.sqrt(dimensions)
        )
        self.images = EuclideanSpace(-reach, reach)

    def encode(self, records: Floats) -> Floats:
        """Image of each point, shape (n, q)."""
        return projected(records, self._middle, self._rows)

    def inside(self, records: Floats) -> Floats:
        """Image of each point, moved into the box of images, shape (n, q)."""
        return self.images.clip(self.encode(records))

    def lifted(self, images: Floats, near: Floats) -> Floats:
        """Of the points with these images the nearest to `near` (1, d), in the box, (k, d)."""
        q, d = self._rows.shape
        return self.universe.clip(near + (images - self.encode(near)) @ self._rows * (q / d))


@dataclass(frozen=True, kw_only=True)
class Projected(Method):
    """Another method on the records' images in a few random dimensions, then private centers of the
    clusters in the original space.

    **Privacy.** (epsilon, delta)-DP, by the module's text; a delta is of use if it is to the inner
    method.

    Parameters
    ----------
    inner : str or Method
        Answers in the box of images: the default method unless given.
    dimensions : int, optional
        Of the images: by default 2·log2(k), at least 3; where the box has no more, the inner method
        answers alone.
    steps : int
        Of all clusters, at least 1; of several the last one has the clusters of the original space.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> from benchmarks.methods.projected import Projected
    >>> method = Projected(inner="partition")
    >>> mdp.k_means(space, demand, k=2, epsilon=4, method=method).centers.shape
    (2, 2)
    """

    name = "projected"
    chooses = (
        "Directions are public coins, their number a public function of k; half of the budget "
        "goes to the inner method, the rest to steps of the centers, by fixed shares."
    )
    afterwards = (
        "Clusters of the images are distinguished by released centers; the centers' coordinates "
        "are those that the private steps gave, clipped to the box."
    )
    in_finite = False
    in_space = True

    inner: Any = "partition"
    dimensions: int | None = None
    steps: int = STEPS

    def __post_init__(self) -> None:
        super().__post_init__()
        known = isinstance(self.inner, Method) or (
            isinstance(self.inner, str) and self.inner in BY_NAME
        )
        kind: Any = (
            self.inner if isinstance(self.inner, Method) or not known else BY_NAME[self.inner]
        )
        if not known or not kind.in_space or isinstance(self.inner, Projected):
            raise InputError(
                f"inner must be a method for boxes other than this one, or its name; got "
                f"{shown(self.inner)}"
            )
        if self.dimensions is not None:
            count(self.dimensions, "dimensions")
        count(self.steps, "steps", 1, MOST_STEPS)

    def composition(self, offer: Terms) -> Composition:
        """Both: with a delta the steps get Gaussian noise, whatever the inner method does."""
        return "both"

    def within(self, space: EuclideanSpace) -> Method:
        """The inner method itself, where the box has no more dimensions than the images."""
        few = self.dimensions or FEWEST
        return self._method(space) if space.dimension <= few else self

    def least(self, terms: Terms, question: BoxQuestion) -> Iterable[Ask]:
        """What the inner method and the steps ask for, of their own budgets."""
        space = question.space
        price = terms.price
        if self._dimensions(space, question.k) >= space.dimension:
            inner = self._method(space)
            at = terms.at(inner.price(price.epsilon, price.delta, terms))
            inner.confirm(at, question)
            return []
        images = self._projection(space, question).images
        _, first, rest = self._prices(images, terms)
        asked = replace(question, space=images)
        self._method(images).confirm(terms.at(first), asked)
        terms.at(rest).scale_of(least_of_steps(space, self._shares()))
        return []

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """Centers in the original space."""
        space = question.space
        if self._dimensions(space, question.k) >= space.dimension:
            alone = self._method(space)
            cost = alone.price(terms.price.epsilon, terms.price.delta, terms)
            found = yield Within(cost, partial(alone.work, question=question))
            return answer_of(found, question)
        projection = self._projection(space, question)
        whole, first, rest = self._prices(projection.images, terms)
        halves = partial(
            self._halves, question=question, projection=projection, first=first, rest=rest
        )
        centers = (yield from halves(terms)) if whole is None else (yield Within(whole, halves))
        centers = distinct_in(space, centers)
        return Result(centers, question.k, self.name, (yield Account()).receipt)

    def _halves(
        self, terms: Terms, question: BoxQuestion, projection: Projection, first: Cost, rest: Cost
    ) -> Steps:
        """Centers of the images by the inner method, and steps in the original space."""
        images = projection.images
        asked = replace(question, space=images)
        inner = partial(self._method(images).work, question=asked)
        image = Image(question.space).mapped(projection, images)
        found = answer_of((yield Within(first, inner, image)), asked)
        steps = partial(
            self._stepped, question=question, projection=projection, found=np.asarray(found.centers)
        )
        return (yield Within(rest, steps))

    def _stepped(
        self, terms: Terms, question: BoxQuestion, projection: Projection, found: Any
    ) -> Steps:
        """Steps 3 and 4, from the centers found for the images, shape (k, q)."""
        space = question.space
        power = question.power
        first, *shares = self._shares()
        middle = ((space.lower + space.upper) / 2)[None]
        around = VoronoiCells(space, middle)
        middle = yield from lloyd_step(terms, around, middle, first, power=power)
        centers = projection.lifted(found, middle)
        cells: Any = VoronoiCells(projection.images, found)
        cells = PartsOfImages(space, projection.inside, cells)
        for share in shares[:-1] or shares:
            centers = yield from lloyd_step(terms, cells, centers, share, power=power)
        if len(shares) > 1:
            centers = distinct_in(space, centers)
            cells = VoronoiCells(space, centers)
            centers = yield from lloyd_step(
                terms, cells, centers, shares[-1], power=power, last=True
            )
        return centers

    def _prices(self, images: EuclideanSpace, terms: Terms) -> tuple[Cost | None, Cost, Cost]:
        """What both pay together, the inner method and the steps: rho if it counts that."""
        epsilon, delta = terms.price.epsilon, terms.price.delta
        if self._method(images).price(epsilon, delta, terms).in_rho:
            whole = Cost.zcdp(epsilon, delta)
            inner_terms = terms.at(whole)
            return whole, inner_terms.cost(INNER_SHARE), inner_terms.cost(1 - INNER_SHARE)
        rest = epsilon * (1 - INNER_SHARE)
        steps = Cost.zcdp(rest, delta) if delta else Cost.of(rest)
        return None, Cost.of(epsilon * INNER_SHARE), steps

    def _method(self, space: EuclideanSpace) -> Method:
        return answering(self.inner, space, self.records_hint)

    def _dimensions(self, space: EuclideanSpace, k: int) -> int:
        return self.dimensions or max(FEWEST, int(np.ceil(PER_LOG * np.log2(max(k, 2)))))

    def _projection(self, space: EuclideanSpace, question: BoxQuestion) -> Projection:
        return Projection(space, self._dimensions(space, question.k), question.seed)

    def _shares(self) -> list[Fraction]:
        """Of what the steps have."""
        return level_shares(GROWTH, int(self.steps) + 1)
