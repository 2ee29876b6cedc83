"""Clustering in a few random dimensions, centers in the original space (Cohen-Addad et al., KDD
2022, after Johnson & Lindenstrauss).

1. Public coins draw q = O(log k) random orthogonal directions. A record's image is its coordinates
   along them, in a public box of R^q.
2. Another method clusters the images, for half of the budget.
3. One private step finds the middle of all records.
4. A record belongs to the cluster of the center nearest to its *image*. Each cluster's center in
   the original space is its private 1-median or 1-mean: a few steps of
   `metricdp.methods.box.private_lloyd`, all clusters in one query, each from the point nearest to
   the middle of all records among those with its image. The last step takes the clusters of the
   centers found, in the original space.

By Makarychev, Makarychev & Razenshteyn (STOC 2019) O(log(k/a)/a²) dimensions keep the cost of
*every* partition into k clusters within a factor 1 ± a, so a good partition of the images is one of
the records.

**Privacy.** The directions and the box of images are public. An image depends on its record alone,
so neighbors stay neighbors (`metricdp.privacy.mapped`), and the inner method has the guarantee it
has of any demand. Its centers are released, so the clusters they induce are public; the steps'
guarantee is theirs. Both are paid from one budget: sequential composition, in epsilon or in a
pool's rho. The projection adds the coordinates up one by one, in order, for each record by itself:
its bits do not depend on who else is there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost, Grant, Pool
from metricdp.arguments import integer, shown
from metricdp.errors import InputError
from metricdp.kernels.points import nearest_centers
from metricdp.kernels.projections import projected
from metricdp.methods.box.private_lloyd import MOST_STEPS, checked, moved
from metricdp.methods.box.space_release import Array, Cells, unequal
from metricdp.methods.finite.hst_counts import level_shares
from metricdp.methods.finite.partition import NET_POINTS
from metricdp.methods.method import Method
from metricdp.methods.question import Question
from metricdp.methods.registry import BY_NAME, method_of
from metricdp.methods.result import Result
from metricdp.methods.shares import Purse
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy import PrivateDemand, mapped
from metricdp.releases import Neighboring, Receipt

FEWEST, PER_LOG = 3, 2.0
"""Dimensions of the images by default: at least so many, and this times log2(k)."""
INNER_SHARE, GROWTH, STEPS = Fraction(1, 2), Fraction(2), 3
"""Of the budget, for the inner method; what a step gets of the budget of the one before; steps
after the first, of all records.
"""
WIDE = 3.0
"""Half a side of the images' box, in standard deviations of the image of a corner, where no image
of the box reaches farther.
"""


class Projection:
    """Coordinates along random orthogonal directions, stretched so that squared lengths are kept on
    average: a map for `mapped`.

    Parameters
    ----------
    universe : EuclideanSpace
        Of d dimensions.
    dimensions : int
        q <= d.
    seed : int
        Public coins.

    Attributes
    ----------
    images : EuclideanSpace
        The public box of R^q; the few images outside are moved to it.
    """

    def __init__(self, universe: EuclideanSpace, dimensions: int, seed: int) -> None:
        d = universe.dimension
        drawn = np.linalg.qr(np.random.default_rng([seed, 29]).normal(size=(d, dimensions)))[0]
        self.universe, self._rows = (
            universe,
            np.ascontiguousarray(drawn.T) * np.sqrt(d / dimensions),
        )
        self._middle, half = (
            (universe.lower + universe.upper) / 2,
            (universe.upper - universe.lower) / 2,
        )
        reach = np.minimum(
            np.abs(self._rows) @ half, WIDE * np.linalg.norm(half) / np.sqrt(dimensions)
        )
        self.images = EuclideanSpace(-reach, reach)

    def encode(self, records: Array) -> Array:
        """Image of each point, shape (n, q)."""
        return projected(records, self._middle, self._rows)

    def lifted(self, images: Array, near: Array) -> Array:
        """Of the points with these images the nearest to a point `near`, shape (1, d), moved into
        the box, shape (k, d).
        """
        q, d = self._rows.shape
        return self.universe.clip(near + (images - self.encode(near)) @ self._rows * (q / d))


class ImageCells:
    """A box cut by which of a few centers is nearest to a point's image."""

    def __init__(self, projection: Projection, centers: Array) -> None:
        self.universe, self.n_parts = projection.universe, len(centers)
        self._projection, self._centers = projection, centers

    def encode(self, records: Array) -> NDArray[np.int64]:
        """Cell of each point, shape (n,)."""
        return nearest_centers(
            self._projection.images.clip(self._projection.encode(records)), self._centers
        )[0]


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
    """

    name = "projected"
    summary = "another method in a few random dimensions, then private centers of its clusters"
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
        if self.dimensions is not None and (integer(self.dimensions) or 0) < 1:
            raise InputError(
                f"dimensions must be an integer of at least 1, got {shown(self.dimensions)}"
            )
        if not 1 <= (integer(self.steps) or 0) <= MOST_STEPS:
            raise InputError(
                f"steps must be an integer from 1 to {MOST_STEPS}, got {shown(self.steps)}"
            )

    def price(self, epsilon: Any, delta: Any) -> Cost:
        """Both: with a delta the steps get Gaussian noise, whatever the inner method makes of
        it.
        """
        cost = Cost.of(epsilon, delta)
        return Cost.of(cost.epsilon, cost.delta)

    def within(self, universe: object) -> Method:
        """The inner method itself, where the box has no more dimensions than the images of any
        k.
        """
        few = self.dimensions or FEWEST
        if isinstance(universe, EuclideanSpace) and universe.dimension <= few:
            return self._method(universe)
        return self

    def check(
        self, demand: PrivateDemand, question: Question, price: Cost, neighboring: Neighboring
    ) -> None:
        """Refuse what the inner method would, and an epsilon too small for the noise."""
        space: Any = demand.universe
        if self._dimensions(space, question.k) >= space.dimension:
            inner = self._method(space)
            inner.check(demand, question, inner.price(price.epsilon, price.delta), neighboring)
            return
        images = self._projection(space, question).images
        user: dict[str, Any] = (
            {}
            if demand.unit == "record"
            else {"user": [], "max_contributions": demand.max_contributions}
        )
        nobody = PrivateDemand(images, np.empty((0, images.dimension)), **user)
        inner_price, rest = self._prices(images, price)
        self._method(images).check(nobody, _asked(images, question), inner_price, neighboring)
        checked(demand, space, _of_whole(self._shares()), rest, neighboring)

    def answer(self, demand: PrivateDemand, grant: Grant, question: Question) -> Result:
        """Centers in the original space."""
        space: Any = demand.universe
        if self._dimensions(space, question.k) >= space.dimension:
            alone = self._method(space)
            paid = grant.charge(alone.price(grant.epsilon, grant.delta))
            return alone.answer(demand, paid, question)
        projection = self._projection(space, question)
        images = projection.images
        part, rest = self._prices(images, Cost.of(grant.epsilon, grant.delta))
        if part.pooled:
            grant = grant.charge(Cost.zcdp(grant.epsilon, grant.delta))
        image, asked = mapped(demand, projection, images), _asked(images, question)
        inner = self._method(images).answer(image, grant.charge(part), asked)
        whole = Purse(demand, grant, Fraction(1))
        before = [inner.receipt]
        if part.pooled:
            whole.receipts.append(inner.receipt)  # type: ignore[arg-type]
            before = []
        else:
            whole = Purse(demand, grant.charge(rest), 1 - INNER_SHARE)
        found = np.asarray(inner.centers)
        cells: Any = ImageCells(projection, found)
        first, *shares = self._shares()
        middle = ((space.lower + space.upper) / 2)[None]
        middle = moved(whole, Cells(space, middle), middle, first, power=question.power)
        centers = projection.lifted(found, middle)
        for share in shares[:-1] or shares:
            centers = moved(whole, cells, centers, share, power=question.power)
        if len(shares) > 1:
            centers = unequal(space, centers)
            centers = moved(
                whole, Cells(space, centers), centers, shares[-1], power=question.power, last=True
            )
        receipt = Receipt.combined([*before, whole.receipt])  # type: ignore[list-item]
        return Result(unequal(space, centers), question.k, self.name, receipt)

    def _prices(self, images: EuclideanSpace, price: Cost) -> tuple[Cost, Cost]:
        """What the inner method pays, and what the steps: shares of one pool if the inner method
        counts rho too, else an epsilon for the one and, with a delta, a pool for the others.
        """
        inner = self._method(images)
        if inner.price(price.epsilon, price.delta).pooled:
            pool = Cost.zcdp(price.epsilon, price.delta)
            return _part(pool, INNER_SHARE), _part(pool, 1 - INNER_SHARE)
        rest = price.epsilon * (1 - INNER_SHARE)
        steps = Cost.zcdp(rest, price.delta) if price.delta else Cost.of(rest)
        return Cost.of(price.epsilon * INNER_SHARE), steps

    def _method(self, space: EuclideanSpace) -> Method:
        inner = method_of(self.inner)
        return (
            inner if self.records_hint is None else replace(inner, records_hint=self.records_hint)
        ).within(space)

    def _dimensions(self, space: EuclideanSpace, k: int) -> int:
        return self.dimensions or max(FEWEST, int(np.ceil(PER_LOG * np.log2(max(k, 2)))))

    def _projection(self, space: EuclideanSpace, question: Question) -> Projection:
        return Projection(space, self._dimensions(space, question.k), question.seed)

    def _shares(self) -> list[Fraction]:
        return [(1 - INNER_SHARE) * share for share in level_shares(GROWTH, int(self.steps) + 1)]


def _of_whole(shares: list[Fraction]) -> list[Fraction]:
    """Shares, as parts of their sum."""
    return [share / sum(shares) for share in shares]


def _part(price: Cost, share: Fraction) -> Cost:
    """A share of a price, as the inner method will get it."""
    if not price.pooled or price.rho is None:
        return Cost.of(price.epsilon * share)
    pool = Pool(price, "add-remove")
    return Cost.of(Purse(None, pool, Fraction(1)).price(share))  # type: ignore[arg-type]


def _asked(images: EuclideanSpace, question: Question) -> Question:
    return replace(question, metric=images.net(max(NET_POINTS, question.k), question.seed))
